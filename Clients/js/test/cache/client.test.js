// A client with a cache, as a program sees it; the test plays the server.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import test, { afterEach } from 'node:test';
import { IndexedDBCache, MemoryCache } from '../../cache.js';
import { identityOf } from '../../client/cache.js';
import { CACHE_READ_MS_MAX } from '../../machine/cache-limits.js';
import { optimistic } from '../../optimistic.js';
import { sha256 } from '../../wire/sha256.js';
import { Reference } from '../../wire/values.js';
import { OTHER_HISTORY, VIEW } from '../machine/server.js';
import { ENTITIES, Page, turn } from '../machine/page.js';

/** A client that is open would keep a failed test running. */
const open = [];
afterEach(() => {
  for (const nest of open.splice(0)) nest.close();
});

const titles = (state) => state.rows.map(({ title }) => title).join(' ');

/** A connected client with a cache and its items. */
async function connected(cache, options = {}) {
  const page = new Page();
  const nest = await page.connect({ cache, ...options });
  open.push(nest);
  return { page, nest, items: await nest.entity('Item') };
}

/** A server that cannot be reached until `reach` is called. */
async function offline(cache, options = {}) {
  const page = new Page();
  const reachable = page.platform.open;
  page.platform.open = (address, settings, events) => {
    page.attempts = (page.attempts ?? 0) + 1;
    queueMicrotask(() => events.closed(null));
    return { send() {}, close() {}, waiting: 0 };
  };
  const nest = await page.connect({ cache, reconnectPauseMax: 1, ...options });
  open.push(nest);
  const reach = async () => {
    page.platform.open = reachable;
    for (let turns = 0; nest.state.phase !== 'ready' && turns < 500; turns += 1) await turn();
    assert.equal(nest.state.phase, 'ready');
  };
  return { page, nest, reach };
}

const children = (items) => items.children(1).properties('title');

/** What a cache has after a client has shown a list of Milk and Bread. */
async function filled(cache = new MemoryCache(), options = {}, request = children) {
  const { page, nest, items } = await connected(cache, options);
  const list = nest.results(request(items));
  if (list.request.predicates.length > 0) await answerPredicate(page);
  await page.list([[2, 'Milk'], [3, 'Bread']]);
  assert.equal(list.status, 'live');
  nest.close();
  return cache;
}

const TRUE = new Uint8Array([1, 1]);

async function answerPredicate(page) {
  const { id } = await page.next('parsePredicate');
  page.reply('predicate', { predicate: TRUE }, id);
  await turn();
}

test('without a server a client shows names and lists, goes on to try, and then continues the lists', async () => {
  const cache = await filled();
  const { page, nest, reach } = await offline(cache);
  assert.deepEqual([nest.server, nest.state.phase], [null, 'connecting']);
  const items = await nest.entity('Item');
  const list = nest.results(items.children(1).properties('title'));
  const seen = [];
  list.subscribe(({ type, state }) => seen.push([type, list.status, state.isCurrent, titles(state)]));
  await turn();
  assert.deepEqual(seen, [['snapshot', 'cached', false, 'Milk Bread']]);
  const cached = list.state;
  await reach();
  assert.equal(nest.server.revision, 1);
  const { id, fields } = await page.next('subscribe');
  assert.equal(fields.resume.revision, 2);
  page.reply('subscribed', { view: VIEW, first: 'current', revision: 4, reason: '', projection: [1] }, id);
  await turn();
  assert.deepEqual(seen.at(-1), ['resumed', 'live', true, 'Milk Bread']);
  // A component that depends on the state is drawn again; its rows are the same.
  assert.notEqual(list.state, cached);
  assert.equal(list.state.rows[0], cached.rows[0]);
  page.insert(4, 5, 4, [4, 2, 3]);
  await turn();
  assert.deepEqual(seen.at(-1), ['diff', 'live', true, 't4 Milk Bread']);
  page.events.closed(null);
  await turn();
  assert.deepEqual(seen.at(-1), ['disconnected', 'disconnected', false, 't4 Milk Bread']);
});

test('a client whose cache has no model connects as without a cache', async () => {
  await assert.rejects(offline(new MemoryCache()), { code: 'CONNECTION_LOST' });
});

test('a loop gets the cached state first', async () => {
  const { nest } = await offline(await filled());
  const items = await nest.entity('Item');
  for await (const change of nest.results(items.children(1).properties('title'))) {
    assert.deepEqual([change.type, change.reason, titles(change.state)], ['snapshot', 'cache', 'Milk Bread']);
    break;
  }
});

