import assert from 'node:assert/strict';
import test from 'node:test';
import { NestError } from '../../wire/errors.js';
import { abandon } from '../../machine/calls.js';
import { atLeastBefore } from '../../machine/fetches.js';
import { endGroup } from '../../machine/groups.js';
import { sendPart } from '../../machine/streams.js';
import { T } from '../../machine/types.js';
import { MODEL, OTHER_HISTORY, spec, VIEW, World } from './server.js';

const getModel = (world) => world.request('getModel', {}, { answer: 'model', isRaw: true });
const names = (frames) => frames.map(({ name }) => name);

test('reads are sent again after a lost connection, writes with the same body', () => {
  const world = new World();
  world.welcome();
  const read = getModel(world);
  const write = world.write();
  const [, before] = world.takeSent();
  world.lose();
  world.reconnect();
  const [first, second] = world.takeSent();
  assert.deepEqual([first.name, second.name], ['getModel', 'transaction']);
  assert.deepEqual(second.body, before.body, 'the key and all fields are those of the first sending');
  world.reply('model', { entities: [] }, 1);
  world.receipt(2, 3, { isReplayed: true });
  assert.equal(world.ended(read).type, 'answer');
  assert.equal(world.ended(write).reply.isReplayed, true);
});

test('undo, redo and revert are sent again with their keys', () => {
  const key = 'b1'.repeat(16);
  for (const [name, fields] of [
    ['undo', { key, policy: 'keep', rehomes: false, expected: null }],
    ['redo', { key, policy: 'force', rehomes: true, expected: 3 }],
    ['revert', { key, policy: 'keep', rehomes: false, revision: 4, ofAnyone: true }],
  ]) {
    const world = new World();
    world.welcome();
    const call = world.request(name, fields, { kind: 'write', answer: 'receipt' });
    const [{ body }] = world.takeSent();
    world.lose();
    world.reconnect();
    const [again] = world.takeSent();
    assert.deepEqual(again.body, body);
    assert.equal(again.fields.key, key);
    world.receipt(again.id);
    assert.equal(world.ended(call).type, 'answer');
  }
});

test('a write that was sent before is OUTCOME_UNKNOWN, whichever way a later server refuses to execute it', () => {
  for (const [code, details] of [
    ['NOT_LEADER', { retry: 4 }], ['LOG_UNAVAILABLE', { retry: 2 }], ['BUSY', { retry: 2 }],
    ['SHUTTING_DOWN', { retry: 4 }], ['DISK_FULL', { retry: 2 }], ['NOT_PERMITTED', { retry: 0 }],
    ['FRAME_TOO_LARGE', { retry: 0 }], ['LIMIT_EXCEEDED', { retry: 0 }],
  ]) {
    const world = new World();
    world.welcome();
    const call = world.write();
    world.lose();
    world.reconnect();
    const { id } = world.takeSent().at(-1);
    world.error(code, id, details);
    if (!world.ended(call)) {
      // A node may take it yet: it waits until its caller's time is over.
      world.run((m) => abandon(m, call, true));
    }
    assert.equal(world.ended(call).error.code, 'OUTCOME_UNKNOWN', code);
  }
  // What the server knows after looking for the key is what it is.
  const world = new World();
  world.welcome();
  const call = world.write();
  world.lose();
  world.reconnect();
  world.error('NOT_UNIQUE', world.takeSent().at(-1).id);
  assert.equal(world.ended(call).error.code, 'NOT_UNIQUE');
});

test('a write that was sent before, and that no node takes any more, is OUTCOME_UNKNOWN', () => {
  const world = new World();
  world.welcome({ store: 'default' });
  const call = world.write();
  world.lose();
  world.reconnect({ store: 'default' });
  for (let i = 0; i < 60 && !world.ended(call); i++) {
    for (const { id } of world.takeSent()) world.error('NOT_LEADER', id, { retry: 4 });
    world.pass(1_000);
  }
  assert.equal(world.ended(call).error.code, 'OUTCOME_UNKNOWN');
});

