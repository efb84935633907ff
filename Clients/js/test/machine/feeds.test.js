import assert from 'node:assert/strict';
import test from 'node:test';
import { Feed } from '../../machine/feeds.js';
import { UndoFollower } from '../../machine/undo.js';
import { HISTORY, MODEL, VIEW, World } from './server.js';

function follow(world, since = null) {
  const feed = new Feed({}, since, [], MODEL);
  world.run((m) => feed.open(m));
  return feed;
}

const part = (revision, place = 0) => ({
  revision, time: 0, sessionNumber: 1, kind: 'write', reverted: null, name: 'x', place, user: '',
  objects: [{ change: 'inserted', entity: 1, id: 5, properties: [] }],
});
const events = (world, feed) => world.events.filter(({ to }) => to === feed.to).map(({ change }) => change);
const last = (world, feed) => events(world, feed).at(-1);

test('a feed begins at the newest revision and continues inside a change set', () => {
  const world = new World();
  world.welcome();
  const feed = follow(world);
  assert.equal(world.sent.at(-1).fields.since, null);
  world.subscribed({ first: 'current', revision: 7, projection: [] });
  assert.deepEqual(last(world, feed).at, { history: HISTORY, revision: 7, place: 0 });
  world.reply('changeSet', part(9, 300), VIEW);
  assert.deepEqual(last(world, feed).at, { history: HISTORY, revision: 8, place: 300 });
  world.lose();
  world.reconnect();
  assert.deepEqual(world.sent.at(-1).fields.since, { historyID: HISTORY, revision: 8, place: 300 });
  world.subscribed({ first: 'current', revision: 8, projection: [] });
  world.reply('changeSet', part(9), VIEW);
  assert.deepEqual(last(world, feed).at, { history: HISTORY, revision: 9, place: 0 });
  world.reply('progress', { revision: 12 });
  assert.deepEqual(last(world, feed).at, { history: HISTORY, revision: 12, place: 0 });
  assert.deepEqual(events(world, feed).map(({ type }) => type), [
    'following', 'changes', 'disconnected', 'resumed', 'changes', 'progress',
  ]);
});

test('a feed continues where another run has stopped, also inside a change set', () => {
  const world = new World();
  world.welcome();
  follow(world, { history: HISTORY, revision: 8, place: 300 });
  assert.deepEqual(world.sent.at(-1).fields.since, { historyID: HISTORY, revision: 8, place: 300 });
});

test('a feed that is not read is paused alone, and goes on without a gap', () => {
  const world = new World();
  world.welcome();
  const slow = follow(world);
  world.subscribed({ first: 'current', revision: 7, projection: [] });
  const quick = follow(world);
  world.subscribed({ view: VIEW + 1, first: 'current', revision: 7, projection: [] });
  world.reply('changeSet', part(8), VIEW);
  world.run((m) => slow.pause(m, true));
  assert.deepEqual(world.takeSent().map(({ fields }) => fields.view), [VIEW]);
  world.reply('changeSet', part(9), VIEW);
  world.reply('changeSet', part(9), VIEW + 1);
  assert.equal(last(world, slow).revision, 8);
  assert.equal(last(world, quick).revision, 9);
  world.run((m) => slow.pause(m, false));
  assert.deepEqual(world.sent.at(-1).fields.since, { historyID: HISTORY, revision: 8, place: 0 });
  world.subscribed({ view: VIEW + 2, first: 'current', revision: 8, projection: [] });
  world.reply('changeSet', part(9), VIEW + 2);
  assert.equal(last(world, slow).revision, 9);
});

test('a change set that comes twice ends the connection; a refusal ends the feed', () => {
  const world = new World();
  world.welcome();
  follow(world);
  world.subscribed({ first: 'current', revision: 7, projection: [] });
  world.reply('changeSet', part(7), VIEW);
  assert.equal(world.closes, 1);
  world.reconnect();
  world.error('REVISION_DROPPED', world.sent.at(-1).id);
  assert.equal(world.take('end')[0].error.code, 'REVISION_DROPPED');
  assert.equal(world.machine.followers.size, 0);
});

test('a feed that was closed before its answer leaves the view', () => {
  const world = new World();
  world.welcome();
  const feed = follow(world);
  world.run((m) => feed.close(m));
  world.subscribed({ first: 'current', revision: 7, projection: [] });
  assert.deepEqual(world.takeSent().map(({ name }) => name), ['unsubscribe']);
});

test('the undo state is followed across connections', () => {
  const world = new World();
  world.welcome();
  const follower = new UndoFollower({});
  world.run((m) => follower.open(m));
  const [{ name, id, fields }] = world.takeSent();
  assert.deepEqual([name, fields.follows], ['getUndoState', true]);
  const state = { undo: null, redo: null, undoCount: 1, redoCount: 0, blockedCount: 0, droppedCount: 0, group: null };
  world.reply('undoState', state, id);
  world.reply('undoState', { ...state, undoCount: 2 });
  assert.deepEqual(world.take('change').map(({ change }) => change.state.undoCount), [1, 2]);
  world.lose();
  world.reconnect();
  assert.deepEqual(world.takeSent().map((frame) => frame.name), ['getUndoState']);
  world.run((m) => follower.close(m));
  assert.equal(world.takeSent()[0].fields.follows, false);
});

test('a feed that cannot be encoded ends alone: the connection and everything else go on', () => {
  const world = new World();
  const wrong = new Feed({ name: 'wrong' }, { history: 'none', revision: 3 }, [], null);
  world.run((m) => wrong.open(m));
  const list = world.subscribe();
  world.welcome();
  const { error } = world.events.find(({ to, type }) => to === wrong.to && type === 'end');
  assert.equal(error.code, 'INVALID');
  assert.equal(world.machine.followers.has(wrong), false);
  world.subscribed();
  world.snapshot(2, [2]);
  assert.equal(world.types(list).at(-1), 'snapshot');
  world.run((m) => new Feed({}, { history: 'none', revision: 3 }, [], null).open(m));
  assert.equal(world.closes, 0);
  assert.deepEqual(world.machine.followers, new Set([list]));
});
