import assert from 'node:assert/strict';
import test from 'node:test';
import { PresenceFollower } from '../../machine/presence.js';
import { fromHex, toHex } from '../../wire/bytes.js';
import { placeBytes, placeOf } from '../../wire/messages-presence.js';
import { World } from './server.js';

const HERE = fromHex('00');

function follow(world, scope = 1) {
  const follower = new PresenceFollower({}, scope);
  world.run((m) => follower.open(m));
  return follower;
}

function started() {
  const world = new World();
  world.welcome();
  const follower = follow(world);
  return { world, follower };
}

const one = (number, fields = {}) =>
  ({ number, sessionNumber: 0, user: null, userClaimed: false, isGone: false, bytes: HERE, ...fields });
const push = (world, changes, isWhole = false, scope = 1) => world.reply('presence', { scope, isWhole, changes });
const last = (world, follower) => world.changesOf(follower).at(-1).change;
const shown = (world, follower) => last(world, follower).all.map(({ number }) => number);
const sent = (world) => world.takeSent().map(({ name, fields: { scope, follows, bytes } }) =>
  [name, scope, follows ?? (bytes && toHex(bytes))]);

test('a whole state replaces all, changes replace and remove', () => {
  const { world, follower } = started();
  assert.deepEqual(sent(world), [['followPresence', 1, true]]);
  push(world, [one(4), one(9)], true);
  push(world, [one(4, { isGone: true }), one(5, { user: 'Ann', userClaimed: true })]);
  assert.deepEqual(shown(world, follower), [5, 9]);
  const { user, userClaimed } = last(world, follower).all[0];
  assert.deepEqual([user, userClaimed], ['Ann', true]);
  push(world, [one(9)], true);
  assert.deepEqual(shown(world, follower), [9]);
});

test('what is of another scope, or comes after the end, is ignored', () => {
  const { world, follower } = started();
  push(world, [one(4)], true, 2);
  assert.deepEqual(world.changesOf(follower), []);
  world.run((m) => follower.close(m));
  push(world, [one(4)], true);
  assert.deepEqual(world.changesOf(follower), []);
});

test('the number of the client is known from the reply', () => {
  const { world, follower } = started();
  world.run((m) => follower.set(m, HERE));
  push(world, [one(4)], true);
  assert.equal(last(world, follower).number, 0);
  world.reply('present', { number: 4 }, world.sent.at(-1).id);
  assert.equal(last(world, follower).number, 4);
});

test('after a reconnect the client follows and is shown again; meanwhile the state is not live', () => {
  const { world, follower } = started();
  world.run((m) => follower.set(m, HERE));
  push(world, [one(4), one(7)], true);
  world.takeSent();
  world.lose();
  assert.deepEqual([last(world, follower).isLive, shown(world, follower)], [false, [4, 7]]);
  // The newest counts, also if it was set meanwhile.
  world.run((m) => follower.set(m, fromHex('ff')));
  assert.deepEqual(sent(world), []);
  world.reconnect();
  assert.deepEqual(sent(world), [['followPresence', 1, true], ['setPresence', 1, 'ff']]);
  push(world, [one(4)], true);
  assert.deepEqual([last(world, follower).isLive, shown(world, follower)], [true, [4]]);
});

test('a number counts only on its connection: after a restart another client may have it', () => {
  const { world, follower } = started();
  world.run((m) => follower.set(m, HERE));
  world.reply('present', { number: 4 }, world.sent.at(-1).id);
  world.run((m) => follower.set(m, null));
  world.lose();
  assert.equal(last(world, follower).number, 4);
  world.reconnect();
  push(world, [one(4)], true);
  assert.equal(last(world, follower).number, 0);
});

test('a client that has left is not shown again', () => {
  const { world, follower } = started();
  world.run((m) => follower.set(m, HERE));
  world.run((m) => follower.set(m, null));
  world.takeSent();
  world.lose();
  world.reconnect();
  assert.deepEqual(sent(world), [['followPresence', 1, true]]);
});

test('who closes leaves, and follows no more unless another part of the program does', () => {
  const { world, follower } = started();
  const second = follow(world);
  world.run((m) => follower.set(m, HERE));
  world.takeSent();
  world.run((m) => follower.close(m));
  assert.deepEqual(sent(world), [['setPresence', 1, null]]);
  world.run((m) => second.close(m));
  assert.deepEqual(sent(world), [['followPresence', 1, false]]);
});

test('a refused scope ends it; a refused presence is reported', () => {
  const { world, follower } = started();
  const { id } = world.sent.at(-1);
  world.run((m) => follower.set(m, HERE));
  world.error('BUSY', world.sent.at(-1).id, { retry: 3 });
  assert.equal(last(world, follower).error.code, 'BUSY');
  world.error('NOT_FOUND', id);
  const { type, error } = world.changesOf(follower).at(-1);
  assert.deepEqual([type, error.code], ['end', 'NOT_FOUND']);
});

test('a place is written as protocol.md says, and bytes of another form are none', () => {
  assert.equal(toHex(placeBytes({ object: 7, property: 1, anchor: 3 })), '0301010702010103020303');
  assert.equal(toHex(placeBytes({})), '00');
  for (const place of [{}, { object: 2 ** 53 - 1 }, { property: 65535, anchor: 5, head: 0 }, { head: 70_000 }]) {
    const { object = null, property = null, anchor = null, head = anchor } = place;
    assert.deepEqual(placeOf(placeBytes(place)), { object, property, anchor: anchor ?? head, head });
  }
  // A field of a later version is skipped.
  assert.deepEqual(placeOf(fromHex('02010107090100')), { object: 7, property: null, anchor: null, head: null });
  for (const hex of ['', 'ff', '01010100', '0001', '01030105', '7b22']) assert.equal(placeOf(fromHex(hex)), null, hex);
});