test('a refusal of a write that was sent once is reported as it is', () => {
  const world = new World();
  world.welcome();
  const call = world.write();
  world.error('BUSY', 1, { retry: 2 });
  assert.equal(world.ended(call).error.code, 'BUSY');
});

test('NOT_LEADER moves the client to the leader, and the request with it', () => {
  const world = new World({ homes: ['a:1', 'b:1'] });
  world.welcome({ store: 'default', nodeRole: 'follower' });
  const leader = world.connects[0] === 'a:1' ? 'b:1' : 'a:1';
  const first = world.write('one');
  const second = world.write('two', 'a1'.repeat(16));
  world.takeSent();
  world.error('NOT_LEADER', 1, { retry: 4, leader });
  assert.deepEqual(world.connects.slice(1), [leader]);
  world.welcome({ store: 'default', nodeRole: 'leader' });
  const again = world.takeSent();
  assert.deepEqual(names(again), ['transaction', 'transaction']);
  assert.equal(again[0].fields.mutations[0].insert.values[0].value, 'one', 'writes keep their order');
  world.receipt(again[0].id);
  world.receipt(again[1].id, 3);
  assert.equal(world.ended(first).reply.revision, 2);
  assert.equal(world.ended(second).reply.revision, 3);
});

test('NOT_LEADER without an address: the write waits, and writes behind it too; reads go on', () => {
  const world = new World();
  world.welcome({ store: 'default' });
  const first = world.write('one');
  world.takeSent();
  world.error('NOT_LEADER', 1, { retry: 4 });
  world.write('two', 'a1'.repeat(16));
  getModel(world);
  assert.deepEqual(names(world.takeSent()), ['getModel']);
  const pause = world.deadline - world.now;
  assert.ok(pause > 0 && pause <= 1_000, `a pause of ${pause}`);
  world.pass(pause);
  let sent = world.takeSent();
  assert.deepEqual(sent.map(({ fields }) => fields.mutations[0].insert.values[0].value), ['one', 'two']);
  for (let i = 0; i < 60 && !world.ended(first); i++) {
    for (const { id } of sent) world.error('NOT_LEADER', id, { retry: 4 });
    world.pass(1_000);
    sent = world.takeSent();
  }
  assert.ok(world.now >= 15_000 && world.now < 20_000, `given up after ${world.now} ms`);
  assert.equal(world.ended(first).error.code, 'NOT_LEADER');
  assert.match(world.ended(first).error.message, /Nothing was executed/);
});

test('LOG_UNAVAILABLE goes to each other address of a list once', () => {
  const world = new World({ homes: ['a:1', 'b:1', 'c:1'] });
  world.welcome({ store: 'default' });
  const call = world.write();
  for (let visited = 1; visited < 3; visited++) {
    world.error('LOG_UNAVAILABLE', world.takeSent().at(-1).id, { retry: 2 });
    assert.equal(world.connects.length, visited + 1);
    world.welcome({ store: 'default' });
  }
  assert.equal(new Set(world.connects).size, 3);
  world.error('LOG_UNAVAILABLE', world.takeSent().at(-1).id, { retry: 2 });
  assert.equal(world.connects.length, 3, 'all were asked');
  world.pass(1_000);
  world.receipt(world.takeSent().at(-1).id);
  assert.equal(world.ended(call).type, 'answer');
});

test('a write that may be in another history is not sent there', () => {
  const world = new World();
  world.welcome();
  const call = world.write();
  world.lose();
  world.takeSent();
  world.reconnect({ historyID: OTHER_HISTORY });
  assert.deepEqual(world.takeSent(), []);
  assert.equal(world.ended(call).error.code, 'OUTCOME_UNKNOWN');
});

test('requests of a connection fail with it', () => {
  const world = new World();
  world.welcome();
  const call = world.request('getUndoState', { follows: true }, { kind: 'connection', answer: 'undoState' });
  world.lose();
  assert.equal(world.ended(call).error.code, 'CONNECTION_LOST');
});

