// Requests of an operator: what is sent, what comes back, and what the library refuses itself.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { expiryOf, Operations } from '../../client/operations.js';
import { fnv1a, hashText } from '../../wire/hash.js';
import { NestDate } from '../../wire/values.js';
import { NestError } from '../../wire/errors.js';
import { client } from './server.js';

const operations = (respond) => {
  const nest = client(respond);
  return { nest, asked: nest.calls, operations: new Operations(nest) };
};
const answers = (name, fields) => (call) => call.answer(name, fields);

test('an expiry is never taken for none: what is not later than now is refused', () => {
  const now = Date.UTC(2026, 10, 23);
  assert.equal(expiryOf(null, now), 0);
  assert.equal(expiryOf(undefined, now), 0);
  assert.equal(expiryOf(new Date(now + 1), now), now * 1000 + 1000);
  assert.equal(expiryOf(new NestDate(now * 1000 + 1), now), now * 1000 + 1);
  const wrong = [0, -1, now * 2000, 5n, '2030-01-01', NaN, true, {}, new Date(0), new Date(now), new Date(now - 1),
    new Date(NaN), new Date(-1), new NestDate(0), new NestDate(now * 1000), new NestDate(-(2n ** 62n)),
    new NestDate(2n ** 62n), new NestDate(2n ** 63n - 1n), new Date(8.64e15)];
  for (const expires of wrong) assert.throws(() => expiryOf(expires, now), { code: 'INVALID' }, String(expires));
});

test('a token is created with its user and expiry; only the hash of its secret is sent', async () => {
  const { asked, operations: admin } = operations(answers('tokenCreated', { number: 7 }));
  const expires = new Date(Date.now() + 86_400_000);
  const token = await admin.createToken({ name: 'laptop', role: 'read', user: 'Ann', expires, connections: 2 });
  const [, number, secret] = /^nest_(\d+)_([0-9a-f]{64})$/.exec(token.text);
  assert.deepEqual([token.number, number], [7, '7']);
  const { hash, grant } = asked[0].fields;
  assert.equal(hash, createHash('sha256').update(Buffer.from(secret, 'hex')).digest('hex'));
  assert.deepEqual([grant.name, grant.role, grant.user, grant.connections], ['laptop', 'read', 'Ann', 2]);
  assert.equal(grant.expires, expires.getTime() * 1000, 'the expiry is sent');
});

test('a server that knows no expiry is not asked for one: its token would never expire', async () => {
  const { nest, asked, operations: admin } = operations(answers('tokenCreated', { number: 7 }));
  nest.server.user = null;
  const expires = new Date(Date.now() + 86_400_000);
  await assert.rejects(admin.createToken({ name: 'laptop', expires }), { code: 'UNSUPPORTED' });
  await assert.rejects(admin.createToken({ name: 'laptop', user: 'Ann' }), { code: 'UNSUPPORTED' });
  assert.equal(asked.length, 0);
  assert.equal((await admin.createToken({ name: 'laptop' })).number, 7);
});

test('a confined token names its root by the model', async () => {
  const { asked, operations: admin } = operations(answers('tokenCreated', { number: 8 }));
  await admin.createToken({ name: 'guest', confinement: { root: 90_210, entity: 'Item', relationship: 'children' } });
  assert.deepEqual(asked[0].fields.grant.confinement, { root: 90_210, entity: 1, relationship: 6 });
  assert.equal(asked[0].options.model, '00000000000000aa');
  await assert.rejects(admin.createToken({ name: 'x', expires: 0 }), { code: 'INVALID' });
  await assert.rejects(admin.createToken({ name: '' }), { code: 'INVALID' });
  await assert.rejects(admin.createToken({ name: 'x', role: 'owner' }), { code: 'INVALID' });
  const confinement = { root: 0, entity: 'Item', relationship: 'children' };
  await assert.rejects(admin.createToken({ name: 'x', confinement }), { code: 'INVALID' });
  assert.equal(asked.length, 1, 'nothing wrong is sent');
});

test('tokens are listed with dates', async () => {
  const grant = {
    name: 'laptop', role: 'admin', confinement: null, connections: 3, requestsInFlight: 0, subscriptions: 0,
    outputBytes: 0, user: 'Ann', expires: 1_800_000_000_000_000,
  };
  const tokens = [{ number: 7, grant, created: 1_793_698_200_000_000, lastUsed: 0, connections: 1 }];
  const [token] = await operations(answers('tokenList', { tokens })).operations.tokens();
  assert.deepEqual([token.number, token.user, token.connections, token.connectionsMax], [7, 'Ann', 1, 3]);
  assert.deepEqual([token.expires.microseconds, token.created.microseconds, token.lastUsed],
    [1_800_000_000_000_000, 1_793_698_200_000_000, null]);
  assert.ok(Object.isFrozen(token));
});

test('requests that must not be sent to another connection are not', async () => {
  const { asked, operations: admin } = operations(answers('done', {}));
  await admin.revokeToken(3);
  await admin.drain();
  await admin.drain(false);
  await admin.kick(9);
  await admin.moveLeader('b');
  assert.deepEqual(asked.map(({ name, fields }) => [name, fields]), [['revokeToken', { number: 3 }],
    ['drainNode', { drains: true }], ['drainNode', { drains: false }], ['kick', { number: 9 }],
    ['moveLeader', { node: 'b' }]]);
  const bound = asked.map(({ options }) => options.kind === 'connection');
  assert.deepEqual(bound, [true, true, true, false, false]);
});

