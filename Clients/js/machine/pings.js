/**
 * The time that a message takes, for callers that ask. The client's own signs of life are in connection.js.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { decode, encode } from '../wire/messages.js';
import { lossError } from './calls.js';
import { handlers } from './frames.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** What the PING of a caller contains: the client's own contains another number. */
const PAYLOAD = '0000000000000001';

/** Waits for a PONG, on one connection. */
export class Ping {
  /** @param {object | null} call */
  constructor(call) {
    this.call = call;
    this.model = null;
    this.head = null;
  }

  /** @param {Machine} m */
  open(m) {
    if (m.phase !== 'ready') return this.end(m, m.error ?? new NestError('CONNECTION_LOST', 'there is no connection'));
    m.followers.add(this);
    m.send(T.ping, 0, encode('ping', { payload: PAYLOAD }));
  }

  begin() {}

  /** @param {Machine} m */
  ponged(m) {
    m.followers.delete(this);
    if (this.call) m.emit({ type: 'answer', call: this.call, reply: null });
  }

  /** Its caller gives up waiting. The next PONG is still its own. @param {object} call */
  abandon(call) {
    if (this.call !== call) return false;
    this.call = null;
    return true;
  }

  /** @param {Machine} m */
  lost(m) {
    this.end(m, lossError({ kind: 'read' }));
  }

  /** @param {Machine} m @param {any} error */
  end(m, error) {
    m.followers.delete(this);
    if (this.call) m.emit({ type: 'fail', call: this.call, error });
  }
}

handlers.set(T.pong, (m, { body }) => {
  if (decode('pong', body).payload !== PAYLOAD) return;
  // Answers come in the order of the questions.
  for (const one of m.followers) if (one instanceof Ping) return one.ponged(m);
});
