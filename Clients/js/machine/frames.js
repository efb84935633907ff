/**
 * Handles the frames of the server, by type.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { MORE } from '../wire/frames.js';
import { Limits } from '../wire/limits.js';
import { decode, encode, errorOf, messageNames } from '../wire/messages.js';
import { fail, refusal } from './calls.js';
import { welcomed } from './connection.js';
import { isInTime, note, waits } from './seen.js';
import { T } from './types.js';
import { rememberOwn } from './views.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {{ type: number, flags: number, id: number, body: Uint8Array }} Frame */

/** What a server may send before WELCOME. */
const EARLY = new Set([T.welcome, T.error, T.goAway]);

/**
 * What handles the frames of a type that few programs need: the module that does adds it when it is loaded.
 * @type {Map<number, (m: Machine, frame: Frame) => void>}
 */
export const handlers = new Map();

/** The codes of a server that refuse this client's token: no other server of the store would accept it. */
const TOKEN_CODES = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED']);

/**
 * @param {Machine} m
 * @param {Frame} frame
 */
export function dispatch(m, frame) {
  const { type, id, body } = frame;
  if (type >= 0x80 && !messageNames.has(type)) return;
  if (m.phase === 'handshaking' && !m.greeting && !EARLY.has(type)) {
    return m.violation(`a message ${type.toString(16)} before WELCOME`);
  }
  const handler = handlers.get(type);
  if (handler) return handler(m, frame);
  const hasMore = (frame.flags & MORE) !== 0;
  switch (type) {
    case T.welcome: return welcomed(m, decode('welcome', body));
    case T.error: return errorArrived(m, errorOf(decode('error', body)), id);
    case T.goAway: return goAway(m, decode('goAway', body));
    case T.ping: return m.send(T.pong, 0, encode('pong', decode('ping', body)));
    case T.own: return rememberOwn(m, decode('own', body).revisions);
    case T.authors:
      m.authors = decode('authors', body).authors;
      return;
    case T.progress: {
      const { revision } = decode('progress', body);
      note(m, revision);
      for (const view of m.views.values()) view.progress(m, revision);
      return;
    }
    case T.snapshot: case T.snapshotSections: case T.snapshotRows:
      if (id < Limits.viewIDMin && handlers.has(T.fetch)) return handlers.get(T.fetch)?.(m, frame);
      break;
  }
  // Frames of a view that the client has left are ignored.
  if (id >= Limits.viewIDMin) m.views.get(id)?.frame(m, frame, hasMore);
  else answerArrived(m, frame);
}

/** @param {Machine} m @param {Frame} frame */
export function answerArrived(m, frame) {
  const { type, id, body } = frame;
  const name = messageNames.get(type);
  const request = m.table.inFlight.get(id)?.request;
  // An unknown type below 80 must not be skipped.
  if (!request) return name ? undefined : m.violation(`an unknown message ${type.toString(16)}`);
  const { owner } = request;
  if (owner !== null && request.answer !== type) return unexpected(m, frame);
  // Only what somebody waits for is decoded, and what changes the connection.
  const isRaw = !name || request.isRaw || (owner === null && type !== T.receipt);
  const reply = isRaw ? { type, body } : decode(name, body);
  if (type === T.receipt) {
    note(m, reply.revision);
    if (reply.isChanged && !reply.isReplayed) rememberOwn(m, [reply.revision]);
  } else if (type === T.subscribed) isInTime(m);
  m.finish(id, reply);
}

/** A reply that is none to its request: only that one fails. @param {Machine} m @param {Frame} frame */
export function unexpected(m, { type, id }) {
  const entry = m.table.finish(id);
  const text = `a message ${type.toString(16)} is not an answer to the request`;
  if (entry) fail(m, entry.request, new NestError('PROTOCOL', text));
}

/**
 * Handles ERROR: of a request, or of the connection.
 * @param {Machine} m
 * @param {any} error
 * @param {number} id
 */
export function errorArrived(m, error, id) {
  if (id === 0) {
    if (TOKEN_CODES.has(error.code)) return m.giveUp(error);
    if (m.phase === 'handshaking' && (!m.hasBeenReady || error.retry === 0)) return m.leaveServer(error);
    m.closeReason = error;
    return;
  }
  const entry = m.table.finish(id);
  if (!entry) return;
  if (m.cluster?.refusedByNode(m, entry, id, error) || m.cluster?.refusedAsLate(m, entry, id, error)) return;
  if (waits(m, entry, error)) return;
  routeError(m, entry, error);
}

/**
 * Refuses a request that this server would not take.
 * @param {Machine} m
 * @param {number} id
 * @param {any} error
 */
export function refused(m, id, error) {
  const entry = m.table.finish(id);
  if (entry) routeError(m, entry, error);
}

/**
 * @param {Machine} m
 * @param {import('./table.js').Entry} entry
 * @param {any} error
 */
function routeError(m, entry, error) {
  const { owner } = entry.request;
  if (owner?.call) fail(m, entry.request, refusal(entry, error));
  else owner?.refused(m, error, entry.request);
}

/**
 * Handles GOAWAY: no new requests are sent, and those in flight are still answered.
 * @param {Machine} m
 * @param {any} message
 */
function goAway(m, { code, lastRequestID, retryAfter, message }) {
  const error = new NestError(code, `the server closes the connection: ${message || code}`);
  if (TOKEN_CODES.has(code)) return m.giveUp(error);
  m.closeReason = error;
  m.retryAfter = retryAfter;
  if (m.phase !== 'ready') return m.closeConnection(error.message);
  m.phase = 'leaving';
  for (const { request } of m.table.goAway(lastRequestID)) {
    fail(m, request, new NestError('CONNECTION_LOST', `${error.message}; nothing was stored`));
  }
}
