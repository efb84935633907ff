// Presence: who is where now. Importing this file adds its messages to messages.js.
import { malformed, Reader, Writer } from './bytes.js';
import {
  checked, choice, codec, fields, list, number16, object, optional, struct, text, varint,
} from './codec.js';
import { Limits } from './limits-more.js';
import { NestError } from './errors.js';
import { addMessages } from './messages.js';
import { bool, user } from './messages-undo.js';

const flag = choice([false, true]);

/** What somebody shows: at most 1,024 bytes that the server does not read. */
const shown = codec((r) => {
  const size = r.size();
  if (size > Limits.presenceBytesMax) throw tooLong(size);
  return r.raw(size);
}, (w, v) => {
  if (v.length > Limits.presenceBytesMax) throw tooLong(v.length);
  w.bytes(v);
});
const tooLong = (/** @type {number} */ size) =>
  new NestError('LIMIT_EXCEEDED', `a presence of ${size} bytes is longer than ${Limits.presenceBytesMax}`);

const label = codec(user.read, (w, { user: name, userClaimed }) => {
  text(Limits.nameBytesMax).write(w, name ?? '');
  w.u8(userClaimed ? 1 : 0);
});
const presence = struct({ number: varint, sessionNumber: varint, '.user': label, isGone: flag, bytes: shown });

/** All who were present in a scope, and all who are. */
const CHANGES_MAX = 1024;

const isIncreasing = (/** @type {any[]} */ all) => all.every(({ number }, i) => i === 0 || number > all[i - 1].number);

addMessages({
  setPresence: [0x58, struct({ scope: object, bytes: optional(shown) })],
  present: [0x59, struct({ number: varint })],
  followPresence: [0x5a, struct({ scope: object, follows: bool })],
  presence: [0xb1, struct({
    scope: object, isWhole: flag,
    changes: checked(list(presence, 6, CHANGES_MAX), isIncreasing, 'its numbers do not increase'),
  })],
});

// MARK: Places

const place = fields({
  1: ['object', object, null],
  2: ['property', number16, null],
  3: ['selection', struct({ anchor: varint, head: varint }), null],
});

/** The bytes of a place, as the clients of nest show it. @param {any} from `{object, property, anchor, head}` */
export function placeBytes({ object: id = null, property = null, anchor = null, head = anchor }) {
  const writer = new Writer();
  place.write(writer, { object: id, property, selection: head === null ? null : { anchor: anchor ?? head, head } });
  return writer.done();
}

/**
 * The place that the bytes of a presence name; null if they are of another form.
 * @param {Uint8Array} bytes
 */
export function placeOf(bytes) {
  try {
    const reader = new Reader(bytes);
    const { object: id, property, selection } = /** @type {any} */ (place.read(reader));
    if (reader.left > 0 || property === 0) throw malformed('a place is of another form');
    return { object: id, property, anchor: selection?.anchor ?? null, head: selection?.head ?? null };
  } catch (error) {
    if (error instanceof NestError) return null;
    throw error;
  }
}
