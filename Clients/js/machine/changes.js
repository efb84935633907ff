/**
 * Subscriptions whose request changes, and pauses.
 *
 * A subscriber that is alone on its subscription changes it with RESUBSCRIBE: the server sends the difference between
 * the state it holds and the new result. A subscriber that shares a subscription leaves it for one of its own as soon
 * as the server has accepted that one. If changes follow each other faster than the server answers, only the newest is
 * requested.
 *
 *     waiting ──subscription settled──▶ under way ──SUBSCRIBED──▶ made
 *        ▲                         │  └──────ERROR──────▶ refused: the subscription is as it was
 *        └──── connection lost ────┘
 * @module
 */

import { encode } from '../wire/messages.js';
import { T } from './types.js';
import { modelError } from './calls.js';
import {
  deliver, deliverState, depart, leave, moveTo, requestError, reset, sendUnsubscribe, shareable, subscribe,
  subscribeLater, Subscription,
} from './subscriptions.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./subscriptions.js').Subscriber} Subscriber */
/** @typedef {import('./subscriptions.js').Change} Change */
/** @typedef {import('./subscriptions.js').Spec} Spec */

const REQUEST_CHANGED = 'the request has changed';

/**
 * Changes the request of a subscriber. The call gets true, or false if a newer change replaced this one.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {Spec} spec
 * @param {object} call
 */
export function change(m, subscriber, spec, call) {
  const sub = subscriber.sub;
  const error = m.error ?? modelError(m, spec.model) ?? requestError(m, spec)
    ?? (sub ? null : m.cancelled('the list has ended'));
  if (error || !sub) return m.emit({ type: 'fail', call, error });
  if (subscriber.waiting) superseded(m, subscriber.waiting);
  subscriber.waiting = { subscriber, spec, call };
  settle(m, sub);
}

/**
 * Starts the pending pause or changes of a subscription, if nothing else is under way.
 * @param {Machine} m
 * @param {Subscription} sub
 */
export function settle(m, sub) {
  if (sub.origin || !sub.isSettled || !m.subscriptions.has(sub)) return;
  if (sub.isPaused) return suspend(m, sub);
  for (const subscriber of sub.subscribers) {
    const next = subscriber.waiting;
    if (subscriber.candidate || !next) continue;
    subscriber.waiting = null;
    if (sub.subscribers.length === 1) {
      sub.phase = 'changing';
      sub.change = next;
      const { view } = sub;
      const { wire, model } = next.spec;
      const body = encode('resubscribe', { view, request: wire });
      m.table.submit({ owner: { on: 'change', sub, view }, kind: 'connection', type: T.resubscribe, body, model });
    } else {
      const candidate = new Subscription(next.spec, subscriber);
      candidate.origin = sub;
      candidate.change = next;
      subscriber.candidate = candidate;
      m.subscriptions.add(candidate);
      if (m.phase === 'ready') subscribe(m, candidate);
    }
  }
}

// MARK: Answers

/**
 * Handles SUBSCRIBED, the answer to RESUBSCRIBE.
 * @param {Machine} m
 * @param {any} subscribed
 * @param {Subscription} sub
 * @param {number} old the view before
 */
export function changed(m, subscribed, sub, old) {
  const { view, first, reason, projection } = subscribed;
  const made = sub.change;
  if (!m.subscriptions.has(sub) || sub.phase !== 'changing' || sub.view !== old || !made) {
    // No subscriber needs the view any more.
    return sendUnsubscribe(m, view);
  }
  sub.change = null;
  sub.spec = made.spec;
  answer(m, made, true);
  sub.phase = 'live';
  if (first === 'current') return sameView(m, sub);
  const hadState = sub.head !== null;
  m.views.delete(old);
  if (first === 'alreadySubscribed') {
    sub.drop();
    sub.phase = 'detached';
    sendUnsubscribe(m, view);
    if (hadState) reset(m, sub.subscribers, 'request', 'another list has the same view');
    const other = shareable(m, view);
    if (sub.isPaused) suspend(m, sub);
    else if (other && other !== sub) moveTo(m, sub, other);
    else subscribeLater(m, sub);
    return;
  }
  m.views.set(view, sub);
  sub.view = view;
  sub.projection = projection;
  sub.assembler = null;
  if (first === 'difference' && hadState) {
    sub.awaitsDifference = true;
    return;
  }
  sub.drop();
  if (hadState) reset(m, sub.subscribers, 'request', reason || REQUEST_CHANGED);
  if (sub.isPaused) return suspend(m, sub);
  // The state from which a difference would start was found to be wrong in the meantime.
  if (first === 'difference') {
    leave(m, view);
    subscribe(m, sub);
  }
}

