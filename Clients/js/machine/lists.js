/**
 * Lists: requests whose results the server keeps up to date. A list begins, resumes, changes its request, pauses, ends.
 *
 *     detached ──SUBSCRIBE──▶ pending ──SUBSCRIBED──▶ in a view ──RESUBSCRIBE──▶ pending, in the old view
 *        ▲                                            │     ▲                                │
 *        └──────── connection lost, or paused ────────┘     └───────────── answer ───────────┘
 *
 * If changes follow each other faster than the server answers, only the newest is requested.
 * @module
 */

import { encode } from '../wire/messages.js';
import { fail, modelError, sizeError } from './calls.js';
import { atLeast } from './seen.js';
import { Showing } from './showing.js';
import { specOf } from './spec.js';
import { FEATURE_RESUME, T } from './types.js';
import { View, views } from './views.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./spec.js').Spec} Spec */
/** @typedef {import('./table.js').OutgoingRequest} OutgoingRequest */

/** A view and a revision may come before a request. */
const EXTRA_BYTES = 64;
const CHANGED = 'the request has changed, or the server no longer has the difference';

/** Unsubscribes. The server counts the subscriptions of a view. @param {Machine} m @param {number} view */
export function leave(m, view) {
  m.table.submit({ owner: null, kind: 'connection', type: T.unsubscribe, body: encode('unsubscribe', { view }) });
}

export class List extends Showing {
  /** @param {any} to the receiver of the events */
  constructor(to) {
    super(to);
    /**
     * What it holds without a view, and resumes from.
     * @type {{ head: import('./views.js').Point, state: any } | null}
     */
    this.held = null;
    /** SUBSCRIBE or RESUBSCRIBE without an answer. @type {OutgoingRequest | null} */
    this.pending = null;
    /** The change that is under way, and the newest that is not. @type {{ spec: Spec, call: any } | null} */
    this.change = null;
    /** @type {{ spec: Spec, call: any } | null} */
    this.waiting = null;
    /** Why it is paused: by its user, a hidden page, a slow consumer. @type {Set<string>} */
    this.pauses = new Set();
  }

  get model() {
    return this.spec.model;
  }

  get head() {
    return (this.view ?? this.held)?.head ?? null;
  }

  /** What its callers wait for. @returns {({ call: any } | null)[]} */
  get changes() {
    return [this.change, this.waiting];
  }

  /** Begins. A refusal ends it at once. @param {Machine} m @param {Spec} spec */
  open(m, spec) {
    this.spec = spec;
    const error = this.refusal(m, spec);
    if (error) return this.end(m, error);
    m.followers.add(this);
    if (this.pauses.size > 0) this.emit(m, { type: 'paused' });
    else this.begin(m);
  }

  /** Why a request cannot be sent. @param {Machine} m @param {Spec} spec */
  refusal(m, { model, bytes }) {
    return m.error ?? modelError(m, model) ?? sizeError(m, bytes.length + EXTRA_BYTES);
  }

  /** Subscribes, if there is a connection. @param {Machine} m */
  begin(m) {
    if (m.phase !== 'ready' || this.view || this.pending || this.pauses.size > 0) return;
    const head = (m.welcome.features & FEATURE_RESUME) !== 0 ? this.head : null;
    const resume = head && { historyID: head.history, revision: head.revision };
    this.submit(m, 'subscribe', { resume, atLeast: atLeast(m), request: this.spec.wire }, this.spec);
  }

  /** @param {Machine} m @param {string} name @param {any} fields @param {Spec} spec */
  submit(m, name, fields, { model }) {
    const body = encode(name, fields);
    /** @type {OutgoingRequest} */
    const request = { owner: this, kind: 'connection', type: T[name], body, answer: T.subscribed, model };
    this.pending = { ...request, view: fields.view };
    m.table.submit(this.pending);
  }

  // MARK: Answers

