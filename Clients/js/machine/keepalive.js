/**
 * Signs of life. Any byte of the server is one; after a silence the client asks for one.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { encode } from '../wire/messages.js';
import { PING_TIMEOUT_MS, QUEUE_BYTES_MAX } from './limits.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** What a PING contains: that of the client itself, and that of a caller. */
const OWN_PAYLOAD = '0000000000000000';
const CALL_PAYLOAD = '0000000000000001';
/** The shortest silence after which the client asks, whatever the server names. */
const INTERVAL_MS_MIN = 100;

/**
 * Begins to watch a connection.
 * @param {Machine} m
 */
export function keepAlive(m) {
  m.lastReceived = m.now;
  m.pingedAt = null;
  m.timers.set('keepAlive', m.now + intervalOf(m));
}

/** @param {Machine} m */
const intervalOf = (m) => Math.max(m.welcome.pingIntervalMilliseconds, INTERVAL_MS_MIN);

/**
 * Sends PING after a silence, and gives the connection up after another.
 * @param {Machine} m
 */
export function checkKeepAlive(m) {
  const interval = intervalOf(m);
  // Silence proves nothing while the client does not read.
  if (m.queued >= QUEUE_BYTES_MAX || m.packed) {
    m.lastReceived = m.now;
    m.pingedAt = null;
  }
  if (m.pingedAt !== null && m.now - m.pingedAt >= PING_TIMEOUT_MS) {
    return m.closeConnection('the server does not respond');
  }
  if (m.pingedAt === null && m.now - m.lastReceived >= interval) {
    m.pingedAt = m.now;
    m.send(T.ping, 0, encode('ping', { payload: OWN_PAYLOAD }));
  }
  const due = m.pingedAt === null ? m.lastReceived + interval : m.pingedAt + PING_TIMEOUT_MS;
  m.timers.set('keepAlive', Math.max(due, m.now + 1));
}

/**
 * @param {Machine} m
 * @param {object} call the next PONG is its answer; without a connection it fails
 */
export function ping(m, call) {
  if (m.phase !== 'ready') {
    return m.emit({ type: 'fail', call, error: m.error ?? new NestError('CONNECTION_LOST', 'there is no connection') });
  }
  m.pings.push(call);
  m.send(T.ping, 0, encode('ping', { payload: CALL_PAYLOAD }));
}

/**
 * @param {Machine} m
 * @param {string} payload
 */
export function ponged(m, payload) {
  const call = payload === CALL_PAYLOAD ? m.pings.shift() : undefined;
  if (call) m.emit({ type: 'answer', call, reply: null });
}
