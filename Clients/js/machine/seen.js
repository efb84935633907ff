/**
 * The newest revision that the client has seen. Its reads and subscriptions ask for a state that is not older, so that
 * time does not run backwards when the client comes to a node that lags.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { LEADER_PAUSE_MS_MAX } from './limits.js';
import { Backoff } from './backoff.js';
import { subscribe, subscribeNext } from './subscriptions.js';
import { requestChanges } from './feeds.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./table.js').Entry} Entry */

/** `at least` for the newest state: the largest number of the wire. */
const NEWEST = (1n << 62n) - 1n;

/**
 * Notes the revision of a message of the server.
 * @param {Machine} m
 * @param {number} revision
 */
export function note(m, revision) {
  const history = m.welcome?.historyID;
  if (history === undefined) return;
  // Revisions of two histories cannot be compared.
  if (m.seen?.history !== history || revision > m.seen.revision) m.seen = { history, revision };
}

/**
 * @param {Machine} m
 * @param {number | 'newest'} asked
 * @returns {number | bigint} the least revision for a read at this server
 */
export function atLeast(m, asked = 0) {
  const seen = m.seen && m.seen.history === m.welcome?.historyID ? m.seen.revision : 0;
  // A single server has the newest revision.
  if (asked === 'newest') return m.welcome?.store === null ? seen : NEWEST;
  return Math.max(asked, seen);
}

/**
 * Whether the client may go to another node without the loss of a group or a transfer.
 * @param {Machine} m
 */
export const mayLeaveNode = (m) => m.phase === 'ready' && typeof m.group !== 'number' && !m.table.needsConnection;

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
  const isRead = owner?.on === 'call' ? kind === 'read' : owner?.on === 'subscription' || owner?.on === 'feed';
  const isLate = error.code === 'REVISION_NOT_REACHED' && isRead;
  if (!isLate || !mayLeaveNode(m) || m.lateNodes + 1 >= m.route.homes.length) return false;
  m.lateNodes++;
  // The loss of the connection lets it be sent again.
  m.table.inFlight.set(id, entry);
  m.closeConnection(`${m.route.current} lags: ${error.message}`);
  return true;
}

/**
 * Handles the error of a subscription at a node that has not reached the revision in time, and that the client does not
 * leave: it subscribes again after a pause, because the node will get there.
 * @param {Machine} m
 * @param {Entry} entry
 * @param {NestError} error
 * @returns {boolean} false for another error, or for a revision that the client has not seen: it may never be there
 */
export function waitForRevision(m, entry, error) {
  const owner = entry.request.owner;
  if (error.code !== 'REVISION_NOT_REACHED' || m.welcome.store === null || !owner) return false;
  if (owner.on === 'feed') {
    const head = owner.feed.head;
    if (!head || head.history !== m.seen?.history || head.revision > m.seen.revision) return false;
    owner.feed.phase = 'detached';
  } else if (owner.on === 'subscription' && m.subscriptions.has(owner.sub) && !owner.sub.origin) {
    owner.sub.phase = 'detached';
  } else {
    return false;
  }
  m.late.push(owner.sub ?? owner.feed);
  subscribeNext(m);
  if (m.phase === 'ready' && !m.timers.has('late')) {
    // The first pause of a back-off is none at all.
    m.latePauses.attemptedAtOnce();
    m.timers.set('late', m.now + m.latePauses.next(m.random));
  }
  return true;
}

/**
 * Handles the end of that pause.
 * @param {Machine} m
 */
export function subscribePauseEnded(m) {
  const late = m.late;
  m.late = [];
  // Otherwise the next connection subscribes to all.
  if (m.phase !== 'ready') return;
  for (const one of late) {
    if (one.phase !== 'detached' || one.isPaused) continue;
    if (m.feeds.has(one)) requestChanges(m, one);
    else if (m.subscriptions.has(one)) subscribe(m, one);
  }
}

/**
 * Notes an answer that shows that this node has reached what the client has seen.
 * @param {Machine} m
 */
export function isInTime(m) {
  m.lateNodes = 0;
  m.latePauses = new Backoff(LEADER_PAUSE_MS_MAX);
}
