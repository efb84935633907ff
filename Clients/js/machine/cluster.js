/**
 * In a cluster, one node takes writes. A request that a node refused for that reason was not executed:
 *
 *     NOT_LEADER with an address ──▶ the client moves there: subscriptions resume, the request is sent again
 *     LOG_UNAVAILABLE ──▶ the client moves to each other address of its list once
 *     NOT_LEADER without one, or LOG_UNAVAILABLE everywhere ──▶ the request is sent again after a pause
 *
 * A request that no node takes for LEADER_WAIT_MS fails with NOT_LEADER, one for which the log is unavailable at its
 * own time limit. The client stays at the leader, reads included.
 *
 * Only a client that has several addresses, or that can follow a leader, loads this module.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { indexBelow } from './addresses.js';
import { fail, lossError } from './calls.js';
import { LEADER_PAUSE_MS_MAX } from './limits.js';
import { Backoff, RECONNECT_MS_MIN } from './route.js';
import { LATE } from './seen.js';
import { isWrite, mayBeExecuted } from './table.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./table.js').Entry} Entry */

/** Milliseconds for which a request is sent again that no node takes (`leaderWaitSeconds`). */
const LEADER_WAIT_MS = 15_000;

export { Addresses } from './addresses.js';

/** The search for a node that takes requests, from a refusal to the first request that a node takes. */
class LeaderSearch {
  constructor() {
    /** @type {string | null} the address that a node named last */
    this.named = null;
    /** Whether the client has moved in this search. Nodes may name each other, so it pauses before it moves again. */
    this.hasMoved = false;
    /** The addresses where the log was unavailable. @type {Set<string>} */
    this.left = new Set();
    this.pauses = new Backoff(LEADER_PAUSE_MS_MAX);
    // The first pause of a back-off is none at all.
    this.pauses.attemptedAtOnce();
  }
}

/**
 * Handles the error of a request.
 * @param {Machine} m
 * @param {Entry} entry
 * @param {number} id
 * @param {NestError} error
 * @returns {boolean} whether it is about the node that takes writes
 */
export function refusedByNode(m, entry, id, error) {
  const isNotLeader = error.code === 'NOT_LEADER' && m.options.followsLeader;
  if (!isNotLeader && error.code !== 'LOG_UNAVAILABLE') {
    answered(m, entry);
    return false;
  }
  if (!entry.request.owner?.call) return false;
  const named = isNotLeader ? learn(m, error.leader) : null;
  const isDead = named !== null && m.leaderFault?.address === named && m.leaderFault.error.retry === 0
    && isRecent(m, m.leaderFault);
  const since = entry.refusal?.since ?? m.now;
  const isOver = isNotLeader && m.now - since >= LEADER_WAIT_MS;
  if (isDead || isOver || !maySendAgain(entry)) {
    // An earlier sending may have been executed: this refusal does not deny it.
    fail(m, entry.request, mayBeExecuted(entry) ? lossError(entry.request) : leaderError(m, error));
    if (!isDead) seek(m, named);
    return true;
  }
  m.table.held.set(id, { ...entry, refusal: { since, error } });
  if (isNotLeader || !moveOn(m)) seek(m, named);
  return true;
}

/**
 * @param {Machine} m
 * @param {string | null | undefined} text the address of the leader, from a server
 * @returns {string | null} null if it is none that this client can use
 */
export function learn(m, text) {
  if (!m.options.followsLeader || !text) return null;
  const address = m.options.readAddress(text);
  if (address !== null) m.route.leader = address;
  return address;
}

/**
 * Ends the search when a node has taken a request.
 * @param {Machine} m
 * @param {Entry} entry
 */
export function answered(m, entry) {
  if (m.search && (entry.refusal || isWrite(entry.request))) m.search = null;
}

/**
 * Moves to the leader that was named, or pauses before the next attempt.
 * @param {Machine} m
 * @param {string | null} named
 */
function seek(m, named) {
  const search = (m.search ??= new LeaderSearch());
  search.named = named;
  if (m.phase !== 'ready') return;
  if (named !== null && mayMove(m, named) && !search.hasMoved) {
    search.hasMoved = true;
    move(m, named, 'another node leads');
  } else if (!m.timers.has('search')) m.timers.set('search', m.now + search.pauses.next(m.random));
}

/**
 * Handles the end of the pause of a search.
 * @param {Machine} m
 */
export function searchPauseEnded(m) {
  if (m.phase !== 'ready') return;
  if (m.table.isHolding && hasWriteInFlight(m)) {
    // It was sent before the refusal, and may be refused too: the order of writes must stay.
    m.timers.set('search', m.now + RECONNECT_MS_MIN);
    return;
  }
  const search = m.search;
  if (search?.named && mayMove(m, search.named)) {
    search.hasMoved = true;
    move(m, search.named, 'another node leads');
  } else {
    release(m);
  }
}

/**
 * Moves to an address of the list where the log was not found unavailable in this search.
 * @param {Machine} m
 * @returns {boolean} false if there is none, or if something would be lost with the connection
 */
function moveOn(m) {
  if (!mayLeaveNode(m)) return false;
  const search = (m.search ??= new LeaderSearch());
  search.left.add(m.route.current);
  const others = m.route.homes.filter((home) => !search.left.has(home));
  if (others.length === 0) return false;
  move(m, others[indexBelow(m.random, others.length)], 'the log is unavailable there');
  return true;
}

