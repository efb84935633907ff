import assert from 'node:assert/strict';
import test from 'node:test';
import { NestError } from '../../wire/errors.js';
import { start } from '../../client/connect.js';
import { readToken } from '../../client/token.js';
import { Queue } from '../../client/queue.js';
import * as cluster from '../../machine/cluster.js';
import { FetchRequest } from '../../client/requests.js';
import { Page, turn } from './page.js';

const never = async (promise) => {
  const settled = promise.then(() => false, () => false);
  return Promise.race([settled, turn().then(turn).then(() => true)]);
};

/** A client with a list of two rows. */
async function withList(options) {
  const page = new Page();
  const nest = await page.connect(options);
  const items = await nest.entity('Item');
  const list = nest.results(items.properties('title'));
  await page.list([[2, 'Milk'], [3, 'Eggs']]);
  return { page, nest, items, list };
}

test('an entity is no promise, whatever its relationships are called', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  assert.ok(items instanceof FetchRequest);
  assert.equal(/** @type {any} */ (items).then, undefined);
  assert.equal((await items), items);
  assert.equal(items.constructor.name, 'Entity');
  assert.equal(items.nest_inverse_1, undefined);
  assert.deepEqual(items.children(7).source, { object: 7, relationship: 11 });
  assert.deepEqual(items.of({ id: 7 }, 'then').source, { object: 7, relationship: 12 });
  assert.throws(() => items.of(7, 'parent'), { code: 'UNKNOWN_PROPERTY' });
  await assert.rejects(nest.entity('Nothing'), { code: 'UNKNOWN_ENTITY' });
  nest.close();
});

test('requests are immutable, and every change keeps their methods', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const request = items.children(1).where('done == NO').sorted('title:cd', '-size').properties('title', 'parent.title')
    .window(0, 50);
  const other = request.with({ shownWindow: null });
  assert.equal(request.shownWindow.limit, 50);
  assert.equal(other.where('x == 1').predicates.length, 2);
  assert.ok(Object.isFrozen(request) && Object.isFrozen(other));
  assert.throws(() => {
    /** @type {any} */ (request).sort = [];
  }, TypeError);
  assert.deepEqual(request.lowered().wire, {
    entity: 1, source: { object: 1, relationship: 11 }, projection: [1, 65280],
    columns: [{ steps: [10], leaf: 1, property: 1, type: 'string' }],
    sort: [
      { path: { steps: [], leaf: 1, property: 1, type: 'string' }, descending: false, folding: 3 },
      { path: { steps: [], leaf: 1, property: 5, type: 'double' }, descending: true, folding: 0 },
    ],
    section: null, window: { offset: 0, limit: 50 },
  });
  assert.deepEqual(items.sorted('order').sort, [{ order: true, descending: false, folding: 0 }]);
  assert.deepEqual(items.columns('children.@count').lowered().wire.projection, [0, 1, 2, 3, 4, 5, 6, 7, 10, 65280]);
  const sectioned = items.section('title', 'firstCharacter');
  assert.equal(sectioned.sort.length, 1);
  assert.deepEqual(items.columns('parent.children.@max.title').lowered().wire.columns, [
    { steps: [10], leaf: 3, function: 3, property: 11, attribute: 1 },
  ]);
  const wrongFunctions = ['children.@max', 'parent.@max.title', 'children.@max.nothing',
    '@max.title', 'children.@max.title.x', 'title.@max.title'];
  for (const wrong of ['nothing', 'title.x', 'children', 'parent.@count', 'title:x', ...wrongFunctions]) {
    assert.throws(() => items.sorted(wrong), NestError, wrong);
  }
  assert.throws(() => items.window(-1, 5), { code: 'INVALID' });
  nest.close();
});

test('rows have names, also those that are traps, and are frozen', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const list = nest.results(items.properties('title', 'id', '__proto__'));
  await page.list([[2, 'Milk', 77, 'trap']], { projection: [1, 3, 4] });
  const [row] = list.state.rows;
  assert.deepEqual([row.id, row.title], [2, 'Milk']);
  assert.deepEqual(['id', '__proto__', 'constructor'].map((name) => row.get(name)), [77, 'trap', undefined]);
  assert.equal(JSON.stringify(row), '{"title":"Milk","id":2,"__proto__":"trap"}');
  const { state } = list;
  const all = [state, state.sections, state.sections[0], state.rows, row, row.values];
  assert.deepEqual(all.map(Object.isFrozen), all.map(() => true));
  assert.equal(state.rows, state.sections[0].rows);
  assert.equal(state.sections[0].at(0), row);
  nest.close();
});

