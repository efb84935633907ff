// Where the rows of a window are in a sheet of any length. Pure: numbers in, numbers out.

/** The height of what scrolls is at most this, in pixels: browsers end elements somewhere beyond it. */
export const RUNWAY_MAX = 8_000_000;

/**
 * The lines of a state: `{ line, row, section }` for each row, and `{ line, section }` for the head of each section
 * shown. A result without sections has no heads.
 */
export function linesOf(state, hasSections) {
  const { start } = state.position ?? { start: { row: 0, section: 0, rowInSection: 0 } };
  const lines = [];
  let row = start.row;
  for (const [index, section] of state.sections.entries()) {
    const heads = hasSections ? start.section + index + 1 : 0;
    const before = index === 0 ? start.rowInSection : 0;
    if (hasSections) lines.push({ line: row - before + heads - 1, section, index: start.section + index });
    for (const one of section.rows) {
      lines.push({ line: row + heads, row: one, section });
      row += 1;
    }
  }
  return lines;
}

/** How many lines a state has in the whole. */
export const lineCount = (state, hasSections) =>
  state.total + (hasSections ? state.position?.sectionTotal ?? state.sections.length : 0);

/**
 * The first row to ask for so that a line comes into view. With sections it is a guess by what is known: each further
 * guess at the same line is nearer, because of two lines at least one is a row.
 */
export function rowAt(line, state, hasSections, guesses = 0) {
  if (!hasSections) return Math.min(line, state.total);
  const known = linesOf(state, true).filter((one) => one.row);
  const sections = state.position?.sectionTotal ?? state.sections.length;
  const share = guesses > 2 ? 0.5 : state.total / Math.max(1, state.total + sections);
  if (known.length === 0) return Math.min(state.total, Math.round(line * share));
  const near = known.reduce((best, one) => (Math.abs(one.line - line) < Math.abs(best.line - line) ? one : best));
  const row = (state.position?.start.row ?? 0) + known.indexOf(near);
  return Math.max(0, Math.min(state.total, row + Math.trunc((line - near.line) * share)));
}

/**
 * The scroll positions of a sheet: `real`, the height of all lines; `runway`, that of the element; and between the two
 * positions `real ↔ scrolled`.
 */
export function scale(lines, height, view) {
  const real = lines * height;
  const runway = Math.min(real, RUNWAY_MAX);
  const factor = real > runway ? (real - view) / Math.max(1, runway - view) : 1;
  return { real, runway, factor, isStretched: factor !== 1, most: Math.max(0, real - view) };
}
