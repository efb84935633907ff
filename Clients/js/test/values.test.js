// Large values to and from a real server: all sources, refusals, programs that leave, lost connections.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../node.js';
import { readValue, sendValue } from '../values.js';
import { MemoryCache } from '../cache.js';
import { optimistic } from '../optimistic.js';
import { missing, Server } from './live/nestd.js';
import { ChaosProxy } from './live/proxy.js';
import { Random } from './live/random.js';

const options = { skip: missing };
const largest = 16 << 20;

/** An outline whose notes have large values; `copy` is data that looks like one. */
const model = {
  format: 'nest-model',
  entities: [{
    name: 'Note', label: 'title', root: { relationship: 'parent', object: 1 },
    attributes: [
      { name: 'title', type: 'string', default: '', optional: true },
      { name: 'scan', type: 'largeData', optional: true },
      { name: 'body', type: 'largeText', optional: true },
      { name: 'copy', type: 'data', optional: true },
    ],
    relationships: [
      { name: 'children', destination: 'Note', inverse: 'parent', toMany: true, ordered: true, deleteRule: 'cascade' },
      { name: 'parent', destination: 'Note', inverse: 'children', optional: false },
    ],
  }],
};

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Bytes that do not repeat. */
function bytesOf(count, seed = 1) {
  const random = new Random(seed);
  return Uint8Array.from({ length: count }, () => random.next());
}

/** Runs with a server of notes, a client, and the id of a note. */
async function withNotes(body) {
  const server = new Server([]);
  writeFileSync(join(server.directory, 'model.json'), JSON.stringify(model));
  server.options = ['--model', join(server.directory, 'model.json')];
  await server.start();
  const nest = await connect({ url: `nest://${server.address}` });
  try {
    const notes = await nest.entity('Note');
    let note;
    const receipt = await nest.transaction('note', (tx) => { note = tx.insert(notes, { title: 'A' }); });
    await body({ server, nest, notes, note: receipt.id(note) });
  } finally {
    nest.close();
    await server.close();
  }
}

const set = (nest, notes, note, values) => nest.transaction('set', (tx) => tx.update(notes, note, values));

