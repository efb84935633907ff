// The undo state of a client with a cache, and outlines as a program sees them; the test plays the server.

import assert from 'node:assert/strict';
import test, { afterEach } from 'node:test';
import { MemoryCache } from '../../cache.js';
import { UNDO_STATE_KEY } from '../../client/cached-undo.js';
import '../../wire/messages-outline.js';
import { optimistic } from '../../optimistic.js';
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { Reference } from '../../wire/values.js';
import { Page, turn } from '../machine/page.js';
import { OTHER_HISTORY, VIEW } from '../machine/server.js';

const open = [];
afterEach(() => {
  for (const nest of open.splice(0)) nest.close();
});

const SESSION = '0f'.repeat(16);
const STATE = {
  undo: { revision: 5, transactionCount: 1, name: 'move "Milk"' }, redo: null, undoCount: 3, redoCount: 0,
  blockedCount: 0, droppedCount: 0, group: 4,
};
const SHOWN = { ...STATE, group: null };
const NEXT = { ...STATE, undo: null, redo: STATE.undo, undoCount: 0, redoCount: 1 };
const NOTHING = { ...SHOWN, undo: null, undoCount: 0 };

/** Modules are loaded meanwhile. */
async function until(isSo) {
  for (const end = Date.now() + 20_000; Date.now() < end; await turn()) if (isSo()) return;
  assert.fail('it did not happen');
}

async function connected(cache, options = {}) {
  const page = new Page();
  if (options.history) page.history = options.history;
  const nest = await page.connect({ cache, session: SESSION, ...options.settings });
  open.push(nest);
  return { page, nest };
}

/** A run whose server cannot be reached until `reach` is called. */
async function offline(cache, { session = SESSION, history } = {}) {
  const page = new Page();
  if (history) page.history = history;
  const reachable = page.platform.open;
  page.platform.open = (address, settings, events) => {
    queueMicrotask(() => events.closed(null));
    return { send() {}, close() {}, waiting: 0 };
  };
  const nest = await page.connect({ cache, session, reconnectPauseMax: 1 });
  open.push(nest);
  const reach = () => {
    page.platform.open = reachable;
    return until(() => nest.state.phase === 'ready');
  };
  return { page, nest, reach };
}

/** What a cache has after a client has followed the undo state. */
async function filled(cache = new MemoryCache()) {
  const { page, nest } = await connected(cache);
  await nest.model();
  const states = await nest.undoStates();
  const { id, fields } = await page.next('getUndoState');
  assert.equal(fields.follows, true);
  page.reply('undoState', STATE, id);
  await until(() => states.state);
  assert.deepEqual(states.state, STATE);
  nest.close();
  return cache;
}

test('the undo state of the last run is there at once, until the server has sent it', async () => {
  const cache = await filled();
  const { page, nest, reach } = await offline(cache);
  const states = await nest.undoStates();
  assert.deepEqual(states.state, SHOWN);
  assert.ok(Object.isFrozen(states.state));
  const first = await states[Symbol.asyncIterator]().next();
  assert.deepEqual(first.value, SHOWN);
  const seen = [];
  states.subscribe((state) => seen.push(state.redo?.name));
  await reach();
  const { id } = await page.next('getUndoState');
  page.reply('undoState', NEXT, id);
  await until(() => states.state.redo);
  assert.deepEqual(seen, ['move "Milk"']);
  nest.close();
  const again = await offline(cache);
  assert.deepEqual((await again.nest.undoStates()).state, { ...NEXT, group: null });
});

test('a push is kept, and one without a change is not written again', async () => {
  const cache = await filled();
  const { page, nest } = await connected(cache);
  const states = await nest.undoStates();
  const { id } = await page.next('getUndoState');
  let count = 0;
  const record = cache.record.bind(cache);
  cache.record = (changes) => {
    count += changes.filter(({ view }) => view?.request === UNDO_STATE_KEY).length;
    record(changes);
  };
  page.reply('undoState', NEXT, id);
  page.reply('undoState', NEXT);
  page.reply('undoState', NOTHING);
  await until(() => states.state.undoCount === 0 && !states.state.redo);
  assert.equal(count, 2);
});

test('the undo state of another session, or of a store with another history, is not shown', async () => {
  const cache = await filled();
  const other = await offline(cache, { session: '0e'.repeat(16) });
  assert.equal((await other.nest.undoStates()).state, null);
  assert.equal(await cache.view(UNDO_STATE_KEY), null);

  const { nest, reach } = await offline(await filled(cache), { history: OTHER_HISTORY });
  const states = await nest.undoStates();
  assert.deepEqual(states.state, SHOWN);
  await reach();
  await until(() => states.state.undo === null);
  assert.deepEqual(states.state, NOTHING);
  assert.equal(await cache.view(UNDO_STATE_KEY), null);

  const late = await connected(await filled(cache), { history: OTHER_HISTORY });
  assert.equal((await late.nest.undoStates()).state, null);
});

test('a damaged undo state is dropped', async () => {
  const cache = await filled();
  const view = await cache.view(UNDO_STATE_KEY);
  const [frame] = view.frames;
  for (const change of [{ frames: [] }, { frames: [frame, frame] }, { digest: '0'.repeat(16) },
    { frames: [{ type: 0x33, body: frame.body }] }, { frames: [{ ...frame, body: frame.body.slice(1) }] }]) {
    cache.record([{ type: 'replace', view: { ...view, ...change } }]);
    const { nest } = await offline(cache);
    assert.equal((await nest.undoStates()).state, null);
    assert.equal(await cache.view(UNDO_STATE_KEY), null);
    nest.close();
  }
});

