// Export and import of sub-trees: rows, credit, checksums, and every way in which a transfer can end early.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { exportSubtree, importSubtree } from '../../client/transfers.js';
import { ChunkReader, ChunkWriter } from '../../wire/chunks.js';
import { NestError } from '../../wire/errors.js';
import { decode, encode } from '../../wire/messages.js';
import { fnv1a, hashText } from '../../wire/hash.js';
import { client } from './server.js';

const request = { entity: 'Item', root: 1, relationship: 'children', properties: ['title'] };
const into = { entity: 'Item', properties: ['title', 'constructor', 'then'], place: { of: 1 } };
const receipt = { revision: 8, isChanged: true, isReplayed: false, results: [], name: 'import', conflicts: null };

/** The bodies of chunks of so many rows each, with ids as a server sends them. */
function chunks(...counts) {
  const writer = new ChunkWriter(1);
  let number = 0;
  return counts.map((count) => {
    for (let row = 0; row < count; row += 1) writer.add({ depth: number ? 1 : 0, values: [`row ${number++}`] });
    return writer.finish();
  });
}

const checksum = (bodies) => hashText(bodies.reduce((hash, body) => fnv1a(body, hash), fnv1a([])));
const start = (rowCount) => ({ revision: 7, entity: 1, rowCount, byteCount: 0, properties: [1] });

/** Plays a server that sends a whole sub-tree; `change` may damage what it sends. */
const sends = (bodies, rowCount, change = (end) => end) => (call) => {
  call.part('subtreeStart', start(rowCount));
  for (const packed of bodies) call.part('subtreeChunk', { packed });
  call.part('subtreeEnd', change({ rowCount, checksum: checksum(bodies) }));
  call.resolve({});
};

const all = async (rows) => {
  const read = [];
  for await (const row of rows) read.push(row);
  return read;
};

test('a sub-tree comes row by row, and what is consumed is granted again', async () => {
  const bodies = chunks(30, 1, 30);
  const nest = client(sends(bodies, 61), { initialCredit: bodies.reduce((sum, { length }) => sum + length, 0) });
  const subtree = await exportSubtree(nest, { ...request, levels: 3, atLeast: 5 });
  assert.deepEqual(nest.calls[0].fields, { atLeast: 5, root: 1, relationship: 6, depthLimit: 3, properties: [1] });
  const { revision, entity, rowCount, properties } = subtree;
  assert.deepEqual([revision, entity, rowCount, properties], [7, 'Item', 61, ['title']]);
  const rows = await all(subtree);
  assert.deepEqual(rows.map(({ values }) => values[0]), Array.from({ length: 61 }, (_, row) => `row ${row}`));
  const { options } = nest.calls[0];
  assert.equal(options.model, '00000000000000aa');
  assert.equal(options.signal.aborted, false, 'a transfer that is complete is not cancelled');
});

test('credit is granted in steps, and only for what was consumed', async () => {
  const bodies = chunks(10, 10, 10, 10);
  const { length } = bodies[0];
  let call;
  const nest = client((begun) => {
    call = begun;
    call.part('subtreeStart', start(40));
    for (const packed of bodies) call.part('subtreeChunk', { packed });
  }, { initialCredit: 5 * length });
  const reading = (await exportSubtree(nest, request)).chunks();
  await reading.next();
  assert.equal(call.sent.length, 0);
  await reading.next();
  assert.deepEqual(call.sent.map(({ body }) => decode('credit', body).bytes), [bodies[0].length + bodies[1].length]);
  await reading.return();
  assert.equal(call.options.signal.aborted, true, 'leaving the loop cancels the transfer');
});

test('an iteration that is left before its first step ends the transfer', async () => {
  for (const iterate of [(subtree) => subtree[Symbol.asyncIterator](), (subtree) => subtree.chunks()]) {
    let call;
    const nest = client((begun) => {
      call = begun;
      call.part('subtreeStart', start(40));
    });
    const iterator = iterate(await exportSubtree(nest, request));
    assert.deepEqual(await iterator.return(), { done: true, value: undefined });
    assert.equal(call.options.signal.aborted, true);
  }
});

