/**
 * Views: what the frames of one view id lead to. The lists of a view share its frames and its state. For each view the
 * client keeps the revision at which the state is exact (protocol.md, section 10, "The rule").
 * @module
 */

import { NestError } from '../wire/errors.js';
import { decode } from '../wire/messages.js';
import { applyDiff, DiffMismatch, SnapshotAssembler } from '../wire/results.js';
import { DIGEST_EVERY, DIGEST_ROWS_ALWAYS, DIGEST_ROWS_MAX, OWN_REVISIONS_MAX } from './limits.js';
import { isInTime, note } from './seen.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {{ history: string, revision: number }} Point */

/**
 * Adds a frame of a snapshot.
 * @param {any} assembler null for the head
 * @param {{ type: number, body: Uint8Array }} frame
 * @param {number[]} projection
 * @returns {any} the assembler
 */
export function assemble(assembler, { type, body }, projection) {
  if (type === T.snapshot) return new SnapshotAssembler(decode('snapshot', body), projection);
  if (type === T.snapshotSections) assembler.addSections(decode('snapshotSections', body).sections);
  else assembler.addRows(decode('snapshotRows', body, { width: projection.length }).rows);
  return assembler;
}

export class View {
  /** @param {number} id @param {number[]} projection @param {boolean} windowed */
  constructor(id, projection, windowed) {
    this.id = id;
    this.projection = projection;
    this.windowed = windowed;
    /** The point at which `state` is exact; null without a state. @type {Point | null} */
    this.head = null;
    /** @type {any} */
    this.state = null;
    /** @type {any} of a snapshot that arrives */
    this.assembler = null;
    /** Of the frames of that snapshot. */
    this.bytes = 0;
    /** Whether it is new, and the difference from the state of the old request has not arrived. */
    this.awaits = false;
    /** Whether a difference follows, so that the state is one of the past. */
    this.isStale = false;
    /** Whether a diff may change the rows of the revision that it has: outlines.js. */
    this.hasSteps = false;
    /** Whether its state was found to be wrong. */
    this.isBroken = false;
    /** Diffs since the last comparison of the digest. */
    this.unchecked = 0;
    /** @type {Set<import('./lists.js').List>} */
    this.lists = new Set();
  }

  /** Whether it has a state that its lists may show. */
  get isReady() {
    return this.head !== null && this.assembler === null && !this.awaits;
  }

  /**
   * @param {Machine} m
   * @param {{ type: number, body: Uint8Array }} frame
   * @param {boolean} hasMore
   */
  frame(m, frame, hasMore) {
    const { body } = frame;
    switch (frame.type) {
      case T.diff: {
        const context = { width: this.projection.length, hasWindow: this.windowed };
        return this.diffed(m, decode('diff', body, context), body.length);
      }
      case T.totals: return this.totalled(m, decode('totals', body));
      case T.subscriptionEnd: {
        const { code, message } = decode('subscriptionEnd', body);
        for (const list of [...this.lists]) list.end(m, new NestError(code, message));
        return;
      }
      case T.snapshot: case T.snapshotSections: case T.snapshotRows: return this.snapshot(m, frame, hasMore);
    }
  }

  /** @param {Machine} m @param {any} frame @param {boolean} hasMore */
  snapshot(m, frame, hasMore) {
    if (frame.type === T.snapshot) {
      this.drop(m, 'server', 'the server sends a snapshot');
      this.bytes = 0;
    } else if (!this.assembler) return;
    this.assembler = assemble(this.assembler, frame, this.projection);
    this.bytes += frame.body.length;
    if (hasMore) return;
    const { assembler } = this;
    this.assembler = null;
    try {
      const state = assembler.finish();
      this.state = this.windowed ? state : { ...state, position: null };
    } catch (error) {
      if (!(error instanceof DiffMismatch)) throw error;
      return this.restart(m, error.message);
    }
    const { revision } = this.state;
    note(m, revision);
    isInTime(m);
    this.head = { history: m.welcome.historyID, revision };
    this.isBroken = false;
    this.unchecked = 0;
    this.arrived(m, { type: 'snapshot', reason: assembler.head.reason }, this.bytes);
  }

