// Totals of lists and answers: with the rows that they belong to, alone, with other requests, and wrong ones.

import assert from 'node:assert/strict';
import test from 'node:test';
import '../../machine/totals.js';
import { encodeFetchRequest } from '../../wire/request.js';
import { decode } from '../../wire/messages.js';
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { Page, turn } from './page.js';
import { positionOf, spec, VIEW, World } from './server.js';

const totals = [{ function: 'count', name: 'count' },
  { function: 'sum', path: { steps: [], leaf: 1, property: 5 }, name: 'sum(size)' }];
const last = (world, list) => world.changesOf(list).at(-1);
const plain = (record) => ({ ...record });
const send = (world, revision, isBeforeRows, values, sections = [], id = VIEW, flags = 0) =>
  world.reply('resultTotals', { revision, isBeforeRows, values, sections }, id, flags);

/** A world with a list of rows 2 and 3 at revision 2, and its totals. */
function live(fields = {}) {
  const world = new World();
  world.welcome();
  const request = spec({ totals, ...fields });
  const list = world.subscribe(request);
  world.subscribed();
  send(world, 2, true, [2, 7], [{ index: 0, values: [2, 7] }]);
  world.snapshot(2, [2, 3], { position: request.windowed ? positionOf(100, 10) : undefined });
  world.takeSent();
  return { world, list };
}

test('totals come with the snapshot and the diff that they precede, as one state', () => {
  const { world, list } = live();
  assert.deepEqual(plain(last(world, list).state.totals), { count: 2, 'sum(size)': 7 });
  assert.deepEqual(plain(last(world, list).state.sections[0].totals), { count: 2, 'sum(size)': 7 });
  const changes = world.changesOf(list).length;
  send(world, 3, true, [3, 2n ** 60n], [{ index: 0, values: [3, null] }]);
  assert.equal(world.changesOf(list).length, changes, 'nothing is shown before the rows are there');
  assert.equal(last(world, list).state.totals.count, 2);
  world.insert(2, 3, 4, [4, 2, 3]);
  assert.equal(last(world, list).change.type, 'diff');
  assert.deepEqual(plain(last(world, list).state.sections[0].totals), { count: 3, 'sum(size)': null });
  world.insert(3, 4, 5, [5, 4, 2, 3]);
  assert.equal(last(world, list).state.totals.count, 3, 'a diff without totals before it changes none');
});

test('totals that come alone change the state, and raise its revision', () => {
  const { world, list } = live({ window: { offset: 10, limit: 2 } });
  send(world, 9, false, [101, '1.50'], [{ index: 0, values: [101, '1.50'] }]);
  const change = last(world, list);
  assert.deepEqual([change.change.type, change.revision, change.state.revision], ['totals', 9, 9]);
  assert.deepEqual(plain(change.state.totals), { count: 101, 'sum(size)': '1.50' });
  const count = world.changesOf(list).length;
  send(world, 8, false, [5, 5]);
  assert.equal(world.changesOf(list).length, count, 'older ones are ignored');
});

test('totals of a diff that the state has already are forgotten', () => {
  const { world, list } = live();
  world.reply('progress', { revision: 7 });
  send(world, 5, true, [9, 9]);
  world.insert(2, 5, 4, [4, 2, 3]);
  world.insert(7, 8, 4, [4, 2, 3]);
  assert.equal(last(world, list).state.totals.count, 2);
});

test('a lost connection and a pause keep the totals with the rows', () => {
  const { world, list } = live();
  world.lose();
  world.reconnect();
  world.subscribed({ first: 'current', revision: 4 });
  assert.equal(last(world, list).change.type, 'resumed');
  assert.equal(last(world, list).state.totals.count, 2);
  send(world, 6, false, [2, 8]);
  assert.deepEqual([last(world, list).state.totals['sum(size)'], last(world, list).revision], [8, 6]);
  world.run((m) => list.pause(m, 'user'));
  world.run((m) => list.resume(m, 'user'));
  world.subscribed({ first: 'difference' });
  send(world, 8, true, [3, 9], [{ index: 0, values: [3, 9] }]);
  world.insert(6, 8, 4, [4, 2, 3]);
  assert.equal(last(world, list).state.totals.count, 3);
});