  /** @param {Machine} m @param {any} answer of SUBSCRIBED @param {OutgoingRequest} request */
  answered(m, { view: id, first, revision, reason, projection }, request) {
    // The list was closed or paused meanwhile.
    if (request !== this.pending) return leave(m, id);
    this.pending = null;
    const { view: old, change } = this;
    if (change) {
      this.change = null;
      this.spec = change.spec;
      reply(m, change, true);
      if (first === 'current') {
        if (old?.isReady) this.show(m, { type: 'request' });
        return this.goOn(m);
      }
    }
    const before = old ? old.head && { head: { ...old.head }, state: old.state } : this.held;
    this.detach(m);
    this.held = null;
    if (first === 'alreadySubscribed') return this.join(m, id, before, change !== null);
    this.enter(m, new views.View(id, projection, this.spec.windowed));
    const view = /** @type {View} */ (this.view);
    m.views.set(id, view);
    if (first === 'snapshot') {
      if (before) this.reset(m, change ? 'request' : 'server', reason || CHANGED);
    } else if (before) {
      view.head = { ...before.head };
      view.state = before.state;
      view.isStale = first === 'difference';
      view.awaits = change !== null;
      if (first === 'current') view.head.revision = Math.max(view.head.revision, revision);
      if (!change) this.resumed(m, view);
    } else if (change) {
      // The state from which a difference would start was found to be wrong in the meantime.
      return this.restart(m);
    } else {
      return m.violation('a diff without a state');
    }
    this.settle(m);
  }

  /**
   * Joins a view of another list, whose frames serve both.
   * @param {Machine} m
   * @param {number} id
   * @param {any} before
   * @param {boolean} isChange
   */
  join(m, id, before, isChange) {
    const view = m.views.get(id);
    if (!(view instanceof View)) {
      // The other one has ended in the meantime: subscribe again.
      leave(m, id);
      if (before) this.reset(m, 'server', 'another list had the same view');
      return this.begin(m);
    }
    if (view.isBroken) return m.closeConnection('a list was wrong and changed');
    this.enter(m, view);
    if (view.isReady && before?.state === view.state) {
      this.resumed(m, view);
    } else {
      this.isBehind = true;
      if (before) this.reset(m, isChange ? 'request' : 'server', 'another list has the same view');
      // A difference that follows makes the rows those of now.
      if (view.isReady && !view.isStale) this.show(m, { type: 'snapshot' });
    }
    this.settle(m);
  }

  /** @param {Machine} m @param {any} error @param {OutgoingRequest} request */
  refused(m, error, request) {
    const isChange = request.type === T.resubscribe;
    if (request !== this.pending) return isChange ? leave(m, request.view) : undefined;
    this.pending = null;
    if (!isChange) return this.end(m, error);
    const { change } = this;
    this.change = null;
    fail(m, { owner: change }, error);
    this.goOn(m);
  }

  /** Continues after an answer that has not changed the view. @param {Machine} m */
  goOn(m) {
    // The state was found to be wrong in the meantime.
    if (this.view?.isBroken) this.restart(m);
    else this.settle(m);
  }

  /** Whether it may wait for a node that lags. */
  mayWait() {
    return true;
  }

  // MARK: Views

  /** @param {Machine} m @param {View} view */
  enter(m, view) {
    this.view = view;
    view.lists.add(this);
  }

  /** Leaves its view without a message, and keeps the state. @param {Machine} m */
  detach(m) {
    const { view } = this;
    if (!view) return;
    this.view = null;
    view.lists.delete(this);
    if (view.lists.size === 0 && m.views.get(view.id) === view) m.views.delete(view.id);
    this.held = view.head && !view.awaits ? { head: { ...view.head }, state: view.state } : null;
  }

  /** Subscribes again without a state. A change that is under way is waited for. @param {Machine} m */
  restart(m) {
    if (this.pending || !this.view) return;
    leave(m, this.view.id);
    this.detach(m);
    this.held = null;
    this.begin(m);
  }