test('a sub-tree that is damaged, cut short or too long is never complete', async () => {
  const bodies = chunks(3, 3);
  const wrong = [
    ['CHECKSUM', sends(bodies, 6, (end) => ({ ...end, checksum: '00000000000000aa' }))],
    ['CHECKSUM', sends(bodies, 7)],
    ['CHECKSUM', sends(bodies, 6, (end) => ({ ...end, rowCount: 5 }))],
    ['PROTOCOL', (call) => {
      call.part('subtreeStart', start(6));
      call.part('subtreeStart', start(6));
    }],
    ['CONNECTION_LOST', (call) => {
      call.part('subtreeStart', start(6));
      call.part('subtreeChunk', { packed: bodies[0] });
      call.reject(new NestError('CONNECTION_LOST', 'lost'));
    }],
    ['FLOW_CONTROL', (call) => {
      call.part('subtreeStart', start(2000));
      for (const packed of chunks(100, 100)) call.part('subtreeChunk', { packed });
    }],
    ['MALFORMED', (call) => {
      call.part('subtreeStart', start(6));
      call.part('subtreeChunk', { packed: Uint8Array.of(2, 0) });
    }],
    ['UNSUPPORTED', (call) => {
      call.part('subtreeStart', start(6));
      call.part('subtreeChunk', { packed: Uint8Array.of(1, 0) });
    }],
  ];
  for (const [code, respond] of wrong) {
    const nest = client(respond);
    await assert.rejects(all(await exportSubtree(nest, request)), { code });
    assert.equal(nest.calls[0].options.signal.aborted || nest.calls[0].isOver, true, code);
  }
});

test('an export that is refused fails at once, and one that was read is not read again', async () => {
  const refused = client((call) => call.reject(new NestError('NOT_FOUND', 'no object 1')));
  await assert.rejects(exportSubtree(refused, request), { code: 'NOT_FOUND' });
  const other = client((call) => call.part('subtreeEnd', { rowCount: 0, checksum: checksum([]) }));
  await assert.rejects(exportSubtree(other, request), { code: 'PROTOCOL' });
  await assert.rejects(exportSubtree(client(), { ...request, levels: -1 }), { code: 'INVALID' });
  await assert.rejects(exportSubtree(client(), { ...request, properties: ['titel'] }), { code: 'UNKNOWN_PROPERTY' });
  const subtree = await exportSubtree(client(sends(chunks(1), 1)), request);
  assert.equal((await all(subtree)).length, 1);
  assert.throws(() => subtree.chunks(), { code: 'INVALID' });
});

test('a signal ends a transfer, before it began and while it waits', async () => {
  await assert.rejects(exportSubtree(client(), { ...request, signal: AbortSignal.abort() }), { code: 'CANCELLED' });
  const controller = new AbortController();
  const nest = client((call) => call.part('subtreeStart', start(5)));
  const reading = all(await exportSubtree(nest, { ...request, signal: controller.signal }));
  controller.abort();
  await assert.rejects(reading, { code: 'CANCELLED' });
  assert.equal(nest.calls[0].options.signal.aborted, true);
});

/** Plays a server that takes an upload, and grants what it has taken. */
function takes(rows, credit = 1_000_000) {
  const reader = new ChunkReader(3);
  return (call) => {
    call.takes.subtreeChunk = (body) => {
      rows.push(...reader.read(body));
      queueMicrotask(() => call.options.stream.credit(body.length));
    };
    call.takes.subtreeEnd = (body) => {
      call.end = decode('subtreeEnd', body);
      call.answer('receipt', receipt);
    };
    call.options.stream.credit(credit);
  };
}

