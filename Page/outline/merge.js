// Merges two edits of one text. Pure: it knows no page.

/** Whether a place is between the two halves of a character. */
const isInCharacter = (text, at) => at > 0 && at < text.length
  && text.charCodeAt(at - 1) >= 0xd800 && text.charCodeAt(at - 1) < 0xdc00
  && text.charCodeAt(at) >= 0xdc00 && text.charCodeAt(at) < 0xe000;

/**
 * What turns one text into another, as one replacement: `before.slice(start, end)` becomes `text`. Between equal
 * characters the place is not certain: with `caret`, a place in `after`, the change ends there if it can.
 */
export function changeOf(before, after, caret = after.length) {
  const shorter = Math.min(before.length, after.length);
  let tail = 0;
  const tailMax = Math.min(shorter, Math.max(0, after.length - caret));
  while (tail < tailMax && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  let start = 0;
  while (start < shorter - tail && before[start] === after[start]) start += 1;
  // With a caret far from the change, more of the end is equal.
  while (tail < shorter - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  if (isInCharacter(before, start) || isInCharacter(after, start)) start -= 1;
  if (isInCharacter(before, before.length - tail) || isInCharacter(after, after.length - tail)) tail -= 1;
  return { start, end: before.length - tail, text: after.slice(start, after.length - tail) };
}

/** Where a place in a text is after a change of that text. */
export function placeAfter(place, { start, end, text }) {
  if (place <= start) return place;
  if (place >= end) return place + text.length - (end - start);
  return start + Math.min(place - start, text.length);
}

/**
 * Merges my edit and theirs of the text `base`. `selection` is the pair of places in `mine`. Returns `{ text,
 * selection, isConflict }`. If both have changed the same characters, mine stays. Of two insertions at one place,
 * theirs is first.
 */
export function merge(base, mine, theirs, selection = [mine.length, mine.length]) {
  const kept = { text: mine, selection, isConflict: false };
  if (mine === theirs || base === theirs) return kept;
  const theirChange = changeOf(base, theirs);
  if (base === mine) {
    return { text: theirs, selection: selection.map((place) => placeAfter(place, theirChange)), isConflict: false };
  }
  const myChange = changeOf(base, mine, selection[1]);
  if (myChange.start < theirChange.end && theirChange.start < myChange.end) return { ...kept, isConflict: true };
  const isBefore = theirChange.end <= myChange.start;
  const shift = isBefore ? 0 : myChange.text.length - (myChange.end - myChange.start);
  const moved = { ...theirChange, start: theirChange.start + shift, end: theirChange.end + shift };
  const text = mine.slice(0, moved.start) + moved.text + mine.slice(moved.end);
  // At my own insertion the caret stays behind what I have written.
  const isAtMine = theirChange.start === myChange.start && theirChange.end === theirChange.start;
  const place = (each) => (isBefore && isAtMine && each > moved.start ? each + moved.text.length
    : placeAfter(each, moved));
  return { text, selection: selection.map(place), isConflict: false };
}
