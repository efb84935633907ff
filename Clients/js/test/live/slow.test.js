// A reader that does not read: the server keeps little for it, delays no one, and then sends one net difference.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MORE } from '../../wire/frames.js';
import { decode } from '../../wire/messages.js';
import { SnapshotAssembler, applyDiff } from '../../wire/results.js';
import { Server, missing } from './nestd.js';
import { Messages, RawSocket, frame, handshake, login, message, opcodes } from './rawsocket.js';

const writes = 300;
const inFlight = 20;
const titleBytes = 60_000;
const title = 1;

/** A WebSocket that has logged in. */
async function open(server) {
  const raw = new RawSocket(server.webPort);
  raw.write(handshake(server.web));
  assert.equal((await raw.head()).status, 101);
  const messages = new Messages(raw);
  messages.send = (...parts) => raw.write(frame(opcodes.binary, message(...parts)));
  raw.write(frame(opcodes.binary, login));
  assert.equal((await messages.next()).name, 'welcome');
  return messages;
}

/** Follows the titles of all items. `step` handles one frame, and checks the digest. */
async function follow(server) {
  const messages = await open(server);
  const request = {
    entity: 1, source: null, projection: [title], sort: [], predicate: null, columns: [], section: null, window: null,
  };
  messages.send('subscribe', 1, { resume: null, atLeast: 0, request });
  const reader = { messages, state: null, diffs: 0 };
  let assembler = null;
  reader.step = async () => {
    const { name, body, flags, close } = await messages.next();
    assert.equal(close, undefined, 'the connection ended');
    if (name === 'snapshot') assembler = new SnapshotAssembler(decode(name, body), [title]);
    if (name === 'snapshotRows') assembler.addRows(decode(name, body, { width: 1 }).rows);
    if (name.startsWith('snapshot') && (flags & MORE) === 0) reader.state = assembler.finish();
    if (name === 'diff') {
      reader.state = applyDiff(reader.state, decode(name, body, { width: 1 }));
      reader.diffs += 1;
    }
  };
  while (reader.state === null) await reader.step();
  return reader;
}

test('a slow reader gets a net difference, and delays no one', { skip: missing }, async (context) => {
  const server = await Server.start('--web', 'WEB');
  try {
    const id = Number(await server.nestc(['add', 'first']));
    const slow = await follow(server);
    const quick = await follow(server);
    slow.messages.raw.socket.pause();
    // Each write gives the item another title: 18 MB of diffs, which neither the kernel nor the server keeps.
    const writer = await open(server);
    const write = (index) => {
      const values = [{ property: title, value: `${index} `.padEnd(titleBytes, 'x') }];
      const mutations = [{ update: { object: id, values } }];
      writer.send('transaction', index, { key: null, name: null, preconditions: [], mutations });
    };
    for (let index = 1; index <= inFlight; index += 1) write(index);
    let revision = 0;
    for (let index = 1; index <= writes; index += 1) {
      const { name, body } = await writer.next();
      assert.equal(name, 'receipt');
      ({ revision } = decode(name, body));
      if (index + inFlight <= writes) write(index + inFlight);
    }
    // The other reader has it all, while this one has read nothing.
    while (quick.state.revision < revision) await quick.step();
    slow.messages.raw.socket.resume();
    while (slow.state.revision < revision) await slow.step();
    assert.deepEqual(slow.state.sections, quick.state.sections);
    assert.ok(slow.diffs < writes / 2, `${slow.diffs} diffs for ${writes} writes`);
    context.diagnostic(`${slow.diffs} diffs for ${writes} writes; the quick reader had ${quick.diffs}`);
  } finally {
    await server.close();
  }
});
