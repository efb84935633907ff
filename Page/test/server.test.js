// What /server decides without a page: rates, drawings, orders, expiries, verdicts.

import assert from 'node:assert/strict';
import test from 'node:test';
import './modules.js';
import { drawn, HEIGHT, rate, SAMPLES_MAX, Series, WIDTH } from '../server/series.js';
import { behindText, expiryOf, expiryText, sorted, verdictOf, ways } from '../server/rules.js';

test('rates are growth in a second, and unknown after a restart', () => {
  assert.equal(rate(10, 35, 500), 50);
  assert.equal(rate(2n ** 60n, 2n ** 60n + 2048n, 1_000), 2048);
  for (const [before, after, time] of [[undefined, 5, 1_000], [5, undefined, 1_000], [10, 3, 1_000], [1, 2, 0]]) {
    assert.equal(rate(before, after, time), null);
  }
});

test('a series keeps its newest samples and its largest value', () => {
  const series = new Series();
  assert.deepEqual([series.last, series.max], [null, null]);
  for (let value = 0; value < SAMPLES_MAX + 10; value += 1) series.add(value === 5 ? 1_000 : value);
  assert.deepEqual([series.values.length, series.values[0], series.last, series.max],
    [SAMPLES_MAX, 10, SAMPLES_MAX + 9, SAMPLES_MAX + 9]);
  series.add(null);
  assert.equal(series.max, SAMPLES_MAX + 9);
});

test('a drawing ends at the right edge, stays inside, and leaves gaps', () => {
  const { line, area } = drawn([1, 2, null, 4]);
  assert.deepEqual(line.match(/M/g).length, 2);
  assert.deepEqual(area.match(/Z/g).length, 2);
  const points = [...line.matchAll(/(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
  assert.deepEqual(points.map(([x]) => x), [WIDTH - 3, WIDTH - 2, WIDTH]);
  for (const [, y] of points) assert.ok(y >= 0 && y <= HEIGHT);
  // The largest value is on top, and nothing at the bottom.
  assert.ok(points[2][1] < points[1][1] && points[1][1] < points[0][1]);
  assert.deepEqual(drawn([]), { line: '', area: '' });
  assert.deepEqual(drawn([null, null]), { line: '', area: '' });
  assert.ok(!drawn([0, 0]).line.includes('NaN'));
});

test('connections are sorted by each column, equal ones by number', () => {
  const one = (number, more) => ({
    number, user: null, userClaimed: false, session: number, name: 'nestc', address: '127.0.0.1:1', connectedAt: null,
    subscriptions: 0, requestsInFlight: 0, bytesQueued: 0, bytesIn: 0, bytesOut: 0, ...more,
  });
  const all = [
    one(1, { user: 'Bo', bytesQueued: 5 }), one(2, { user: 'ann' }), one(3, { bytesQueued: 9, subscriptions: 2 }),
  ];
  const numbers = (column, isDescending) => sorted(all, column, isDescending).map(({ number }) => number);
  assert.deepEqual(numbers('who', false), [2, 1, 3]);
  assert.deepEqual(numbers('queued', true), [3, 1, 2]);
  assert.deepEqual(numbers('subscriptions', false), [1, 2, 3]);
  assert.deepEqual(numbers('subscriptions', true), [3, 1, 2]);
  assert.deepEqual(all.map(({ number }) => number), [1, 2, 3], 'the list itself stays as it is');
  for (const column of ['client', 'address', 'since', 'inFlight', 'received', 'sent']) {
    assert.deepEqual(numbers(column, true), [1, 2, 3], column);
  }
});

test('a token expires when the choice says', () => {
  const now = new Date(2026, 10, 26, 12).getTime();
  assert.equal(expiryOf('never', '', now), null);
  assert.equal(expiryOf('30', '', now).getTime(), now + 30 * 86_400_000);
  // A day is over when it is over here.
  assert.equal(expiryOf('date', '2026-12-31', now).getTime(), new Date(2026, 11, 31, 23, 59, 59).getTime());
  const expires = (time) => ({ expires: { microseconds: time * 1_000 } });
  assert.deepEqual([expiryText({ expires: null }, now), expiryText(expires(now - 1), now),
    expiryText(expires(now + 2 * 86_400_000), now)], ['never', 'has expired', 'in 2 days']);
});

test('a token can be confined along a to-many relationship of an entity to itself', () => {
  const model = { entities: [
    { number: 1, name: 'Item', relationships: [
      { name: 'parent', isToMany: false, destination: 1 }, { name: 'children', isToMany: true, destination: 1 },
      { name: 'notes', isToMany: true, destination: 2 },
    ] },
    { number: 2, name: 'Note', relationships: [] },
  ] };
  assert.deepEqual(ways(model), [{ entity: 'Item', relationship: 'children' }]);
});

test('a comparison of stores waits for every node that lives, and sees one that differs at once', () => {
  const node = (id, role = 'follower') => ({ id, role });
  const status = (nodes, ...found) => ({ nodes, verifications: found.map(([id, digest]) => ({ node: id, digest })) });
  const three = [node('a', 'leader'), node('b'), node('c')];
  assert.equal(verdictOf(status(three, ['a', 'x'], ['b', 'x'])), 'waiting');
  assert.equal(verdictOf(status(three, ['a', 'x'], ['b', 'x'], ['c', 'x'])), 'equal');
  assert.equal(verdictOf(status(three, ['a', 'x'], ['b', 'y'])), 'different');
  assert.equal(verdictOf(status([node('a', 'leader'), node('b', 'stopped')], ['a', 'x'])), 'equal');
  assert.deepEqual([behindText({ position: null }, 9), behindText({ position: 9 }, 9), behindText({ position: 7 }, 9),
    behindText({ position: 10 }, 9)], ['not known', 'nothing', '2 records', 'nothing']);
});
