/**
 * The requests of a client that wait to be sent or for their answer.
 *
 *     waiting ──sendable──▶ in flight ──answer──▶ gone
 *        ▲                      │
 *        ├──── GOAWAY above its id, or the connection lost and it may be sent again
 *        └──release── held ◀── refused by a node that does not take writes now
 * @module
 */

import { Limits } from '../wire/limits.js';
import { REQUESTS_WAITING_MAX } from './limits.js';

/**
 * What happens to a request if the connection is lost before the answer:
 *
 * - `read` changes nothing: it is sent again.
 * - `write` has an idempotency key: it is sent again with the key, to the same history.
 * - `download` and `upload` are streams: they fail.
 * - `connection` belongs to its connection: it fails with it.
 * @typedef {'read' | 'write' | 'download' | 'upload' | 'connection'} Kind
 */

/**
 * A request.
 * @typedef {object} OutgoingRequest
 * @property {any} owner has `call`, or `answered` and `refused`; null: nobody waits for the answer
 * @property {Kind} kind
 * @property {number} type the number of the message
 * @property {Uint8Array} body
 * @property {any} [model] the hash of the model whose numbers the body contains, or those of its parts; left out: it
 *   contains none
 * @property {number} [answer] the type of the reply that is expected
 * @property {boolean} [isRaw] whether the owner gets the body of the reply, not its fields
 * @property {(m: any) => Uint8Array} [bodyAt] makes the body anew for each server: fetches.js
 * @property {number[]} [projection] of the rows in the answer, if it has rows
 * @property {any[]} [totals] of the answer, if it has some: totals.js
 * @property {number} [group] the group that it is part of: it is not sent again outside the group
 * @property {any} [view] of a list whose request changes
 * @property {boolean} [isEnded] whether the end of an upload was sent
 */

/**
 * A request with what happened to it so far.
 * @typedef {object} Entry
 * @property {OutgoingRequest} request
 * @property {string | null} sentTo the history of the server that had it when a connection was lost, if any
 * @property {{ since: number | null, error: any } | null} refusal the newest refusal of a node, and since when
 * @property {any} assembler of a snapshot that arrives
 * @property {(state: any) => any} [totals] the state with the totals that came before it: totals.js
 */

/** The types of requests that keep their order among each other, also while one of them waits for a leader. */
const ORDERED = new Set([0x10, 0x12, 0x13, 0x21, 0x50, 0x51, 0x53]);

/**
 * @param {OutgoingRequest} request
 * @returns {boolean} whether the request keeps its order among writes
 */
export const isWrite = (request) => ORDERED.has(request.type);

/**
 * @param {Entry} entry
 * @returns {boolean} whether an earlier sending, on a connection that was lost, may have been executed. A refusal of
 *   this sending does not say what became of that one.
 */
export const mayBeExecuted = (entry) => entry.sentTo !== null && entry.request.kind === 'write';

export class RequestTable {
  constructor() {
    /** @type {Entry[]} */
    this.waiting = [];
    /** @type {Map<number, Entry>} */
    this.inFlight = new Map();
    /** Refused requests by the id that they had. While there are some, no write is sent. @type {Map<number, Entry>} */
    this.held = new Map();
    this.nextID = 1;
  }

  /** Whether this connection has no ids left. */
  get isExhausted() {
    return this.nextID > Limits.requestIDMax;
  }

  /** Whether refused requests wait. Writes behind them wait too, to keep their order. */
  get isHolding() {
    return this.held.size > 0;
  }

  /**
   * @param {OutgoingRequest} request
   * @returns {boolean} false if too many are waiting
   */
  submit(request) {
    if (this.waiting.length >= REQUESTS_WAITING_MAX) return false;
    this.waiting.push({ request, sentTo: null, refusal: null, assembler: null });
    return true;
  }

  /**
   * Moves the next request to those in flight, if the server has a free slot.
   * @param {number} inFlightMax
   * @returns {{ id: number, request: OutgoingRequest } | null}
   */
  nextToSend(inFlightMax) {
    if (this.inFlight.size >= inFlightMax || this.isExhausted || this.waiting.length === 0) return null;
    const index = this.isHolding ? this.waiting.findIndex((entry) => !isWrite(entry.request)) : 0;
    if (index < 0) return null;
    const entry = index === 0 ? /** @type {Entry} */ (this.waiting.shift()) : this.waiting.splice(index, 1)[0];
    const id = this.nextID++;
    this.inFlight.set(id, entry);
    return { id, request: entry.request };
  }

  /**
   * Removes and returns a request that was answered.
   * @param {number} id
   * @returns {Entry | undefined}
   */
  finish(id) {
    const entry = this.inFlight.get(id);
    this.inFlight.delete(id);
    return entry;
  }

  /** Whether a caller waits for an answer: it may take changes only after that. */
  get isAnswerDue() {
    return [...this.inFlight.values(), ...this.waiting].some(({ request }) => Boolean(request.owner?.call));
  }