test('requests in flight are limited; the others wait', () => {
  const world = new World();
  world.welcome({ requestsInFlightMax: 2 });
  const calls = [1, 2, 3].map(() => getModel(world));
  assert.equal(world.takeSent().length, 2);
  world.reply('model', { entities: [] }, 2);
  assert.deepEqual(world.takeSent().map(({ id }) => id), [3]);
  assert.equal(world.ended(calls[1]).type, 'answer');
});

test('an abandoned request keeps its slot until it is answered, and its answer goes nowhere', () => {
  const world = new World();
  world.welcome({ requestsInFlightMax: 1 });
  const { wire, bytes } = spec();
  const call = world.request('fetch', bytes, { atLeast: 0, projection: wire.projection, model: MODEL });
  const next = getModel(world);
  world.takeSent();
  world.run((m) => abandon(m, call, false));
  assert.deepEqual(names(world.takeSent()), ['cancel']);
  assert.equal(world.ended(call).error.code, 'CANCELLED');
  assert.equal(world.machine.table.inFlight.size, 1);
  world.snapshot(4, [2, 3], { id: 1 });
  assert.deepEqual(names(world.takeSent()), ['getModel'], 'the slot is free after the last frame');
  world.reply('model', { entities: [] }, 2);
  assert.equal(world.ended(next).type, 'answer');
  assert.equal(world.events.filter((event) => event.call === call).length, 1);
});

test('abandoning says what is known of the request', () => {
  const unsent = new World();
  const waiting = unsent.write();
  unsent.run((m) => abandon(m, waiting, true));
  assert.equal(unsent.ended(waiting).error.code, 'UNREACHABLE');
  const world = new World();
  world.welcome();
  const write = world.write();
  world.run((m) => abandon(m, write, true));
  assert.equal(world.ended(write).error.code, 'OUTCOME_UNKNOWN');
  const read = getModel(world);
  world.run((m) => abandon(m, read, true));
  assert.equal(world.ended(read).error.code, 'TIMED_OUT');
  world.lose();
  world.reconnect();
  assert.equal(world.machine.table.inFlight.size, 0, 'what nobody waits for is not sent again');
});

test('FETCH, SUBSCRIBE and RESUBSCRIBE above the limit are refused before they are sent, and take no slot', () => {
  const world = new World();
  world.welcome({ frameBytesMax: 4_096 });
  const big = spec({ predicate: new Uint8Array(5_000).fill(1) });
  const fetch = world.request('fetch', big.bytes, { atLeast: 0, projection: [1], model: MODEL });
  assert.equal(world.ended(fetch).error.code, 'FRAME_TOO_LARGE');
  const refused = world.subscribe(big);
  assert.equal(world.events.find(({ to }) => to === refused.to).error.code, 'FRAME_TOO_LARGE');
  const list = world.subscribe();
  world.subscribed();
  world.snapshot(2, [2]);
  const call = {};
  world.run((m) => list.changeTo(m, big, call));
  assert.equal(world.ended(call).error.code, 'FRAME_TOO_LARGE');
  assert.equal(world.machine.table.inFlight.size, 0);
  assert.equal(world.machine.table.waiting.length, 0);
  assert.equal(world.closes, 0);
  world.insert(2, 3, 4, [4, 2]);
  assert.equal(world.types(list).at(-1), 'diff', 'the list goes on as before');
});

test('a request that only the next server finds too large is refused there, once', () => {
  const world = new World();
  world.welcome();
  const big = spec({ predicate: new Uint8Array(9_000).fill(1) });
  const list = world.subscribe(big);
  const fetch = world.request('fetch', big.bytes, { atLeast: 0, projection: [1], model: MODEL });
  world.lose();
  world.reconnect({ frameBytesMax: 4_096 });
  assert.equal(world.ended(fetch).error.code, 'FRAME_TOO_LARGE');
  assert.equal(world.types(list).at(-1), 'end');
  assert.equal(world.machine.table.inFlight.size, 0);
  assert.equal(world.machine.phase, 'ready');
});