/**
 * Continues after a change whose request is another form of the same view.
 * @param {Machine} m
 * @param {Subscription} sub
 */
function sameView(m, sub) {
  if (sub.head) deliverState(m, sub.subscribers, sub, { type: 'request' });
  goOn(m, sub);
}

/**
 * Handles the refusal of a change. The subscription continues as before.
 * @param {Machine} m
 * @param {any} error
 * @param {Subscription} sub
 * @param {number} old
 */
export function changeRefused(m, error, sub, old) {
  const refused = sub.change;
  if (!m.subscriptions.has(sub) || sub.phase !== 'changing' || sub.view !== old || !refused) {
    return sendUnsubscribe(m, old);
  }
  sub.change = null;
  sub.phase = 'live';
  changeFailed(m, refused, error);
  goOn(m, sub);
}

/**
 * Continues after an answer that has not changed the view.
 * @param {Machine} m
 * @param {Subscription} sub
 */
function goOn(m, sub) {
  if (sub.isPaused) return suspend(m, sub);
  if (!sub.head && !sub.assembler) {
    // The state was found to be wrong in the meantime.
    leave(m, sub.view);
    subscribe(m, sub);
  }
  settle(m, sub);
}

/**
 * Handles a candidate that the server has accepted: its subscriber leaves the shared subscription.
 * @param {Machine} m
 * @param {Subscription} sub
 */
export function adopt(m, sub) {
  const { origin, change: made } = sub;
  if (!origin || !made) return;
  sub.origin = null;
  sub.change = null;
  const { subscriber } = made;
  subscriber.candidate = null;
  subscriber.sub = sub;
  const hadState = origin.head !== null;
  depart(m, subscriber, origin);
  answer(m, made, true);
  if (hadState) reset(m, sub.subscribers, 'request', REQUEST_CHANGED);
}

/**
 * Handles a candidate that the server has refused.
 * @param {Machine} m
 * @param {any} error
 * @param {Subscription} sub
 */
export function candidateRefused(m, error, sub) {
  const refused = removeCandidate(m, sub);
  if (!refused) return;
  changeFailed(m, refused.change, error);
  settle(m, refused.origin);
}

/**
 * Handles a candidate that has the same view as its subscriber's subscription.
 * @param {Machine} m
 * @param {Subscription} sub
 */
export function sameCandidate(m, sub) {
  const found = removeCandidate(m, sub);
  if (!found) return;
  answer(m, found.change, true);
  settle(m, found.origin);
}

/** @param {Machine} m @param {Subscription} sub */
function removeCandidate(m, sub) {
  const { origin, change: made } = sub;
  if (!m.subscriptions.delete(sub) || !origin || !made) return null;
  made.subscriber.candidate = null;
  return { origin, change: made };
}

// MARK: Pauses

/**
 * Pauses a subscriber for a reason. If it shares a subscription, it gets a paused one of its own. The server drops the
 * subscription, and the client keeps the state from which it resumes.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {string} reason
 */
export function pause(m, subscriber, reason) {
  const sub = subscriber.sub;
  const isFirst = subscriber.pauses.size === 0;
  subscriber.pauses.add(reason);
  if (!sub || !isFirst) return;
  const { candidate } = subscriber;
  if (candidate) {
    // The change is requested again after the pause.
    subscriber.candidate = null;
    m.subscriptions.delete(candidate);
    if (candidate.change) waitAgain(m, candidate.change);
  }
  if (sub.subscribers.length === 1) {
    sub.isPaused = true;
    return suspend(m, sub);
  }
  const own = new Subscription(sub.spec, subscriber);
  own.isPaused = true;
  own.head = sub.head && { ...sub.head };
  own.state = sub.state;
  own.projection = sub.projection;
  depart(m, subscriber, sub);
  subscriber.sub = own;
  m.subscriptions.add(own);
  deliver(m, [subscriber], { type: 'paused' });
}