test('rows go out in chunks, and the receipt comes back', async () => {
  const rows = [];
  const nest = client(takes(rows), { initialCredit: 1_048_576 });
  async function* given() {
    yield { depth: 0, values: ['Shopping', null, 1] };
    yield { depth: 1, values: { title: 'Milk', constructor: 'C' } };
    for (let row = 0; row < 3000; row += 1) yield { depth: 1, values: ['x'.repeat(200), null, null] };
    yield { values: ['last', null, 0.5] };
  }
  const found = await importSubtree(nest, { ...into, name: 'shopping', place: { of: 1, after: 7 } }, given());
  assert.equal(found.revision, 8);
  const [call] = nest.calls;
  assert.deepEqual(call.fields, {
    key: 'a0a1a2a3a4a5a6a7a8a9aaabacadaeaf', name: 'shopping', entity: 1,
    placement: { relationship: 5, owner: 1, place: { after: 7 } }, properties: [1, 2, 3],
  });
  assert.ok(call.sent.length >= 3, `${call.sent.length} chunks`);
  assert.deepEqual(rows.slice(0, 2), [
    { depth: 0, id: null, values: ['Shopping', null, 1] }, { depth: 1, id: null, values: ['Milk', 'C', 1.5] },
  ]);
  assert.deepEqual([rows.length, rows.at(-1).values[0]], [3003, 'last']);
  assert.deepEqual(call.end, { rowCount: 3003, checksum: checksum(call.sent.slice(0, -1).map(({ body }) => body)) });
});

test('a chunk waits until the server has granted its bytes', async () => {
  let sent = 0;
  let call;
  const nest = client((begun) => {
    call = begun;
    call.takes.subtreeChunk = () => { sent += 1; };
    call.options.stream.credit(10);
  });
  const importing = importSubtree(nest, into, [{ values: ['a text that is longer than its credit', null, null] }]);
  for (let turn = 0; turn < 50; turn += 1) await null;
  assert.equal(sent, 0);
  call.options.stream.credit(100);
  for (let turn = 0; turn < 50; turn += 1) await null;
  assert.equal(sent, 1);
  call.answer('receipt', receipt);
  await importing;
});

test('an import that the server refuses throws its reason, and asks for no more rows', async () => {
  for (const when of ['before', 'waiting']) {
    let asked = 0;
    let isLeft = false;
    function* endless() {
      try {
        for (;;) { asked += 1; yield { values: ['x'.repeat(60_000), null, null] }; }
      } finally {
        isLeft = true;
      }
    }
    const nest = client((call) => {
      if (when === 'waiting') call.options.stream.credit(10);
      setTimeout(() => call.reject(new NestError('NOT_FOUND', 'no object 1')));
    }, { initialCredit: 1_048_576 });
    await assert.rejects(importSubtree(nest, into, endless()), { code: 'NOT_FOUND' });
    assert.deepEqual([asked < 10, isLeft], [true, true], when);
  }
});

test('rows that fail, or are wrong, end the import: nothing is stored', async () => {
  const wrong = [
    ['INVALID', [{ depth: 1, values: ['', null, null] }], /row 1/],
    ['INVALID', [null], /row 1/], ['INVALID', [{}], /row 1/],
    ['INVALID', [{ values: ['a', null, null] }, { depth: 2, values: ['a', null, null] }], /row 2/],
    ['INVALID', [{ values: ['a'] }], /row 1/], ['INVALID', [{ values: [1, null, null] }], /row 1: title/],
    ['INVALID', [{ depth: NaN, values: ['a', null, null] }], /row 1/],
    ['VALUE_TOO_LARGE', [{ values: ['x'.repeat(65_537), null, null] }], /row 1/],
    ['VALUE_TOO_LARGE', [{ values: ['x'.repeat(2000), null, null] }], /row 1/],
  ];
  for (const [code, rows, message] of wrong) {
    const nest = client((call) => call.options.stream.credit(1_000_000));
    await assert.rejects(importSubtree(nest, into, rows), { code, message }, code);
    assert.equal(nest.calls[0].options.signal.aborted, true, code);
  }
  async function* failing() {
    yield { values: ['a', null, null] };
    throw new RangeError('the file ends');
  }
  const nest = client((call) => call.options.stream.credit(1_000_000));
  await assert.rejects(importSubtree(nest, into, failing()), RangeError);
  assert.equal(nest.calls[0].options.signal.aborted, true);
});
