/**
 * Feeds of all changes, each with its own cursor in the journal. Only programs that follow them load this module.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { decode, encode } from '../wire/messages.js';
import { begin, modelError } from './calls.js';
import { leave } from './lists.js';
import { note } from './seen.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

export class Feed {
  /**
   * @param {any} to the receiver of the events
   * @param {{ history: string, revision: number, place?: number } | null} since null: from the newest revision on
   * @param {number[]} entities empty: all
   * @param {any} model the hash of the model whose numbers the changes have
   */
  constructor(to, since, entities, model) {
    this.to = to;
    this.entities = entities;
    this.model = model;
    /** The receiver has everything up to here; null until the server has named the start. */
    this.head = since && { history: since.history, revision: since.revision };
    /** The cursor in the change set after the head, from its last part; 0 between change sets. */
    this.place = since?.place ?? 0;
    this.view = 0;
    /** @type {any} */
    this.pending = null;
    this.shown = false;
    this.isPaused = false;
  }

  /** @param {Machine} m */
  open(m) {
    const error = m.error ?? modelError(m, this.model);
    if (error) return this.end(m, error);
    m.followers.add(this);
    begin(m, this);
  }

  /** Subscribes from the cursor, if there is a connection. @param {Machine} m */
  begin(m) {
    if (m.phase !== 'ready' || this.isPaused || this.view || this.pending) return;
    const { head, place, entities, model } = this;
    const since = head && { historyID: head.history, revision: head.revision, place };
    const body = encode('subscribeChanges', { since, entities });
    this.pending = { owner: this, kind: 'connection', type: T.subscribeChanges, body, answer: T.subscribed, model };
    m.table.submit(this.pending);
  }

  /** @param {Machine} m @param {any} answer @param {any} request */
  answered(m, { view, first, revision }, request) {
    if (request !== this.pending) return leave(m, view);
    this.pending = null;
    if (first !== 'current') return m.violation('a subscription to changes cannot begin with a state');
    this.view = view;
    m.views.set(view, this);
    this.head ??= { history: m.welcome.historyID, revision };
    const type = this.shown ? 'resumed' : 'following';
    this.shown = true;
    this.emit(m, { type, at: this.at });
  }

  /** @param {Machine} m @param {any} error @param {any} request */
  refused(m, error, request) {
    if (request === this.pending) this.end(m, error);
  }

  /** Whether it may wait for a node that lags: a revision that was never seen may never come. @param {Machine} m */
  mayWait(m) {
    const { head } = this;
    return head !== null && head.history === m.seen?.history && head.revision <= m.seen.revision;
  }

  /** @param {Machine} m @param {{ type: number, body: Uint8Array }} frame */
  frame(m, { type, body }) {
    if (type === T.subscriptionEnd) {
      const { code, message } = decode('subscriptionEnd', body);
      return this.end(m, new NestError(code, message));
    }
    if (type !== T.changeSet) return;
    const part = decode('changeSet', body);
    const head = /** @type {any} */ (this.head);
    if (part.revision <= head.revision) {
      return m.violation(`a change set of revision ${part.revision} after revision ${head.revision}`);
    }
    note(m, part.revision);
    // Inside a change set, the head is the revision before it, whatever revisions the feed has skipped since the last.
    head.revision = part.place === 0 ? part.revision : part.revision - 1;
    this.place = part.place;
    this.emit(m, { type: 'changes', ...part, at: this.at }, body.length);
  }

  /** The server has sent all changes up to this revision. @param {Machine} m @param {number} revision */
  progress(m, revision) {
    const head = /** @type {any} */ (this.head);
    if (head.revision >= revision) return;
    head.revision = revision;
    this.place = 0;
    this.emit(m, { type: 'progress', revision, at: this.at });
  }

  /** Where another feed would continue. */
  get at() {
    return Object.freeze({ .../** @type {any} */ (this.head), place: this.place });
  }

  /**
   * Pauses or resumes a feed whose consumer is slow. Other feeds go on.
   * @param {Machine} m
   * @param {boolean} isPaused
   */
  pause(m, isPaused) {
    if (this.isPaused === isPaused || !m.followers.has(this)) return;
    this.isPaused = isPaused;
    if (isPaused) this.detach(m, true);
    else this.begin(m);
  }

  /** @param {Machine} m @param {boolean} leaves whether the server must know */
  detach(m, leaves) {
    this.pending = null;
    if (this.view === 0) return;
    if (leaves) leave(m, this.view);
    m.views.delete(this.view);
    this.view = 0;
  }

  /** Ends the feed, without an event. @param {Machine} m */
  close(m) {
    if (m.followers.delete(this)) this.detach(m, true);
  }

  /** @param {Machine} m @param {string} reason */
  lost(m, reason) {
    const wasLive = this.view !== 0;
    this.detach(m, false);
    if (wasLive) this.emit(m, { type: 'disconnected', reason });
  }

  /** @param {Machine} m @param {any} error */
  end(m, error) {
    m.followers.delete(this);
    this.detach(m, false);
    m.emit({ type: 'end', to: this.to, error });
  }

  /** @param {Machine} m @param {{ type: string, [name: string]: any }} change @param {number} [bytes] */
  emit(m, change, bytes = 0) {
    m.emit({ type: 'change', to: this.to, change, bytes });
  }
}
