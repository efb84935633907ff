// Lists that begin with a state from the cache, and what the cache gets of all others; the test plays the server.

import assert from 'node:assert/strict';
import test from 'node:test';
import { MemoryCache } from '../../cache/memory.js';
import { CachedList } from '../../machine/cached.js';
import { load } from '../../machine/cached-frames.js';
import { CACHE_REVISION_STEP } from '../../machine/cache-limits.js';
import { T } from '../../machine/types.js';
import { HISTORY, ids, MODEL, OTHER_HISTORY, positionOf, spec, VIEW } from '../machine/server.js';
import { CachedWorld, IDENTITY } from './world.js';

const OTHER = spec({ source: { object: 7, relationship: 6 } });
const OTHER_VIEW = VIEW + 1;

/** A cache in which a list has recorded rows 4, 2, 3 at revision 5. */
async function recorded(request = spec(), position = undefined) {
  const world = new CachedWorld();
  world.welcome();
  const list = await world.follow(request);
  world.subscribed();
  world.snapshot(2, [2, 3], { position });
  world.insert(2, 5, 4, [4, 2, 3], { position: position && { ...position, total: position.total + 1 } });
  return { world, list, cache: world.cache };
}

/** Another client with the same cache. */
async function again(cache, request = spec(), options = {}) {
  const world = new CachedWorld(cache, options);
  const list = await world.follow(request);
  return { world, list };
}

test('a list shows the last state, and its subscription continues it', async () => {
  const { cache } = await recorded();
  const { world, list } = await again(cache);
  const shown = world.last(list);
  assert.deepEqual([shown.change, ids(shown), shown.revision], [{ type: 'snapshot', reason: 'cache' }, [4, 2, 3], 5]);
  world.welcome({ revision: 9 });
  const { fields } = world.sent.find(({ name }) => name === 'subscribe');
  assert.deepEqual([fields.resume, fields.atLeast], [{ historyID: HISTORY, revision: 5 }, 9]);
  world.subscribed({ first: 'difference', revision: 9 });
  assert.deepEqual(world.last(list).change, { type: 'resumed', revision: 5, isExact: false });
  world.insert(5, 9, 6, [6, 4, 2, 3]);
  assert.deepEqual(ids(world.last(list)), [6, 4, 2, 3]);
  // The recording goes on: the next client begins there.
  const [{ type, append }] = world.takeChanges();
  assert.deepEqual([type, append.base, append.revision, append.frames.length], ['append', 5, 9, 1]);
  const third = await again(cache);
  assert.deepEqual(ids(third.world.last(third.list)), [6, 4, 2, 3]);
});

test('a node that lags may not begin a list with an older state than the cache has shown', async () => {
  const { cache } = await recorded();
  const { world } = await again(cache);
  await world.follow(OTHER);
  world.welcome({ revision: 3 });
  for (const { fields } of world.sent.filter(({ name }) => name === 'subscribe')) assert.equal(fields.atLeast, 5);
});

test('a list that is opened while connected asks for a state that is not older than the cached one', async () => {
  const { cache } = await recorded();
  const world = new CachedWorld(cache);
  world.welcome({ revision: 3 });
  await world.follow();
  const { fields } = world.sent.find(({ name }) => name === 'subscribe');
  assert.deepEqual([fields.atLeast, fields.resume.revision], [5, 5]);
});

test('a state that has not changed is confirmed', async () => {
  const { cache } = await recorded();
  const { world, list } = await again(cache);
  world.welcome();
  world.subscribed({ first: 'current', revision: 8 });
  assert.deepEqual(world.last(list).change, { type: 'resumed', revision: 8, isExact: true });
  assert.deepEqual(ids(world.last(list)), [4, 2, 3]);
});

