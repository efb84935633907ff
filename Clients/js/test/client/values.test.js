// Large values without a server: credit, checksums, and every way in which a transfer can end early.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readValue, sendValue } from '../../client/values.js';
import { NestError } from '../../wire/errors.js';
import { decode, encode } from '../../wire/messages.js';
import { fnv1a, hashText } from '../../wire/hash.js';
import { Model } from '../../wire/model.js';
import { SHA256 } from '../../wire/sha256.js';
import { LargeValue } from '../../wire/values.js';
import { Random } from '../live/random.js';
import { client } from './server.js';

const attribute = (number, name, type) => ({ number, name, type, isOptional: true, default: null });
const model = new Model('00000000000000ab', [
  {
    number: 1, name: 'Note', relationships: [],
    attributes: [attribute(1, 'scan', 'largeData'), attribute(2, 'title', 'string')],
  },
]);
const entity = { model, description: model.entity('Note') };
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const description = (bytes, id = 9) =>
  BigInt(id).toString(16).padStart(16, '0') + bytes.length.toString(16).padStart(16, '0') + sha256(bytes);
const bodyOf = (bytes) => Uint8Array.of(0, ...bytes);
const checksum = (bodies) => hashText(bodies.reduce((hash, body) => fnv1a(body, hash), fnv1a([])));
const data = Uint8Array.from({ length: 500 }, (_, at) => at % 251);

/** A client whose server has large values. */
const connected = (respond, more) => client(respond, {
  initialCredit: 1000, ...more, server: { features: 1 << 12, creditBytesInitial: 1000, frameBytesMax: 1_048_576 },
});

/** Plays a server that sends `data` in pieces; `change` may damage what it sends. */
const sends = (pieces, change = (value) => value) => (call) => {
  const { offset } = call.fields;
  const { value, bodies, rowCount, sum } = change({
    value: description(data), bodies: pieces.map(bodyOf), rowCount: data.length - offset,
    sum: checksum(pieces.map(bodyOf)),
  });
  call.part('value', { revision: 8, type: 'largeData', value });
  for (const packed of bodies) call.part('subtreeChunk', { packed });
  call.part('subtreeEnd', { rowCount, checksum: sum });
  call.resolve({});
};

test('SHA-256 in pieces is that of the whole', () => {
  const random = new Random(3);
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 70_000]) {
    const bytes = Uint8Array.from({ length: size }, () => random.next());
    for (let turn = 0; turn < 5; turn += 1) {
      const sum = new SHA256();
      for (let at = 0; at < size;) {
        const end = Math.min(size, at + random.below(turn === 0 ? size + 1 : 100) + 1);
        sum.update(bytes.subarray(at, end));
        at = end;
      }
      assert.equal(Buffer.from(sum.digest()).toString('hex'), sha256(bytes), `${size}`);
    }
  }
});

test('a value comes in pieces, and what is consumed is granted again', async () => {
  let call;
  const nest = connected((begun) => {
    call = begun;
    sends([data.subarray(0, 300), data.subarray(300)])(begun);
  });
  const read = await readValue(nest, entity, 5, 'scan', { atLeast: 7 });
  assert.deepEqual(call.fields, { atLeast: 7, object: 5, property: 1, offset: 0 });
  assert.deepEqual([read.value.length, read.value.sha256, read.value.id, read.revision], [500, sha256(data), 9, 8]);
  assert.equal(call.sent.length, 0, 'nothing is granted before it was consumed');
  assert.deepEqual(await read.bytes(), data);
});

test('what is damaged, cut short, too long or compressed is never complete', async () => {
  const pieces = [data.subarray(0, 300), data.subarray(300)];
  const wrong = [
    ['CHECKSUM', (sent) => ({ ...sent, sum: '00000000000000aa' })],
    ['CHECKSUM', (sent) => ({ ...sent, rowCount: 499 })],
    ['CHECKSUM', (sent) => ({ ...sent, value: description(data.subarray(1)) })],
    ['CHECKSUM', (sent) => ({ ...sent, value: description(new Uint8Array(500)) })],
    ['CHECKSUM', (sent) => {
      const bodies = [sent.bodies[0]];
      return { ...sent, bodies, rowCount: 300, sum: checksum(bodies) };
    }],
    ['FLOW_CONTROL', (sent) => ({ ...sent, bodies: [bodyOf(new Uint8Array(1200))] })],
    ['UNSUPPORTED', (sent) => ({ ...sent, bodies: [Uint8Array.of(1, 0)] })],
    ['MALFORMED', (sent) => ({ ...sent, bodies: [Uint8Array.of(2, 0)] })],
  ];
  for (const [code, change] of wrong) {
    const nest = connected(sends(pieces, change));
    const read = await readValue(nest, entity, 5, 'scan');
    await assert.rejects(read.bytes(), { code }, code);
  }
  const start = { revision: 1, entity: 1, rowCount: 0, byteCount: 0, properties: [1] };
  const other = connected((call) => call.part('subtreeStart', start));
  await assert.rejects(readValue(other, entity, 5, 'scan'), { code: 'PROTOCOL' });
});

