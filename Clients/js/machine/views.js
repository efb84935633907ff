/**
 * The frames of a view: how they change the state of its subscription. The rule of protocol.md, section 10: for each
 * view, the client keeps the revision at which its state is exact.
 * @module
 */

import { DiffMismatch } from '../wire/results.js';
import { settle } from './changes.js';
import { ownChanges } from './own.js';
import { isInTime, note } from './seen.js';
import { apply, assemble, finish, withAnchor } from './states.js';
import { deliverState, reset, restart } from './subscriptions.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./subscriptions.js').Subscription} Subscription */

/**
 * Handles SNAPSHOT, SNAPSHOT_SECTIONS and SNAPSHOT_ROWS of a view.
 * @param {Machine} m
 * @param {Subscription} sub
 * @param {{ type: number, body: Uint8Array }} frame
 * @param {boolean} hasMore
 */
export function snapshotPart(m, sub, frame, hasMore) {
  if (frame.type === T.snapshot) {
    if (sub.head) {
      sub.drop();
      reset(m, sub.subscribers, 'server', 'the server sends a snapshot');
    }
    sub.awaitsDifference = false;
    sub.assembler = null;
  } else if (!sub.assembler) {
    return;
  }
  sub.assembler = assemble(sub.assembler, frame, sub.projection);
  if (hasMore) return;
  const { assembler } = sub;
  sub.assembler = null;
  try {
    sub.state = finish(assembler, sub.spec.windowed);
  } catch (error) {
    if (!(error instanceof DiffMismatch)) throw error;
    return restart(m, sub, error.message);
  }
  const { revision, position } = sub.state;
  note(m, revision);
  isInTime(m);
  sub.head = { history: m.welcome.historyID, revision };
  sub.unchecked = 0;
  sub.spec = withAnchor(sub.spec, position);
  deliverState(m, sub.subscribers, sub, { type: 'snapshot', reason: assembler.head.reason });
  settle(m, sub);
}

/**
 * Handles DIFF.
 * @param {Machine} m
 * @param {Subscription} sub
 * @param {any} diff
 * @param {number} bytes of its body
 */
export function diffed(m, sub, diff, bytes) {
  note(m, diff.to);
  const head = sub.head;
  // Without a state, the diff will be part of a snapshot that has not arrived yet.
  if (!head) return;
  const { from, to } = diff;
  if (!sub.awaitsDifference && from < to && to <= head.revision) return;
  const fits = sub.awaitsDifference ? from === to && head.revision <= to : from < to && from <= head.revision;
  if (!fits) return restart(m, sub, `a diff from revision ${from} to ${to} does not fit revision ${head.revision}`);
  const before = head.revision;
  try {
    sub.state = apply(sub, diff);
  } catch (error) {
    return restart(m, sub, `the diff to revision ${to} does not fit: ${/** @type {any} */ (error).message}`);
  }
  sub.awaitsDifference = false;
  head.revision = to;
  sub.spec = withAnchor(sub.spec, sub.state.position);
  deliverState(m, sub.subscribers, sub, { type: 'diff', from: before, to, diff, ...ownChanges(m, before, to) }, bytes);
  settle(m, sub);
}

/**
 * Handles TOTALS: the rows are the same, the window begins elsewhere.
 * @param {Machine} m
 * @param {Subscription} sub
 * @param {{ revision: number, position: any }} totals
 */
export function totalled(m, sub, { revision, position }) {
  note(m, revision);
  if (!sub.head || !sub.spec.windowed) return;
  sub.state = { ...sub.state, position };
  deliverState(m, sub.subscribers, sub, { type: 'position', position });
}

/**
 * Handles PROGRESS: every view that holds a state is exact at this revision.
 * @param {Machine} m
 * @param {number} revision
 */
export function progressed(m, revision) {
  for (const sub of m.subscriptions) {
    const isLive = sub.phase === 'live' || sub.phase === 'changing';
    if (!isLive || !sub.head || sub.head.revision >= revision) continue;
    sub.head.revision = revision;
    deliverState(m, sub.subscribers, sub, { type: 'progress', revision });
  }
}