/**
 * Ends a reason for a pause. With the last one the subscriber resumes from the state that it holds.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {string} reason
 */
export function resume(m, subscriber, reason) {
  const sub = subscriber.sub;
  if (!subscriber.pauses.delete(reason) || subscriber.pauses.size > 0 || !sub?.isPaused) return;
  sub.isPaused = false;
  // Otherwise the pause has not taken effect, or an answer is pending.
  if (sub.phase !== 'detached') return settle(m, sub);
  if (m.phase === 'ready') subscribe(m, sub);
  else deliver(m, sub.subscribers, { type: 'disconnected', reason: m.lossReason });
}

/**
 * Unsubscribes a paused subscription. If a change is under way, this happens after the change.
 * @param {Machine} m
 * @param {Subscription} sub
 */
function suspend(m, sub) {
  if (!sub.isPaused || sub.change || sub.awaitsDifference) return;
  if (sub.phase === 'live') {
    leave(m, sub.view);
    sub.phase = 'detached';
  }
  sub.assembler = null;
  deliver(m, sub.subscribers, { type: 'paused' });
}

// MARK: Ends

/**
 * Handles the loss of the connection. Unanswered changes wait for the next one. Subscriptions whose change was accepted
 * but whose difference did not arrive start again.
 * @param {Machine} m
 */
export function changesLost(m) {
  for (const sub of [...m.subscriptions]) {
    const pending = sub.change;
    if (sub.origin) {
      // The candidate is requested again, unless the subscriber has a newer change.
      if (!pending?.subscriber.waiting) continue;
      removeCandidate(m, sub);
      superseded(m, pending);
      continue;
    }
    if (pending) {
      sub.change = null;
      if (pending.subscriber.sub === sub) waitAgain(m, pending);
    }
    if (!sub.awaitsDifference) continue;
    sub.drop();
    reset(
      m, sub.subscribers, 'request', 'the connection was lost before the difference to the new request arrived',
    );
  }
}

/**
 * Queues a change that was under way, unless the subscriber has a newer one.
 * @param {Machine} m
 * @param {Change} pending
 */
function waitAgain(m, pending) {
  if (pending.subscriber.waiting) superseded(m, pending);
  else pending.subscriber.waiting = pending;
}

/**
 * Drops the changes of a subscriber that has left, or whose subscription has ended.
 * @param {Machine} m
 * @param {Subscriber} subscriber
 * @param {any} error
 */
export function dropChanges(m, subscriber, error) {
  if (subscriber.waiting) changeFailed(m, subscriber.waiting, error);
  subscriber.waiting = null;
  const dropped = subscriber.candidate && removeCandidate(m, subscriber.candidate);
  if (dropped) changeFailed(m, dropped.change, error);
}

/**
 * Abandons a change because its caller no longer waits.
 * @param {Machine} m
 * @param {object} call
 * @returns {boolean} false if the call is no change
 */
export function abandonChange(m, call) {
  for (const sub of m.subscriptions) {
    for (const subscriber of sub.subscribers) {
      if (subscriber.waiting?.call === call) {
        subscriber.waiting = null;
        return true;
      }
    }
    const pending = sub.change;
    if (pending && pending.call === call) {
      sub.change = { ...pending, call: null };
      return true;
    }
  }
  return false;
}

/** @param {Machine} m @param {Change} made @param {boolean} isNewest */
function answer(m, { call }, isNewest) {
  if (call) m.emit({ type: 'answer', call, reply: isNewest });
}

/** @param {Machine} m @param {Change} old */
const superseded = (m, old) => answer(m, old, false);

/** @param {Machine} m @param {Change} failed @param {any} error */
export function changeFailed(m, { call }, error) {
  if (call) m.emit({ type: 'fail', call, error });
}