  /**
   * @param {object} call
   * @returns {number | undefined} the id of a call's request in flight
   */
  idOf(call) {
    for (const [id, { request }] of this.inFlight) if (request.owner?.call === call) return id;
    return undefined;
  }

  /**
   * Handles GOAWAY: the server did not and will not execute requests above `last`. They wait for the next connection.
   * @param {number} last
   * @returns {Entry[]} uploads, because their data cannot be sent again
   */
  goAway(last) {
    const above = [...this.inFlight].filter(([id]) => id > last).sort((a, b) => a[0] - b[0]);
    for (const [id] of above) this.inFlight.delete(id);
    const entries = above.map(([, entry]) => entry);
    this.waiting.unshift(...entries.filter(({ request }) => request.owner !== null && request.kind !== 'upload'));
    return entries.filter(({ request }) => request.kind === 'upload');
  }

  /**
   * Handles the loss of the connection. Requests that may be sent again wait for the next one, in their order.
   * @param {string | null} history that of the server
   * @returns {{ failed: Entry[], unsent: Entry[] }} the others: those that were sent, and parts of the connection or of
   *   its group that were not
   */
  connectionLost(history) {
    /** @type {Entry[]} */
    const failed = [];
    /** @type {Entry[]} */
    const again = [];
    const sent = [...this.inFlight].map(([id, entry]) => ({ id, entry, isSent: true }));
    const held = [...this.held].map(([id, entry]) => ({ id, entry, isSent: false }));
    for (const { entry, isSent } of [...sent, ...held].sort((a, b) => a.id - b.id)) {
      const { kind, group, body } = entry.request;
      entry.assembler = null;
      if (!isSent) again.push(entry);
      // A write begins with its key: one without would be executed twice.
      else if (kind === 'read' || (kind === 'write' && group === undefined && body[0] === 1)) {
        again.push({ ...entry, sentTo: history, refusal: null });
      } else failed.push(entry);
    }
    this.inFlight.clear();
    this.held.clear();
    this.nextID = 1;
    this.waiting.unshift(...again);
    // Parts of a group were never sent on another connection, so these were not carried out.
    const unsent = this.removeWaiting(
      ({ request, refusal }) => (request.kind === 'connection' && refusal === null) || request.group !== undefined,
    );
    return { failed, unsent };
  }

  /**
   * Handles a new connection.
   * @param {string} history
   * @returns {Entry[]} removed writes that may have reached another history: they are not sent to this one
   */
  connected(history) {
    return this.removeWaiting((entry) => mayBeExecuted(entry) && entry.sentTo !== history);
  }

  /**
   * @returns {{ entry: Entry, wasSent: boolean }[]} all requests, which it removes
   */
  removeAll() {
    const byID = (/** @type {Map<number, Entry>} */ map) =>
      [...map].sort((a, b) => a[0] - b[0]).map(([, entry]) => entry);
    const all = [
      ...byID(this.inFlight).map((entry) => ({ entry, wasSent: true })),
      ...[...byID(this.held), ...this.waiting].map((entry) => ({ entry, wasSent: entry.sentTo !== null })),
    ];
    this.inFlight.clear();
    this.held.clear();
    this.waiting = [];
    return all;
  }

  /**
   * Removes the caller of a request. In flight, it keeps its slot until it is answered; the answer is ignored.
   * @param {object} call
   * @returns {{ was: 'unsent' | 'refused' | 'sentBefore' | 'inFlight', id: number, request: OutgoingRequest,
   *   error: any } | null}
   */
  abandon(call) {
    const isOfCall = (/** @type {Entry} */ entry) => entry.request.owner?.call === call;
    let entry = this.removeWaiting(isOfCall)[0];
    for (const [id, held] of this.held) {
      if (!isOfCall(held)) continue;
      this.held.delete(id);
      entry = held;
    }
    if (entry) {
      const was = entry.sentTo !== null ? 'sentBefore' : entry.refusal ? 'refused' : 'unsent';
      return { was, id: 0, request: entry.request, error: entry.refusal?.error };
    }
    const id = this.idOf(call);
    const inFlight = id === undefined ? undefined : this.inFlight.get(id);
    if (id === undefined || !inFlight) return null;
    const request = inFlight.request;
    this.inFlight.set(id, { ...inFlight, request: { ...request, owner: null, kind: 'connection' } });
    return { was: 'inFlight', id, request, error: null };
  }

  /**
   * @param {(entry: Entry) => boolean} isRemoved
   * @returns {Entry[]} the removed ones
   */
  removeWaiting(isRemoved) {
    const removed = new Set(this.waiting.filter(isRemoved));
    if (removed.size > 0) this.waiting = this.waiting.filter((entry) => !removed.has(entry));
    return [...removed];
  }
}
