// What an outline's rows say about each other; and the folds that somebody has asked for, over the rows until the server
// has confirmed them. Pure: it knows no page and no server. A row is `{ key, depth, children, isExpanded, … }`; its key is
// the object's id.

/** The index after the last row below a row. */
export function endOf(rows, index) {
  let at = index + 1;
  while (at < rows.length && rows[at].depth > rows[index].depth) at += 1;
  return at;
}

/** The index of the row with a key; -1 if it is not here. */
export const indexOf = (rows, key) => rows.findIndex((row) => row.key === key);

/** The index of the row's parent; -1 if there is none among the rows. */
export function parentOf(rows, index) {
  const depth = rows[index]?.depth ?? 0;
  let at = index - 1;
  while (at >= 0 && rows[at].depth >= depth) at -= 1;
  return depth > 0 ? at : -1;
}

/** The index of the sibling before a row; -1 if there is none among the rows. */
export function previousOf(rows, index) {
  let at = index - 1;
  while (at >= 0 && rows[at].depth > rows[index].depth) at -= 1;
  return at >= 0 && rows[at].depth === rows[index].depth ? at : -1;
}

/** The index of the sibling after a row; -1 if there is none among the rows. */
export function nextOf(rows, index) {
  const at = endOf(rows, index);
  return at < rows.length && rows[at].depth === rows[index].depth ? at : -1;
}

/** Those of some rows that are below no other one of them, in the order of the rows. */
export function topsOf(rows, keys) {
  const wanted = new Set(keys);
  const tops = [];
  for (let index = 0; index < rows.length; index += 1) {
    if (!wanted.has(rows[index].key)) continue;
    tops.push(rows[index]);
    index = endOf(rows, index) - 1;
  }
  return tops;
}

/**
 * `{ rows, start, total }` with rows folded whose keys are in a set. What is below them is hidden, as far as it is here.
 */
export function folded(base, keys) {
  if (keys.size === 0) return base;
  const rows = [];
  for (let index = 0; index < base.rows.length; index += 1) {
    const row = base.rows[index];
    const isFolded = row.isExpanded && keys.has(row.key);
    rows.push(isFolded ? { ...row, isExpanded: false } : row);
    if (isFolded) index = endOf(base.rows, index) - 1;
  }
  return { ...base, rows, total: base.total - (base.rows.length - rows.length) };
}