  /** A window follows its anchor: a client that subscribes again names the last one. @param {any} position */
  follow(position) {
    const { wire, model, request } = this.spec;
    const anchor = position?.anchor;
    if (!anchor || !wire.window?.anchor || wire.window.anchor === anchor) return;
    this.spec = specOf({ ...wire, window: { ...wire.window, anchor } }, model, request);
  }

  /** Starts the pending pause or change, if nothing else is under way. @param {Machine} m */
  settle(m) {
    const { view, waiting } = this;
    if (!view || this.pending) return;
    if (this.pauses.size > 0) {
      if (view.awaits) return;
      leave(m, view.id);
      this.detach(m);
      this.emit(m, { type: 'paused' });
    } else if (waiting && view.isReady) {
      this.waiting = null;
      this.change = waiting;
      this.submit(m, 'resubscribe', { view: view.id, request: waiting.spec.wire }, waiting.spec);
    }
  }

  // MARK: The caller

  /**
   * Changes the request. The call gets true, or false if a newer change replaced it.
   * @param {Machine} m
   * @param {Spec} spec
   * @param {any} call
   */
  changeTo(m, spec, call) {
    const error = this.refusal(m, spec) ?? (m.followers.has(this) ? null : m.cancelled('the list has ended'));
    if (error) return fail(m, { owner: { call } }, error);
    if (this.waiting) reply(m, this.waiting, false);
    this.waiting = { spec, call };
    this.settle(m);
  }

  /** Gives up waiting for a change. @param {any} call @returns {boolean} whether it was one of this list */
  abandon(call) {
    if (this.waiting?.call === call) this.waiting = null;
    else if (this.change?.call === call) this.change = { ...this.change, call: null };
    else return false;
    return true;
  }

  /** The server drops the subscription, and the list keeps its state. @param {Machine} m @param {string} reason */
  pause(m, reason) {
    const isFirst = this.pauses.size === 0;
    this.pauses.add(reason);
    if (!isFirst || !m.followers.has(this)) return;
    if (this.view) return this.settle(m);
    this.pending = null;
    this.emit(m, { type: 'paused' });
  }

  /** With the end of the last reason, the list continues from its state. @param {Machine} m @param {string} reason */
  resume(m, reason) {
    if (!this.pauses.delete(reason) || this.pauses.size > 0 || !m.followers.has(this)) return;
    // A view: the pause has not taken effect.
    if (this.view) this.settle(m);
    else if (m.phase === 'ready') this.begin(m);
    else this.emit(m, { type: 'disconnected', reason: m.lossReason });
  }

  /** Ends the list, without an event. @param {Machine} m */
  close(m) {
    if (this.view && !this.pending) leave(m, this.view.id);
    this.leaveAll(m, m.cancelled('the list was closed'));
  }

  // MARK: Events

  /** @param {Machine} m @param {any} error */
  end(m, error) {
    this.leaveAll(m, error);
    m.emit({ type: 'end', to: this.to, error });
  }

  /** @param {Machine} m @param {any} error */
  leaveAll(m, error) {
    m.followers.delete(this);
    this.pending = null;
    this.detach(m);
    for (const change of this.changes) fail(m, { owner: change }, error);
    this.change = this.waiting = null;
  }

  /**
   * The connection is lost. A change without an answer waits for the next one.
   * @param {Machine} m
   * @param {string} reason
   */
  lost(m, reason) {
    const { change } = this;
    const isWrong = this.view?.awaits;
    this.pending = null;
    this.change = null;
    if (change && this.waiting) reply(m, change, false);
    else if (change) this.waiting = change;
    this.detach(m);
    if (isWrong) this.reset(m, 'request', 'the connection was lost before the difference');
    if (this.pauses.size === 0) this.emit(m, { type: 'disconnected', reason });
  }
}

/** @param {Machine} m @param {{ call: any }} change @param {boolean} isNewest */
export function reply(m, { call }, isNewest) {
  if (call) m.emit({ type: 'answer', call, reply: isNewest });
}