test('a state of another history or another model is dropped, with the reason', async () => {
  for (const [fields, message] of [
    [{ historyID: OTHER_HISTORY }, 'the cached state is of another history of the store'],
    [{ modelHash: 'ffffffffffffffff' }, 'the cached state is of another model'],
  ]) {
    const { cache } = await recorded();
    const { world, list } = await again(cache, spec({}, fields.modelHash ?? MODEL));
    world.welcome(fields);
    assert.deepEqual(world.last(list).change, { type: 'reset', cause: 'cache', message });
    assert.deepEqual(world.takeChanges(), [{ type: 'remove', request: spec().key, reason: message }]);
    const subscribe = world.sent.find(({ name }) => name === 'subscribe');
    assert.equal(subscribe.fields.resume, null);
    world.subscribed();
    // An older revision of another history is shown.
    world.snapshot(1, [8]);
    assert.deepEqual(ids(world.last(list)), [8]);
    // A list that is opened after the connection is dropped at once.
    const { cache: old } = await recorded();
    const late = new CachedWorld(old);
    late.welcome(fields);
    const second = await late.follow(spec({}, fields.modelHash ?? MODEL));
    assert.deepEqual(late.types(second), ['reset']);
    assert.equal(late.last(second).change.message, message);
    assert.equal(await old.view(spec().key), null);
  }
});

test('a state of which the server has no difference is replaced, with the reason of the server', async () => {
  const { cache } = await recorded();
  const { world, list } = await again(cache);
  world.welcome();
  world.subscribed({ reason: 'the journal does not reach back' });
  world.snapshot(9, [7]);
  const [, reset, snapshot] = world.changesOf(list);
  assert.deepEqual(reset.change, { type: 'reset', cause: 'server', message: 'the journal does not reach back' });
  assert.deepEqual(ids(snapshot), [7]);
});

test('a connection that is lost before the answer leaves the cached state', async () => {
  const { cache } = await recorded();
  const { world, list } = await again(cache);
  world.welcome();
  world.lose();
  assert.equal(world.last(list).change.type, 'disconnected');
  world.sent = [];
  world.reconnect({ historyID: OTHER_HISTORY });
  assert.equal(world.last(list).change.cause, 'cache');
});

test('two lists of one request begin with the same state, and then share a view', async () => {
  const { cache } = await recorded();
  const { world, list } = await again(cache);
  const second = await world.follow();
  assert.equal(world.last(second).state, world.last(list).state);
  world.welcome();
  const [first, other] = world.takeSent().filter(({ name }) => name === 'subscribe');
  const answer = { view: VIEW, first: 'current', revision: 5, reason: '', projection: [1] };
  world.reply('subscribed', answer, first.id);
  world.reply('subscribed', { ...answer, first: 'alreadySubscribed' }, other.id);
  world.insert(5, 6, 9, [9, 4, 2, 3]);
  for (const one of [list, second]) {
    assert.deepEqual(world.types(one), ['snapshot', 'resumed', 'diff']);
    assert.deepEqual(ids(world.last(one)), [9, 4, 2, 3]);
  }
  assert.equal(world.takeChanges().filter(({ type }) => type === 'append').length, 1);
});

test('a list whose request was changed by a difference is recorded again with the next snapshot', async () => {
  for (const first of ['current', 'difference', 'snapshot']) {
    const { world, list, cache } = await recorded();
    world.takeSent();
    world.takeChanges();
    world.run((m) => list.changeTo(m, OTHER, {}));
    world.subscribed({ first, view: first === 'current' ? VIEW : OTHER_VIEW, revision: 5 });
    const view = first === 'current' ? VIEW : OTHER_VIEW;
    if (first === 'difference') world.diff(5, 5, [4, 2, 3], { view });
    if (first === 'snapshot') world.snapshot(5, [4, 2, 3], { id: view });
    world.insert(5, 6, 9, [9, 4, 2, 3], { view });
    assert.deepEqual(ids(world.last(list)), [9, 4, 2, 3]);
    const keys = world.takeChanges().map(({ append, view: kept }) => (append ?? kept).request);
    assert.deepEqual(keys, first === 'snapshot' ? [OTHER.key, OTHER.key] : [], first);
    // What was recorded stays the last state of the old request.
    assert.equal((await cache.view(spec().key)).revision, 5);
    world.snapshot(7, [1], { id: view, reason: 'too far behind' });
    assert.deepEqual(world.takeChanges().map(({ view: kept }) => kept.request), [OTHER.key]);
  }
});

