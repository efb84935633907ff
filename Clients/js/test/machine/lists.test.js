import assert from 'node:assert/strict';
import test from 'node:test';
import { HISTORY, ids, MODEL, OTHER_HISTORY, positionOf, spec, VIEW, World } from './server.js';

const OTHER = spec({ projection: [1, 3] });
const OTHER_VIEW = VIEW + 1;
const names = (frames) => frames.map(({ name }) => name);
const last = (world, list) => world.changesOf(list).at(-1);

/** A world with one live list of rows 2 and 3 at revision 2. */
function live(options = {}, request = spec()) {
  const world = new World(options);
  world.welcome();
  const list = world.subscribe(request);
  world.subscribed();
  world.snapshot(2, [2, 3], { position: request.windowed ? positionOf(100, 10) : undefined });
  world.takeSent();
  return { world, list };
}

function change_(world, list, request) {
  const call = {};
  world.run((m) => list.changeTo(m, request, call));
  return call;
}

test('a list gets a snapshot, diffs and progress', () => {
  const { world, list } = live();
  assert.deepEqual(ids(last(world, list)), [2, 3]);
  world.insert(2, 5, 4, [4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [4, 2, 3]);
  assert.equal(last(world, list).change.from, 2);
  world.reply('progress', { revision: 7 });
  assert.equal(last(world, list).revision, 7);
  // The diff begins before the revision that the client holds: all subscribers get the same bytes.
  world.insert(5, 8, 6, [6, 4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [6, 4, 2, 3]);
  const count = world.changesOf(list).length;
  world.insert(5, 8, 6, [6, 4, 2, 3]);
  assert.equal(world.changesOf(list).length, count, 'a known diff is ignored');
});

test('a diff after a gap, with another digest, total or place starts the list again without resume', () => {
  for (const wrong of [
    (world) => world.insert(4, 5, 4, [4, 2, 3]),
    (world) => world.insert(2, 5, 4, [2, 4, 3]),
    (world) => world.insert(2, 5, 4, [4, 2, 3, 9]),
    (world) => world.insert(3, 3, 4, [4, 2, 3]),
    (world) => world.diff(2, 3, [2], { deletedRows: [{ at: [0, 7], id: 3, reason: 'deleted' }] }),
  ]) {
    const { world, list } = live();
    wrong(world);
    assert.equal(last(world, list).change.cause, 'mismatch');
    const sent = world.takeSent();
    assert.deepEqual(names(sent), ['unsubscribe', 'subscribe']);
    assert.equal(sent[1].fields.resume, null);
    assert.equal(world.closes, 0);
  }
});

test('a snapshot whose digest differs starts the list again', () => {
  const world = new World();
  world.welcome();
  const list = world.subscribe();
  world.subscribed();
  world.reply('snapshot', {
    reason: 'first', revision: 2, digest: '0000000000000001', sectionCount: 1, position: positionOf(1, 0),
    sections: [{ key: '', rowCount: 1 }],
  }, VIEW, 1);
  world.reply('snapshotRows', { rows: [{ id: 2, values: ['x'] }] }, VIEW);
  assert.deepEqual(world.types(list), ['reset']);
  assert.deepEqual(names(world.takeSent()), ['unsubscribe', 'subscribe']);
});

test('after a lost connection a list resumes from the state that it holds', () => {
  const { world, list } = live();
  world.reply('progress', { revision: 6 });
  world.lose();
  assert.equal(last(world, list).change.type, 'disconnected');
  world.reconnect();
  const [{ fields }] = world.sent;
  assert.deepEqual(fields.resume, { historyID: HISTORY, revision: 6 });
  assert.equal(fields.atLeast, 6);
  world.subscribed({ first: 'difference' });
  assert.deepEqual([last(world, list).change.type, last(world, list).change.isExact], ['resumed', false]);
  world.insert(6, 9, 4, [4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [4, 2, 3]);
  world.lose();
  world.reconnect();
  world.subscribed({ first: 'current', revision: 11 });
  assert.deepEqual([last(world, list).change.isExact, last(world, list).revision], [true, 11]);
  world.insert(9, 12, 5, [5, 4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [5, 4, 2, 3]);
});

test('a server that does not resume, or has another history, sends a snapshot', () => {
  const { world, list } = live();
  world.lose();
  world.reconnect({ features: 0, historyID: OTHER_HISTORY });
  assert.equal(world.sent[0].fields.resume, null);
  world.subscribed({ reason: 'another history' });
  assert.deepEqual(world.types(list).slice(-1), ['reset']);
  // Revisions of another history may be smaller.
  world.snapshot(1, [7]);
  assert.deepEqual(ids(last(world, list)), [7]);
});

test('equal lists share one view and its state; each has a subscription of its own', () => {
  const { world, list } = live();
  const second = world.subscribe(OTHER);
  world.subscribed({ first: 'alreadySubscribed' });
  assert.deepEqual(ids(last(world, second)), [2, 3]);
  world.insert(2, 3, 4, [4, 2, 3]);
  assert.deepEqual([ids(last(world, list)), ids(last(world, second))], [[4, 2, 3], [4, 2, 3]]);
  assert.equal(last(world, list).state, last(world, second).state);
  world.run((m) => list.close(m));
  assert.deepEqual(world.takeSent().map(({ fields }) => fields), [{ view: VIEW }]);
  world.insert(3, 4, 5, [5, 4, 2, 3]);
  assert.deepEqual(ids(last(world, second)), [5, 4, 2, 3]);
  world.run((m) => second.close(m));
  assert.deepEqual(names(world.takeSent()), ['unsubscribe']);
  assert.deepEqual([world.machine.followers.size, world.machine.views.size], [0, 0]);
});

test('a list that joins a view whose snapshot arrives gets it whole', () => {
  const world = new World();
  world.welcome();
  const list = world.subscribe();
  world.subscribed();
  const second = world.subscribe();
  world.subscribed({ first: 'alreadySubscribed' });
  assert.deepEqual([world.types(list), world.types(second)], [[], []]);
  world.snapshot(2, [2, 3]);
  assert.deepEqual([world.types(list), world.types(second)], [['snapshot'], ['snapshot']]);
});

test('lists that shared a view share it again after a lost connection', () => {
  const { world, list } = live();
  const second = world.subscribe(spec());
  world.subscribed({ first: 'alreadySubscribed' });
  world.lose();
  world.reconnect();
  const [first, other] = world.takeSent();
  const fields = { view: VIEW, revision: 0, reason: '', projection: [1] };
  world.reply('subscribed', { ...fields, first: 'difference' }, first.id);
  world.reply('subscribed', { ...fields, first: 'alreadySubscribed' }, other.id);
  for (const one of [list, second]) {
    assert.deepEqual([last(world, one).change.type, last(world, one).change.isExact], ['resumed', false]);
  }
  world.insert(2, 9, 4, [4, 2, 3]);
  assert.deepEqual([ids(last(world, list)), ids(last(world, second))], [[4, 2, 3], [4, 2, 3]]);
});

test('a view that has gone before its second list came is subscribed to again', () => {
  const { world, list } = live();
  const second = world.subscribe(spec());
  world.run((m) => list.close(m));
  world.sent = world.sent.filter(({ name }) => name === 'subscribe');
  world.subscribed({ first: 'alreadySubscribed' });
  assert.deepEqual(names(world.sent), ['unsubscribe', 'subscribe']);
  world.subscribed();
  world.snapshot(3, [7]);
  assert.deepEqual(ids(last(world, second)), [7]);
});

test('a window follows the anchor that the server names, and TOTALS moves it', () => {
  const request = spec({ window: { anchor: 2, before: 1, after: 1 } });
  const { world, list } = live({}, request);
  world.diff(2, 3, [3, 4], {
    position: positionOf(99, 10, 3), deletedRows: [{ at: [0, 0], id: 2, reason: 'deleted' }],
    insertedRows: [{ at: [0, 1], id: 4, values: ['t4'] }],
  });
  assert.equal(last(world, list).state.position.anchor, 3);
  world.reply('totals', { revision: 4, position: positionOf(120, 31, 3) }, VIEW);
  assert.deepEqual([last(world, list).change.type, last(world, list).state.position.total], ['position', 120]);
  assert.deepEqual(ids(last(world, list)), [3, 4]);
  world.lose();
  world.reconnect();
  assert.equal(world.sent[0].fields.request.window.anchor, 3);
});

test('a change is one diff from the old rows to the new ones', () => {
  const { world, list } = live();
  const call = change_(world, list, OTHER);
  assert.deepEqual(names(world.sent), ['resubscribe']);
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  assert.equal(world.ended(call).reply, true);
  assert.deepEqual(world.types(list), ['snapshot'], 'nothing changes before the diff');
  world.insert(2, 2, 4, [4, 2, 3], { view: OTHER_VIEW });
  assert.deepEqual(ids(last(world, list)), [4, 2, 3]);
  assert.equal(last(world, list).request, OTHER.request);
  world.insert(2, 3, 5, [5, 4, 2, 3], { view: VIEW });
  assert.deepEqual(ids(last(world, list)), [4, 2, 3], 'frames of the old view are ignored');
});

test('a refused change leaves the old request and rows as they are', () => {
  const { world, list } = live();
  const call = change_(world, list, OTHER);
  const [{ id }] = world.takeSent();
  world.error('INVALID_PREDICATE', id);
  assert.equal(world.ended(call).error.code, 'INVALID_PREDICATE');
  world.insert(2, 3, 4, [4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [4, 2, 3]);
  assert.deepEqual(last(world, list).request, spec().request);
  world.lose();
  world.reconnect();
  assert.deepEqual(world.sent[0].fields.request.projection, [1], 'the old request resumes');
});

test('of changes that are faster than the server only the newest is requested', () => {
  const { world, list } = live();
  const calls = [OTHER, spec({ projection: [2] }), spec({ projection: [3] }), spec({ projection: [4] })]
    .map((request) => change_(world, list, request));
  assert.equal(world.sent.length, 1);
  assert.deepEqual(calls.map((call) => world.ended(call)?.reply), [undefined, false, false, undefined]);
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  assert.equal(world.sent.length, 0, 'the next one waits for the difference');
  world.insert(2, 2, 4, [4, 2, 3], { view: OTHER_VIEW });
  assert.deepEqual(world.sent.map(({ fields }) => fields.request.projection), [[4]]);
});

test('a change of a list leaves the others of its view as they are', () => {
  const { world, list } = live();
  const second = world.subscribe(spec());
  world.subscribed({ first: 'alreadySubscribed' });
  const call = change_(world, second, OTHER);
  assert.deepEqual(names(world.sent), ['resubscribe']);
  world.insert(2, 3, 4, [4, 2, 3]);
  assert.deepEqual(ids(last(world, second)), [4, 2, 3], 'the old rows live on meanwhile');
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  assert.equal(world.ended(call).reply, true);
  world.insert(3, 4, 5, [5, 4, 2, 3]);
  assert.deepEqual([ids(last(world, list)), ids(last(world, second))], [[5, 4, 2, 3], [4, 2, 3]]);
  world.diff(3, 3, [9], {
    view: OTHER_VIEW, insertedRows: [{ at: [0, 0], id: 9, values: ['t9'] }],
    deletedRows: [4, 2, 3].map((id, row) => ({ at: [0, row], id, reason: 'unmatched' })),
  });
  assert.deepEqual([ids(last(world, list)), ids(last(world, second))], [[5, 4, 2, 3], [9]]);
  const back = change_(world, second, spec());
  world.subscribed({ first: 'alreadySubscribed' });
  assert.equal(world.ended(back).reply, true);
  assert.deepEqual(ids(last(world, second)), [5, 4, 2, 3]);
});

test('a list that joins a view whose difference has not come waits for it', () => {
  const { world, list } = live();
  change_(world, list, OTHER);
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  const second = world.subscribe(OTHER);
  world.subscribed({ view: OTHER_VIEW, first: 'alreadySubscribed' });
  world.reply('progress', { revision: 2 });
  assert.deepEqual(world.types(second), [], 'the rows of the old request are not its own');
  world.insert(2, 2, 4, [4, 2, 3], { view: OTHER_VIEW });
  assert.deepEqual([last(world, second).change.type, ...ids(last(world, second))], ['snapshot', 4, 2, 3]);
});

test('a change whose connection is lost before its answer is requested again, from the old rows', () => {
  const { world, list } = live();
  const call = change_(world, list, OTHER);
  world.lose();
  world.reconnect();
  assert.deepEqual(world.sent.at(-1).fields.request.projection, [1]);
  world.subscribed({ first: 'current', revision: 2 });
  assert.deepEqual(names(world.sent), ['resubscribe']);
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  assert.equal(world.ended(call).reply, true);
  // Lost after the answer: nothing leads from the old rows to the new ones.
  world.lose();
  assert.equal(world.types(list).includes('reset'), true);
  world.reconnect();
  assert.equal(world.sent.at(-1).fields.resume, null);
  assert.deepEqual(world.sent.at(-1).fields.request.projection, [1, 3]);
});

test('an older state is hidden until it has caught up: no row goes back in time', () => {
  const { world, list } = live();
  world.reply('progress', { revision: 20 });
  change_(world, list, OTHER);
  world.subscribed({ view: OTHER_VIEW });
  world.snapshot(15, [7], { id: OTHER_VIEW });
  assert.equal(world.types(list).at(-1), 'reset');
  world.insert(15, 18, 8, [8, 7], { view: OTHER_VIEW });
  assert.equal(world.types(list).at(-1), 'reset');
  world.reply('progress', { revision: 21 });
  assert.deepEqual([last(world, list).change.type, ...ids(last(world, list))], ['snapshot', 8, 7]);
});

test('pause ends the subscription at the server; resume continues from the held state', () => {
  const { world, list } = live();
  world.run((m) => list.pause(m, 'user'));
  assert.deepEqual(names(world.takeSent()), ['unsubscribe']);
  assert.equal(world.types(list).at(-1), 'paused');
  world.insert(2, 3, 4, [4, 2, 3]);
  assert.equal(world.types(list).at(-1), 'paused', 'frames on the way are ignored');
  world.lose();
  assert.equal(world.types(list).at(-1), 'paused');
  world.reconnect();
  assert.deepEqual(names(world.takeSent()), []);
  world.run((m) => list.resume(m, 'user'));
  assert.deepEqual(world.sent[0].fields.resume, { historyID: HISTORY, revision: 2 });
  world.subscribed({ first: 'difference' });
  world.insert(2, 9, 4, [4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [4, 2, 3]);
});

test('a pause during a change takes effect after its diff, and old rows are never shown as live', () => {
  const { world, list } = live();
  change_(world, list, OTHER);
  world.run((m) => list.pause(m, 'user'));
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  assert.equal(world.types(list).includes('resumed'), false);
  world.insert(2, 2, 4, [4, 2, 3], { view: OTHER_VIEW });
  assert.deepEqual(world.types(list).slice(-2), ['diff', 'paused']);
  assert.deepEqual(names(world.takeSent()), ['unsubscribe']);
  world.run((m) => list.resume(m, 'user'));
  const [{ fields }] = world.sent;
  assert.deepEqual(fields.request.projection, [1, 3], 'the new request is subscribed to');
  assert.deepEqual(fields.resume, { historyID: HISTORY, revision: 2 });
  world.subscribed({ view: OTHER_VIEW, first: 'current', revision: 5 });
  assert.deepEqual([last(world, list).change.type, ...ids(last(world, list))], ['resumed', 4, 2, 3]);
  assert.equal(last(world, list).request, OTHER.request);
});

test('a pause during a change whose diff never comes leaves no state to resume from', () => {
  const { world, list } = live();
  change_(world, list, OTHER);
  world.subscribed({ view: OTHER_VIEW, first: 'difference' });
  world.run((m) => list.pause(m, 'user'));
  world.lose();
  world.reconnect();
  assert.deepEqual(names(world.takeSent()), []);
  world.run((m) => list.resume(m, 'user'));
  assert.equal(world.sent[0].fields.resume, null);
  world.subscribed({ view: OTHER_VIEW });
  assert.equal(world.types(list).includes('resumed'), false);
});

test('a list has several reasons to pause, and resumes with the last of them', () => {
  const { world, list } = live();
  world.run((m) => list.pause(m, 'hidden'));
  world.run((m) => list.pause(m, 'user'));
  world.run((m) => list.resume(m, 'hidden'));
  assert.deepEqual(names(world.takeSent()), ['unsubscribe']);
  world.run((m) => list.resume(m, 'user'));
  assert.deepEqual(names(world.takeSent()), ['subscribe']);
});

test('a paused list that shared its view leaves the other alone', () => {
  const { world, list } = live();
  const second = world.subscribe(spec());
  world.subscribed({ first: 'alreadySubscribed' });
  world.run((m) => second.pause(m, 'user'));
  assert.deepEqual(names(world.takeSent()), ['unsubscribe']);
  world.insert(2, 3, 4, [4, 2, 3]);
  assert.deepEqual(ids(last(world, list)), [4, 2, 3]);
  assert.equal(world.types(second).at(-1), 'paused');
  world.run((m) => second.resume(m, 'user'));
  world.subscribed({ first: 'alreadySubscribed' });
  assert.deepEqual(ids(last(world, second)), [4, 2, 3]);
});

test('each request has its own model: a new one lets no old request through', () => {
  const { world, list } = live();
  const fields = { key: 'a0'.repeat(16), name: 'x', preconditions: [], mutations: [{ delete: { object: 3 } }] };
  const write = world.request('transaction', fields, { kind: 'write', answer: 'receipt', model: MODEL });
  const model = world.request('getModel', {}, { answer: 'model', isRaw: true });
  world.lose();
  world.takeSent();
  world.reconnect({ modelHash: '1111111111111111' });
  assert.equal(world.changesOf(list).at(-1).error.code, 'SCHEMA_CHANGED');
  assert.equal(world.ended(write).error.code, 'OUTCOME_UNKNOWN', 'it was sent before');
  assert.deepEqual(names(world.sent), ['getModel']);
  world.reply('model', { entities: [] }, 1);
  assert.equal(world.ended(model).type, 'answer');
  // The program has the new model now. A request of the old one is still refused, one of the new one is sent.
  const old = world.request('fetch', spec().bytes, { atLeast: 0, projection: [1], model: MODEL });
  assert.equal(world.ended(old).error.code, 'SCHEMA_CHANGED');
  const refused = world.subscribe(spec());
  assert.equal(world.changesOf(refused).at(-1).error.code, 'SCHEMA_CHANGED');
  world.takeSent();
  world.subscribe(spec({}, '1111111111111111'));
  assert.deepEqual(names(world.takeSent()), ['subscribe']);
});

test('own revisions and authors come with the diffs that contain them', () => {
  const { world, list } = live();
  const author = (revision, user) => ({ revision, sessionNumber: revision, user, userClaimed: false });
  world.reply('own', { revisions: [3, 5] });
  world.reply('authors', { authors: [author(3, 'ann'), author(4, 'bob')] });
  world.insert(2, 4, 4, [4, 2, 3]);
  const first = last(world, list).change;
  assert.deepEqual([...first.own], [3]);
  assert.deepEqual(first.authors.map(({ revision, user }) => [revision, user]), [[3, 'ann'], [4, 'bob']]);
  world.write();
  world.receipt(world.sent.at(-1).id, 6);
  world.insert(4, 6, 5, [5, 4, 2, 3]);
  const second = last(world, list).change;
  assert.deepEqual([...second.own], [5, 6]);
  assert.deepEqual([...second.authors], []);
});

test('a diff has the authors of the last AUTHORS, also if a difference reaches further back than the one before', () => {
  const { world, list } = live();
  const author = (revision) => ({ revision, sessionNumber: 1, user: `u${revision}`, userClaimed: false });
  // Another list was served first, up to revision 9; then this one, which lagged.
  world.reply('authors', { authors: [author(8), author(9)] });
  world.reply('authors', { authors: [author(3), author(5), author(9)] });
  world.insert(2, 9, 4, [4, 2, 3]);
  assert.deepEqual(last(world, list).change.authors.map(({ user }) => user), ['u3', 'u5', 'u9']);
  world.reply('authors', { authors: [author(10)] });
  world.insert(9, 10, 5, [5, 4, 2, 3]);
  assert.deepEqual(last(world, list).change.authors.map(({ user }) => user), ['u10']);
});

test('a list or feed that was live waits for a server that is busy; one that never was ends', () => {
  const { world, list } = live();
  world.lose();
  world.reconnect();
  const [{ id }] = world.takeSent();
  world.error('BUSY', id, { retry: 2, retryAfter: 700 });
  assert.equal(world.types(list).at(-1), 'disconnected');
  world.pass(699);
  assert.deepEqual(names(world.takeSent()), []);
  world.pass(world.deadline - world.now);
  const [again] = world.takeSent();
  assert.deepEqual([again.name, again.fields.resume.revision], ['subscribe', 2]);
  world.reply('subscribed', { view: VIEW, first: 'current', revision: 2, reason: '', projection: [1] }, again.id);
  assert.equal(world.types(list).at(-1), 'resumed');
  const fresh = world.subscribe(OTHER);
  world.error('BUSY', world.takeSent().at(-1).id, { retry: 2 });
  assert.equal(world.types(fresh).at(-1), 'end');
});

test('SUBSCRIPTION_END and refusals end a list with their code', () => {
  const { world, list } = live();
  world.reply('subscriptionEnd', { code: 'SCHEMA_CHANGED', message: 'x' }, VIEW);
  assert.equal(last(world, list).error.code, 'SCHEMA_CHANGED');
  const refused = world.subscribe(OTHER);
  world.error('NOT_FOUND', world.sent.at(-1).id);
  assert.equal(last(world, refused).error.code, 'NOT_FOUND');
  assert.equal(world.machine.followers.size, 0);
});

test('closing a list during each phase leaves nothing behind', () => {
  const answered = live();
  change_(answered.world, answered.list, OTHER);
  answered.world.run((m) => answered.list.close(m));
  answered.world.subscribed({ view: OTHER_VIEW });
  const [left] = answered.world.takeSent();
  assert.deepEqual([left.name, left.fields.view], ['unsubscribe', OTHER_VIEW]);
  const waiting = new World();
  waiting.welcome();
  const list = waiting.subscribe();
  waiting.run((m) => list.close(m));
  waiting.subscribed();
  assert.deepEqual(names(waiting.takeSent()), ['unsubscribe']);
  for (const { world } of [answered, { world: waiting }]) {
    assert.equal(world.machine.followers.size, 0);
    assert.equal(world.machine.views.size, 0);
  }
});

test('a client that cannot stop its transport closes when too much waits, and resumes when it was taken', () => {
  const { world } = live({ canPause: false });
  world.run((m, now) => m.queuesChanged(9 << 20, now));
  assert.equal(world.closes, 1);
  assert.equal(world.machine.phase, 'backingOff');
  assert.equal(world.deadline, null, 'it waits for the consumers, not for a time');
  world.run((m, now) => m.queuesChanged(-(6 << 20), now));
  world.reconnect();
  assert.deepEqual(world.sent[0].fields.resume, { historyID: HISTORY, revision: 2 });
});

test('while an answer is due the client receives more, because its consumer may wait for that answer', () => {
  const { world } = live({ canPause: false });
  world.request('getModel', {}, { answer: 'model' });
  world.run((m, now) => m.queuesChanged(9 << 20, now));
  assert.equal(world.closes, 0);
  world.run((m, now) => m.queuesChanged(60 << 20, now));
  assert.equal(world.closes, 1);
  const pausing = live({ canPause: true }).world;
  pausing.run((m, now) => m.queuesChanged(9 << 20, now));
  assert.deepEqual([pausing.closes, pausing.reads], [0, false]);
  pausing.run((m, now) => m.queuesChanged(-(9 << 20), now));
  assert.equal(pausing.reads, true);
});

test('a list that joins a view whose difference is to come shows nothing of the past', () => {
  const world = new World();
  const first = world.subscribe();
  world.welcome();
  world.subscribed();
  world.snapshot(2, [2]);
  world.lose();
  const second = world.subscribe();
  world.reconnect({ revision: 9 });
  const ids = world.takeSent().filter(({ name }) => name === 'subscribe').map(({ id }) => id);
  const answer = { view: VIEW, revision: 9, reason: '', projection: [1] };
  world.reply('subscribed', { ...answer, first: 'difference' }, ids[0]);
  world.reply('subscribed', { ...answer, first: 'alreadySubscribed' }, ids[1]);
  assert.equal(world.types(first).at(-1), 'resumed');
  assert.equal(world.types(second).includes('snapshot'), false);
  world.insert(2, 9, 4, [4, 2]);
  assert.deepEqual([world.types(first).at(-1), world.types(second).at(-1)], ['diff', 'snapshot']);
});

test('the bytes of a snapshot count as bytes that wait', () => {
  const world = new World();
  const list = world.subscribe();
  world.welcome();
  world.subscribed();
  world.snapshot(2, [2, 3, 4]);
  assert.ok(world.changesOf(list).at(-1).bytes > 20);
});
