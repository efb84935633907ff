/**
 * Large values: attributes of the types largeData and largeText, whose bytes are outside the rows. They are sent and
 * read in pieces; neither direction holds more than some of them.
 * @module
 */

import { fromHex, toHex } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { fnv1a, hashText } from '../wire/hash.js';
import { decode, encode } from '../wire/messages.js';
import { objectID } from '../wire/model.js';
import { SHA256 } from '../wire/sha256.js';
import { LargeValue } from '../wire/values.js';
import { invalid, known } from './options.js';
import { Download, ending, unpacked, Upload } from './streams.js';
import { collected, sourceOf } from './value-sources.js';

/** What ends a connection: a download goes on with the next one. */
const LOST = new Set(['CONNECTION_LOST', 'SHUTTING_DOWN']);
const FEATURE_LARGE_VALUES = 1 << 12;
/** Bytes of a piece that is sent. */
const VALUE_PIECE_BYTES = 65_536;
/** How often in a row a loop goes on after a lost connection without a byte in between. */
const VALUE_RESUMPTIONS_MAX = 5;

/** The entity, and its attribute of a large type. */
async function attributeOf(nest, entity, name) {
  const { model, description } = typeof entity === 'string' ? await nest.entity(entity) : entity ?? {};
  if (!description) invalid('a large value is of an entity, of nest.entity(name), or its name');
  const attribute = description.property(name);
  if (!/^large/.test(attribute.type)) {
    invalid(`${description.name}.${name} is no large value: its type is ${attribute.type ?? 'a relationship'}`);
  }
  if (nest.server && (nest.server.features & FEATURE_LARGE_VALUES) === 0) {
    throw new NestError('UNSUPPORTED', 'the server has no large values: it is of an earlier version');
  }
  return { model, attribute };
}

/**
 * Sends the bytes of a large value, and returns its description: a transaction of this client sets it. Until then no
 * object has it, and the server forgets it after a day. If the connection is lost, nothing was stored: send it again.
 * The parameters are in values.d.ts.
 */
export async function sendValue(nest, entity, property, source, given) {
  const { length, sha256, progress, signal } = known('sendValue', given, ['length', 'sha256', 'progress', 'signal']);
  const { model, attribute } = await attributeOf(nest, entity, property);
  const { pieces, ...stated } = await sourceOf(source, { length, sha256, signal });
  const upload = new Upload(nest, 'putValue', { type: attribute.type, length: stated.length, digest: stated.sha256 },
    { signal, answer: 'value', model: model.hash });
  try {
    const sent = await sendPieces(upload, pieces, stated.length, progress);
    const { value } = await upload.end(sent);
    return Object.freeze(new LargeValue(fromHex(value, 48)));
  } catch (/** @type {any} */ error) {
    upload.cancel();
    // An upload without an answer changes nothing that an object has.
    if (error.code !== 'OUTCOME_UNKNOWN' && !LOST.has(error.code)) throw error;
    throw new NestError('CONNECTION_LOST', 'the connection was lost before the value was stored: send it again');
  }
}

/** Sends all pieces. Returns the fields of SUBTREE_END. */
async function sendPieces(upload, pieces, length, progress) {
  let hash = fnv1a([]);
  let sent = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += VALUE_PIECE_BYTES) {
      const part = piece.subarray(at, at + VALUE_PIECE_BYTES);
      if (sent + part.length > length) invalid(`the value has more than the ${length} bytes that it was said to have`);
      const body = new Uint8Array(part.length + 1);
      body.set(part, 1);
      hash = fnv1a(body, hash);
      await upload.send(body);
      sent += part.length;
      progress?.(Object.freeze({ bytes: sent, length }));
    }
  }
  if (sent !== length) invalid(`the value has ${sent} bytes, not ${length}`);
  return { rowCount: length, checksum: hashText(hash) };
}

