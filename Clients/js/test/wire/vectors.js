// Every vector of Tests/Vectors that concerns the bytes of a client.
import '../../wire/messages-more.js';
import '../../wire/messages-optimistic.js';
import '../../wire/messages-presence.js';
import { Reader, Writer, toHex } from '../../wire/bytes.js';
import { ChunkReader, ChunkWriter } from '../../wire/chunks.js';
import { compressible, contentSize } from '../../wire/compression.js';
import { errorCodes, NestError } from '../../wire/errors.js';
import { encodeFrame, FrameDecoder, readPreface } from '../../wire/frames.js';
import { Digest, fnv1a, hashText } from '../../wire/hash.js';
import { decode, encode, errorOf, messageNames, typeOf } from '../../wire/messages.js';
import { decodeModel } from '../../wire/model.js';
import { decodePredicate, encodePredicate } from '../../wire/predicate.js';
import { decodeFetchRequest } from '../../wire/opposite.js';
import { encodeFetchRequest } from '../../wire/request.js';
import { applyDiff, digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { readExact, readValue, writeValue } from '../../wire/values.js';
import { bytesOf, exactValue, fail, refused, rowValue, same } from './check.js';
import { faultOf, fieldsOf, matches, numberedRequest, ofNodes } from './fields.js';

const written = (write) => {
  const writer = new Writer();
  write(writer);
  return toHex(writer.done());
};
const readAll = (bytes, read) => {
  const reader = new Reader(bytes);
  const value = read(reader);
  reader.finish();
  return value;
};
const context = (vector) => ({
  width: vector.valueCount ?? vector.fields?.valueCount ?? 0,
  hasWindow: vector.hasWindow ?? Boolean(vector.fields?.window),
});

function values(vectors, test) {
  for (const { kind, value, hex, decodesOnly } of vectors) {
    test(`${kind} ${hex}`, () => {
      const bytes = bytesOf(hex);
      if (kind === 'value') {
        same(readAll(bytes, readExact), exactValue(value));
        same(readAll(bytes, readValue), rowValue(value));
        if (!decodesOnly) same(written((w) => writeValue(w, exactValue(value))), toHex(bytes));
      } else {
        const number = Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
        same(readAll(bytes, (r) => (kind === 'varint' ? r.varintAny() : r.zigzag())), number);
        if (decodesOnly) return;
        same(written((w) => w[kind](number)), toHex(bytes));
        same(written((w) => w[kind](BigInt(value))), toHex(bytes), 'a BigInt');
      }
    });
  }
}

function frames(vectors, test) {
  for (const vector of vectors.filter(({ type }) => !ofNodes.has(type))) {
    test(`${vector.type}: ${vector.name}`, () => {
      const bytes = bytesOf(vector.hex);
      const decoder = new FrameDecoder(1048576);
      decoder.compression = compressible;
      for (const byte of bytes) decoder.push(Uint8Array.of(byte));
      const { type, flags, id, body } = decoder.next() ?? fail('no whole frame');
      same([decoder.next(), decoder.waiting], [null, 0]);
      same([messageNames.get(type), typeOf(vector.type), flags, id], [vector.type, type, vector.flags, vector.id]);
      if (flags & 2) return same(contentSize(body), 217, 'the declared size');
      const expected = fieldsOf(vector);
      if (vector.type === 'subtreeChunk') return chunk(body, vector);
      const actual = decode(vector.type, body, context(vector));
      matches(actual, expected, vector.type);
      if (vector.decodesOnly) return undefined;
      if (vector.direction === 'client') same(toHex(encode(vector.type, expected)), toHex(body), 'what is encoded');
      // The tests of the machine play the server; a WELCOME has more fields than must be there.
      if (vector.type !== 'welcome') same(toHex(encode(vector.type, actual)), toHex(body), 'what is encoded again');
      return same(toHex(encodeFrame(type, flags, id, body)), toHex(bytes), 'the frame');
    });
  }
}

function chunk(body, { fields: { valueCount, rows }, direction }) {
  if (body[0] === 1) return same(contentSize(body.subarray(1)), 218, 'the declared size');
  const read = new ChunkReader(valueCount).read(body);
  matches(read, rows.map((row) => ({ ...row, values: row.values.map(rowValue) })), 'rows');
  if (direction === 'server') return undefined;
  const writer = new ChunkWriter(valueCount);
  for (const row of read) same(writer.add(row), null);
  return same(toHex(writer.finish()), toHex(body), 'the chunk');
}

const sectionsOf = (sections) => sections.map(({ key, rows, firstRow, rowCount }) => ({
  ...sectionKey(exactValue(key)),
  rows: rows?.map((row) => (typeof row === 'number' ? { id: row } : { id: row.id, values: row.values.map(rowValue) }))
    ?? Array.from({ length: rowCount }, (_, i) => ({ id: firstRow + i })),
}));

function digests(vectors, test) {
  for (const vector of vectors) {
    test(`${vector.kind} ${vector.name ?? vector.hash ?? vector.checksum}`, () => {
      if (vector.kind === 'section') {
        const { key, hash } = sectionKey(exactValue(vector.key));
        same([hashText(hash), key], [vector.hash, rowValue(vector.key)]);
        same(hashText(fnv1a(bytesOf(vector.keyBytes))), vector.hash);
      } else if (vector.kind === 'row') {
        const sum = new Digest();
        const part = (at) => parseInt(vector.sectionHash.slice(at, at + 8), 16);
        sum.add({ high: part(0), low: part(8) }, vector.object);
        same(String(sum), vector.hash);
      } else if (vector.kind === 'digest') same(digest(sectionsOf(vector.sections)), vector.digest);
      else if (vector.kind === 'checksum') {
        const sum = vector.chunks.reduce((hash, hex) => fnv1a(bytesOf(hex), hash), fnv1a([]));
        same(hashText(sum), vector.checksum);
      } else same(vector.kind, 'model');
    });
  }
}

const stateOf = ({ sections, window, ...state }) => ({
  ...state, sections: sectionsOf(sections), position: window ?? null,
});
const shownState = ({ sections, ...state }) => ({
  ...state, sections: sections.map(({ key, rows }) => ({ key, rows: rows.map(({ id, values }) => ({ id, values })) })),
});

function diffs(vectors, test) {
  for (const vector of vectors) {
    test(`applies ${vector.name}`, () => {
      const old = stateOf(vector.old);
      const before = shownState(old);
      const body = bytesOf(vector.hex);
      const diff = decode('diff', body, { width: vector.old.projection.length, hasWindow: 'window' in vector.diff });
      matches(diff, fieldsOf({ type: 'diff', fields: vector.diff }), 'the diff');
      const next = applyDiff(old, diff);
      same(shownState(next), shownState(stateOf(vector.new)), 'the new state');
      same(shownState(old), before, 'the old state');
      const kept = new Map(old.sections.flatMap(({ rows }) => rows.map((row) => [row.id, row])));
      const updated = new Set(diff.updates.map(({ at: [s, i] }) => next.sections[s].rows[i].id));
      for (const row of next.sections.flatMap(({ rows }) => rows)) {
        if (!kept.has(row.id) || updated.has(row.id)) continue;
        same(row === kept.get(row.id), true, `whether ${row.id} is the same row`);
      }
    });
  }
}

function refuses(vector) {
  const bytes = vector.hex === undefined ? null : bytesOf(vector.hex);
  switch (vector.kind) {
    case 'frame': {
      const decoder = new FrameDecoder(vector.bodyBytesMax);
      decoder.push(bytes);
      return decoder.next();
    }
    case 'preface': return readPreface(bytes);
    case 'value': return readAll(bytes, readValue);
    case 'compressed': {
      const decoder = new FrameDecoder(1048576);
      decoder.compression = (vector.features & 16) !== 0 ? compressible : null;
      decoder.push(bytes);
      return contentSize(decoder.next().body);
    }
    case 'message': {
      if (vector.type === 'subtreeChunk') return new ChunkReader(vector.valueCount, contentSize).read(bytes);
      const { request } = decode(vector.type, bytes, context(vector));
      return request?.predicate && decodePredicate(request.predicate);
    }
    default: return fail(`a vector of the kind ${vector.kind}`);
  }
}

function negative(vectors, test) {
  for (const vector of vectors.filter(({ kind, type }) => kind !== 'connection' && !ofNodes.has(type))) {
    test(`refuses ${vector.name}`, () => {
      if (vector.kind === 'apply') {
        const diff = { ...fieldsOf({ type: 'diff', fields: vector.diff }) };
        diff.insertedSections = diff.insertedSections.map((section) => ({ ...section, ...sectionKey(section.key) }));
        same(refused('PROTOCOL', () => applyDiff(stateOf(vector.old), diff)).reason, vector.expect);
      } else if (vector.expect === null) same(refuses(vector), null);
      else refused(vector.expect, () => refuses(vector));
    });
  }
}

function model({ frames: vectors, digests: hashes }, test) {
  test('the hash of the model is that of its body', () => {
    const vector = vectors.find(({ name }) => name === 'model');
    same(decodeModel(bytesOf(vector.hex).subarray(12)).hash, hashes.find(({ kind }) => kind === 'model').hash);
  });
}

function refusals({ cases }, test) {
  for (const vector of cases) {
    test(`the refusal ${vector.name}`, () => {
      const error = errorOf(decode('error', bytesOf(vector.hex)));
      const { code, retry, retryAfter, text, object = null, faults = [], leader = null, column = null } = vector;
      same([error.number, error.retry], [code, retry > 4 ? 3 : retry]);
      same([error.retryAfter, error.message], [retryAfter, text]);
      same([error.object, error.leader, error.column, error.faults.length], [object, leader, column, faults.length]);
      matches(error.faults, faults.map(faultOf), 'faults');
      if (errorCodes.includes(vector.name)) same(error.code, vector.name);
      same(new NestError(error.code, '').number, code);
    });
  }
}

function requests({ cases, refused: others, malformed }, test) {
  for (const { name, hex, numbers } of cases) {
    test(`the request ${name}`, () => {
      const request = numberedRequest(numbers);
      same(toHex(encodeFetchRequest(request)), hex);
      matches(decodeFetchRequest(bytesOf(hex)), request, 'the request');
      if (request.predicate) same(toHex(encodePredicate(decodePredicate(request.predicate))), numbers.predicate);
    });
  }
  // What a server refuses by its model is encoded nevertheless.
  for (const { name, hex } of others) {
    test(`the request ${name}`, () => same(toHex(encodeFetchRequest(decodeFetchRequest(bytesOf(hex)))), hex));
  }
  for (const { name, hex, code } of malformed) {
    test(`refuses the request ${name}`, () => {
      refused(code, () => {
        const { predicate } = decodeFetchRequest(bytesOf(hex));
        return predicate && decodePredicate(predicate);
      });
    });
  }
}

/** Runs all vectors. `vectors`: name → parsed file; suites whose file is missing are left out. */
export function run(vectors, test) {
  values(vectors.values, test);
  frames(vectors.frames, test);
  digests(vectors.digests, test);
  diffs(vectors.diffs, test);
  negative(vectors.negative, test);
  model(vectors, test);
  if (vectors.refusals) refusals(vectors.refusals, test);
  if (vectors.requests) requests(vectors.requests, test);
}