test('rows that a diff leaves as they are stay the same objects; getSnapshot changes only with the state', async () => {
  const { page, list, nest } = await withList();
  const before = list.getSnapshot();
  const [milk] = before.rows;
  let calls = 0;
  const end = list.subscribe(() => calls++);
  page.reply('progress', { revision: 9 });
  await turn();
  assert.equal(list.getSnapshot(), before);
  assert.deepEqual([list.revision, calls], [9, 0]);
  page.insert(2, 10, 4, [4, 2, 3]);
  await turn();
  assert.equal(calls, 1);
  assert.deepEqual(list.state.rows.map(({ title }) => title), ['t4', 'Milk', 'Eggs']);
  assert.equal(list.state.rows[1], milk);
  assert.deepEqual(before.rows.map(({ title }) => title), ['Milk', 'Eggs'], 'an old state never changes');
  end();
  page.insert(10, 11, 5, [5, 4, 2, 3]);
  await turn();
  assert.equal(calls, 1);
  nest.close();
});

test('a loop gets every change with the state after it, from the state that the list has', async () => {
  const { page, list, nest } = await withList();
  const seen = [];
  const loop = (async () => {
    for await (const change of list) seen.push([change.type, change.state.rows.map(({ id }) => id).join()]);
    seen.push(['end']);
  })();
  page.insert(2, 3, 4, [4, 2, 3]);
  page.insert(3, 4, 5, [5, 4, 2, 3]);
  await turn();
  list.close();
  await loop;
  assert.deepEqual(seen, [['snapshot', '2,3'], ['diff', '4,2,3'], ['diff', '5,4,2,3'], ['end']]);
  nest.close();
});

test('all consumers wake at the end of a list, and later ones are done at once', async () => {
  for (const error of [null, 'SCHEMA_CHANGED']) {
    const { page, list, nest } = await withList();
    const iterators = [list[Symbol.asyncIterator](), list[Symbol.asyncIterator]()];
    for (const iterator of iterators) await iterator.next();
    const waiting = iterators.flatMap((iterator) => [iterator.next(), iterator.next()]);
    if (error) page.reply('subscriptionEnd', { code: error, message: 'x' }, 0x80000005);
    else list.close();
    const results = await Promise.allSettled(waiting);
    assert.deepEqual(results.map(({ status }) => status), error
      ? ['rejected', 'fulfilled', 'rejected', 'fulfilled'] : ['fulfilled', 'fulfilled', 'fulfilled', 'fulfilled']);
    assert.equal(list.status, 'ended');
    assert.equal(list.error?.code, error ?? undefined);
    for (const iterator of [...iterators, list[Symbol.asyncIterator]()]) {
      assert.deepEqual(await iterator.next(), { done: true, value: undefined });
    }
    for await (const change of list) assert.fail(change.type);
    nest.close();
  }
});

test('close() ends every loop as done, and fails every request with its code', async () => {
  const { nest, list, items } = await withList();
  const feed = nest.changes();
  const undo = await nest.undoStates();
  const waiting = [list[Symbol.asyncIterator](), feed[Symbol.asyncIterator](), undo[Symbol.asyncIterator]()];
  await waiting[0].next();
  const ends = waiting.map((iterator) => iterator.next());
  const calls = Promise.allSettled(
    [nest.fetch(items), nest.undo(), nest.ping(), list.change(items.properties('done'))]);
  await turn();
  nest.close();
  for (const end of ends) assert.equal((await end).done, true);
  const codes = (await calls).map((end) => end.reason?.code ?? end.value);
  assert.deepEqual(codes, ['CLOSED', 'OUTCOME_UNKNOWN', 'CLOSED', false]);
  assert.deepEqual([list.status, list.error, undo.isEnded, undo.error], ['ended', null, true, null]);
  for (const iterator of waiting) assert.equal((await iterator.next()).done, true);
  await assert.rejects(nest.fetch(items), { code: 'CLOSED' });
  for (const late of [nest.results(items), nest.changes(), await nest.undoStates()]) {
    assert.equal((await late[Symbol.asyncIterator]().next()).done, true);
  }
  assert.equal(nest.state.phase, 'closed');
});