/**
 * Whether the leader is elsewhere, and no attempt to connect to it has just failed. Until then the client asks the node
 * again, which learns of a new leader.
 * @param {Machine} m
 * @param {string} leader
 */
function mayMove(m, leader) {
  if (leader === m.route.current) return false;
  return m.leaderFault?.address !== leader || !isRecent(m, m.leaderFault);
}

/**
 * @param {Machine} m
 * @param {{ error: any, at: number }} fault why the client could not connect to the leader
 * @returns {boolean} whether it is too early for another attempt
 */
const isRecent = (m, { error, at }) => m.now - at < (error.retry === 0 ? LEADER_WAIT_MS : LEADER_PAUSE_MS_MAX);

/**
 * Closes the connection, to connect to another node instead. Transfers in flight fail: their data cannot be sent again.
 * @param {Machine} m
 * @param {string} address
 * @param {string} reason
 */
function move(m, address, reason) {
  m.moving = address;
  m.closeConnection(`${reason}: the client connects to ${address}`);
}

/**
 * @param {Machine} m
 * @param {any} error
 * @returns {any} the error for a caller whose request no node has taken
 */
export function leaderError(m, error) {
  if (error.code !== 'NOT_LEADER' || !m.options.followsLeader) return error;
  const fault = m.leaderFault;
  const why = fault && fault.address === m.route.leader
    ? `; the client cannot use the leader: ${fault.error.message}` : '';
  return new NestError(
    error.code,
    `${error.message}${why}. Nothing was executed. Ask for the state of the cluster, then try again`,
    error,
  );
}

/**
 * @param {Entry} entry
 * @returns {boolean} whether the request may be sent again, on another connection too, after a refusal
 */
function maySendAgain({ request }) {
  switch (request.kind) {
    case 'read': return true;
    case 'write': return request.group === undefined;
    case 'connection': return request.type !== T.endGroup;
    default: return false;
  }
}

// MARK: Attempts to connect

/** Goes to the node that the client has left the connection for, if it has. @param {Machine} m @returns {boolean} */
export function moved(m) {
  if (m.moving === null) return false;
  m.route.move(m.moving, m.random);
  m.moving = null;
  return true;
}

/** Notes that the client could not connect. @param {Machine} m @param {any} error */
export function attemptFailed(m, error) {
  const { current, isHome, homes, leader } = m.route;
  if (!isHome || (homes.length > 1 && current === leader)) m.leaderFault = { address: current, error, at: m.now };
}

/**
 * One error for a round of attempts. Its code is that of a server that refuses the client for good, or else of one that
 * answered, if there is one.
 * @param {{ address: string, error: any }[]} faults at least one
 */
export function faultOf(faults) {
  if (faults.length === 1) return faults[0].error;
  const errors = faults.map(({ error }) => error);
  const isAnswer = (/** @type {any} */ { code }) => code !== 'UNREACHABLE';
  const found = errors.find(({ retry }) => retry === 0) ?? errors.find(isAnswer) ?? errors[0];
  const lines = faults.map(({ address, error }) => `\n  ${address}: ${error.message}`);
  return new NestError(found.code, `cannot connect to any of ${faults.length} servers:${lines.join('')}`);
}

// MARK: Nodes that lag

/**
 * Whether the client may go to another node without the loss of a group or a transfer.
 * @param {Machine} m
 */
export const mayLeaveNode = (m) => m.phase === 'ready' && (!m.group || m.group.isLost) && !needsConnection(m);

/**
 * Handles the error of a read at a node that has not reached the revision in time: with several addresses, the client
 * asks at the next one, until all nodes have said so.
 * @param {Machine} m
 * @param {Entry} entry
 * @param {number} id
 * @param {NestError} error
 * @returns {boolean} whether this was such an error
 */
export function refusedAsLate(m, entry, id, error) {
  const { owner, kind } = entry.request;
  const isRead = owner?.call ? kind === 'read' : owner?.begin;
  if (error.code !== LATE || !isRead || !mayLeaveNode(m) || m.lateNodes + 1 >= m.route.homes.length) return false;
  m.lateNodes++;
  // The loss of the connection lets it be sent again.
  m.table.inFlight.set(id, entry);
  m.closeConnection(`${m.route.current} lags: ${error.message}`);
  return true;
}

// MARK: The requests in flight

/** Lets the held requests be sent again, before all others and in their order. @param {Machine} m */
function release({ table }) {
  table.waiting.unshift(...[...table.held].sort((a, b) => a[0] - b[0]).map(([, entry]) => entry));
  table.held.clear();
}

/** Whether a write is about to be answered. An upload is not: its end may be far. @param {Machine} m */
const hasWriteInFlight = ({ table }) =>
  [...table.inFlight.values()].some(({ request }) => request.kind !== 'upload' && isWrite(request));

/** Whether a caller's request would fail with the connection, although it could be answered. @param {Machine} m */
const needsConnection = ({ table }) => [...table.inFlight.values()].some(({ request: { owner, kind, group } }) =>
  owner?.call && kind !== 'read' && (kind !== 'write' || group !== undefined));

/** Begins the time anew for which requests have been refused: their connection was lost. @param {Machine} m */
export function searchLost(m) {
  m.search = null;
  for (const { refusal } of m.table.waiting) if (refusal) refusal.since = null;
}
