/**
 * Subscriptions to results: how they start, resume, apply what arrives, and end. The view id of a frame identifies its
 * subscription. Subscribers with the same request share one.
 *
 *     detached ──connected──▶ subscribing ──SUBSCRIBED──▶ live ──RESUBSCRIBE──▶ changing ──answer──▶ live
 *        ▲                                                 │                        │
 *        └───────────── connection lost, or paused ────────┴────────────────────────┘
 * @module
 */

import { encode } from '../wire/messages.js';
import { T, FEATURE_RESUME } from './types.js';
import { atLeast } from './seen.js';
import { modelError, sizeError } from './calls.js';
import { adopt, changeFailed, dropChanges, sameCandidate, settle } from './changes.js';

/** @typedef {import('./machine.js').Machine} Machine */

/**
 * A request as the machine sends it. `key` is equal for requests with equal bytes.
 * @typedef {object} Spec
 * @property {Uint8Array} bytes a fetch request of protocol.md, section 9
 * @property {string} key
 * @property {any} wire what `bytes` encodes
 * @property {any} model the hash of the model it is made for
 * @property {boolean} windowed
 * @property {any} request what the caller gave
 */

/** A local subscriber: it receives changes of the state of its subscription. */
export class Subscriber {
  /** @param {any} to the receiver of the events */
  constructor(to) {
    this.to = to;
    /** @type {Subscription | null} null: it has ended */
    this.sub = null;
    /**
     * The point of the state that it shows; its revisions only grow.
     * @type {{history: string, revision: number}|null}
     */
    this.shown = null;
    /** Whether its subscription has a state that is older than the one shown, which it shows when it has caught up. */
    this.isBehind = false;
    /** The change that was not requested yet. @type {Change | null} */
    this.waiting = null;
    /** The subscription that becomes its own when the server accepts it. @type {Subscription | null} */
    this.candidate = null;
    /** Why it is paused: by its user, a hidden page, a slow consumer. @type {Set<string>} */
    this.pauses = new Set();
  }
}

/**
 * A change of a subscriber's request; `call` is null if its caller no longer waits.
 * @typedef {{ subscriber: Subscriber, spec: Spec, call: object | null }} Change
 */

/** A request whose result the server keeps up to date for one or more subscribers. */
export class Subscription {
  /** @param {Spec} spec @param {Subscriber} subscriber */
  constructor(spec, subscriber) {
    /** The current request. A window around an object names the object that it follows now. */
    this.spec = spec;
    this.subscribers = [subscriber];
    /** @type {'detached' | 'subscribing' | 'live' | 'changing'} */
    this.phase = 'detached';
    /** The id of its view while it is live or changing. */
    this.view = 0;
    /** The point at which `state` is exact; null without a state. @type {{history: string, revision: number} | null} */
    this.head = null;
    /** @type {any} */
    this.state = null;
    /** @type {number[]} */
    this.projection = [];
    /** @type {any} of a snapshot that arrives */
    this.assembler = null;
    /** @type {Change | null} the one under way */
    this.change = null;
    /** Whether the request has changed, and the difference to the new result has not arrived. */
    this.awaitsDifference = false;
    this.isPaused = false;
    /** The subscription that the subscriber has until the server accepts this one. @type {Subscription | null} */
    this.origin = null;
    /** Diffs since the last comparison of the digest. */
    this.unchecked = 0;
  }

  /** Whether it has a state and nothing is under way that would replace it. If so, a change may be requested. */
  get isSettled() {
    return this.phase === 'live' && this.head !== null && this.assembler === null && !this.awaitsDifference;
  }

  /** Whether other subscribers may join. */
  get isShareable() {
    return this.origin === null && this.change === null && !this.awaitsDifference && !this.isPaused;
  }

  /** Forgets the state, because nothing leads from it to the current one. */
  drop() {
    this.head = null;
    this.state = null;
    this.assembler = null;
    this.awaitsDifference = false;
  }
}

// MARK: Subscribers

/**
 * Adds a subscriber. A refusal ends it at once.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {Spec} spec
 */
export function subscribeTo(m, subscriber, spec) {
  const error = m.error ?? modelError(m, spec.model) ?? requestError(m, spec);
  if (error) return m.emit({ type: 'end', to: subscriber.to, error });
  const isPaused = subscriber.pauses.size > 0;
  for (const sub of m.subscriptions) {
    if (!isPaused && sub.spec.key === spec.key && sub.spec.model === spec.model && sub.isShareable) {
      sub.subscribers.push(subscriber);
      return seed(m, subscriber, sub);
    }
  }
  const sub = new Subscription(spec, subscriber);
  subscriber.sub = sub;
  m.subscriptions.add(sub);
  sub.isPaused = isPaused;
  if (isPaused) deliver(m, [subscriber], { type: 'paused' });
  else if (m.phase === 'ready') subscribe(m, sub);
}