test('another request has other totals', () => {
  const { world, list } = live();
  const call = {};
  world.run((m) => list.changeTo(m, spec({ totals: totals.slice(1), source: null }), call));
  world.subscribed({ view: VIEW + 1, first: 'difference' });
  send(world, 2, true, [5], [{ index: 0, values: [5] }], VIEW + 1);
  world.insert(2, 2, 4, [4, 2, 3], { view: VIEW + 1 });
  assert.deepEqual(plain(last(world, list).state.totals), { 'sum(size)': 5 });
});

test('a list whose totals do not fit starts anew, without its state', () => {
  for (const wrong of [
    (world) => {
      send(world, 3, true, [1]);
      world.insert(2, 3, 4, [4, 2, 3]);
    },
    (world) => send(world, 3, false, [1]),
    (world) => {
      send(world, 4, true, [3, 3]);
      world.insert(2, 3, 4, [4, 2, 3]);
    },
    (world) => {
      send(world, 3, true, [3, 3], [{ index: 7, values: [3, 3] }]);
      world.insert(2, 3, 4, [4, 2, 3]);
    },
    (world) => send(world, 3, false, [3, 3], [{ index: 1, values: [3, 3] }]),
  ]) {
    const { world, list } = live();
    wrong(world);
    assert.equal(last(world, list).change.cause, 'mismatch');
    const { name, fields } = world.takeSent().at(-1);
    assert.deepEqual([name, fields.resume, world.closes], ['subscribe', null, 0]);
  }
});

test('the answer to a fetch has its totals', async () => {
  const page = new Page({ features: 0x407 });
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const reading = nest.fetch(items.properties('title').totals('count, sum( size )', 'max(parent.size)', 'count'));
  const { id, body } = await page.next('fetch');
  assert.deepEqual(decode('fetch', body).request.totals.map((one) => one.function), ['count', 'sum', 'max']);
  const values = [1, 2.5, null];
  page.reply('resultTotals', { revision: 2, isBeforeRows: true, values, sections: [{ index: 0, values }] }, id, 1);
  const sections = [{ ...sectionKey(''), rows: [{ id: 2 }] }];
  page.reply('snapshot', {
    reason: 'first', revision: 2, digest: digest(sections), sectionCount: 1, sections: [{ key: '', rowCount: 1 }],
    position: { total: 1, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null },
  }, id, 1);
  page.reply('snapshotRows', { rows: [{ id: 2, values: ['Milk'] }] }, id);
  const state = await reading;
  assert.deepEqual(plain(state.totals), { count: 1, 'sum(size)': 2.5, 'max(parent.size)': null });
  assert.deepEqual(plain(state.sections[0].totals), plain(state.totals));
  assert.ok(Object.isFrozen(state.totals));
  nest.close();
});

test('a text that is no total is refused with what to write, and so are totals of an earlier server', async () => {
  const nest = await new Page({ features: 0x407 }).connect();
  const items = await nest.entity('Item');
  for (const [text, code] of [['sum', 'INVALID'], ['size', 'INVALID'], ['median(size)', 'INVALID'],
    ['count, ', 'INVALID'],
    ['sum(nothing)', 'UNKNOWN_PROPERTY'], ['sum(children.size)', 'UNKNOWN_PROPERTY']]) {
    await assert.rejects(nest.fetch(items.totals(text)), { code }, text);
  }
  const many = Array.from({ length: 17 },
    (_, i) => `sum(${'parent.'.repeat(i % 8)}${i < 8 ? 'size' : i < 16 ? 'depth' : 'id'})`);
  await assert.rejects(nest.fetch(items.totals(...many)), { code: 'LIMIT_EXCEEDED' });
  assert.throws(() => items.totals('count').of(1, 'children'), { code: 'INVALID' });
  nest.close();
  const old = await new Page({ features: 7 }).connect();
  await assert.rejects(old.fetch((await old.entity('Item')).totals('count')), { code: 'UNSUPPORTED' });
  old.close();
  await turn();
});

test('a request without totals has the bytes that it had', () => {
  const { wire } = spec();
  assert.deepEqual(encodeFetchRequest({ ...wire, totals: undefined }), encodeFetchRequest(wire));
  assert.notDeepEqual(encodeFetchRequest({ ...wire, totals }), encodeFetchRequest(wire));
});
