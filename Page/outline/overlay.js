// The rows as they will be when the server has made what waits: steps that are laid over the rows that it has sent.
// Pure: it knows no page and no server. A step whose rows are not here changes nothing, and one that the server has
// made changes nothing more.
//
// A row is `{ key, depth, parent, children, isExpanded, … }`. Its key is the object's id; a row that the server does
// not have yet has a key below 0, and keeps it.

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
 * Lays steps over `{ rows, start, total, under }`: a window of an outline below the object `under`. Returns the same
 * for what is to be shown. Steps:
 *
 * - `insert` `{ key, place, values }`, `move` `{ keys, place }`: `place` is `{ parent, after, before }`, keys or null.
 *   Without neighbours: the last below the parent; `isFirst`: the first.
 * - `remove` `{ keys }`, `set` `{ key, values }`, `fold` `{ key, isExpanded }`.
 */
export function laid(base, steps) {
  if (steps.length === 0) return base;
  const state = { ...base, rows: [...base.rows] };
  for (const step of steps) STEPS[step.kind](state, step);
  return state;
}

const STEPS = {
  insert(state, { key, place, values }) {
    if (indexOf(state.rows, key) >= 0) return;
    const row = { key, children: 0, isExpanded: true, isNew: true, ...values };
    putIn(state, [row], place);
  },

  move(state, { keys, place }) {
    let after = place.after ?? null;
    for (const key of keys) {
      const run = cutOut(state, key);
      if (!run) continue;
      putIn(state, run, after === null ? place : { ...place, after });
      after = key;
    }
  },

  remove(state, { keys }) {
    for (const key of keys) cutOut(state, key);
  },

  set({ rows }, { key, values }) {
    const index = indexOf(rows, key);
    if (index >= 0) rows[index] = { ...rows[index], ...values };
  },

  fold(state, { key, isExpanded }) {
    const { rows } = state;
    const index = indexOf(rows, key);
    if (index < 0 || rows[index].isExpanded === isExpanded) return;
    rows[index] = { ...rows[index], isExpanded };
    if (!isExpanded) state.total -= rows.splice(index + 1, endOf(rows, index) - index - 1).length;
  },
};

function count(rows, key, by) {
  const index = indexOf(rows, key);
  if (index >= 0) rows[index] = { ...rows[index], children: Math.max(0, rows[index].children + by) };
}

/** Takes a row out, with those below it. */
function cutOut(state, key) {
  const { rows } = state;
  const index = indexOf(rows, key);
  if (index < 0) return null;
  const run = rows.splice(index, endOf(rows, index) - index);
  count(rows, run[0].parent, -1);
  state.total -= run.length;
  return run;
}

/** Puts rows in at a place. If the place is not shown, they are not. */
function putIn(state, run, place) {
  const { rows } = state;
  count(rows, place.parent, run.length > 0 ? 1 : 0);
  const found = locate(state, place);
  if (!found) return;
  const shift = found.depth - (run[0].depth ?? found.depth);
  const placed = run.map((row, index) => ({
    ...row, depth: (row.depth ?? found.depth) + shift, parent: index === 0 ? place.parent : row.parent,
  }));
  rows.splice(found.index, 0, ...placed);
  state.total += placed.length;
}

function locate({ rows, start, total, under }, { parent, after, before, isFirst }) {
  const left = after == null ? -1 : indexOf(rows, after);
  if (left >= 0 && rows[left].parent === parent) return { index: endOf(rows, left), depth: rows[left].depth };
  const right = before == null ? -1 : indexOf(rows, before);
  if (right >= 0 && rows[right].parent === parent) return { index: right, depth: rows[right].depth };
  if (parent === under) {
    if (isFirst ? start > 0 : start + rows.length < total) return null;
    return { index: isFirst ? 0 : rows.length, depth: 0 };
  }
  const owner = indexOf(rows, parent);
  if (owner < 0 || (!rows[owner].isExpanded && rows[owner].children > 1)) return null;
  // The first child of a row shows even if the row was folded: it had nothing to hide.
  rows[owner] = { ...rows[owner], isExpanded: true };
  return { index: isFirst ? owner + 1 : endOf(rows, owner), depth: rows[owner].depth + 1 };
}