test('a client that the server has ended ends its loops with the error', async () => {
  const { page, nest, list } = await withList();
  const iterators = [list, nest.changes(), await nest.undoStates()].map((one) => one[Symbol.asyncIterator]());
  await iterators[0].next();
  const ends = iterators.map((iterator) => iterator.next());
  await turn();
  page.error('TOKEN_EXPIRED', 0);
  const codes = (await Promise.allSettled(ends)).map((end) => end.reason?.code);
  assert.deepEqual(codes, Array(3).fill('TOKEN_EXPIRED'));
  assert.equal(list.error.code, 'TOKEN_EXPIRED');
  nest.close();
});

test('a change of a list that is closed meanwhile is false, with close() at each moment', async () => {
  for (const wait of [0, 1, 3]) {
    const { nest, list, items } = await withList();
    const change = list.change(items.where('done == NO'));
    for (let i = 0; i < wait; i++) await turn();
    list.close();
    assert.equal(await change, false);
    assert.equal(await list.change(items), false);
    nest.close();
  }
});

test('where asks the server once for each text, and joins several', async () => {
  const page = new Page();
  const nest = await page.connect({ zone: 'Europe/Berlin' });
  const items = await nest.entity('Item');
  const typed = 'a" OR "1" == "1';
  const request = items.where('done == NO').where`title == ${typed}`;
  const fetches = [nest.fetch(request), nest.fetch(request)];
  const [first, second] = [await page.next('parsePredicate'), await page.next('parsePredicate')];
  assert.deepEqual(first.fields, { entity: 1, text: 'done == NO', now: 0, zone: 'Europe/Berlin' });
  assert.equal(second.fields.text, 'title == "a\\" OR \\"1\\" == \\"1"');
  page.reply('predicate', { predicate: Uint8Array.of(1, 0) }, first.id);
  page.reply('predicate', { predicate: Uint8Array.of(3, 1, 1, 5, 2) }, second.id);
  const { fields } = await page.next('fetch');
  assert.deepEqual([...fields.request.predicate], [5, 0, 1, 1, 5, 2, 4, 2]);
  assert.equal(page.sent.filter(({ name }) => name === 'parsePredicate').length, 0);
  const wrong = nest.fetch(items.where('done ='));
  page.error('INVALID_PREDICATE', (await page.next('parsePredicate')).id);
  await assert.rejects(wrong, { code: 'INVALID_PREDICATE', column: 5 });
  for (let i = 0; i < 2; i++) {
    nest.fetch(items.where('due < Tomorrow')).catch(() => {});
    page.reply('predicate', { predicate: Uint8Array.of(0) }, (await page.next('parsePredicate')).id);
  }
  nest.close();
  await Promise.allSettled(fetches);
});

test('a refused change leaves the request; a newer one replaces one that is still parsed', async () => {
  const { page, list, nest, items } = await withList();
  const old = list.request;
  const refused = list.change(items.where('x == 1'));
  page.error('INVALID_PREDICATE', (await page.next('parsePredicate')).id);
  await assert.rejects(refused, { code: 'INVALID_PREDICATE' });
  assert.equal(list.request, old);
  const first = list.change(items.where('done == NO'));
  const second = list.change(items.properties('title').sorted('title'));
  const { id, fields } = await page.next('resubscribe');
  assert.equal(fields.request.sort.length, 1);
  page.reply('predicate', { predicate: Uint8Array.of(0) }, (await page.next('parsePredicate')).id);
  assert.equal(await first, false);
  page.reply('subscribed', { view: 0x80000009, first: 'current', revision: 2, reason: '', projection: [1] }, id);
  assert.equal(await second, true);
  assert.deepEqual(list.request.sort.length, 1);
  assert.equal(page.sent.length, 0);
  nest.close();
});

