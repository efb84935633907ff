/**
 * Handles the frames of the server, by type.
 * @module
 */

import { Reader } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { decode, encode, errorOf, messageNames } from '../wire/messages.js';
import { Limits } from '../wire/limits.js';
import { fail, groupBegan, refusal } from './calls.js';
import { candidateRefused, changed, changeRefused } from './changes.js';
import { changesReached, changeSetArrived, endFeed, Feed, feedSubscribed } from './feeds.js';
import { ponged } from './keepalive.js';
import { refusedByNode } from './leader.js';
import { noteAuthors, noteOwn } from './own.js';
import { isInTime, note, refusedAsLate, waitForRevision } from './seen.js';
import { assemble, finish } from './states.js';
import { endSubscription, subscribed, subscribeNext } from './subscriptions.js';
import { diffed, progressed, snapshotPart, totalled } from './views.js';
import { STREAM_ENDS, STREAMED, T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {{ type: number, flags: number, id: number, body: Uint8Array }} Frame */

/** What a server may send before WELCOME. */
const EARLY = new Set([T.welcome, T.error, T.goAway]);
const MORE = 1;

/** The codes of a server that refuse this client's token: no other server of the store would accept it. */
const TOKEN_CODES = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED']);

/**
 * @param {Machine} m
 * @param {Frame} frame
 */
export function dispatch(m, frame) {
  const { type, id, body } = frame;
  if (type >= 0x80 && !messageNames.has(type)) return;
  if (m.phase === 'handshaking' && !EARLY.has(type)) {
    return m.violation(`a message ${type.toString(16)} before WELCOME`);
  }
  const hasMore = (frame.flags & MORE) !== 0;
  switch (type) {
    case T.welcome: return m.welcomed(decode('welcome', body));
    case T.error: return errorArrived(m, errorOf(decode('error', body)), id);
    case T.goAway: return goAway(m, decode('goAway', body));
    case T.ping: return m.send(T.pong, 0, encode('pong', decode('ping', body)));
    case T.pong: return ponged(m, decode('pong', body).payload);
    case T.receipt: return receiptArrived(m, decode('receipt', body), id);
    case T.group: return groupBegan(m, id, decode('group', body).number);
    case T.undoState: return undoStateArrived(m, decode('undoState', body), id);
    case T.own: return noteOwn(m, decode('own', body).revisions);
    case T.authors: return noteAuthors(m, decode('authors', body).authors);
    case T.subscribed: return subscribedArrived(m, decode('subscribed', body), id);
    case T.progress: return progressArrived(m, decode('progress', body).revision);
    case T.snapshot: case T.snapshotSections: case T.snapshotRows:
      return id < Limits.viewIDMin ? fetched(m, frame, hasMore) : viewFrame(m, frame, hasMore);
    case T.diff: case T.totals: case T.changeSet: case T.subscriptionEnd: return viewFrame(m, frame, hasMore);
    case T.credit: {
      const call = m.table.inFlight.get(id)?.request.owner?.call;
      if (call) m.emit({ type: 'credit', call, bytes: decode('credit', body).bytes });
      return;
    }
    default: return answerArrived(m, frame);
  }
}

/**
 * Handles the frames of a view. Those of a view that the client has left are ignored.
 * @param {Machine} m
 * @param {Frame} frame
 * @param {boolean} hasMore
 */
function viewFrame(m, frame, hasMore) {
  const of = m.views.get(frame.id);
  if (!of) return;
  const { type, body } = frame;
  if (type === T.subscriptionEnd) {
    const { code, message } = decode('subscriptionEnd', body);
    const error = new NestError(code, message);
    if (of instanceof Feed) endFeed(m, of, error);
    else endSubscription(m, of, error);
  } else if (of instanceof Feed) {
    if (type === T.changeSet) changeSetArrived(m, of, decode('changeSet', body), body.length);
  } else if (type === T.diff) {
    const context = { width: of.projection.length, hasWindow: of.spec.windowed };
    diffed(m, of, decode('diff', body, context), body.length);
  } else if (type === T.totals) {
    totalled(m, of, decode('totals', body));
  } else if (type !== T.changeSet) {
    snapshotPart(m, of, frame, hasMore);
  }
}

/**
 * Handles the answer to FETCH.
 * @param {Machine} m
 * @param {Frame} frame
 * @param {boolean} hasMore
 */
function fetched(m, frame, hasMore) {
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
  if (hasMore) return;
  if (owner === null) return m.finish(frame.id, null);
  const state = finish(entry.assembler, true);
  note(m, state.revision);
  isInTime(m);
  m.finish(frame.id, state);
}

/** @param {Machine} m @param {Frame} frame */
function answerArrived(m, frame) {
  const { type, id, body } = frame;
  const name = messageNames.get(type);
  const request = m.table.inFlight.get(id)?.request;
  if (STREAMED.has(type)) {
    if (type === T.subtreeStart) note(m, new Reader(body).varint());
    if (request?.owner?.on === 'call') m.emit({ type: 'part', call: request.owner.call, part: type, body });
    if (STREAM_ENDS.has(type)) m.finish(id, { type, body });
    return;
  }
  // A type that nobody knows, below 80, must not be skipped.
  if (!request) return name ? undefined : m.violation(`an unknown message ${type.toString(16)}`);
  if (request.owner !== null && request.answer !== type) return unexpected(m, frame);
  // Only what somebody waits for is decoded.
  const isWanted = request.owner !== null && name !== undefined && !request.isRaw;
  m.finish(id, isWanted ? decode(/** @type {string} */ (name), body) : { type, body });
}

/** @param {Machine} m @param {Frame} frame */
function unexpected(m, { type, id }) {
  const entry = m.table.finish(id);
  const text = `the server answered with a message ${type.toString(16)}, which is not an answer to the request`;
  if (entry) fail(m, entry.request, new NestError('PROTOCOL', text));
}

/** @param {Machine} m @param {any} receipt @param {number} id */
function receiptArrived(m, receipt, id) {
  note(m, receipt.revision);
  if (receipt.isChanged && !receipt.isReplayed) noteOwn(m, [receipt.revision]);
  m.finish(id, receipt);
}

/** @param {Machine} m @param {any} state @param {number} id */
function undoStateArrived(m, state, id) {
  if (m.followsUndoState) m.emit({ type: 'undoState', state });
  if (id !== 0) m.finish(id, state);
}

/** @param {Machine} m @param {any} answer @param {number} id */
function subscribedArrived(m, answer, id) {
  const entry = m.table.finish(id);
  if (!entry) return;
  isInTime(m);
  if (answer.first === 'current') note(m, answer.revision);
  const { owner } = entry.request;
  if (owner?.on === 'change') changed(m, answer, owner.sub, owner.view);
  else if (owner?.on === 'subscription') subscribed(m, answer, owner.sub);
  else if (owner?.on === 'feed') feedSubscribed(m, answer, owner.feed);
  subscribeNext(m);
}

/** @param {Machine} m @param {number} revision */
function progressArrived(m, revision) {
  note(m, revision);
  progressed(m, revision);
  changesReached(m, revision);
}

/**
 * Handles ERROR: of a request, or of the connection.
 * @param {Machine} m
 * @param {any} error
 * @param {number} id
 */
function errorArrived(m, error, id) {
  if (id === 0) {
    if (TOKEN_CODES.has(error.code)) return m.giveUp(error);
    if (m.phase === 'handshaking' && (!m.hasBeenReady || error.retry === 0)) return m.leaveServer(error);
    m.closeReason = error;
    return;
  }
  const entry = m.table.finish(id);
  if (!entry) return;
  if (refusedByNode(m, entry, id, error) || refusedAsLate(m, entry, id, error) || waitForRevision(m, entry, error)) {
    return;
  }
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
  if (owner?.on === 'call') fail(m, entry.request, refusal(entry, error));
  else if (owner?.on === 'change') changeRefused(m, error, owner.sub, owner.view);
  else if (owner?.on === 'feed') endFeed(m, owner.feed, error);
  else if (owner?.on === 'undoState') m.emit({ type: 'undoStateEnd', error });
  else if (owner?.on === 'subscription') {
    if (owner.sub.origin) candidateRefused(m, error, owner.sub);
    else endSubscription(m, owner.sub, error);
  }
  subscribeNext(m);
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
  if (m.phase !== 'ready') return m.closeConnection(error.message);
  m.phase = 'leaving';
  m.retryAfter = retryAfter;
  for (const { request } of m.table.goAway(lastRequestID)) {
    fail(m, request, new NestError(
      'CONNECTION_LOST', 'the server closes the connection; the transfer was not executed and may be started again',
    ));
  }
}