test('everything is forgotten when the user signs out', async () => {
  const cache = await filled();
  await cache.clear();
  assert.equal(await cache.view(UNDO_STATE_KEY), null);
});

// MARK: Outlines

const row = (id, title, children, depth) => ({ id, values: [title, children, depth] });
const PROJECTION = [1, 65534, 65535];
const FIRST = [row(2, 'Milk', 1, 0), row(4, 'Soy', -1, 1), row(3, 'Eggs', -3, 0)];
const digestOf = (rows) => digest([{ ...sectionKey(''), rows }]);
const shown = ({ rows }) => rows.map(({ title, depth, isExpanded, children }) =>
  `${'.'.repeat(depth)}${title}${children > 0 ? (isExpanded ? '-' : '+') : ''}`).join(' ');

/** Answers the next SUBSCRIBE with rows. */
async function answer(page, rows, projection = PROJECTION, revision = 5) {
  const { id, fields } = await page.next('subscribe');
  page.reply('subscribed', { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection }, id);
  page.reply('snapshot', {
    reason: 'first', revision, digest: digestOf(rows), sectionCount: 1, sections: [{ key: '', rowCount: rows.length }],
    position: { total: rows.length, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null },
  }, VIEW, 1);
  page.reply('snapshotRows', { rows }, VIEW);
  await turn();
  return fields.request;
}

/** What a cache has after a client has unfolded row 2. */
async function outlined(cache = new MemoryCache()) {
  const { page, nest } = await connected(cache);
  const items = await nest.entity('Item');
  const outline = await nest.outline(items.children(1).properties('title'));
  await answer(page, FIRST);
  const unfolded = outline.setExpanded(2, true);
  page.reply('done', {}, (await page.next('setExpanded')).id);
  await unfolded;
  assert.deepEqual([outline.status, outline.state.isCurrent], ['live', true]);
  nest.close();
  return cache;
}

test('an outline shows its last rows without a server, and then gets the difference with its runs', async () => {
  const { page, nest, reach } = await offline(await outlined());
  const items = await nest.entity('Item');
  const outline = await nest.outline(items.children(1).properties('title'));
  const seen = [];
  outline.subscribe(({ type, reason, runs, state }) =>
    seen.push([type, reason, outline.status, state.isCurrent, runs?.length]));
  await until(() => seen.length > 0);
  assert.deepEqual(seen, [['snapshot', 'cache', 'cached', false, undefined]]);
  assert.equal(shown(outline.state), 'Milk- .Soy Eggs+');
  assert.deepEqual(outline.folds, { expand: 'none', except: [2], set: [] });
  const [milk] = outline.state.rows;
  await reach();
  const request = await answer(page, [row(2, 'Milk', 1, 0), row(4, 'Oat', -1, 1)], PROJECTION, 9);
  assert.deepEqual(request.outline, { expansion: 'none', exceptions: [2] });
  await until(() => outline.state.isCurrent);
  assert.deepEqual(seen.slice(1), [
    ['resumed', undefined, 'loading', false, undefined], ['diff', undefined, 'live', true, 1],
  ]);
  assert.equal(shown(outline.state), 'Milk- .Oat');
  assert.equal(outline.state.rows[0], milk);
});

test('an optimistic outline begins with its last rows, and shows own writes over them', async () => {
  const cache = new MemoryCache();
  const wide = [0, 1, 10, 65534, 65535];
  const wideRow = (id, title, children, depth, parent) =>
    ({ id, values: [1, title, new Reference(parent), children, depth] });
  const rows = [wideRow(2, 'Milk', 1, 0, 1), wideRow(4, 'Soy', -1, 1, 2), wideRow(3, 'Eggs', -3, 0, 1)];
  const begin = async (nest) => {
    const local = optimistic(nest);
    const items = await nest.entity('Item');
    const outline = await local.outline(items.children(1).properties('title'));
    return { local, outline };
  };
  const first = await connected(cache);
  const one = await begin(first.nest);
  await answer(first.page, rows, wide);
  await until(() => one.outline.state.isCurrent);
  const unfolded = one.outline.setExpanded(2, true);
  first.page.reply('done', {}, (await first.page.next('setExpanded')).id);
  await unfolded;
  first.nest.close();

  const { page, nest, reach } = await offline(cache);
  const { local, outline } = await begin(nest);
  await until(() => outline.state.rows.length > 0);
  assert.deepEqual([shown(outline.state), outline.status, outline.state.isCurrent],
    ['Milk- .Soy Eggs+', 'cached', false]);
  local.transaction('delete', (tx) => tx.delete(4));
  await until(() => outline.state.rows.length === 2);
  assert.equal(shown(outline.state), 'Milk Eggs+');
  await reach();
  await answer(page, [...rows, wideRow(5, 'Tea', -1, 0, 1)], wide, 9);
  await until(() => outline.state.rows.length === 3);
  assert.equal(shown(outline.state), 'Milk Eggs+ Tea');
});
