/**
 * What a program gives as a large value: bytes, text, a Blob, or a stream.
 * @module
 */

import { encodeText, toHex } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { Limits } from '../wire/limits-more.js';
import { SHA256 } from '../wire/sha256.js';
import { invalid } from './options.js';

/** Bytes of a Blob that are read at once. */
const SLICE_BYTES = 1 << 20;

/** @typedef {{ length: number, sha256: string, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> }} Source */

const tooLarge = () =>
  new NestError('VALUE_TOO_LARGE', `a large value has at most ${Limits.largeValueBytesMax} bytes`);

/** @param {AbortSignal | undefined} signal */
function checkSignal(signal) {
  if (signal?.aborted) throw new NestError('CANCELLED', 'cancelled before it was sent');
}

/**
 * The pieces of a source, with their length and SHA-256, which the server must know before the first byte. So a Blob is
 * read twice, and a stream whose length and SHA-256 the program does not state is collected.
 * @param {any} source
 * @param {{ length?: number, sha256?: string, signal?: AbortSignal }} stated
 * @returns {Promise<Source>}
 */
export async function sourceOf(source, { length, sha256, signal }) {
  checkSignal(signal);
  if (length !== undefined && !(Number.isSafeInteger(length) && length >= 0)) {
    invalid(`length is a number of bytes, not ${String(length)}`);
  }
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256)) invalid('sha256 has 64 hexadecimal digits');
  if (Number(length) > Limits.largeValueBytesMax) throw tooLarge();
  const bytes = bytesOf(source);
  if (bytes) return whole(bytes, length, sha256);
  if (typeof source?.slice === 'function' && typeof source.arrayBuffer === 'function') {
    if (source.size > Limits.largeValueBytesMax) throw tooLarge();
    if (length !== undefined && length !== source.size) invalid(`the value has ${source.size} bytes, not ${length}`);
    return { length: source.size, sha256: sha256 ?? await hashOf(slices(source), signal), pieces: slices(source) };
  }
  const stream = piecesOf(source);
  if (length !== undefined && sha256 !== undefined) return { length, sha256, pieces: stream };
  return whole(await collected(stream, length ?? Limits.largeValueBytesMax, signal), length, sha256);
}

/** @param {any} source @returns {Uint8Array | null} null: it is no bytes in memory */
function bytesOf(source) {
  if (typeof source === 'string') return encodeText(source);
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return null;
}

/** @param {Uint8Array} bytes @param {number | undefined} length @param {string | undefined} sha256 @returns {Source} */
function whole(bytes, length, sha256) {
  if (bytes.length > Limits.largeValueBytesMax) throw tooLarge();
  if (length !== undefined && length !== bytes.length) invalid(`the value has ${bytes.length} bytes, not ${length}`);
  return { length: bytes.length, sha256: sha256 ?? toHex(new SHA256().update(bytes).digest()), pieces: [bytes] };
}

/** @param {any} blob */
async function* slices(blob) {
  for (let at = 0; at < blob.size; at += SLICE_BYTES) {
    yield new Uint8Array(await blob.slice(at, at + SLICE_BYTES).arrayBuffer());
  }
}

/** @param {AsyncIterable<Uint8Array>} pieces @param {AbortSignal | undefined} signal */
async function hashOf(pieces, signal) {
  const sum = new SHA256();
  for await (const piece of pieces) {
    checkSignal(signal);
    sum.update(piece);
  }
  return toHex(sum.digest());
}

/**
 * The pieces of a stream. Browsers that cannot iterate a ReadableStream have its reader.
 * @param {any} source
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function* piecesOf(source) {
  const isIterable = [Symbol.asyncIterator, Symbol.iterator].some((one) => typeof source?.[one] === 'function');
  if (!isIterable && typeof source?.getReader !== 'function') {
    invalid('a large value is a text, bytes, a Blob, or a stream of bytes');
  }
  for await (const piece of isIterable ? source : read(source.getReader())) {
    yield bytesOf(piece) ?? invalid('a piece of a stream is neither bytes nor a text');
  }
}

/** @param {any} reader */
async function* read(reader) {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Of a loop that has ended early. Has no effect after the end.
    reader.cancel().catch(() => {});
  }
}

/**
 * All pieces together.
 * @param {AsyncIterable<Uint8Array>} pieces
 * @param {number} max INVALID above it, and VALUE_TOO_LARGE above what any value can have
 * @param {AbortSignal} [signal]
 */
export async function collected(pieces, max, signal) {
  let all = new Uint8Array(Math.min(max, SLICE_BYTES));
  let length = 0;
  for await (const piece of pieces) {
    checkSignal(signal);
    if (length + piece.length > Limits.largeValueBytesMax) throw tooLarge();
    if (length + piece.length > max) invalid(`the value has more than ${max} bytes`);
    if (length + piece.length > all.length) {
      const grown = new Uint8Array(Math.min(max, Math.max(2 * all.length, length + piece.length)));
      grown.set(all.subarray(0, length));
      all = grown;
    }
    all.set(piece, length);
    length += piece.length;
  }
  return all.subarray(0, length);
}
