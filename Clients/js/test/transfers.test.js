// Sub-trees to and from a real server: all types, slow programs, programs that leave, a server that is killed.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { connect } from '../node.js';
import { NestDate, UUID } from '../wire/values.js';
import { missing, Server } from './live/nestd.js';

const model = fileURLToPath(new URL('rules/model.json', import.meta.url));

const options = { skip: missing };

/** Runs with a server of people, a client, and the entity. */
async function withPeople(body) {
  const server = await Server.start('--model', model);
  const nest = await connect({ url: `nest://${server.address}` });
  try {
    const people = await nest.entity('Person');
    let root;
    const receipt = await nest.transaction('root', (tx) => { root = tx.insert(people, { name: 'root' }); });
    await body({ server, nest, people, root: receipt.id(root) });
  } finally {
    nest.close();
    await server.close();
  }
}

const names = ['name', 'home', 'age', 'level', 'score', 'ratio', 'money', 'active', 'born', 'photo', 'key'];
const samples = [
  ['', 'urn:a', 0, 0, 0, 0, '0', true, new NestDate(0), new Uint8Array(0), new UUID('00'.repeat(16))],
  ['é\u{1f600}', null, 2n ** 63n - 1n, -32_768, -1.5, 0.5, '-12.5', false, new NestDate(-1), Uint8Array.of(0, 255),
    null],
  ['x'.repeat(5000), 'https://x.org/a', -(2n ** 63n), 1, Infinity, 2, '12345678901234567890.5', null,
    new NestDate(2n ** 63n - 1n), new Uint8Array(3000).fill(7), new UUID('ff'.repeat(16))],
  names.map(() => null),
];

/** A row without its id; bytes as a list, whichever buffer they are in. */
const bare = ({ depth, values }) => ({
  depth, values: values.map((value) => (value instanceof Uint8Array ? [...value] : value)),
});
const all = async (rows) => {
  const read = [];
  for await (const row of rows) read.push(row);
  return read;
};

test('what is imported is exported again, whatever its types', options, () => withPeople(async (given) => {
  const { nest, people, root } = given;
  const rows = Array.from({ length: 1000 }, (_, row) => ({ depth: row % 4, values: samples[row % samples.length] }));
  const request = { entity: people, properties: names, place: { of: root }, name: 'all types' };
  const receipt = await nest.import(request, rows);
  assert.deepEqual([receipt.name, receipt.results[0].count], ['all types', 1000]);
  const tree = await nest.export({ entity: 'Person', root, relationship: 'team', atLeast: receipt.revision });
  assert.deepEqual([tree.rowCount, tree.properties], [1001, names]);
  const [first, ...read] = await all(tree);
  assert.equal(first.values[0], 'root');
  assert.deepEqual(read.map(bare), rows.map(({ depth, values }) => bare({ depth: depth + 1, values })));
  const undone = await nest.undo();
  assert.equal(undone.name, 'all types', 'an import is one undo entry');
  const only = { entity: people, root: { id: root }, relationship: 'team', levels: 0, properties: ['age'] };
  const level = await nest.export(only);
  assert.deepEqual(await all(level), [{ id: root, depth: 0, values: [null] }]);
}));

test('programs that leave their transfers free their places', options, () => withPeople(async (given) => {
  const { nest, people, root } = given;
  const rows = Array.from({ length: 300 }, () => ({ depth: 0, values: ['x'.repeat(5000)] }));
  const request = { entity: people, properties: ['name'], place: { of: root } };
  await nest.import(request, rows);
  const read = { entity: people, root, relationship: 'team', properties: ['name'] };
  for (let turn = 0; turn < 3; turn += 1) {
    for await (const row of await nest.export(read)) if (row.depth === 1) break;
    (await nest.export(read)).cancel();
    const failing = async function* failing() {
      yield* rows;
      throw new RangeError('the file ends');
    };
    await assert.rejects(nest.import(request, failing()), RangeError);
    const controller = new AbortController();
    const aborted = nest.import({ ...request, signal: controller.signal }, (function* endless() {
      for (let row = 0; ; row += 1) {
        if (row === 150) controller.abort();
        yield rows[0];
      }
    })());
    await assert.rejects(aborted, { code: 'CANCELLED' });
  }
  assert.equal(await nest.count(people.of(root, 'team')), 300, 'nothing of them was stored');
  // More than the initial credit, by a program that is slow.
  let count = 0;
  for await (const chunk of (await nest.export(read)).chunks()) {
    count += chunk.length;
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
  assert.equal(count, 301);
}));

test('an import that a server does not survive stores nothing, and can be made again', options,
  () => withPeople(async ({ server, nest, people, root }) => {
    const request = { entity: people, properties: ['name'], place: { of: root } };
    const rows = async function* rows(isKilled) {
      for (let row = 0; row < 900; row += 1) {
        if (isKilled && row === 450) await server.restart();
        yield { depth: 0, values: [`${row}`.padEnd(2000, 'x')] };
      }
    };
    await assert.rejects(nest.import(request, rows(true)), { code: 'CONNECTION_LOST' });
    assert.equal(await nest.count(people.of(root, 'team')), 0);
    const key = nest.newKey();
    const first = await nest.import({ ...request, key }, rows(false));
    const again = await nest.import({ ...request, key }, rows(false));
    assert.deepEqual([first.isReplayed, again.isReplayed, again.revision], [false, true, first.revision]);
    assert.equal(await nest.count(people.of(root, 'team')), 900, 'the same key stores it once');
  }));

test('operators get what they ask of a real server', options, () => withPeople(async ({ server, nest }) => {
  const operations = await nest.operations();
  const steps = [];
  const report = await operations.check({ progress: (step) => steps.push(step.number) });
  assert.deepEqual([report.problemCount, report.objectCount, steps], [0, 1, steps.map((_, index) => index + 1)]);
  const backup = await operations.backup();
  let bytes = 0;
  for await (const piece of backup) bytes += piece.length;
  assert.equal(bytes, backup.byteCount);
  const other = await connect({ url: `nest://${server.address}`, clientName: 'other' });
  const kicked = new Promise((resolve) => { other.onState(({ phase }) => phase !== 'ready' && resolve(phase)); });
  const { number } = (await operations.clients()).find(({ name }) => name === 'other');
  await operations.kick(number);
  assert.equal(await kicked, 'reconnecting');
  other.close();
  await assert.rejects(operations.kick(number), { code: 'NOT_FOUND' });
  await assert.rejects(operations.verifyCluster(), { code: 'UNSUPPORTED' });
  assert.equal(await operations.cluster(), null);
  const admin = await operations.createToken({ name: 'admin', role: 'admin' });
  const owner = await connect({ url: `nest://${server.address}`, token: admin.text });
  const mine = await owner.operations();
  const reader = await mine.createToken({ name: 'reader', role: 'read' });
  const guest = await connect({ url: `nest://${server.address}`, token: reader.text });
  await assert.rejects((await guest.operations()).tokens(), { code: 'NOT_PERMITTED' });
  assert.deepEqual((await mine.tokens()).map((token) => [token.name, token.role, token.connections]),
    [['admin', 'admin', 1], ['reader', 'read', 1]]);
  const ended = new Promise((resolve) => {
    guest.onState(({ phase, error }) => phase === 'closed' && resolve(error));
  });
  await mine.revokeToken(reader.number);
  assert.equal((await ended).code, 'UNAUTHENTICATED');
  await assert.rejects(mine.revokeToken(admin.number), { code: 'CONFLICT' });
  owner.close();
}));
