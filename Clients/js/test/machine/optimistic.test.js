// Reserved ids and places near a gap: what is sent, and what is refused before anything is.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Page } from './page.js';

test('ids are reserved, and a transaction inserts with them near a gap', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const reserving = nest.reserveIDs(3);
  const { id, fields } = await page.next('reserve');
  assert.deepEqual(fields, { count: 3 });
  page.reply('reserved', { first: 90, count: 3 }, id);
  const ids = await reserving;
  assert.deepEqual(ids, [90, 91, 92]);
  assert.ok(Object.isFrozen(ids));

  const sent = nest.transaction('drop', (tx) => {
    const list = tx.insert(items, { title: 'List' }, { id: ids[0] });
    tx.insert(items, { title: 'Milk' }, { id: ids[1], of: list, near: { left: { id: 7 }, right: list } });
    tx.move(items, 5, { of: list, near: { right: 6 } });
    tx.relate(items, 7, 'constructor', list, { near: { left: null, right: null } });
  });
  const { id: written, fields: { mutations } } = await page.next('transaction');
  assert.deepEqual(mutations.map((mutation) => Object.keys(mutation)[0]), ['insertAs', 'insertAs', 'move', 'relate']);
  assert.deepEqual([mutations[0].insertAs.object, mutations[0].insertAs.placements], [90, []]);
  const { object, placements } = mutations[1].insertAs;
  assert.deepEqual([object, placements], [91, [{ relationship: 10, owner: -1, place: { near: { left: 7, right: -1 } } }]]);
  assert.deepEqual(mutations[2].move.placement.place, { near: { left: null, right: 6 } });
  assert.deepEqual(mutations[3].relate.place, { near: { left: null, right: null } });
  const results = [{ first: 90, count: 2, isFound: false }];
  page.reply('receipt', { revision: 4, isChanged: true, isReplayed: false, results, name: 'drop' }, written);
  assert.equal((await sent).id(2), 91);
  nest.close();
});

test('mistakes with reserved ids and gaps are refused before anything is sent', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const steps = [
    // An id beyond those that were reserved must not become an insert without one.
    (tx) => tx.insert(items, {}, { id: [90][1] }), (tx) => tx.insert(items, {}, { id: null }),
    (tx) => tx.insert(items, {}, { id: '90' }), (tx) => tx.insert(items, {}, { id: 0 }),
    (tx) => tx.insert(items, {}, { id: 90, first: true }), (tx) => tx.findOrCreate(items, {}, {}, { id: 90, of: 1 }),
    (tx) => tx.move(items, 5, { of: 1, id: 90 }), (tx) => tx.move(items, 5, { of: 1, near: [6, 7] }),
    (tx) => tx.move(items, 5, { of: 1, near: { before: 6 } }), (tx) => tx.move(items, 5, { of: 1, near: { left: 0 } }),
    // What is no object must not become a place at the end.
    ...[7, 0, true, false, 'x', ''].flatMap((wrong) => [
      (tx) => tx.move(items, 5, { of: 1, near: wrong }), (tx) => tx.relate(items, 7, 'constructor', 5, { near: wrong }),
      (tx) => tx.insert(items, {}, wrong), (tx) => tx.findOrCreate(items, {}, {}, wrong),
    ]),
  ];
  for (const step of steps) await assert.rejects(nest.transaction('', step), { code: 'INVALID' }, String(step));
  for (const count of [0, -1, 1.5, NaN, '3', 3n, undefined]) {
    await assert.rejects(nest.reserveIDs(count), { code: 'INVALID' }, String(count));
  }
  await assert.rejects(nest.reserveIDs(65_537), { code: 'LIMIT_EXCEEDED' });
  await assert.rejects(nest.reserveIDs(3, { retries: 1 }), { code: 'INVALID' });
  assert.deepEqual(page.sent, []);
  nest.close();
});

test('an answer with another number of ids is a mistake of the server', async () => {
  const page = new Page();
  const nest = await page.connect();
  const reserving = nest.reserveIDs(3);
  page.reply('reserved', { first: 90, count: 2 }, (await page.next('reserve')).id);
  await assert.rejects(reserving, { code: 'PROTOCOL' });
  nest.close();
});
