/**
 * The newest revision that the client has seen. Its reads and lists ask for a state that is not older, so that time
 * does not run backwards when the client comes to a node that lags.
 * @module
 */

import { LEADER_PAUSE_MS_MAX } from './limits.js';
import { Backoff } from './route.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./table.js').Entry} Entry */

/** The code of a node that lags. */
export const LATE = 'REVISION_NOT_REACHED';

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

/** The least revision for a read or list at this server. @param {Machine} m @returns {number} */
export const atLeast = (m) => (m.seen && m.seen.history === m.welcome?.historyID ? m.seen.revision : 0);

/**
 * Handles the error of a list or feed that subscribes again after a pause: at a node that has not reached the revision
 * in time, and that the client does not leave, because the node will get there; and, if the program has seen it live,
 * at a server that is busy, such as after its restart.
 * @param {Machine} m
 * @param {Entry} entry
 * @param {any} error
 * @returns {boolean} whether this was such an error
 */
export function waits(m, { request }, error) {
  const { owner, type } = request;
  if (request !== owner?.pending || type === T.resubscribe) return false;
  const isLate = error.code === LATE;
  if (isLate ? m.welcome.store === null || !owner.mayWait(m) : error.retry !== 2 || !owner.shown) return false;
  owner.pending = null;
  if (m.phase === 'ready' && !m.timers.has('late')) {
    // The first pause of a back-off is none at all.
    m.latePauses.attemptedAtOnce();
    m.timers.set('late', m.now + Math.max(m.latePauses.next(m.random), error.retryAfter));
  }
  return true;
}

/**
 * Notes an answer that shows that this node has reached what the client has seen.
 * @param {Machine} m
 */
export function isInTime(m) {
  m.lateNodes = 0;
  m.latePauses = new Backoff(LEADER_PAUSE_MS_MAX);
}