  /** @param {Machine} m @param {any} diff @param {number} bytes of its body */
  diffed(m, diff, bytes) {
    note(m, diff.to);
    const { head } = this;
    // Without a state, the diff will be part of a snapshot that has not arrived yet.
    if (!head) return;
    const { from, to } = diff;
    const awaits = this.awaits || (this.hasSteps && from === to);
    const { revision } = head;
    if (!awaits && from < to && to <= revision) return;
    // The answers to RESUBSCRIBE and SET_EXPANDED have from = to. No other diff does.
    const fits = awaits ? from === to && revision <= to : from < to && from <= revision;
    if (!fits) return this.restart(m, `a diff from revision ${from} to ${to} does not fit revision ${revision}`);
    // A digest takes time for each row: small states are always compared, larger ones sometimes.
    const isSample = diff.total <= DIGEST_ROWS_MAX && ++this.unchecked >= DIGEST_EVERY;
    const checks = isSample || diff.total <= DIGEST_ROWS_ALWAYS;
    if (checks) this.unchecked = 0;
    try {
      this.state = applyDiff({ ...this.state, revision: awaits ? to : revision }, diff, checks);
    } catch (error) {
      return this.restart(m, `the diff to revision ${to} does not fit: ${/** @type {any} */ (error).message}`);
    }
    this.awaits = false;
    head.revision = to;
    this.arrived(m, { type: 'diff', from: revision, to, diff, ...authorship(m, revision, to) }, bytes);
  }

  /** The rows are the same, the window begins elsewhere. @param {Machine} m @param {any} totals */
  totalled(m, { revision, position }) {
    note(m, revision);
    if (!this.isReady || !this.windowed) return;
    this.state = { ...this.state, position };
    this.arrived(m, { type: 'position', position });
  }

  /** Everything up to this revision has been sent. @param {Machine} m @param {number} revision */
  progress(m, revision) {
    if (!this.head || this.head.revision >= revision) return;
    this.head.revision = revision;
    if (!this.awaits) for (const list of this.lists) list.show(m, { type: 'progress', revision });
  }

  /** @param {Machine} m @param {{ type: string, [name: string]: any }} change @param {number} [bytes] */
  arrived(m, change, bytes) {
    this.isStale = false;
    for (const list of [...this.lists]) {
      list.follow(this.state.position);
      list.show(m, change, bytes);
    }
    for (const list of [...this.lists]) list.settle(m);
  }

  /** Forgets the state. @param {Machine} m @param {string} cause @param {string} message */
  drop(m, cause, message) {
    const isShown = this.head !== null || cause === 'mismatch';
    this.head = this.state = this.assembler = null;
    this.awaits = false;
    if (isShown) for (const list of this.lists) list.reset(m, cause, message);
  }

  /** Starts all lists again whose state does not fit, without resume. @param {Machine} m @param {string} reason */
  restart(m, reason) {
    this.drop(m, 'mismatch', reason);
    this.isBroken = true;
    for (const list of [...this.lists]) list.restart(m);
  }
}

/** What lists make their views of: totals.js makes it one with totals. */
export const views = { View };

// MARK: Whose work a diff contains

/**
 * Remembers own revisions that some list has not reached yet. OWN names those of this connection's writes before their
 * diffs; revisions from before the first list are known from receipts.
 * @param {Machine} m
 * @param {number[]} more ascending
 */
export function rememberOwn(m, more) {
  let oldest = Infinity;
  // A list without a state may start before all revisions.
  for (const { head } of m.followers) oldest = Math.min(oldest, head?.revision ?? 0);
  const all = m.own.filter((revision) => revision > oldest);
  for (const revision of more) if (revision > Math.max(oldest, all.at(-1) ?? 0)) all.push(revision);
  m.own = all.slice(-OWN_REVISIONS_MAX);
}

/** @param {Machine} m @param {number} after @param {number} through */
function authorship(m, after, through) {
  const isInside = (/** @type {number} */ revision) => revision > after && revision <= through;
  return { own: m.own.filter(isInside), authors: m.authors.filter(({ revision }) => isInside(revision)) };
}
