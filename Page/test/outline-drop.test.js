// Where dragged rows go: between two rows, at a depth.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeAt } from '../outline/drop.js';

/** Rows from lines that spaces indent: `a`, ` b`; a name with `+` is folded. */
function rowsOf(...lines) {
  const path = [];
  return lines.map((line) => {
    const depth = /^ */.exec(line)[0].length;
    const key = line.trim().replace('+', '');
    path[depth] = key;
    const isFolded = line.includes('+');
    return { key, depth, parent: depth === 0 ? 'root' : path[depth - 1], isExpanded: !isFolded,
      children: isFolded ? 2 : 0 };
  });
}

const rows = rowsOf('a', ' b', '  c', ' d', 'e+', 'f');
const place = (gap, depth, ...dragged) => placeAt(rows, gap, depth, new Set(dragged));

test('before the first row', () => {
  assert.deepEqual(place(0, 3, 'f'), { parent: null, after: null, before: 'a', depth: 0 });
});

test('the depth is between that of the row below and one more than that of the row above', () => {
  // After c, before d.
  assert.deepEqual(place(3, 9, 'f'), { parent: 'c', after: null, before: null, depth: 3 });
  assert.deepEqual(place(3, 2, 'f'), { parent: 'b', after: 'c', before: null, depth: 2 });
  assert.deepEqual(place(3, 0, 'f'), { parent: 'a', after: 'b', before: null, depth: 1 });
});

test('as the first child of an unfolded row', () => {
  assert.deepEqual(place(1, 1, 'f'), { parent: 'a', after: null, before: 'b', depth: 1 });
});

test('into a folded row, or after it', () => {
  assert.deepEqual(place(5, 1, 'a'), { parent: 'e', after: null, before: null, depth: 1 });
  assert.deepEqual(place(5, 0, 'a'), { parent: null, after: 'e', before: null, depth: 0 });
});

test('at the end, at each depth', () => {
  assert.deepEqual(place(6, 0, 'a'), { parent: null, after: 'f', before: null, depth: 0 });
  assert.deepEqual(place(6, 1, 'a'), { parent: 'f', after: null, before: null, depth: 1 });
});

test('rows that are dragged, with all below them, are not there', () => {
  // b with c is dragged to just below itself: after it comes d.
  assert.deepEqual(place(3, 1, 'b'), { parent: 'a', after: null, before: 'd', depth: 1 });
  assert.deepEqual(place(6, 0, 'f'), { parent: null, after: 'e', before: null, depth: 0 });
});

test('all rows are dragged', () => {
  assert.deepEqual(placeAt(rowsOf('a', ' b'), 1, 0, new Set(['a'])), { parent: null, after: null, before: null,
    depth: 0 });
});