test('a window is found by the object that it began around, and goes on around the one that it follows', async () => {
  const request = spec({ window: { anchor: 2, before: 1, after: 1 } });
  const { world, cache } = await recorded(request, positionOf(100, 10, 2));
  world.reply('totals', { revision: 6, position: positionOf(101, 11, 3) }, VIEW);
  const second = await again(cache, request);
  const { state, request: shown } = second.world.last(second.list);
  assert.deepEqual([state.position.total, state.position.start.row, state.position.anchor], [101, 11, 3]);
  assert.equal(shown, request.request);
  second.world.welcome();
  const { fields } = second.world.sent.find(({ name }) => name === 'subscribe');
  assert.deepEqual([fields.request.window.anchor, fields.resume.revision], [3, 5]);
  second.world.subscribed({ first: 'current', revision: 7 });
  second.world.insert(7, 8, 9, [9, 4, 2, 3], { position: positionOf(102, 12, 3) });
  assert.equal((await cache.view(request.key)).revision, 8);
});

test('totals are recorded with their rows', async () => {
  const request = spec({ totals: [{ name: 'count', function: 'count' }] });
  const world = new CachedWorld();
  world.welcome({ features: 0x407 });
  const list = await world.follow(request);
  world.subscribed();
  const totals = (revision, count, isBeforeRows) =>
    world.reply('resultTotals', { revision, isBeforeRows, values: [count], sections: [] }, VIEW);
  totals(2, 2, true);
  world.snapshot(2, [2, 3]);
  totals(5, 3, true);
  world.insert(2, 5, 4, [4, 2, 3]);
  totals(6, 30, false);
  assert.equal(world.last(list).state.totals.count, 30);
  const view = await world.cache.view(request.key);
  assert.deepEqual(view.frames.map(({ type }) => type),
    [T.subscribed, T.resultTotals, T.snapshot, T.snapshotRows, T.resultTotals, T.diff, T.resultTotals]);
  const { state, head } = load(view, request);
  assert.deepEqual([state.totals.count, head.revision], [30, 6]);
});

test('the cache gets the revision of a state that has not changed for long', async () => {
  const { world } = await recorded();
  world.takeChanges();
  world.reply('progress', { revision: 5 + CACHE_REVISION_STEP - 1 });
  assert.deepEqual(world.takeChanges(), []);
  world.reply('progress', { revision: 5 + CACHE_REVISION_STEP });
  const [{ append }] = world.takeChanges();
  assert.deepEqual([append.base, append.revision, append.frames], [5, 5 + CACHE_REVISION_STEP, []]);
});

test('a state that is found to be wrong is forgotten', async () => {
  const { world } = await recorded();
  world.takeChanges();
  world.insert(5, 6, 9, [2, 3]);
  const [{ type, reason }] = world.takeChanges();
  assert.equal(type, 'remove');
  assert.match(reason, /the state is wrong: the diff to revision 6 does not fit/);
});

test('what the server does not let the client follow any more is forgotten', async () => {
  const { world, cache } = await recorded();
  world.reply('subscriptionEnd', { code: 'NOT_PERMITTED', message: 'no' }, VIEW);
  assert.equal(await cache.view(spec().key), null);
  const other = await recorded();
  const { world: late, list } = await again(other.cache);
  late.welcome();
  const { id } = late.sent.find(({ name }) => name === 'subscribe');
  late.error('NOT_FOUND', id);
  assert.equal(late.events.find(({ type, to }) => type === 'end' && to === list.to).error.code, 'NOT_FOUND');
  assert.equal(await other.cache.view(spec().key), null);
});

test('a client that is busy, and one whose list ends for a while, keep the state', async () => {
  const { world, cache } = await recorded();
  world.reply('subscriptionEnd', { code: 'BUSY', message: 'too much' }, VIEW);
  assert.equal((await cache.view(spec().key)).revision, 5);
});