test('predicates are known without a server, except those that name the time', async () => {
  const request = (items) => items.where('title != nil').properties('title');
  const cache = await filled(new MemoryCache(), {}, request);
  const { nest } = await offline(cache);
  const list = nest.results(request(await nest.entity('Item')));
  await turn();
  assert.equal(titles(list.state), 'Milk Bread');
  const { predicates } = await cache.model();
  assert.equal(predicates.length, 1);
  const other = new MemoryCache();
  await filled(other, {}, (items) => items.where('due > now').properties('title'));
  assert.deepEqual((await other.model()).predicates, []);
});

test('another token, another store: nothing is shown', async () => {
  const token = (secret) => `nest_1_${secret.repeat(32)}`;
  const options = (secret) => ({ token: token(secret), sendsTokenInClear: true });
  const cache = await filled(new MemoryCache(), options('ab'));
  const same = await offline(cache, options('ab'));
  const shown = same.nest.results((await same.nest.entity('Item')).children(1).properties('title'));
  await turn();
  assert.equal(titles(shown.state), 'Milk Bread');
  for (const other of [{}, options('cd'), { ...options('ab'), store: 'default' }]) {
    await assert.rejects(offline(cache, other), { code: 'CONNECTION_LOST' });
    const { page, nest, items } = await connected(cache, other);
    const list = nest.results(items.children(1).properties('title'));
    const { fields } = await page.next('subscribe');
    assert.deepEqual([fields.resume, list.status], [null, 'connecting']);
  }
});

test('an identity says token and store, as in the Swift client', () => {
  const secret = '0123456789abcdef'.repeat(4);
  const all = [{ token: null }, { token: null, store: 'a' }, { token: { secret } }, { token: { secret }, store: 'a' },
    { token: { secret: 'f'.repeat(64) } }].map(identityOf);
  assert.equal(new Set(all).size, all.length);
  // FNV-1a of two zero bytes.
  assert.equal(all[0], '08328807b4eb6fed');
  for (const size of [0, 1, 55, 56, 63, 64, 65, 1000]) {
    const bytes = new Uint8Array(randomBytes(size));
    const expected = createHash('sha256').update(bytes).digest('hex');
    assert.equal(Buffer.from(sha256(bytes)).toString('hex'), expected, `${size}`);
  }
});

test('a damaged entry, a damaged model and a cache that fails are as no cache', async () => {
  const request = (items) => items.children(1).properties('title');
  for (const damage of [
    (view) => ({ ...view, digest: '0000000000000001' }),
    (view) => ({ ...view, frames: view.frames.slice(0, 2) }),
    () => { throw new Error('the database is gone'); },
    () => 5,
    () => ({}),
  ]) {
    const cache = await filled();
    const view = cache.view.bind(cache);
    cache.view = async (key) => damage(await view(key));
    const { nest } = await offline(cache);
    const reported = [];
    const { reportError } = globalThis;
    globalThis.reportError = (error) => reported.push(error);
    try {
      const list = nest.results(request(await nest.entity('Item')));
      await turn();
      assert.deepEqual([list.status, list.state.rows], ['connecting', []]);
    } finally {
      globalThis.reportError = reportError;
    }
    cache.view = view;
  }
  const cache = await filled();
  const { model } = cache;
  cache.model = async () => {
    const found = await model.call(cache);
    return { ...found, bytes: found.bytes.map((byte, index) => (index === 9 ? byte ^ 1 : byte)) };
  };
  globalThis.reportError = () => {};
  try {
    await assert.rejects(offline(cache), { code: 'CONNECTION_LOST' });
  } finally {
    delete globalThis.reportError;
  }
});

test('the model of a server that has another one is the model of the next run', async () => {
  const cache = await filled();
  const { page, nest } = await connected(cache);
  page.entities = [...ENTITIES, { ...ENTITIES[1], number: 3, name: 'Errand', parent: null }];
  page.events.closed(null);
  for (let turns = 0; !nest.server || nest.knownModel.entities.length < 3; turns += 1) {
    assert.ok(turns < 500);
    await turn();
  }
  await turn();
  nest.close();
  const later = await offline(cache);
  assert.equal((await later.nest.entity('Errand')).name, 'Errand');
});

