/**
 * Requests of callers. They are sent again after a lost connection where that is safe; the others fail.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { Limits } from '../wire/limits.js';
import { refused } from './frames.js';
import { T } from './types.js';
import { mayBeExecuted } from './table.js';
import { REQUESTS_WAITING_MAX } from './limits.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./table.js').OutgoingRequest} OutgoingRequest */
/** @typedef {import('./table.js').Entry} Entry */

/** The classes of errors for which a server has not looked for a key: the protocol, access, now. */
const BLIND_CLASSES = new Set([1, 2, 5]);

const LOST = 'the connection was lost before the answer';

export const MODEL_CHANGED = 'the server has another model now: '
  + 'call entity() again, then repeat requests and lists';

/**
 * @param {Machine} m
 * @param {any} model the hash of the model that a request is made for, or those of its parts; null or left out: it
 *   depends on none
 * @returns {NestError | null} why it cannot be sent to this server
 */
export function modelError(m, model) {
  if (!m.welcome || [model ?? []].flat().every((one) => m.valid.has(one))) return null;
  return new NestError('SCHEMA_CHANGED', MODEL_CHANGED);
}

/**
 * A frame above the server's limit would end the connection, and the client would send it again and again.
 * @param {Machine} m
 * @param {number} size the bytes of the body
 * @returns {NestError | null}
 */
export function sizeError(m, size) {
  const limit = m.welcome?.frameBytesMax ?? Limits.frameBytesMax;
  if (size <= limit) return null;
  return new NestError(
    'FRAME_TOO_LARGE',
    `the request has ${size} bytes, but the server accepts at most ${limit}: split it`,
  );
}

/**
 * Submits a request of a caller.
 * @param {Machine} m
 * @param {OutgoingRequest} request
 */
export function submit(m, request) {
  const error = m.error
    ?? modelError(m, request.model)
    ?? sizeError(m, request.body.length)
    ?? m.group?.refusal(request);
  if (error) return fail(m, request, error);
  if (m.group) request = m.group.joined(request);
  if (!m.table.submit(request)) {
    fail(m, request, new NestError('LIMIT_EXCEEDED', `${REQUESTS_WAITING_MAX} requests are waiting`));
  }
}

/**
 * Lets a list or feed begin on a connection. What it cannot encode is its own fault, not the server's: only it ends.
 * @param {Machine} m
 * @param {any} one
 */
export function begin(m, one) {
  try {
    one.begin(m);
  } catch (error) {
    if (!(error instanceof NestError)) throw error;
    one.end(m, error);
  }
}

/**
 * Reports an error to the caller of a request or change, if there is one.
 * @param {Machine} m
 * @param {{ owner: any }} request
 * @param {any} error
 */
export function fail(m, request, error) {
  if (request.owner?.call) m.emit({ type: 'fail', call: request.owner.call, error });
}

/** @param {{ kind: string, isEnded?: boolean }} request that was sent @returns {boolean | undefined} */
const mayHappen = ({ kind, isEnded }) => kind === 'write' || (kind === 'upload' && isEnded);

/**
 * @param {{ kind: string, isEnded?: boolean }} request
 * @returns {NestError} the error of a request that was sent to a server whose connection was lost
 */
export function lossError(request) {
  if (mayHappen(request)) return unknownOutcome(LOST);
  const text = request.kind === 'upload' ? `${LOST}: nothing was stored` : LOST;
  return new NestError('CONNECTION_LOST', text);
}

/** @param {string} why */
export const unknownOutcome = (why) =>
  new NestError('OUTCOME_UNKNOWN', `${why}: the change may have been made; check before you retry`);

/**
 * The error for a caller whose request a server has refused. If an earlier sending may have been executed, a refusal
 * that was made without looking for its key says nothing about that one.
 * @param {Entry} entry
 * @param {any} error
 * @returns {any}
 */
export function refusal(entry, error) {
  // Access, limits and the size of a frame are checked before the key.
  const isBlind = error.retry !== 0 || BLIND_CLASSES.has(error.class);
  if (!mayBeExecuted(entry) || error.retry === 3 || !isBlind) return error;
  return unknownOutcome(`${LOST}, and now the server refuses (${error.message})`);
}

/**
 * Abandons a request because its caller has timed out or was cancelled.
 * @param {Machine} m
 * @param {any} call
 * @param {boolean} isTimeout
 */
export function abandon(m, call, isTimeout) {
  /** @type {any} */
  const found = call.isWaiting ? { was: 'unsent' } : m.table.abandon(call);
  const why = isTimeout ? 'no answer in time' : 'cancelled before the answer';
  const code = isTimeout ? 'TIMED_OUT' : 'CANCELLED';
  const connectFault = isTimeout ? m.connectFault : null;
  const servers = connectFault ? `: ${connectFault.message}` : '';
  const permanent = connectFault?.retry === 0 ? connectFault.code : null;
  /** @type {any} */
  let error;
  if (!found) {
    if (![...m.followers].some((one) => one.abandon?.(call))) return;
    // The change of a list that was sent may still take effect. It does not change data on the server.
    error = new NestError(code, why);
  } else if (found.was === 'unsent') {
    error = isTimeout && !(call.isWaiting && m.phase === 'ready')
      ? new NestError(permanent ?? 'UNREACHABLE', `no connection in time; nothing was sent${servers}`)
      : new NestError(code, why);
  } else if (found.was === 'refused') {
    error = isTimeout ? m.cluster?.leaderError(m, found.error) : new NestError(code, why);
  } else {
    if (found.was === 'inFlight') m.send(T.cancel, found.id, new Uint8Array(0));
    error = mayHappen(found.request)
      ? unknownOutcome(why + servers)
      : new NestError((isTimeout && permanent) || code, why + servers);
  }
  m.emit({ type: 'fail', call, error });
}

/**
 * Sends waiting requests while the server has free slots.
 * @param {Machine} m
 */
export function flush(m) {
  if (m.phase !== 'ready' || m.isClosing) return;
  const inFlightMax = Math.max(m.welcome.requestsInFlightMax, 1);
  for (;;) {
    const next = m.table.nextToSend(inFlightMax);
    if (!next) break;
    const { id, request } = next;
    const body = request.bodyAt?.(m) ?? request.body;
    const error = sizeError(m, body.length);
    if (error) {
      // This server's limit is lower than the one before: the request must not take a slot, nor be sent again.
      refused(m, id, error);
      continue;
    }
    m.send(request.type, id, body);
    if (request.kind === 'upload' && request.owner?.call) {
      m.emit({ type: 'credit', call: request.owner.call, bytes: m.welcome.creditBytesInitial });
    }
  }
  // The next connection starts with the first id again.
  if (m.table.isExhausted && m.table.inFlight.size === 0) m.closeConnection('all request ids are used');
}