/** A connected client as CLIENTS has it. */
const connection = (number) => ({
  number, address: '127.0.0.1:5', name: 'nestc', session: 3, connectedAt: 1_800_000_000_123_456, subscriptions: 0,
  requests: 1, requestsInFlight: 1, bytesIn: 66, bytesOut: 120, bytesQueued: 0,
});

test('clients are read page by page, and a server that goes in circles is left', async () => {
  const page = (first, count) => ({ clients: Array.from({ length: count }, (_, index) => connection(first + index)) });
  const respond = (call) => call.answer('clients', call.fields.after ? page(2000, 3) : page(1, 1000));
  const { asked, operations: admin } = operations(respond);
  const clients = await admin.clients();
  assert.deepEqual([clients.length, asked.map(({ fields }) => fields.after)], [1003, [0, 1000]]);
  assert.equal(clients[0].connectedAt.microseconds, 1_800_000_000_123_456);
  await assert.rejects(operations(answers('clients', page(1, 1000))).operations.clients(), { code: 'PROTOCOL' });
});

test('a check reports its steps, then what it found', async () => {
  const report = { revision: 9, objectCount: 4, problemCount: 2, problems: ['Item #3'] };
  const { asked, operations: admin } = operations((call) => {
    call.part('checkProgress', { name: 'objects', number: 1, count: 2 });
    call.part('checkProgress', { name: 'places', number: 2, count: 2 });
    call.part('checked', report);
    call.resolve({});
  });
  const steps = [];
  assert.deepEqual(await admin.check({ progress: (step) => steps.push(step.name) }), report);
  assert.deepEqual(steps, ['objects', 'places']);
  assert.equal(asked[0].options.signal.aborted, false);
  const failing = operations((call) => call.part('checkProgress', { name: 'objects', number: 1, count: 2 }));
  const thrown = failing.operations.check({ progress: () => { throw new RangeError('of the program'); } });
  await assert.rejects(thrown, RangeError);
  assert.equal(failing.asked[0].options.signal.aborted, true, 'a check whose program fails is cancelled');
});

const pieces = [Uint8Array.of(83, 81, 76), new Uint8Array(200).fill(7), Uint8Array.of(0)];
const packed = (bytes) => Uint8Array.of(0, ...bytes);
const checksum = hashText(pieces.reduce((hash, bytes) => fnv1a(bytes, hash), fnv1a([])));
const historyID = '09101112131415161718191a1b1c1d1e';
const sendBackup = ({ offset = 3, fileBytes = 204, end = {} } = {}) => (call) => {
  call.part('backupStart', { revision: 9, historyID, fileBytes, byteCount: 300 });
  call.part('backupChunk', { offset: 0, packed: packed(pieces[0]) });
  call.part('backupChunk', { offset, packed: packed(pieces[1]) });
  call.part('backupChunk', { offset: 203, packed: packed(pieces[2]) });
  call.part('backupEnd', { fileBytes, checksum, ...end });
  call.resolve({});
};
const read = async (backup) => {
  const bytes = [];
  for await (const piece of backup) bytes.push(...piece);
  return bytes;
};

test('a backup is the bytes of a file, in order', async () => {
  const backup = await operations(sendBackup()).operations.backup();
  assert.deepEqual([backup.revision, backup.historyID, backup.byteCount], [9, historyID, 204]);
  assert.deepEqual(await read(backup), pieces.flatMap((bytes) => [...bytes]));
});

test('a backup that is not complete throws', async () => {
  const wrong = [
    ['CHECKSUM', sendBackup({ end: { checksum: '00000000000000aa' } })], ['CHECKSUM', sendBackup({ fileBytes: 205 })],
    ['CHECKSUM', sendBackup({ end: { fileBytes: 5 } })], ['MALFORMED', sendBackup({ offset: 4 })],
    ['DISK_FULL', (call) => {
      call.part('backupStart', { revision: 9, historyID, fileBytes: 9, byteCount: 9 });
      call.reject(new NestError('DISK_FULL', 'full'));
    }],
  ];
  for (const [code, respond] of wrong) {
    await assert.rejects(read(await operations(respond).operations.backup()), { code });
  }
  await assert.rejects(operations((call) => call.reject(new NestError('NOT_PERMITTED', 'no'))).operations.backup(),
    { code: 'NOT_PERMITTED' });
});

test('a server that is not in a cluster has no status of one', async () => {
  assert.equal(await operations(answers('cluster', {})).operations.cluster(), null);
  const fields = { store: 'default', node: 'b', role: 'follower', epoch: 7, position: 9, head: 9 };
  const status = await operations(answers('cluster', fields)).operations.cluster(5);
  assert.deepEqual([status.store, status.role, status.lag], ['default', 'follower', null]);
  assert.equal(await operations(answers('clusterMark', { position: 12 })).operations.verifyCluster(), 12);
});