test('optimistic lists begin with the cached state, and show own writes over it', async () => {
  const cache = new MemoryCache();
  {
    const { page, nest, items } = await connected(cache);
    const list = await optimistic(nest).results(items.children(1).properties('title'));
    await turn();
    // The list asks for more than the program: what deciding needs.
    const { projection } = page.sent.find(({ name }) => name === 'subscribe').fields.request;
    const values = { 0: 1, 10: new Reference(1) };
    const row = (id, title) => [id, ...projection.map((number) => (number === 1 ? title : values[number] ?? null))];
    await page.list([row(2, 'Milk'), row(3, 'Bread')], { projection });
    assert.equal(titles(list.state), 'Milk Bread');
    nest.close();
  }
  const { page, nest, reach } = await offline(cache);
  const items = await nest.entity('Item');
  const local = optimistic(nest);
  const list = await local.results(items.children(1).properties('title'));
  await turn();
  assert.deepEqual([list.status, list.state.isCurrent, titles(list.state)], ['cached', false, 'Milk Bread']);
  const write = local.transaction('rename', (tx) => tx.update(items, 2, { title: 'Oat milk' }));
  write.done.catch(() => {});
  await turn();
  assert.deepEqual([titles(list.state), list.state.pendingOf(2), list.status], ['Oat milk Bread', 'queued', 'cached']);
  await reach();
  const { id, fields } = await page.next('subscribe');
  const { resume, request: { projection } } = fields;
  assert.equal(resume.revision, 2);
  page.reply('subscribed', { view: VIEW, first: 'current', revision: 2, reason: '', projection }, id);
  await turn();
  assert.deepEqual([list.status, list.state.isCurrent, titles(list.state)], ['live', true, 'Oat milk Bread']);
});

test('a write that was made over a cached state is not sent to a store with another history', async () => {
  const cache = await filled();
  const { page, nest, reach } = await offline(cache);
  const items = await nest.entity('Item');
  const list = nest.results(children(items));
  await turn();
  assert.equal(titles(list.state), 'Milk Bread');
  const local = optimistic(nest);
  const write = local.transaction('rename', (tx) => tx.update(items, 2, { title: 'Oat milk' }));
  // What was not sent can be undone and made again.
  local.undo();
  assert.equal(local.pending.length, 0);
  const again = local.redo();
  assert.deepEqual([write.state, again.state], ['refused', 'queued']);
  page.history = OTHER_HISTORY;
  await reach();
  await turn();
  assert.deepEqual([again.state, again.error?.code], ['parked', 'OUTCOME_UNKNOWN']);
  assert.deepEqual(page.sent.filter(({ name }) => name === 'transaction'), []);
  assert.deepEqual([list.status, list.state.isCurrent], ['loading', false]);
});

test('a cache that does not answer delays a client once', async () => {
  const cache = await filled();
  const { page, nest, items } = await connected(cache);
  cache.view = () => new Promise(() => {});
  const { setTimeout: real } = globalThis;
  let waits = 0;
  globalThis.setTimeout = (body, milliseconds, ...more) => {
    const isOfCache = milliseconds === CACHE_READ_MS_MAX;
    waits += isOfCache ? 1 : 0;
    return real(body, isOfCache ? 0 : milliseconds, ...more);
  };
  try {
    for (const parent of [1, 2]) {
      const list = nest.results(items.children(parent).properties('title'));
      const { fields } = await page.next('subscribe');
      assert.deepEqual([fields.request.source.object, list.status, waits], [parent, 'connecting', 1]);
    }
  } finally {
    globalThis.setTimeout = real;
  }
});

test('a list that is paused, closed or changed while the cache is read', async () => {
  const cache = await filled();
  const { nest } = await offline(cache);
  const items = await nest.entity('Item');
  const request = items.children(1).properties('title');
  const [paused, closed] = [nest.results(request), nest.results(request)];
  paused.pause();
  closed.close();
  await turn();
  assert.deepEqual([paused.status, titles(paused.state), paused.state.isCurrent], ['paused', 'Milk Bread', false]);
  assert.deepEqual([closed.status, closed.state.rows], ['ended', []]);
  paused.close();
});

test('what is no cache is refused', async () => {
  for (const cache of [{}, { model() {}, view() {}, record() {} }, 'lists']) {
    await assert.rejects(new Page().connect({ cache }), { code: 'INVALID' });
  }
  for (const options of [{}, { name: '' }, { name: 5 }, { name: 'a', byteCountMax: 'x' }, { name: 'a', size: 1 }]) {
    await assert.rejects(IndexedDBCache.open(options), { code: 'INVALID' });
  }
});

test('a platform without IndexedDB says so once, and the client works without', async () => {
  const faults = [];
  const cache = await IndexedDBCache.open({ name: 'lists', onFault: (error) => faults.push(error.code) });
  const { page, nest, items } = await connected(cache);
  const list = nest.results(items.children(1).properties('title'));
  await page.list([[2, 'Milk']]);
  assert.equal(titles(list.state), 'Milk');
  nest.close();
  await cache.clear();
  await cache.close();
  assert.deepEqual([faults, cache.fault.code], [['UNSUPPORTED'], 'UNSUPPORTED']);
});
