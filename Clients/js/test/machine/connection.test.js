import assert from 'node:assert/strict';
import test from 'node:test';
import { NestError } from '../../wire/errors.js';
import * as unpacks from '../../machine/packed.js';
import { preface } from '../../wire/frames.js';
import { HISTORY, OTHER_HISTORY, World } from './server.js';

const unreachable = () => new NestError('UNREACHABLE', 'nobody there');

test('the handshake sends preface and HELLO, and accepts a preface in pieces', () => {
  const world = new World({ user: 'ann', token: { number: 7, secret: 'ab'.repeat(32) } });
  world.run((m, now) => m.connect(now));
  assert.deepEqual(world.connects, ['a:1']);
  world.run((m, now) => m.connected(now));
  const [hello] = world.takeSent();
  assert.equal(hello.name, 'hello');
  assert.deepEqual(hello.fields.token, { number: 7, secret: 'ab'.repeat(32) });
  assert.equal(hello.fields.user, 'ann');
  for (const byte of preface()) world.receive(Uint8Array.of(byte));
  world.reply('welcome', { historyID: HISTORY, features: 7, modelHash: '00'.repeat(8) });
  assert.equal(world.machine.phase, 'ready');
  assert.equal(world.take('ready').length, 1);
});

test('another version, another protocol and an early message end the first connection with a code', () => {
  for (const [bytes, code] of [
    [Uint8Array.of(0x4e, 0x45, 0x53, 0x54, 0, 9, 8, 0), 'VERSION_MISMATCH'],
    [new TextEncoder().encode('HTTP/1.1 400'), 'PROTOCOL'],
  ]) {
    const world = new World();
    world.run((m, now) => m.connect(now));
    world.run((m, now) => m.connected(now));
    world.receive(bytes);
    assert.equal(world.take('closed')[0].error.code, code);
    assert.equal(world.closes, 1);
  }
  const world = new World();
  world.run((m, now) => m.connect(now));
  world.run((m, now) => m.connected(now));
  world.receive(preface());
  world.reply('progress', { revision: 1 });
  assert.equal(world.take('closed')[0].error.code, 'PROTOCOL');
});

test('a first connection fails after one round, with the code of a server that answered', () => {
  const world = new World({ homes: ['a:1', 'b:1'] });
  world.run((m, now) => m.connect(now));
  world.lose(unreachable());
  assert.equal(world.connects.length, 2);
  assert.notEqual(world.connects[0], world.connects[1]);
  world.run((m, now) => m.connected(now));
  world.receive(preface());
  world.error('BUSY', 0, { retry: 2 });
  const [{ error }] = world.take('closed');
  assert.equal(error.code, 'BUSY');
  assert.match(error.message, /a:1|b:1/);
});

test('after a lost connection the client tries each address, then pauses longer and longer, with jitter', () => {
  const pauses = (seed) => {
    const world = new World({ homes: ['a:1', 'b:1'], seed });
    world.welcome();
    world.now += 60_000;
    world.lose();
    const found = [];
    for (let i = 0; i < 12; i++) {
      if (world.machine.phase === 'backingOff') {
        found.push(world.deadline - world.now);
        world.pass(world.deadline - world.now);
      }
      world.lose(unreachable());
    }
    return { found, connects: world.connects };
  };
  const { found, connects } = pauses(1);
  assert.notEqual(connects[0], connects[1], 'the other address comes first');
  assert.ok(found.length >= 4);
  for (const [index, pause] of found.entries()) {
    const longest = Math.min(100 * 2 ** index, 30_000);
    assert.ok(pause >= longest / 2 && pause <= longest, `pause ${index} of ${pause}`);
  }
  assert.notDeepEqual(found, pauses(2).found);
});

test('a single address that was healthy is tried again at once', () => {
  const world = new World();
  world.welcome();
  world.now += 31_000;
  world.lose();
  assert.deepEqual(world.connects, ['a:1', 'a:1']);
});

test('TOKEN_EXPIRED and UNAUTHENTICATED end the client with that code, at every address and time', () => {
  for (const code of ['TOKEN_EXPIRED', 'UNAUTHENTICATED']) {
    for (const homes of [['a:1'], ['a:1', 'b:1']]) {
      for (const isReady of [false, true]) {
        const world = new World({ homes });
        if (isReady) world.welcome();
        else {
          world.run((m, now) => m.connect(now));
          world.run((m, now) => m.connected(now));
          world.receive(preface());
        }
        const call = isReady ? world.write() : null;
        world.error(code);
        assert.equal(world.events.find(({ type }) => type === 'closed').error.code, code);
        assert.equal(world.machine.phase, 'closed');
        assert.equal(world.deadline, null);
        if (call) assert.equal(world.ended(call).error.code, 'OUTCOME_UNKNOWN');
        assert.equal(world.ended(world.request('getModel', {}, { answer: 'model' })).error.code, code);
      }
    }
  }
});

