// The difference between two states leads from one to the other, and is as short as possible.

import { difference, isNothing, longestIncreasing } from '../../overlay/difference.js';
import { applyDiff, digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { NestDate, Reference, UUID } from '../../wire/values.js';
import { generator } from '../rules/text.js';
import { exactValue, rowValue } from '../wire/check.js';
import { same } from '../rules/same.js';

const projection = [1, 2];
const stateOf = (sections, revision) => ({
  revision, projection, position: null,
  sections: sections.map(([key, ...rows]) => ({ ...sectionKey(key), rows })),
});
const row = (id, ...values) => ({ id, values: [values[0] ?? null, values[1] ?? null] });
const plain = ({ sections }) => sections.map(({ key, rows }) => [key, rows.map(({ id, values }) => [id, ...values])]);

/** The difference, after it was applied. */
function checked(old, next, what = '') {
  const found = difference(old, next, (id) => (id % 2 ? 'deleted' : 'unmatched'));
  const diff = { ...found, from: old.revision, to: next.revision, digest: digest(next.sections) };
  const applied = applyDiff(old, diff);
  same(plain(applied), plain(next), what);
  same(isNothing(found), JSON.stringify(plain(old)) === JSON.stringify(plain(next)), what);
  return found;
}

/** The length of a longest increasing subsequence, by trying everything. */
function longest(values, above = -1) {
  if (values.length === 0) return 0;
  const [first, ...rest] = values;
  const without = longest(rest, above);
  return first > above ? Math.max(without, 1 + longest(rest, first)) : without;
}

/** How many rows must move: those in both states that cannot stay. */
function leastMoves(old, next) {
  const places = new Map(old.sections.flatMap(({ key, rows }) => rows.map(({ id }, at) => [id, { key, at }])));
  let moves = 0;
  for (const { key, rows } of next.sections) {
    const common = rows.filter(({ id }) => places.has(id)).map(({ id }) => places.get(id));
    moves += common.length - longest(common.filter((place) => place.key === key).map(({ at }) => at));
  }
  return moves;
}

export function run(vectors, test) {
  test('a difference names what has changed, and nothing else', () => {
    const [a, b, c, d] = [row(1, 'a'), row(2, 'b'), row(3, 'c'), row(4, 'd')];
    const old = stateOf([['', a, b, c]], 1);
    same(checked(old, stateOf([['', a, b, c]], 2)), {
      total: 3, deletedRows: [], deletedSections: [], insertedSections: [], moves: [], insertedRows: [], updates: [],
      position: null,
    });
    const found = checked(old, stateOf([['', c, row(1, 'a', 7), d]], 2));
    same(found.deletedRows, [{ at: [0, 1], id: 2, reason: 'unmatched' }]);
    same(found.moves, [{ from: [0, 2], to: [0, 0] }]);
    same(found.insertedRows, [{ at: [0, 2], id: 4, values: ['d', null] }]);
    same(found.updates, [{ at: [0, 1], values: [{ property: 2, value: 7 }] }]);
  });

  test('equal values of other objects are no change', () => {
    const values = () => [[new NestDate(1), new Reference(2)], [new UUID('00'.repeat(16)), Uint8Array.of(1, 2)]];
    const [old, next] = [values(), values()];
    const states = [old, next].map(([one, other], at) => stateOf([['', row(1, ...one), row(2, ...other)]], at + 1));
    same(isNothing(difference(...states)), true);
    next[0][0] = new NestDate(2);
    next[1][1] = Uint8Array.of(1);
    const { updates } = checked(states[0], stateOf([['', row(1, ...next[0]), row(2, ...next[1])]], 2));
    same(updates.map(({ at, values: [{ property }] }) => [at, property]), [[[0, 0], 1], [[0, 1], 2]]);
  });

  test('sections come, go and exchange rows', () => {
    const [a, b, c] = [row(1, 'a'), row(2, 'b'), row(3, 'c')];
    const old = stateOf([['A', a], ['B', b, c]], 1);
    const found = checked(old, stateOf([[null, c], ['B', a], ['C', b]], 2));
    same([found.deletedSections, found.insertedSections.map(({ at, key }) => [at, key])], [[0], [[0, null], [2, 'C']]]);
    same(found.moves.map(({ from, to }) => [from, to]), [[[1, 1], [0, 0]], [[0, 0], [1, 0]], [[1, 0], [2, 0]]]);
    checked(old, stateOf([['B', b, c], ['A', a]], 2), 'another order of sections');
    checked(old, stateOf([], 2));
    checked(stateOf([], 1), old);
    // A number and a text are other keys.
    same(checked(stateOf([[1, a]], 1), stateOf([['1', a]], 2)).deletedSections, [0]);
    same(checked(stateOf([[1, a]], 1), stateOf([[1, a]], 2)).deletedSections, []);
  });

  test('random states: the difference applies, and moves as few rows as possible', () => {
    const random = generator(11);
    const keys = ['', 'A', 'B', 7, null];
    const shuffled = (all) => all.map((one) => [random(1000), one]).sort((x, y) => x[0] - y[0]).map(([, one]) => one);
    for (let round = 0; round < 2000; round += 1) {
      const all = Array.from({ length: 1 + random(9) }, (_, at) => row(at + 1, random(3)));
      const changed = () => {
        const rows = all.filter(() => random(5) > 0).map((one) => (random(4) ? one : row(one.id, random(3))));
        const ordered = random(3) ? rows : shuffled(rows);
        if (random(2)) return [['', ...ordered]];
        const sections = keys.map((key) => [key]);
        for (const one of ordered) sections[random(2) ? one.id % 5 : random(5)].push(one);
        return sections.filter(({ length }) => length > 1);
      };
      const [old, next] = [stateOf(changed(), 1), stateOf(changed(), 2)];
      same(checked(old, next, `round ${round}`).moves.length, leastMoves(old, next), `moves of round ${round}`);
    }
  });

  test('rows that are the same objects stay the same objects', () => {
    const rows = Array.from({ length: 50 }, (_, at) => row(at + 1, at));
    const old = stateOf([['', ...rows]], 1);
    const next = stateOf([['', ...rows.slice(1), rows[0]]], 2);
    const diff = { ...difference(old, next), from: 1, to: 2, digest: digest(next.sections) };
    same(diff.moves, [{ from: [0, 0], to: [0, 49] }]);
    applyDiff(old, diff).sections[0].rows.forEach((one, at) => same(one === next.sections[0].rows[at], true));
  });

  test('the differences of the vectors are as long as those of the server', () => {
    const state = ({ sections, window = null, ...rest }) => ({
      ...rest, position: window,
      sections: sections.map(({ key, rows }) => ({
        ...sectionKey(exactValue(key)), rows: rows.map(({ id, values }) => ({ id, values: values.map(rowValue) })),
      })),
    });
    const parts = ['deletedRows', 'deletedSections', 'insertedSections', 'moves', 'insertedRows', 'updates'];
    for (const { name, old, new: next, diff } of vectors.diffs.filter((one) => one.new)) {
      const found = difference(state(old), state(next));
      const applied = applyDiff(state(old), { ...found, from: diff.from, to: diff.to, digest: diff.digest });
      same(plain(applied), plain(state(next)), name);
      same(parts.map((part) => found[part].length), parts.map((part) => diff[part].length), name);
    }
  });

  test('a longest increasing subsequence is as long as the longest', () => {
    const random = generator(3);
    for (let round = 0; round < 500; round += 1) {
      const values = Array.from({ length: random(10) }, () => random(10));
      const found = longestIncreasing(values).map((index) => values[index]);
      same(found.every((value, at) => at === 0 || found[at - 1] < value), true);
      same(found.length, longest(values));
    }
  });
}
