/**
 * Answers to FETCH, and reads at a revision. Only programs that read without following load this module.
 * @module
 */

import '../wire/messages-more.js';
import { Writer } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { MORE } from '../wire/frames.js';
import { fail } from './calls.js';
import { handlers, unexpected } from './frames.js';
import { atLeast, isInTime, note } from './seen.js';
import { T } from './types.js';
import { assemble } from './views.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** `at least` for the newest state: the largest number of the wire. */
const NEWEST = (1n << 62n) - 1n;

/**
 * The body of a read as it is sent to a server: it asks for a state that is not older than what the client has seen.
 * @param {number | 'newest'} asked
 * @param {Uint8Array} body what follows the revision
 * @returns {(m: Machine) => Uint8Array}
 */
export function atLeastBefore(asked, body) {
  if (asked !== 'newest' && !(Number.isSafeInteger(asked) && asked >= 0)) {
    throw new NestError('INVALID', `atLeast is a revision or 'newest', not ${String(asked)}`);
  }
  return (m) => {
    const writer = new Writer();
    const seen = atLeast(m);
    // A single server has the newest revision.
    const newest = m.welcome?.store === null ? seen : NEWEST;
    writer.varint(asked === 'newest' ? newest : Math.max(asked, seen));
    writer.raw(body);
    return writer.done();
  };
}

// The frames of a snapshot whose id is that of a request.
handlers.set(T.fetch, (m, frame) => {
  const entry = m.table.inFlight.get(frame.id);
  if (!entry) return;
  const { projection, type, owner } = entry.request;
  if (type !== T.fetch || (frame.type !== T.snapshot && !entry.assembler)) return unexpected(m, frame);
  // Nobody waits for an abandoned request: its slot is free when the last frame has come.
  if (owner !== null) {
    entry.assembler = assemble(frame.type === T.snapshot ? null : entry.assembler, frame, projection ?? []);
  } else {
    entry.assembler = true;
  }
  if ((frame.flags & MORE) !== 0) return;
  if (owner === null) return m.finish(frame.id, null);
  let state;
  try {
    state = entry.assembler.finish();
    if (entry.totals) state = entry.totals(state);
  } catch (error) {
    m.table.finish(frame.id);
    return fail(m, entry.request, error);
  }
  note(m, state.revision);
  isInTime(m);
  m.finish(frame.id, state);
});