/**
 * The server would end the connection for a frame above its limit, and the client would send it again for ever.
 * @param {Machine} m
 * @param {Spec} spec
 */
export const requestError = (m, spec) => sizeError(m, spec.bytes.length + 64);

/**
 * Removes a subscriber, without an event.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 */
export function unsubscribe(m, subscriber) {
  const sub = subscriber.sub;
  if (!sub) return;
  const error = m.cancelled('the list was closed');
  dropChanges(m, subscriber, error);
  if (sub.change?.subscriber === subscriber) {
    changeFailed(m, sub.change, error);
    sub.change = { ...sub.change, call: null };
  }
  subscriber.sub = null;
  depart(m, subscriber, sub);
}

/**
 * Removes a subscriber from a subscription, which ends with its last one.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {Subscription} sub
 */
export function depart(m, subscriber, sub) {
  sub.subscribers = sub.subscribers.filter((other) => other !== subscriber);
  if (sub.subscribers.length > 0) return;
  m.subscriptions.delete(sub);
  if (sub.phase === 'live') leave(m, sub.view);
  // The answer to a change will contain the view to leave.
  if (sub.phase === 'changing') m.views.delete(sub.view);
}

/**
 * Gives a subscriber the state of a subscription that it has joined.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {Subscription} sub
 */
export function seed(m, subscriber, sub) {
  subscriber.sub = sub;
  if (sub.head) deliverState(m, [subscriber], sub, { type: 'snapshot', reason: 'first' });
}

/**
 * Reports an event that changes no state.
 * @param {Machine} m
 * @param {Subscriber[]} subscribers
 * @param {{ type: string, [name: string]: any }} change
 */
export function deliver(m, subscribers, change) {
  for (const { to } of subscribers) m.emit({ type: 'change', to, change });
}

/**
 * Reports the state of a subscription. A subscriber that shows a later one waits until this one has caught up, so that
 * no row goes back in time.
 * @param {Machine} m
 * @param {Subscriber[]} subscribers
 * @param {Subscription} sub
 * @param {{ type: string, [name: string]: any }} change
 * @param {number} [bytes] of what arrived
 */
export function deliverState(m, subscribers, sub, change, bytes = 0) {
  const head = /** @type {{history: string, revision: number}} */ (sub.head);
  for (const subscriber of subscribers) {
    const shown = subscriber.shown;
    if (shown && shown.history === head.history && head.revision < shown.revision) {
      subscriber.isBehind = true;
      continue;
    }
    const isWhole = change.type === 'snapshot' || !subscriber.isBehind;
    subscriber.isBehind = false;
    subscriber.shown = { ...head };
    m.emit({
      type: 'change',
      to: subscriber.to,
      change: isWhole ? change : { type: 'snapshot', reason: 'caughtUp' },
      state: sub.state,
      revision: head.revision,
      request: sub.spec.request,
      bytes,
    });
  }
}

/**
 * Reports that a state will be replaced.
 * @param {Machine} m
 * @param {Subscriber[]} subscribers
 * @param {'server' | 'mismatch' | 'request'} cause
 * @param {string} message
 */
export const reset = (m, subscribers, cause, message) => deliver(m, subscribers, { type: 'reset', cause, message });

// MARK: Requests

/**
 * Queues SUBSCRIBE.
 * @param {Machine} m
 * @param {Subscription} sub
 */
export function subscribe(m, sub) {
  sub.phase = 'subscribing';
  const head = (m.welcome.features & FEATURE_RESUME) !== 0 ? sub.head : null;
  const resume = head && { historyID: head.history, revision: head.revision };
  const { wire, model } = sub.spec;
  const body = encode('subscribe', { resume, atLeast: atLeast(m), request: wire });
  m.table.submit({ owner: { on: 'subscription', sub }, kind: 'connection', type: T.subscribe, body, model });
}

/**
 * Leaves a view. The server counts the subscriptions of a view; this client has one, however many subscribers share it.
 * @param {Machine} m
 * @param {number} view
 */
export function leave(m, view) {
  m.views.delete(view);
  sendUnsubscribe(m, view);
}

/** @param {Machine} m @param {number} view */
export function sendUnsubscribe(m, view) {
  m.table.submit({ owner: null, kind: 'connection', type: T.unsubscribe, body: encode('unsubscribe', { view }) });
}