/** Reads the large value of an object: values.d.ts. */
export async function readValue(nest, entity, object, property, given) {
  const { atLeast = 0, offset = 0, progress, signal } =
    known('readValue', given, ['atLeast', 'offset', 'progress', 'signal']);
  if (!Number.isSafeInteger(offset) || offset < 0) invalid(`an offset is a whole number from 0, not ${String(offset)}`);
  const { model, attribute } = await attributeOf(nest, entity, property);
  const begin = async (/** @type {number} */ from, /** @type {number} */ least) => {
    // The client writes the revision itself: not before what it has seen.
    const fields = { atLeast: 0, object: objectID(object), property: attribute.number, offset: from };
    const body = encode('getValue', fields).subarray(1);
    const download = new Download(nest, 'getValue', body, { atLeast: least, signal, model: model.hash });
    const { value, ...start } = await download.expect('value');
    return { ...start, download, value: Object.freeze(new LargeValue(fromHex(value, 48))) };
  };
  return new ValueBytes(nest, begin, await begin(offset, atLeast), offset, progress);
}

/**
 * The bytes of a large value, from an offset on: an async iterable of pieces, once. It ends only after their number and
 * their checksum were verified, and their SHA-256 if they begin at 0; otherwise it throws CHECKSUM.
 */
class ValueBytes {
  #nest;
  #begin;
  #first;
  #progress;
  #isRead = false;

  constructor(nest, begin, first, offset, progress) {
    this.#nest = nest;
    this.#begin = begin;
    this.#first = first;
    this.#progress = progress;
    this.value = first.value;
    this.type = first.type;
    this.revision = first.revision;
    this.offset = offset;
    Object.freeze(this);
  }

  /** Ends the transfer: call it if you begin no loop. */
  cancel() {
    this.#first.download.cancel();
  }

  [Symbol.asyncIterator]() {
    if (this.#isRead) throw new NestError('INVALID', 'a value is read once: read it again with readValue');
    this.#isRead = true;
    return ending(this.#pieces(), this.#first.download);
  }

  /** All bytes. */
  bytes() {
    return collected(this, this.value.length - this.offset);
  }

  /** All bytes as text. INVALID_TEXT if they are not UTF-8. */
  async text() {
    const bytes = await this.bytes();
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new NestError('INVALID_TEXT', 'the value is not UTF-8');
    }
  }

  /** After a lost connection it goes on where it was. */
  async* #pieces() {
    const { value } = this;
    const sum = new SHA256();
    let { download, revision } = this.#first;
    let received = this.offset;
    let attempts = 0;
    try {
      for (;;) {
        try {
          for await (const piece of streamOf(this.#nest, download)) {
            if (received + piece.length > value.length) throw damaged();
            sum.update(piece);
            received += piece.length;
            attempts = 0;
            this.#progress?.(Object.freeze({ bytes: received, length: value.length }));
            yield piece;
          }
          if (received !== value.length || this.offset === 0 && toHex(sum.digest()) !== value.sha256) throw damaged();
          return;
        } catch (/** @type {any} */ error) {
          if (!LOST.has(error.code) || attempts === VALUE_RESUMPTIONS_MAX) throw error;
          attempts += 1;
        }
        const again = await this.#resume(received, revision, attempts);
        if (again) ({ download, revision } = again);
      }
    } finally {
      download.cancel();
    }
  }

  /** Begins again at an offset. Returns null if the connection was lost again. */
  async #resume(offset, revision, attempts) {
    try {
      const again = await this.#begin(offset, revision);
      if (again.value.id === this.value.id && again.value.sha256 === this.value.sha256) return again;
      again.download.cancel();
    } catch (/** @type {any} */ error) {
      if (LOST.has(error.code) && attempts < VALUE_RESUMPTIONS_MAX) return null;
      // The object has a shorter value now, or none.
      if (error.code !== 'INVALID' && error.code !== 'NOT_FOUND') throw error;
    }
    throw new NestError('CONFLICT', 'the object has got another value: read it again');
  }
}

const damaged = () => new NestError('CHECKSUM', 'the value was damaged on the way: read it again');

/** The pieces of one transfer, whose number and checksum are verified. */
async function* streamOf(nest, download) {
  let hash = fnv1a([]);
  let received = 0;
  for (;;) {
    const { name, body } = await download.next();
    if (name === 'subtreeEnd') {
      const { rowCount, checksum } = decode(name, body);
      if (rowCount !== received || checksum !== hashText(hash)) throw damaged();
      download.finish();
      return;
    }
    if (name !== 'subtreeChunk') throw new NestError('PROTOCOL', `the server sent ${name} in a large value`);
    hash = fnv1a(body, hash);
    const piece = await unpacked(nest, body);
    received += piece.length;
    yield piece;
    // Only what the program has taken is granted again.
    download.consumed(body.length);
  }
}