test('frames that do not lead to the state that was recorded are refused', async () => {
  const { cache } = await recorded();
  const view = await cache.view(spec().key);
  const [subscribed, snapshot, rows, diff] = view.frames;
  const flipped = (frame, at) => (
    { ...frame, body: frame.body.map((byte, index) => (index === at ? byte ^ 1 : byte)) });
  for (const [changes, message] of [
    [{ digest: '0000000000000001' }, /its digest is [0-9a-f]{16}, and was 0000000000000001/],
    [{ revision: 4 }, /a frame is newer than the view/],
    [{ frames: [] }, /does not begin with SUBSCRIBED/],
    [{ frames: [subscribed] }, /not complete/],
    [{ frames: [subscribed, rows] }, /it has no snapshot/],
    [{ frames: [subscribed, diff] }, /it has no snapshot/],
    [{ frames: [subscribed, snapshot] }, /not complete/],
    [{ frames: [...view.frames, { type: T.progress, body: new Uint8Array(1) }] }, /a frame has the type 53/],
    [{ frames: [subscribed, snapshot, rows] }, /its digest is/],
    [{ frames: [subscribed, snapshot, flipped(rows, 1), diff] }, /digest/],
    [{ frames: [subscribed, snapshot, rows, { ...diff, body: diff.body.subarray(0, -1) }] }, /too early/],
  ]) assert.throws(() => load({ ...view, ...changes }, spec()), message);
  assert.equal(load(view, spec()).head.revision, 5);
});

test('two clients that continue one state do not mix their frames: the first one writes it', async () => {
  const { cache } = await recorded();
  const clients = [await again(cache), await again(cache)];
  for (const { world } of clients) {
    world.welcome();
    world.subscribed({ first: 'difference', revision: 7 });
  }
  const [a, b] = clients.map(({ world }) => world);
  a.insert(5, 6, 7, [7, 4, 2, 3]);
  // One gets two differences, the other one.
  b.diff(5, 7, [8, 7, 4, 2, 3], { insertedRows: [8, 7].map((id, at) => ({ at: [0, at], id, values: [`t${id}`] })) });
  a.insert(6, 7, 8, [8, 7, 4, 2, 3]);
  a.insert(7, 8, 9, [9, 8, 7, 4, 2, 3]);
  b.insert(7, 8, 9, [9, 8, 7, 4, 2, 3]);
  const { state, head } = load(await cache.view(spec().key), spec());
  assert.deepEqual([ids({ state }), head.revision], [[9, 8, 7, 4, 2, 3], 8]);
});

test('a second list with the same state is dropped with the first, also by another model that extends the old one',
  async () => {
    const { cache } = await recorded();
    const { world, list } = await again(cache);
    const second = await world.follow();
    world.machine.valid.add('ffffffffffffffff').add(MODEL);
    world.welcome({ modelHash: 'ffffffffffffffff' });
    for (const one of [list, second]) assert.equal(world.last(one).change.message, 'the cached state is of another model');
    for (const { fields } of world.sent.filter(({ name }) => name === 'subscribe')) assert.equal(fields.resume, null);
  });

test('a state that was read for a later request is not shown under the earlier one', async () => {
  const { cache } = await recorded();
  const world = new CachedWorld(cache);
  const list = new CachedList({});
  list.loaded = load(await cache.view(spec().key), spec());
  world.run((m) => list.open(m, OTHER));
  assert.deepEqual([world.types(list), list.held], [[], null]);
});

test('the last frame of a list that pauses is recorded, also as a snapshot', async () => {
  for (const size of [10, 20_000]) {
    const { world, list, cache } = await recorded();
    // A pause waits for the answer to a change, and the state of the new request comes with it.
    world.takeSent();
    world.run((m) => list.changeTo(m, OTHER, {}));
    world.subscribed({ first: 'snapshot', view: OTHER_VIEW });
    world.snapshot(6, [4, 2, 3], { id: OTHER_VIEW });
    const updates = [{ at: [0, 0], values: [{ property: 1, value: 'x'.repeat(size) }] }];
    const { settle } = list;
    list.settle = function leaving(m) {
      this.pauses.add('user');
      return settle.call(this, m);
    };
    world.diff(6, 7, [4, 2, 3], { view: OTHER_VIEW, updates });
    assert.equal(list.view, null);
    const { state, head } = load(await cache.view(OTHER.key), OTHER);
    assert.deepEqual([state.sections[0].rows[0].values, head.revision], [['x'.repeat(size)], 7]);
  }
});

test('a cached state belongs to its identity', async () => {
  const { cache } = await recorded();
  assert.equal((await cache.view(spec().key)).identity, IDENTITY);
});

test('a list of a client without a cache is not recorded', async () => {
  const world = new CachedWorld(new MemoryCache());
  world.welcome();
  const list = world.subscribe();
  world.subscribed();
  world.snapshot(2, [2, 3]);
  assert.deepEqual([ids(world.last(list)), world.takeChanges()], [[2, 3], []]);
});