/**
 * Starts a subscription again whose state does not fit, without resume.
 * @param {Machine} m
 * @param {Subscription} sub
 * @param {string} reason
 */
export function restart(m, sub, reason) {
  sub.drop();
  if (sub.phase === 'live') {
    leave(m, sub.view);
    subscribe(m, sub);
  }
  reset(m, sub.subscribers, 'mismatch', reason);
}

// MARK: Answers

/**
 * Handles SUBSCRIBED, the answer to SUBSCRIBE.
 * @param {Machine} m
 * @param {any} subscribed
 * @param {Subscription} sub
 */
export function subscribed(m, subscribed, sub) {
  const { view, first, revision, reason, projection } = subscribed;
  if (!m.subscriptions.has(sub) || sub.phase !== 'subscribing' || sub.isPaused) {
    // The subscription has ended or is paused.
    if (sub.phase === 'subscribing') sub.phase = 'detached';
    return sendUnsubscribe(m, view);
  }
  if (first === 'alreadySubscribed') return share(m, view, sub);
  if (first !== 'snapshot' && !sub.head) return m.violation('a difference for a subscription without a state');
  adopt(m, sub);
  sub.phase = 'live';
  sub.view = view;
  sub.projection = projection;
  m.views.set(view, sub);
  if (first === 'snapshot') {
    if (!sub.head) return;
    sub.drop();
    return reset(m, sub.subscribers, 'server', reason || 'the server sends a snapshot');
  }
  const head = /** @type {{history: string, revision: number}} */ (sub.head);
  if (first === 'current') head.revision = Math.max(head.revision, revision);
  // With a difference to come, the held rows are those of the past.
  const change = { type: 'resumed', revision: head.revision, isExact: first === 'current' };
  deliverState(m, sub.subscribers, sub, change);
  settle(m, sub);
}

/**
 * Handles a request that is written differently but has the view of another subscription, which serves both.
 * @param {Machine} m
 * @param {number} view
 * @param {Subscription} sub
 */
function share(m, view, sub) {
  sendUnsubscribe(m, view);
  const other = shareable(m, view);
  // The other one has ended in the meantime, or is changing: subscribe again.
  if (!other) return subscribeLater(m, sub);
  if (sub.origin === other) return sameCandidate(m, sub);
  adopt(m, sub);
  if (sub.head) reset(m, sub.subscribers, 'server', 'another list has the same view');
  moveTo(m, sub, other);
}

/**
 * Subscribes again, one subscription at a time: if two subscribed to the same view at once, the server would refer each
 * to the other.
 * @param {Machine} m
 * @param {Subscription} sub
 */
export function subscribeLater(m, sub) {
  sub.phase = 'detached';
  m.retries.push(sub);
}

/** @param {Machine} m */
export function subscribeNext(m) {
  while (m.retries.length > 0) {
    for (const sub of m.subscriptions) if (sub.phase === 'subscribing') return;
    const sub = /** @type {Subscription} */ (m.retries.shift());
    if (m.subscriptions.has(sub) && sub.phase === 'detached' && !sub.isPaused) subscribe(m, sub);
  }
}

/**
 * @param {Machine} m
 * @param {number} view
 * @returns {Subscription | null} the subscription of a view, if other subscribers may join it
 */
export function shareable(m, view) {
  const sub = m.views.get(view);
  return sub instanceof Subscription && sub.isShareable ? sub : null;
}

/**
 * Moves the subscribers of a subscription that ends to another one. They start with its state.
 * @param {Machine} m
 * @param {Subscription} sub
 * @param {Subscription} other
 */
export function moveTo(m, sub, other) {
  m.subscriptions.delete(sub);
  other.subscribers.push(...sub.subscribers);
  for (const subscriber of sub.subscribers) seed(m, subscriber, other);
  settle(m, other);
}

// MARK: Ends

/**
 * Ends a subscription with an error.
 * @param {Machine} m
 * @param {Subscription} sub
 * @param {any} error
 */
export function endSubscription(m, sub, error) {
  if (!m.subscriptions.delete(sub)) return;
  if (sub.change) changeFailed(m, sub.change, error);
  if (sub.origin) {
    // The subscriber has another subscription.
    for (const subscriber of sub.subscribers) subscriber.candidate = null;
    return;
  }
  if (m.views.get(sub.view) === sub) m.views.delete(sub.view);
  for (const subscriber of sub.subscribers) {
    subscriber.sub = null;
    dropChanges(m, subscriber, error);
    m.emit({ type: 'end', to: subscriber.to, error });
  }
}
