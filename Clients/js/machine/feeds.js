/**
 * Subscriptions to all changes, each with its own cursor in the journal.
 *
 *     detached ──connected──▶ subscribing ──SUBSCRIBED──▶ live ──connection lost, or paused──▶ detached
 * @module
 */

import { encode } from '../wire/messages.js';
import { modelError } from './calls.js';
import { note } from './seen.js';
import { sendUnsubscribe } from './subscriptions.js';
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
    /** @type {'detached' | 'subscribing' | 'live'} */
    this.phase = 'detached';
    this.view = 0;
    /** The receiver has everything up to here; null until the server has named the start. */
    this.head = since && { history: since.history, revision: since.revision };
    /** The cursor in the change set after the head, from its last part; 0 between change sets. */
    this.place = since?.place ?? 0;
    this.hasBegun = false;
    this.isPaused = false;
  }
}

/**
 * @param {Machine} m
 * @param {Feed} feed
 * @param {{ type: string, [name: string]: any }} change
 * @param {number} [bytes]
 */
const deliver = (m, feed, change, bytes = 0) => m.emit({ type: 'change', to: feed.to, change, bytes });

/**
 * @param {Machine} m
 * @param {Feed} feed
 */
export function followChanges(m, feed) {
  const error = m.error ?? modelError(m, feed.model);
  if (error) return m.emit({ type: 'end', to: feed.to, error });
  m.feeds.add(feed);
  if (m.phase === 'ready') requestChanges(m, feed);
}

/**
 * Ends a feed, without an event.
 * @param {Machine} m
 * @param {Feed} feed
 */
export function unfollowChanges(m, feed) {
  if (m.feeds.delete(feed)) leaveView(m, feed);
}

/** @param {Machine} m @param {Feed} feed */
function leaveView(m, feed) {
  if (feed.phase === 'live') {
    m.views.delete(feed.view);
    sendUnsubscribe(m, feed.view);
    feed.phase = 'detached';
  }
}

/**
 * Pauses or resumes a feed whose consumer is slow. Other feeds go on.
 * @param {Machine} m
 * @param {Feed} feed
 * @param {boolean} isPaused
 */
export function pauseFeed(m, feed, isPaused) {
  if (feed.isPaused === isPaused || !m.feeds.has(feed)) return;
  feed.isPaused = isPaused;
  if (isPaused) leaveView(m, feed);
  else if (feed.phase === 'detached' && m.phase === 'ready') requestChanges(m, feed);
}

/**
 * Queues SUBSCRIBE_CHANGES, from the cursor of the feed.
 * @param {Machine} m
 * @param {Feed} feed
 */
export function requestChanges(m, feed) {
  if (feed.isPaused) return;
  feed.phase = 'subscribing';
  const { head, place, entities, model } = feed;
  const since = head && { historyID: head.history, revision: head.revision, place };
  const body = encode('subscribeChanges', { since, entities });
  m.table.submit({ owner: { on: 'feed', feed }, kind: 'connection', type: T.subscribeChanges, body, model });
}

/**
 * Handles SUBSCRIBED.
 * @param {Machine} m
 * @param {any} subscribed
 * @param {Feed} feed
 */
export function feedSubscribed(m, { view, first, revision }, feed) {
  if (first !== 'current') return m.violation('a subscription to changes cannot begin with a state');
  if (!m.feeds.has(feed) || feed.isPaused) {
    feed.phase = 'detached';
    return sendUnsubscribe(m, view);
  }
  feed.phase = 'live';
  feed.view = view;
  m.views.set(view, feed);
  feed.head ??= { history: m.welcome.historyID, revision };
  const type = feed.hasBegun ? 'resumed' : 'following';
  feed.hasBegun = true;
  deliver(m, feed, { type, at: { ...feed.head, place: feed.place } });
}

/**
 * Handles CHANGE_SET.
 * @param {Machine} m
 * @param {Feed} feed
 * @param {any} part
 * @param {number} bytes
 */
export function changeSetArrived(m, feed, part, bytes) {
  const head = /** @type {{history: string, revision: number}} */ (feed.head);
  if (part.revision <= head.revision) {
    return m.violation(`a change set of revision ${part.revision} after revision ${head.revision}`);
  }
  note(m, part.revision);
  // Inside a change set, the head is the revision before it, whatever revisions the feed has skipped since the last.
  head.revision = part.place === 0 ? part.revision : part.revision - 1;
  feed.place = part.place;
  deliver(m, feed, { type: 'changes', ...part, at: { ...head, place: part.place } }, bytes);
}

/**
 * Handles PROGRESS: the server has sent all changes up to this revision.
 * @param {Machine} m
 * @param {number} revision
 */
export function changesReached(m, revision) {
  for (const feed of m.feeds) {
    if (feed.phase !== 'live' || !feed.head || feed.head.revision >= revision) continue;
    feed.head.revision = revision;
    feed.place = 0;
    deliver(m, feed, { type: 'progress', revision, at: { ...feed.head, place: 0 } });
  }
}

/**
 * Handles the loss of the connection.
 * @param {Machine} m
 * @param {string} reason
 */
export function detachFeeds(m, reason) {
  for (const feed of m.feeds) {
    const wasLive = feed.phase === 'live';
    feed.phase = 'detached';
    if (wasLive) deliver(m, feed, { type: 'disconnected', reason });
  }
}

/**
 * @param {Machine} m
 * @param {Feed} feed
 * @param {any} error
 */
export function endFeed(m, feed, error) {
  if (!m.feeds.delete(feed)) return;
  if (m.views.get(feed.view) === feed) m.views.delete(feed.view);
  m.emit({ type: 'end', to: feed.to, error });
}