test('a write that was sent before, and that only the next server finds too large, is OUTCOME_UNKNOWN', () => {
  const world = new World();
  world.welcome();
  const sent = world.write('x'.repeat(9_000));
  world.lose();
  const unsent = world.write('x'.repeat(9_000), 'b0'.repeat(16));
  world.reconnect({ frameBytesMax: 4_096 });
  assert.equal(world.ended(sent).error.code, 'OUTCOME_UNKNOWN');
  assert.equal(world.ended(unsent).error.code, 'FRAME_TOO_LARGE');
});

test('groups: writes belong to the connection, and do not happen outside after it is lost', () => {
  const world = new World();
  world.welcome();
  const begin = world.request('beginGroup', { name: 'g', joined: null }, { kind: 'connection', answer: 'group' });
  world.reply('group', { number: 300 }, 1);
  assert.equal(world.ended(begin).reply, 300);
  const inside = world.write();
  world.lose();
  assert.equal(world.ended(inside).error.code, 'OUTCOME_UNKNOWN');
  world.reconnect();
  assert.deepEqual(world.takeSent().filter(({ name, id }) => name === 'transaction' && id === 1), []);
  assert.equal(world.ended(world.write()).error.code, 'CONNECTION_LOST');
  const end = {};
  world.run((m) => endGroup(m, end));
  assert.equal(world.ended(end).error.code, 'NOT_FOUND');
  const outside = world.write();
  world.receipt(world.takeSent().at(-1).id);
  assert.equal(world.ended(outside).type, 'answer');
});

test('a group whose caller has gone is ended at once', () => {
  const world = new World();
  world.welcome();
  const begin = world.request('beginGroup', { name: 'g', joined: null }, { kind: 'connection', answer: 'group' });
  world.run((m) => abandon(m, begin, false));
  world.takeSent();
  world.reply('group', { number: 300 }, 1);
  assert.deepEqual(names(world.takeSent()), ['endGroup']);
});

test('an upload has credit when it is sent, ends once, and fails with its connection', () => {
  const world = new World();
  world.welcome({ creditBytesInitial: 777 });
  const call = world.request('importSubtree', new Uint8Array(3), { kind: 'upload', answer: 'receipt' });
  assert.equal(world.take('credit')[0].bytes, 777);
  world.reply('credit', { bytes: 5 }, 1);
  assert.equal(world.take('credit')[0].bytes, 5);
  assert.equal(world.run((m) => sendPart(m, call, T.subtreeChunk, new Uint8Array(9))), true);
  world.lose();
  assert.equal(world.ended(call).error.code, 'CONNECTION_LOST');
  assert.match(world.ended(call).error.message, /nothing was stored/);
  assert.equal(world.run((m) => sendPart(m, call, T.subtreeChunk, new Uint8Array(9))), false);
  world.reconnect();
  const ended = world.request('importSubtree', new Uint8Array(3), { kind: 'upload', answer: 'receipt' });
  world.run((m) => sendPart(m, ended, T.subtreeEnd, new Uint8Array(9)));
  world.lose();
  assert.equal(world.ended(ended).error.code, 'OUTCOME_UNKNOWN');
});