test('silence leads to PING, then to another connection; any byte is a sign of life', () => {
  const world = new World();
  world.welcome({ pingIntervalMilliseconds: 20_000 });
  world.pass(20_000);
  assert.deepEqual(world.takeSent().map(({ name }) => name), ['ping']);
  world.pass(5_000);
  world.reply('progress', { revision: 2 });
  world.pass(5_000);
  assert.equal(world.machine.phase, 'ready');
  world.pass(15_000);
  assert.deepEqual(world.takeSent().map(({ name }) => name), ['ping']);
  world.pass(10_000);
  assert.equal(world.closes, 1);
  assert.match(world.take('lost')[0].error.message, /does not respond/);
});

test('a PING is answered with its payload', () => {
  const world = new World();
  world.welcome();
  world.reply('ping', { payload: '0102030405060708' });
  assert.deepEqual(world.takeSent()[0].fields, { payload: '0102030405060708' });
});

test('an attempt that does not answer ends after its time', () => {
  const world = new World({ connectTimeout: 5_000, homes: ['a:1', 'b:1'] });
  world.run((m, now) => m.connect(now));
  world.run((m, now) => m.connected(now));
  world.pass(5_000);
  assert.equal(world.connects.length, 2);
  assert.equal(world.closes, 1);
});

test('GOAWAY: later requests wait for the next connection, earlier ones are still answered', () => {
  const world = new World();
  world.welcome();
  const first = world.request('getModel', {}, { answer: 'model', isRaw: true });
  const second = world.write();
  const upload = world.request('importSubtree', new Uint8Array(3), { kind: 'upload', answer: 'receipt' });
  world.takeSent();
  world.reply('goAway', { code: 'SHUTTING_DOWN', lastRequestID: 1, retryAfter: 500, message: 'bye' });
  assert.equal(world.ended(upload).error.code, 'CONNECTION_LOST');
  assert.equal(world.closes, 0);
  world.reply('model', { entities: [] }, 1);
  assert.equal(world.ended(first).type, 'answer');
  assert.equal(world.closes, 1);
  assert.ok(world.deadline - world.now >= 500);
  world.reconnect();
  const [again] = world.takeSent();
  assert.deepEqual([again.name, again.id], ['transaction', 1]);
  world.receipt(1);
  assert.equal(world.ended(second).reply.revision, 2);
});

test('frames behind a compressed one wait until it is unpacked, and keep their order', () => {
  const world = new World({ unpacks });
  world.welcome({ features: 7 | 16 });
  const call = world.request('getModel', {}, { answer: 'model', isRaw: true });
  const body = Uint8Array.of(1, 2, 3);
  const packed = new Uint8Array([0, 0, 0, 3, 0x41, 2, 0, 0, 0, 0, 0, 1, ...body]);
  const other = world.request('getUndoState', { follows: false }, { answer: 'undoState' });
  const state = { undo: null, redo: null, undoCount: 0, redoCount: 0, blockedCount: 0, droppedCount: 0, group: null };
  world.receive(packed);
  assert.deepEqual([...world.unpack.body], [...body]);
  world.reply('undoState', state, 2);
  assert.equal(world.ended(other), null);
  world.run((m, now) => unpacks.unpacked(m, {}, body, now));
  assert.equal(world.ended(call), null, 'the content of another frame is ignored');
  world.run((m, now) => unpacks.unpacked(m, world.unpack, Uint8Array.of(0), now));
  assert.deepEqual([...world.ended(call).reply.body], [0]);
  assert.equal(world.ended(other).type, 'answer');
});

test('a compressed frame without the feature, or that cannot be unpacked, ends the connection', () => {
  const packed = new Uint8Array([0, 0, 0, 1, 0x41, 2, 0, 0, 0, 0, 0, 1, 9]);
  const plain = new World();
  plain.welcome();
  plain.receive(packed);
  assert.equal(plain.closes, 1);
  const world = new World({ unpacks });
  world.welcome({ features: 7 | 16 });
  world.receive(packed);
  world.run((m, now) => unpacks.unpacked(m, world.unpack, null, now));
  assert.equal(world.closes, 1);
});

test('another store and a history that was restored', () => {
  const world = new World({ store: 'shop' });
  world.run((m, now) => m.connect(now));
  world.run((m, now) => m.connected(now));
  world.receive(preface());
  world.reply('welcome', { historyID: HISTORY, features: 7 });
  assert.equal(world.take('closed')[0].error.code, 'NOT_FOUND');
  const restored = new World();
  restored.welcome();
  const call = restored.write();
  restored.lose();
  restored.reconnect({ historyID: OTHER_HISTORY });
  assert.equal(restored.ended(call).error.code, 'OUTCOME_UNKNOWN', 'the write may be in the lost history');
  assert.deepEqual(restored.takeSent().filter(({ name }) => name === 'transaction').length, 1);
});

test('close ends everything once, and nothing connects again', () => {
  const world = new World();
  world.welcome();
  const read = world.request('getModel', {}, { answer: 'model' });
  const write = world.write();
  world.run((m, now) => m.close(now));
  assert.equal(world.ended(read).error.code, 'CLOSED');
  assert.equal(world.ended(write).error.code, 'OUTCOME_UNKNOWN');
  world.run((m, now) => m.close(now));
  assert.equal(world.take('closed').length, 1);
  assert.equal(world.connects.length, 1);
  assert.equal(world.deadline, null);
});