test('a loop goes on after a lost connection where it was, and gives up after five in a row', async () => {
  const lost = new NestError('CONNECTION_LOST', 'lost');
  const pieces = [data.subarray(0, 300), data.subarray(300)];
  let calls = [];
  const nest = connected((call) => {
    calls.push(call);
    if (calls.length > 1) return sends([data.subarray(call.fields.offset)])(call);
    call.part('value', { revision: 8, type: 'largeData', value: description(data) });
    call.part('subtreeChunk', { packed: bodyOf(pieces[0]) });
    call.reject(lost);
  });
  assert.deepEqual(await (await readValue(nest, entity, 5, 'scan')).bytes(), data);
  assert.deepEqual(calls.map(({ fields }) => [fields.offset, fields.atLeast]), [[0, 0], [300, 8]]);
  for (const [then, code, count] of [
    [(call) => call.reject(lost), 'CONNECTION_LOST', 6],
    [(call) => call.reject(new NestError('INVALID', 'behind the end')), 'CONFLICT', 2],
    [(call) => call.reject(new NestError('NOT_FOUND', 'no value')), 'CONFLICT', 2],
    [(call) => call.reject(new NestError('NOT_PERMITTED', 'no')), 'NOT_PERMITTED', 2],
    [sends([data.subarray(300)], (sent) => ({ ...sent, value: description(data, 10) })), 'CONFLICT', 2],
  ]) {
    calls = [];
    const again = connected((call) => {
      calls.push(call);
      if (calls.length > 1) return then(call);
      call.part('value', { revision: 8, type: 'largeData', value: description(data) });
      call.part('subtreeChunk', { packed: bodyOf(pieces[0]) });
      call.reject(lost);
    });
    await assert.rejects((await readValue(again, entity, 5, 'scan')).bytes(), { code });
    assert.equal(calls.length, count, code);
  }
});

test('an upload waits for credit, and ends with count and checksum', async () => {
  const received = [];
  let end;
  const large = new Uint8Array(150_000).fill(7);
  const nest = connected((call) => {
    call.takes.subtreeChunk = (body) => {
      received.push(body);
      call.options.stream.credit(body.length);
    };
    call.takes.subtreeEnd = (body) => {
      end = decode('subtreeEnd', body);
      call.answer('value', { revision: 0, type: 'largeData', value: description(large) });
    };
    call.options.stream.credit(65_537);
  });
  const sent = await sendValue(nest, entity, 'scan', large);
  assert.deepEqual(nest.calls[0].fields, { type: 'largeData', length: 150_000, digest: sha256(large) });
  assert.deepEqual(received.map(({ length }) => length), [65_537, 65_537, 18_929]);
  assert.deepEqual(end, { rowCount: 150_000, checksum: checksum(received) });
  assert.deepEqual({ ...sent }, { id: 9, length: 150_000, sha256: sha256(large) });
});

test('an upload whose outcome is not known asks to be sent again, and refusals are those of the server', async () => {
  for (const [code, shown, message] of [
    ['OUTCOME_UNKNOWN', 'CONNECTION_LOST', /send it again/], ['CONNECTION_LOST', 'CONNECTION_LOST', /send it again/],
    ['VALUE_TOO_LARGE', 'VALUE_TOO_LARGE', /no/], ['DISK_FULL', 'DISK_FULL', /no/],
  ]) {
    const nest = connected((call) => call.reject(new NestError(code, 'no')));
    await assert.rejects(sendValue(nest, entity, 'scan', 'abc'), { code: shown, message });
  }
});

test('a server of an earlier version is named before anything is sent', async () => {
  const nest = client(undefined, { server: { features: 7, creditBytesInitial: 1000 } });
  await assert.rejects(sendValue(nest, entity, 'scan', 'abc'), { code: 'UNSUPPORTED' });
  await assert.rejects(readValue(nest, entity, 5, 'scan'), { code: 'UNSUPPORTED' });
  assert.equal(nest.calls.length, 0);
});

test('a description is the bytes that it was made of', () => {
  const bytes = Uint8Array.from(Buffer.from(description(data, 2n ** 62n), 'hex'));
  const value = new LargeValue(bytes);
  assert.deepEqual([value.id, value.length, value.sha256, value.bytes], [2n ** 62n, 500, sha256(data), bytes]);
  assert.equal(encode('value', { revision: 0, type: 'largeText', value: description(data) }).length, 50);
  assert.throws(() => new LargeValue(new Uint8Array(5)), { code: 'MALFORMED' });
});