test('a download gets its frames as they are, and ends with the last', () => {
  const world = new World();
  world.welcome();
  const call = world.request('fetchSubtree', Uint8Array.of(1, 6, 0, 0), { kind: 'download', atLeast: 0 });
  assert.deepEqual([...world.takeSent()[0].body], [1, 1, 6, 0, 0], 'at least what the client has seen');
  const header = (type, length) => [0, 0, 0, length, type, 0, 0, 0, 0, 0, 0, 1];
  const send = (type, body) => world.receive(new Uint8Array([...header(type, body.length), ...body]));
  send(T.subtreeStart, [9, 1, 0, 0, 0]);
  send(T.subtreeEnd, [0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const parts = world.events.filter(({ type }) => type === 'part').map(({ part }) => part);
  assert.deepEqual(parts, [T.subtreeStart, T.subtreeEnd]);
  assert.equal(world.ended(call).reply.type, T.subtreeEnd);
});

test('an answer of another type is a PROTOCOL error of that request only', () => {
  const world = new World();
  world.welcome();
  const call = getModel(world);
  world.reply('done', {}, 1);
  assert.equal(world.ended(call).error.code, 'PROTOCOL');
  assert.equal(world.closes, 0);
});

test('a read asks for what the client has seen; the newest state costs a single server nothing', () => {
  const world = new World();
  world.welcome({ revision: 41 });
  const { bytes } = spec();
  world.request('fetch', bytes, { atLeast: 0, projection: [1] });
  world.request('fetch', bytes, { atLeast: 'newest', projection: [1] });
  world.request('fetch', bytes, { atLeast: 50, projection: [1] });
  assert.deepEqual(world.takeSent().map(({ fields }) => fields.atLeast), [41, 41, 50]);
  const cluster = new World();
  cluster.welcome({ revision: 41, store: 'default' });
  cluster.request('fetch', bytes, { atLeast: 'newest', projection: [1] });
  assert.deepEqual(cluster.takeSent().map(({ fields }) => fields.atLeast), [null]);
});

test('a node that lags is left for another one of the list', () => {
  const world = new World({ homes: ['a:1', 'b:1'] });
  world.welcome({ store: 'default', revision: 9 });
  const { bytes } = spec();
  const call = world.request('fetch', bytes, { atLeast: 0, projection: [1] });
  world.takeSent();
  world.error('REVISION_NOT_REACHED', 1, { retry: 2 });
  assert.equal(world.connects.length, 2);
  world.welcome({ store: 'default', revision: 9 });
  const [{ id }] = world.takeSent();
  world.error('REVISION_NOT_REACHED', id, { retry: 2 });
  assert.equal(world.ended(call).error.code, 'REVISION_NOT_REACHED', 'all nodes have said so');
});

test('an unknown frame above 7f is skipped, one below ends the connection', () => {
  const world = new World();
  world.welcome();
  world.receive(new Uint8Array([0, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0, 0, 0]));
  assert.equal(world.closes, 0);
  world.receive(new Uint8Array([0, 0, 0, 0, 0x7d, 0, 0, 0, 0, 0, 0, 0]));
  assert.equal(world.closes, 1);
});

test('frames for views that the client does not have are ignored', () => {
  const world = new World();
  world.welcome();
  world.diff(1, 2, [], { view: VIEW });
  world.reply('subscriptionEnd', { code: 'SCHEMA_CHANGED', message: '' }, VIEW);
  assert.equal(world.closes, 0);
});

test('ERROR of the connection is why it is lost', () => {
  const world = new World();
  world.welcome();
  const call = world.write();
  world.error('LIMIT_EXCEEDED');
  world.lose(new NestError('CONNECTION_LOST', 'end of file'));
  assert.equal(world.take('lost')[0].error.code, 'LIMIT_EXCEEDED');
  assert.equal(world.ended(call), null, 'it is sent again');
});

test('a write without a key is never sent again: it would be executed twice', () => {
  for (const [name, fields] of [
    ['transaction', { key: null, name: null, preconditions: [], mutations: [] }],
    ['undo', { key: null, policy: 'keep', rehomes: false, expected: null }],
  ]) {
    const world = new World();
    world.welcome();
    const call = world.request(name, fields, { kind: 'write', answer: 'receipt' });
    world.lose();
    assert.equal(world.ended(call).error.code, 'OUTCOME_UNKNOWN', name);
    world.reconnect();
    assert.equal(world.machine.table.inFlight.size, 0);
  }
});

test('a revision that is none is refused before anything is sent', () => {
  for (const wrong of [NaN, 1.5, -1, 'latest', null, {}]) {
    assert.throws(() => atLeastBefore(wrong, new Uint8Array(1)), { code: 'INVALID' });
  }
});
