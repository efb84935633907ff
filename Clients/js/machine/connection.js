/**
 * Connections of the machine: what a new one begins with, what the end of one means, and where the next one goes.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { fail, lossError, MODEL_CHANGED, requestUndoState, unknownOutcome } from './calls.js';
import { changesLost } from './changes.js';
import { detachFeeds, endFeed, requestChanges } from './feeds.js';
import { keepAlive } from './keepalive.js';
import { learn } from './leader.js';
import { note } from './seen.js';
import { deliver, endSubscription, subscribe } from './subscriptions.js';
import { mayBeExecuted } from './table.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** The name of the store of a server that is no node of a cluster. */
const UNNAMED_STORE = 'default';

/**
 * Handles WELCOME.
 * @param {Machine} m
 * @param {any} welcome
 */
export function welcomed(m, welcome) {
  const { store } = m.options;
  const name = welcome.store ?? UNNAMED_STORE;
  if (store && store !== name) {
    return m.leaveServer(new NestError('NOT_FOUND', `the server has the store '${name}', not '${store}'`));
  }
  const last = m.welcome;
  m.phase = 'ready';
  m.welcome = Object.freeze(welcome);
  m.decoder.limit = Math.max(welcome.frameBytesMax, m.decoder.limit);
  m.decoder.compression = m.options.unpacks && !m.refusesPacked && (welcome.features & 16) !== 0;
  note(m, welcome.revision);
  if (!m.hasBeenReady) m.route.beginRound(m.random);
  m.hasBeenReady = true;
  m.faults = [];
  m.roundFault = null;
  if (m.leaderFault?.address === m.route.current) m.leaderFault = null;
  learn(m, welcome.leader);
  m.readySince = m.now;
  m.timers.delete('handshake');
  keepAlive(m);
  m.emit({ type: 'ready', welcome, address: m.route.current });
  for (const { request } of m.table.connected(welcome.historyID)) {
    fail(m, request, unknownOutcome('the connection was lost, and the store has another history now'));
  }
  if (last && last.modelHash !== welcome.modelHash) modelChanged(m);
  // Subscriptions first: their differences grow with time, and the answers to other requests may be long.
  for (const sub of m.subscriptions) if (!sub.isPaused) subscribe(m, sub);
  for (const feed of m.feeds) requestChanges(m, feed);
  if (m.followsUndoState) requestUndoState(m, true);
}

/**
 * Handles another model of the server. Requests and lists that are made for it continue; the others end.
 * @param {Machine} m
 */
function modelChanged(m) {
  const isForeign = (/** @type {any} */ model) => model != null && model !== m.welcome.modelHash;
  const error = new NestError('SCHEMA_CHANGED', MODEL_CHANGED);
  for (const entry of m.table.removeWaiting(({ request }) => isForeign(request.model))) {
    fail(m, entry.request, mayBeExecuted(entry) ? lossError(entry.request) : error);
  }
  for (const sub of [...m.subscriptions]) if (isForeign(sub.spec.model)) endSubscription(m, sub, error);
  for (const sub of m.subscriptions) {
    for (const subscriber of sub.subscribers) {
      const { waiting } = subscriber;
      if (!waiting || !isForeign(waiting.spec.model)) continue;
      subscriber.waiting = null;
      if (waiting.call) m.emit({ type: 'fail', call: waiting.call, error });
    }
  }
  for (const feed of [...m.feeds]) if (isForeign(feed.model)) endFeed(m, feed, error);
}

/**
 * Handles the end of the connection, or of an attempt to connect.
 * @param {Machine} m
 */
export function ended(m) {
  const reason = m.closeReason ?? new NestError('CONNECTION_LOST', 'the server closed the connection');
  const isFinal = m.isRefusedForGood;
  const wasReady = m.readySince !== null;
  m.closeReason = null;
  m.isRefusedForGood = false;
  m.hasChannel = false;
  m.packed = null;
  m.output.unpack = null;
  m.preface = null;
  for (const name of ['handshake', 'keepAlive', 'late', 'search']) m.timers.delete(name);
  if (m.phase === 'closed') return;
  m.lossReason = reason.message;
  if (!wasReady) {
    m.faults.push({ address: m.route.current, error: reason, isFinal });
    if (m.route.isRoundOver && roundFailed(m)) return;
  }
  const isMove = m.moving !== null;
  const pause = nextAttempt(m, reason);
  m.readySince = null;
  m.retryAfter = 0;
  if (wasReady) connectionLost(m, reason, false);
  if (wasReady && !isMove) {
    m.search = null;
    m.table.forgetTimesOfRefusals();
  }
  m.emit({ type: 'lost', error: reason, pause, address: m.route.current, wasReady });
  if (!m.hasBeenReady) return m.open();
  m.phase = 'backingOff';
  if (!m.isSlow) m.timers.set('backoff', m.now + pause);
  if (pause === 0 && !m.isSlow) m.time(m.now);
}

