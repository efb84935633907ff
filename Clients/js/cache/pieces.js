/**
 * The records of a database: frames as bytes, and checksums. The digest of a state does not cover its values.
 * @module
 */

import { encodeText, Reader, Writer } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { fnv1a, hashText } from '../wire/hash.js';

/** @typedef {{ type: number, body: Uint8Array }} Frame */

/**
 * A record that is not what was written.
 * @param {string} what
 * @returns {never}
 */
export function damaged(what) {
  throw new NestError('CHECKSUM', `${what} is not as it was written`);
}

/** Type, number of bytes, and body of each frame. @param {readonly Frame[]} frames */
export function encodeFrames(frames) {
  const writer = new Writer();
  for (const { type, body } of frames) {
    writer.u8(type);
    writer.bytes(body);
  }
  return writer.done().slice();
}

/** @param {Uint8Array} bytes @returns {Frame[]} */
export function decodeFrames(bytes) {
  const reader = new Reader(bytes);
  const frames = [];
  while (reader.left > 0) {
    const type = reader.u8();
    const from = reader.skip(reader.size());
    frames.push({ type, body: bytes.subarray(from, reader.at) });
  }
  return frames;
}

/**
 * The checksum of bytes that belong to something with a name.
 * @param {Uint8Array} bytes
 * @param {string} name
 */
export const checksum = (bytes, name) => hashText(fnv1a(bytes, fnv1a(encodeText(name))));

const NOTHING = new Uint8Array(0);
/** What a record of a view has besides its checksum; `shown` may change alone. */
const HEAD = ['request', 'id', 'identity', 'modelHash', 'historyID', 'revision', 'digest', 'recording', 'sequence',
  'pieces', 'bytes'];

/** @param {any} head a record of a view */
export const headChecksum = (head) => checksum(NOTHING, JSON.stringify(HEAD.map((name) => head[name])));

/** @param {any} head @param {number} number */
export const pieceName = ({ recording, id }, number) => `${recording} ${id} ${number}`;

/** What a page that is left has not written: a change of a view as one record. @param {any} change */
export function encodeChange({ replacement, append }) {
  const { frames = [], ...head } = replacement ?? append ?? {};
  const bytes = encodeFrames(frames);
  const isAppend = Boolean(append);
  const isRemoval = !append && !replacement;
  return { head, isAppend, isRemoval, bytes, checksum: checksum(bytes, JSON.stringify([head, isAppend, isRemoval])) };
}

/** @param {any} record of `encodeChange`, or what is in its place */
export function decodeChange(record) {
  const { head, isAppend, isRemoval, bytes } = record ?? {};
  const name = JSON.stringify([head, isAppend, isRemoval]);
  if (!isBytes(bytes) || checksum(bytes, name) !== record.checksum) damaged('a change');
  const whole = { ...head, frames: decodeFrames(bytes) };
  return { replacement: isAppend || isRemoval ? null : whole, append: isAppend ? whole : null };
}

/** Whether something is bytes, as they come from a database. @param {any} value */
export const isBytes = (value) => value instanceof Uint8Array;