async function* pieces(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test('values of every source and size are read as they were sent', options, () => withNotes(async (given) => {
  const { nest, notes, note } = given;
  for (const size of [0, 1, 65_535, 65_536, 65_537, 1_200_000]) {
    const bytes = bytesOf(size, size + 1);
    const sources = [
      [bytes], [bytes.slice().buffer], [new Blob([bytes])], [pieces(bytes, 9_999)], [new Blob([bytes]).stream()],
      // As in browsers that cannot iterate a stream.
      [{ getReader: () => new Blob([bytes]).stream().getReader() }],
      [pieces(bytes, 100_001), { length: size, sha256: sha256(bytes) }],
    ];
    for (const [source, more] of sources) {
      const steps = [];
      const progress = (step) => steps.push(step.bytes);
      const sent = await sendValue(nest, notes, 'scan', source, { ...more, progress });
      assert.deepEqual([sent.length, sent.sha256], [size, sha256(bytes)]);
      assert.deepEqual([steps.at(-1) ?? 0, steps], [size, [...new Set(steps)].sort((a, b) => a - b)]);
      const { revision } = await set(nest, notes, note, { scan: sent });
      const read = await readValue(nest, 'Note', note, 'scan', { atLeast: revision });
      assert.deepEqual([read.value, read.type, read.offset, read.revision >= revision], [sent, 'largeData', 0, true]);
      assert.equal(sha256(await read.bytes()), sent.sha256);
    }
  }
}));

test('the largest value is sent and read by programs that are slow, and one byte more is refused', options,
  () => withNotes(async ({ nest, notes, note }) => {
    const bytes = bytesOf(1 << 16);
    const stream = async function* stream(count) {
      for (let at = 0; at < count; at += bytes.length) {
        if (at % (1 << 22) === 0) await new Promise((resolve) => { setTimeout(resolve, 5); });
        yield bytes;
      }
    };
    const sent = await sendValue(nest, notes, 'scan', stream(largest));
    await set(nest, notes, note, { scan: sent });
    const hash = createHash('sha256');
    const steps = [];
    const progress = (step) => steps.push(step);
    let most = 0;
    for await (const piece of await readValue(nest, notes, { id: note }, 'scan', { progress })) {
      hash.update(piece);
      most = Math.max(most, piece.length);
      await new Promise((resolve) => { setTimeout(resolve, 1); });
    }
    assert.equal(hash.digest('hex'), sent.sha256);
    assert.deepEqual(steps.at(-1), { bytes: largest, length: largest });
    assert.ok(most <= 1 << 20, 'a value comes in pieces');
    for (const source of [new Uint8Array(largest + 1), new Blob([new Uint8Array(largest + 1)]), stream(largest + 1)]) {
      await assert.rejects(sendValue(nest, notes, 'scan', source), { code: 'VALUE_TOO_LARGE' });
    }
  }));

test('a part of a value is read from an offset on', options, () => withNotes(async ({ nest, notes, note }) => {
  const bytes = bytesOf(200_000);
  await set(nest, notes, note, { scan: await sendValue(nest, notes, 'scan', bytes) });
  for (const offset of [1, 65_536, 199_999, 200_000]) {
    const read = await readValue(nest, notes, note, 'scan', { offset });
    assert.equal(sha256(await read.bytes()), sha256(bytes.subarray(offset)), `${offset}`);
  }
  await assert.rejects(readValue(nest, notes, note, 'scan', { offset: 200_001 }), { code: 'INVALID' });
  for (const offset of [-1, 0.5, '1']) {
    await assert.rejects(readValue(nest, notes, note, 'scan', { offset }), { code: 'INVALID' });
  }
}));

test('rows, objects, sub-trees, previews and paths have the description, and data that looks like one is data', options,
  () => withNotes(async ({ nest, notes, note }) => {
    const scan = await sendValue(nest, notes, 'scan', 'abc');
    assert.deepEqual({ ...scan }, { id: scan.id, length: 3, sha256: sha256('abc') });
    assert.ok(Object.isFrozen(scan));
    await set(nest, notes, note, { scan, copy: scan.bytes });
    let child;
    const receipt = await nest.transaction('child', (tx) => { child = tx.insert(notes, {}, { of: note }); });
    const row = (await nest.fetch(notes.children(1))).rows[0];
    assert.deepEqual([row.scan, row.get('scan'), row.body], [scan, scan, null]);
    assert.deepEqual(row.toJSON().scan, scan);
    assert.deepEqual(JSON.parse(JSON.stringify(row)).scan, { ...scan });
    assert.deepEqual([...row.copy], [...scan.bytes]);
    const [below] = (await nest.fetch(notes.children(note).properties('parent.scan', 'parent.copy'))).rows;
    assert.equal(below.id, receipt.id(child));
    assert.deepEqual([below.get('parent.scan'), below.get('parent.copy').length], [scan, 48]);
    assert.deepEqual((await nest.object(note)).values.scan, scan);
    const tree = await nest.export({ entity: 'Note', root: note, relationship: 'children', properties: ['scan', 'copy'] });
    for await (const { id, values } of tree) if (id === note) assert.deepEqual([values[0], values[1].length], [scan, 48]);
    await nest.undo();
    const { changes } = await nest.preview();
    const values = changes.flatMap((change) => change.values).filter(({ property }) => property === 'scan');
    assert.deepEqual([values.length > 0, values[0]?.before], [true, scan]);
    assert.equal(await nest.count(notes.where('scan != nil')), 1);
  }));

test('lists, outlines, caches and optimistic writes show the description', options, () => withNotes(async (given) => {
  const { server, nest, notes, note } = given;
  const first = await sendValue(nest, notes, 'body', 'one');
  const second = await sendValue(nest, notes, 'body', 'two');
  const local = optimistic(nest);
  const request = notes.children(1).properties('title', 'body');
  const all = [nest.results(request), await nest.outline(request), await local.results(request),
    await local.outline(request)];
  const shown = (list, value) => new Promise((resolve) => {
    const look = () => list.state.rows[0]?.body?.sha256 === value.sha256 && resolve(list.state.rows[0].body);
    list.subscribe(look);
    look();
  });
  await local.transaction('first', (tx) => tx.update(notes, note, { body: first })).done;
  for (const list of all) assert.deepEqual(await shown(list, first), first);
  await local.transaction('second', (tx) => tx.update(notes, note, { body: second })).done;
  for (const list of all) assert.deepEqual(await shown(list, second), second);
  for (const list of all) list.close();
  const cache = new MemoryCache();
  for (let run = 0; run < 2; run += 1) {
    const client = await connect({ url: `nest://${server.address}`, cache });
    for await (const { state } of client.results((await client.entity('Note')).children(1).properties('body'))) {
      assert.deepEqual(state.rows[0].body, second);
      if (state.isCurrent) break;
    }
    client.close();
  }
}));

test('what cannot be is refused, by its code', options, () => withNotes(async ({ nest, notes, note }) => {
  const sends = (code, ...given) => assert.rejects(sendValue(nest, ...given), { code }, JSON.stringify(given.slice(1)));
  await sends('INVALID', notes, 'title', 'x');
  await sends('INVALID', notes, 'parent', 'x');
  await sends('UNKNOWN_PROPERTY', notes, 'scans', 'x');
  await sends('UNKNOWN_ENTITY', 'Notes', 'scan', 'x');
  await sends('INVALID', null, 'scan', 'x');
  for (const source of [null, undefined, 5, {}, true]) await sends('INVALID', notes, 'scan', source);
  await sends('INVALID', notes, 'scan', [5]);
  await sends('INVALID', notes, 'scan', 'abc', { length: 2 });
  await sends('INVALID', notes, 'scan', new Blob(['abc']), { length: 4 });
  await sends('INVALID', notes, 'scan', pieces(bytesOf(9), 2), { length: 8, sha256: sha256('') });
  await sends('INVALID', notes, 'scan', pieces(bytesOf(9), 2), { length: 10, sha256: sha256('') });
  await sends('INVALID', notes, 'scan', pieces(bytesOf(9), 2), { length: 8 });
  await sends('INVALID', notes, 'scan', 'abc', { sha256: 'ab' });
  await sends('INVALID', notes, 'scan', 'abc', { length: -1 });
  await sends('INVALID', notes, 'scan', 'abc', { size: 3 });
  await sends('VALUE_TOO_LARGE', notes, 'scan', [], { length: largest + 1, sha256: sha256('') });
  await sends('CHECKSUM', notes, 'scan', 'abc', { sha256: sha256('abd') });
  await sends('INVALID_TEXT', notes, 'body', 'a\0b');
  await sends('INVALID_TEXT', notes, 'body', Uint8Array.of(0xff));
  await assert.rejects(readValue(nest, notes, note, 'scan'), { code: 'NOT_FOUND' });
  await assert.rejects(readValue(nest, notes, 99, 'scan'), { code: 'NOT_FOUND' });
  await assert.rejects(readValue(nest, notes, 'x', 'scan'), { code: 'INVALID' });
  await assert.rejects(readValue(nest, notes, note, 'title'), { code: 'INVALID' });
  const value = await sendValue(nest, notes, 'scan', 'abc');
  await set(nest, notes, note, { scan: value });
  // A value is set once, in an attribute of its own type.
  await assert.rejects(set(nest, notes, note, { body: value }), { code: 'VALIDATION_FAILED' });
  const again = nest.transaction('again', (tx) => tx.insert(notes, { scan: value }));
  await assert.rejects(again, { code: 'VALIDATION_FAILED' });
  for (const scan of ['abc', bytesOf(48), 5, {}]) {
    await assert.rejects(set(nest, notes, note, { scan }), { code: 'INVALID' }, String(scan));
  }
  const read = await readValue(nest, notes, note, 'scan');
  assert.equal(await read.text(), 'abc');
  await assert.rejects(read.bytes(), { code: 'INVALID' });
  await set(nest, notes, note, { scan: await sendValue(nest, notes, 'scan', Uint8Array.of(0xff)) });
  await assert.rejects((await readValue(nest, notes, note, 'scan')).text(), { code: 'INVALID_TEXT' });
}));

test('programs that leave their transfers free their places', options, () => withNotes(async ({ nest, notes, note }) => {
  const bytes = bytesOf(3_000_000);
  await set(nest, notes, note, { scan: await sendValue(nest, notes, 'scan', bytes) });
  for (let turn = 0; turn < 2; turn += 1) {
    for await (const piece of await readValue(nest, notes, note, 'scan')) if (piece.length > 0) break;
    (await readValue(nest, notes, note, 'scan')).cancel();
    await (await readValue(nest, notes, note, 'scan'))[Symbol.asyncIterator]().return();
    const failing = async function* failing() {
      yield* pieces(bytes, 50_000);
      throw new RangeError('the file ends');
    };
    await assert.rejects(sendValue(nest, notes, 'scan', failing()), RangeError);
    const stated = { length: bytes.length, sha256: sha256(bytes) };
    await assert.rejects(sendValue(nest, notes, 'scan', failing(), { ...stated, length: bytes.length + 1 }), RangeError);
    for (const source of [bytes, new Blob([bytes]), pieces(bytes, 50_000)]) {
      const controller = new AbortController();
      const progress = ({ bytes: sent }) => sent > 1_000_000 && controller.abort();
      const sending = sendValue(nest, notes, 'scan', source, { ...stated, progress, signal: controller.signal });
      await assert.rejects(sending, { code: 'CANCELLED' });
    }
    const controller = new AbortController();
    const { signal } = controller;
    const reading = await readValue(nest, notes, note, 'scan', { signal, progress: () => controller.abort() });
    await assert.rejects(reading.bytes(), { code: 'CANCELLED' });
    const aborted = { signal: AbortSignal.abort() };
    await assert.rejects(sendValue(nest, notes, 'scan', bytes, aborted), { code: 'CANCELLED' });
    await assert.rejects(readValue(nest, notes, note, 'scan', aborted), { code: 'CANCELLED' });
  }
  const read = await Promise.all(Array.from({ length: 4 }, () => readValue(nest, notes, note, 'scan')));
  for (const one of read) assert.equal(sha256(await one.bytes()), sha256(bytes));
}));

test('an upload that a connection does not survive can be made again, and a download goes on', options,
  () => withNotes(async ({ server, notes, note, nest }) => {
    const proxy = await ChaosProxy.start(() => server.port, new Random(1));
    const client = await connect({ url: `nest://127.0.0.1:${proxy.port}`, reconnectPauseMax: 20 });
    try {
      const bytes = bytesOf(4_000_000);
      const stated = { length: bytes.length, sha256: sha256(bytes) };
      const cutting = async function* cutting() {
        let at = 0;
        for await (const piece of pieces(bytes, 100_000)) {
          if (++at === 20) proxy.breakAll();
          yield piece;
        }
      };
      await assert.rejects(sendValue(client, 'Note', 'scan', cutting(), stated),
        { code: 'CONNECTION_LOST', message: /send it again/ });
      await client.transaction('set', async (tx) => {
        tx.update(notes, note, { scan: await sendValue(client, 'Note', 'scan', bytes) });
      });
      let cuts = 0;
      const hash = createHash('sha256');
      for await (const piece of await readValue(client, 'Note', note, 'scan')) {
        hash.update(piece);
        if (cuts < 3) {
          cuts += 1;
          proxy.breakAll();
        }
      }
      assert.deepEqual([cuts, hash.digest('hex')], [3, stated.sha256]);
      // Another value takes its place while the connection is lost.
      const other = await sendValue(nest, notes, 'scan', bytesOf(4_000_000, 2));
      const changed = async () => {
        let isFirst = true;
        for await (const piece of await readValue(client, 'Note', note, 'scan')) {
          if (isFirst && piece.length > 0) await set(nest, notes, note, { scan: other }).then(() => proxy.breakAll());
          isFirst = false;
        }
      };
      await assert.rejects(changed(), { code: 'CONFLICT' });
    } finally {
      client.close();
      await proxy.close();
    }
  }));