test('a loop that is slow pauses its own list, and resumes when it has caught up', async () => {
  const { page, list, nest } = await withList();
  const iterator = list[Symbol.asyncIterator]();
  const ids = [2, 3];
  for (let row = 4, at = 2; !page.sent.some(({ name }) => name === 'unsubscribe'); row++, at++) {
    ids.unshift(row);
    page.insert(at, at + 1, row, ids);
    if (row % 20 === 0) await turn();
    assert.ok(row < 20_000, 'it is never paused');
  }
  page.reply('done', {}, (await page.next('unsubscribe')).id);
  let count = 0;
  while (!page.sent.some(({ name }) => name === 'subscribe')) {
    await iterator.next();
    count++;
  }
  assert.ok(count > 50);
  const { fields } = await page.next('subscribe');
  assert.equal(fields.resume.revision, list.revision);
  nest.close();
});

test('an aborted request is cancelled at the server, and later answers are ignored', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const controller = new AbortController();
  const fetch = nest.fetch(items, { signal: controller.signal });
  const { id } = await page.next('fetch');
  controller.abort();
  await assert.rejects(fetch, { code: 'CANCELLED' });
  assert.equal((await page.next('cancel')).id, id);
  await assert.rejects(nest.fetch(items, { signal: controller.signal }), { code: 'CANCELLED' });
  nest.close();
});

test('a request ends after its time', async () => {
  const page = new Page();
  const nest = await page.connect({ requestTimeout: 1 });
  await assert.rejects(nest.undo(), { code: 'OUTCOME_UNKNOWN' });
  nest.close();
});

test('a transaction sends its steps in order, with a key, and its receipt has the ids', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  let list;
  let milk;
  const sent = nest.transaction('shop', (tx) => {
    list = tx.insert(items, { title: 'List', size: 2 }, { of: 1 });
    milk = tx.insert(items, { title: 'Milk', parent: list, due: new Date(5) });
    tx.move(items, milk, { of: list, before: 9 });
    tx.update(items, { id: 7 }, { done: true, parent: null });
    tx.relate(items, 7, 'constructor', milk, { first: true });
    tx.setRelated(items, 7, 'then', [milk, 8]);
    tx.unrelate(items, 7, 'then', 8);
    tx.findOrCreate(items, { title: 'x' }, { done: false });
    tx.expect(7, 3);
    tx.delete(8);
  }, { coalescing: { key: '7.title', milliseconds: 1_500 } });
  const { id, fields } = await page.next('transaction');
  assert.equal(fields.key, '07'.repeat(16));
  assert.deepEqual(fields.preconditions, [{ object: 7, revision: 3 }]);
  assert.deepEqual(fields.mutations.map((mutation) => Object.keys(mutation)[0]), [
    'insert', 'insert', 'move', 'update', 'relate', 'setRelated', 'unrelate', 'findOrCreate', 'delete',
  ]);
  assert.deepEqual(fields.mutations[0].insert.placements, [{ relationship: 10, owner: 1, place: 'last' }]);
  assert.deepEqual(fields.mutations[1].insert.values[1], { property: 10, reference: -1 });
  const placement = { relationship: 10, owner: -1, place: { before: 9 } };
  assert.deepEqual(fields.mutations[2].move, { object: -2, placement });
  const results = [{ first: 90, count: 2, isFound: false }, { first: 5, count: 1, isFound: true }];
  page.reply('receipt', { revision: 4, isChanged: true, isReplayed: false, results, name: 'shop' }, id);
  const receipt = await sent;
  assert.deepEqual([receipt.id(list), receipt.id(milk), receipt.result(3)], [90, 91, { id: 5, isFound: true }]);
  assert.throws(() => receipt.id(4), { code: 'INVALID' });
  await assert.rejects(nest.transaction('', (tx) => tx.update(items, milk, {})), { code: 'INVALID' });
  await assert.rejects(nest.transaction('', (tx) => tx.insert(items, { children: 1 })), { code: 'INVALID' });
  nest.close();
});

test('a group is ended, also when its body fails', async () => {
  const page = new Page();
  const nest = await page.connect();
  const group = nest.group('tidy', async () => 5);
  page.reply('group', { number: 300 }, (await page.next('beginGroup')).id);
  page.reply('done', {}, (await page.next('endGroup')).id);
  assert.equal(await group, 5);
  const failed = nest.group('tidy', async () => {
    throw new Error('no');
  });
  page.reply('group', { number: 301 }, (await page.next('beginGroup')).id);
  await assert.rejects(failed, /no/);
  await page.next('endGroup');
  nest.close();
});

