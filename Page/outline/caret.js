// Where characters are on the screen, and which character is where. A field has no such answers; the text under it,
// which has the same lines, has them.

/** The text node of a title or note that is edited: its only child. */
const nodeOf = (element) => element.firstChild;

/** The place of a character: `{ left, top, bottom }` of the gap before it. */
export function gapAt(element, place) {
  const node = nodeOf(element);
  const range = document.createRange();
  const at = Math.min(place, Math.max(0, node.length - 1));
  range.setStart(node, at);
  range.setEnd(node, Math.min(node.length, at + 1));
  const rects = range.getClientRects();
  // A character at the end of a line has a rectangle there and one on the next line.
  return rects[rects.length - 1] ?? element.getBoundingClientRect();
}

/** The tops of the first and the last line of an element's text. */
function lines(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const rects = [...range.getClientRects()];
  return rects.length === 0 ? [0, 0] : [rects[0], rects[rects.length - 1]];
}

/** Whether the gap before a character is in the first, and in the last line. */
export function linesAt(element, place) {
  const gap = gapAt(element, place);
  const [first, last] = lines(element);
  return { isFirst: gap.top < first.bottom - 2, isLast: gap.bottom > last.top + 2, left: gap.left };
}

/** The gap that is nearest to a point: an index of the text. */
export function placeAtPoint(element, x, y) {
  const { length } = nodeOf(element);
  let [low, high] = [0, length - 1];
  // Gaps are ordered by line, then from left to right. (In text from right to left the column is not kept.)
  while (low < high) {
    const middle = (low + high) >> 1;
    const { top, bottom, left, right } = gapAt(element, middle);
    if (bottom <= y || (top <= y && (left + right) / 2 < x)) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, Math.min(low, length - 1));
}

/** The gap in the first or last line at a column of the screen. */
export function placeInLine(element, x, which) {
  const [first, last] = lines(element);
  const line = which === 'first' ? first : last;
  return placeAtPoint(element, x, line.top + (line.bottom - line.top) / 2);
}

/** The index in a text that is not edited, for a point. null: the point is not on it. */
export function indexAtPoint(element, x, y) {
  const found = document.caretPositionFromPoint?.(x, y) ?? rangeOf(document.caretRangeFromPoint?.(x, y));
  if (!found || !element.contains(found.offsetNode)) return null;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let before = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node === found.offsetNode) return before + found.offset;
    before += node.length;
  }
  return null;
}

const rangeOf = (range) => range && { offsetNode: range.startContainer, offset: range.startOffset };
