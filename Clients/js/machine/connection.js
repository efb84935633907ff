/**
 * Connections of the machine: what a new one begins with, what the end of one means, and where the next one goes.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { encode } from '../wire/messages.js';
import { begin, fail, lossError, unknownOutcome } from './calls.js';
import { PING_TIMEOUT_MS, QUEUE_BYTES_MAX } from './limits.js';
import { note } from './seen.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** The name of the store of a server that is no node of a cluster. */
const UNNAMED_STORE = 'default';

/**
 * Handles WELCOME.
 * @param {Machine} m
 * @param {any} welcome
 */
export function welcomed(m, welcome) {
  if (m.phase !== 'handshaking' || m.greeting) return m.violation('WELCOME in the middle of a connection');
  const { store } = m.options;
  const name = welcome.store ?? UNNAMED_STORE;
  if (store && store !== name) {
    return m.leaveServer(new NestError('NOT_FOUND', `the server has the store '${name}', not '${store}'`));
  }
  m.decoder.limit = Math.max(welcome.frameBytesMax, m.decoder.limit);
  m.decoder.compression = m.options.unpacks?.allowed(m, welcome);
  if (!m.welcome || m.welcome.modelHash === welcome.modelHash) return enter(m, welcome);
  // What was made for the model before may be valid: the owner loads greeting.js, and calls it.
  m.greeting = welcome;
  m.emit({ type: 'greeting', welcome });
}

/**
 * Begins to use the connection.
 * @param {Machine} m
 * @param {any} welcome
 * @param {() => void} [changed] what another model means for requests, lists and feeds
 */
export function enter(m, welcome, changed) {
  m.greeting = null;
  m.phase = 'ready';
  m.welcome = Object.freeze(welcome);
  m.valid.add(welcome.modelHash);
  note(m, welcome.revision);
  if (!m.hasBeenReady) m.route.beginRound(m.random);
  m.hasBeenReady = true;
  m.faults = [];
  m.roundFault = null;
  if (m.leaderFault?.address === m.route.current) m.leaderFault = null;
  m.cluster?.learn(m, welcome.leader);
  m.readySince = m.now;
  m.timers.delete('handshake');
  keepAlive(m);
  m.emit({ type: 'ready', welcome, address: m.route.current });
  for (const { request } of m.table.connected(welcome.historyID)) {
    fail(m, request, unknownOutcome('the store has another history'));
  }
  changed?.();
  for (const one of m.followers) begin(m, one);
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
  m.greeting = m.packed = null;
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
  if (wasReady && !isMove) m.cluster?.searchLost(m);
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
  if (m.cluster?.moved(m)) return 0;
  if (!wasReady) m.cluster?.attemptFailed(m, reason);
  else if (wasHealthy) m.route.beginRound(m.random);
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
  const error = m.cluster?.faultOf(m.faults) ?? m.faults[0].error;
  const isForGood = m.faults.length >= m.route.homes.length && m.faults.every(({ isFinal }) => isFinal);
  m.roundFault = error;
  // A client that was never connected does not go on in the background: `connect` reports why.
  if (isForGood || !m.hasBeenReady) m.giveUp(error);
  return m.error !== null;
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
  if (m.group) m.group.isLost = true;
  m.own = [];
  m.authors = [];
  for (const one of [...m.followers]) {
    if (isEnd) one.end(m, reason);
    else one.lost(m, reason.message);
  }
  m.views.clear();
}

// MARK: Signs of life

/** What a PING of the client itself contains. */
const OWN_PAYLOAD = '0000000000000000';
/** The shortest silence after which the client asks, whatever the server names. */
const INTERVAL_MS_MIN = 100;

/**
 * Begins to watch a connection.
 * @param {Machine} m
 */
function keepAlive(m) {
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