test('changes have names, and the point where another run continues', async () => {
  const page = new Page();
  const nest = await page.connect();
  const feed = nest.changes({ entities: ['Item'] });
  const { id, fields } = await page.next('subscribeChanges');
  assert.deepEqual(fields.entities, [1]);
  page.reply('subscribed', { view: 0x80000006, first: 'current', revision: 4, reason: '', projection: [] }, id);
  page.reply('changeSet', {
    revision: 6, time: 5, sessionNumber: 2, kind: 'write', reverted: null, name: 'x', place: 8, user: 'ann',
    objects: [{ change: 'updated', entity: 1, id: 7, properties: [1, 10] }],
  }, 0x80000006);
  assert.equal((await feed.next()).value.type, 'following');
  const { value } = await feed.next();
  assert.deepEqual(value.objects, [{ change: 'updated', entity: 'Item', id: 7, properties: ['title', 'parent'] }]);
  assert.deepEqual([value.user, value.isLast, value.at.revision, value.at.place], ['ann', false, 5, 8]);
  page.reply('progress', { revision: 9 });
  for await (const change of feed) {
    assert.equal(change.type, 'progress');
    break;
  }
  await page.next('unsubscribe');
  assert.equal((await feed.next()).done, true);
  nest.close();
});

test('a mistake in a function of the program does no harm', async () => {
  const { page, list, nest } = await withList();
  const mistakes = [];
  globalThis.reportError = (error) => mistakes.push(error.message);
  list.subscribe(() => {
    throw new Error('mine');
  });
  page.insert(2, 3, 4, [4, 2, 3]);
  await turn();
  assert.deepEqual(mistakes, ['mine']);
  assert.equal(list.state.rows.length, 3);
  nest.close();
  delete globalThis.reportError;
});

test('hidden pages pause their lists, also new ones', async () => {
  const { page, list, nest, items } = await withList();
  nest.setHidden(true);
  await page.next('unsubscribe');
  assert.equal(list.status, 'paused');
  const other = nest.results(items.properties('done'));
  await turn();
  assert.equal(other.status, 'paused');
  assert.equal(page.sent.length, 0);
  nest.setHidden(false);
  await page.next('subscribe');
  await page.next('subscribe');
  nest.close();
});

test('a queue counts what waits, and tells when it is full and empty', async () => {
  const told = [];
  let bytes = 0;
  const queue = new Queue({ onBytes: (more) => (bytes += more), onFull: (isFull) => told.push(isFull) });
  for (let i = 0; i < 3; i++) queue.push({ type: 'diff' }, 400_000);
  assert.deepEqual(told, [true]);
  await queue.next();
  await queue.next();
  assert.deepEqual(told, [true]);
  await queue.next();
  assert.deepEqual([told, bytes], [[true, false], 0]);
  queue.push({ type: 'progress', n: 1 });
  queue.push({ type: 'progress', n: 2 });
  assert.equal((await queue.next()).value.n, 2);
  assert.ok(await never(queue.next()));
});

test('tokens, sessions and lists of servers are checked before anything is sent', async () => {
  const secret = 'ab'.repeat(32);
  assert.deepEqual(readToken(` nest_7_${secret}\n`), { number: 7, secret });
  const tooLarge = `nest_99999999999999999_${secret}`;
  for (const wrong of ['', `nest_0_${secret}`, `nest_7_${secret}a`, tooLarge, `x_7_${secret}`]) {
    assert.throws(() => readToken(wrong), (error) => error.code === 'INVALID' && !error.message.includes(secret));
  }
  const { platform } = new Page();
  await assert.rejects(start(platform, [], {}), { code: 'INVALID' });
  await assert.rejects(start({ ...platform, cluster }, Array(33).fill('a'), {}), { code: 'INVALID' });
  await assert.rejects(start(platform, ['a'], { session: 'short' }), { code: 'INVALID' });
  await assert.rejects(start(platform, ['a'], { user: 'x'.repeat(257) }), { code: 'INVALID' });
});