/**
 * Chooses the address of the next attempt.
 * @param {Machine} m
 * @param {any} reason
 * @returns {number} the pause before it in milliseconds: none while addresses are left that were not tried, else that
 *   of the back-off, and at least the one that the same server asked for
 */
function nextAttempt(m, reason) {
  const last = m.route.current;
  const wasReady = m.readySince !== null;
  const wasHealthy = wasReady && m.backoff.connectionLived(m.now - Number(m.readySince), m.welcome.store !== null);
  if (m.moving !== null) {
    m.route.move(m.moving, m.random);
    m.moving = null;
    return 0;
  }
  if (wasReady) {
    if (wasHealthy) m.route.beginRound(m.random);
  } else if (!m.route.isHome || (m.route.homes.length > 1 && last === m.route.leader)) {
    m.leaderFault = { address: last, error: reason, at: m.now };
  }
  let pause = 0;
  if (m.route.next(m.random)) {
    m.faults = [];
    pause = m.backoff.next(m.random);
  } else {
    m.backoff.attemptedAtOnce();
  }
  const isSame = m.route.current === last || reason.code !== 'SHUTTING_DOWN';
  const asked = isSame ? Math.max(m.retryAfter, wasReady ? 0 : reason.retryAfter ?? 0) : 0;
  return Math.max(pause, asked);
}

/**
 * Handles a round in which no address could be used.
 * @param {Machine} m
 * @returns {boolean} false if the client tries again after a pause
 */
function roundFailed(m) {
  const error = faultOf(m.faults);
  const isForGood = m.faults.length >= m.route.homes.length && m.faults.every(({ isFinal }) => isFinal);
  m.roundFault = error;
  // A client that was never connected does not go on in the background: `connect` reports why.
  if (isForGood || !m.hasBeenReady) m.giveUp(error);
  return m.error !== null;
}

/**
 * One error for a round of attempts. Its code is that of a server that refuses the client for good, or else of one that
 * answered, if there is one.
 * @param {{ address: string, error: any }[]} faults at least one
 */
function faultOf(faults) {
  if (faults.length === 1) return faults[0].error;
  const errors = faults.map(({ error }) => error);
  const isAnswer = (/** @type {any} */ { code }) => code !== 'UNREACHABLE';
  const found = errors.find(({ retry }) => retry === 0) ?? errors.find(isAnswer) ?? errors[0];
  const lines = faults.map(({ address, error }) => `\n  ${address}: ${error.message}`);
  return new NestError(found.code, `cannot connect to any of ${faults.length} servers:${lines.join('')}`);
}

/**
 * Handles what the loss of a connection that was ready means for requests and lists.
 * @param {Machine} m
 * @param {any} reason
 * @param {boolean} isEnd whether the client is closed
 */
export function connectionLost(m, reason, isEnd) {
  const { failed, unsent } = m.table.connectionLost(m.welcome?.historyID ?? null);
  for (const { request } of failed) fail(m, request, lossError(request));
  for (const { request } of unsent) fail(m, request, lossError({ ...request, kind: 'connection' }));
  for (const call of m.pings) m.emit({ type: 'fail', call, error: isEnd ? reason : lossError({ kind: 'read' }) });
  m.pings = [];
  if (typeof m.group === 'number') m.group = 'lost';
  m.views.clear();
  m.retries = [];
  m.late = [];
  m.own = [];
  m.authors = [];
  if (isEnd) {
    for (const sub of [...m.subscriptions]) endSubscription(m, sub, reason);
    for (const feed of [...m.feeds]) endFeed(m, feed, reason);
    if (m.followsUndoState) m.emit({ type: 'undoStateEnd', error: reason });
    m.followsUndoState = false;
    return;
  }
  changesLost(m);
  for (const sub of m.subscriptions) {
    sub.phase = 'detached';
    sub.assembler = null;
    if (!sub.isPaused && !sub.origin) deliver(m, sub.subscribers, { type: 'disconnected', reason: reason.message });
  }
  detachFeeds(m, reason.message);
}
