/**
 * Events that wait for the consumer of an asynchronous iteration. It counts their bytes, so that what a consumer does
 * not take can be held back at the server.
 * @module
 */

import { CONSUMER_BYTES_MAX } from '../machine/limits.js';

/** What an event costs beyond the bytes that arrived for it. */
const EVENT_BYTES = 128;

/** Events of which only the newest matters. */
const MERGED = new Set(['progress', 'position', 'reset', 'disconnected', 'paused']);

/**
 * @template {{ type: string }} T
 */
export class Queue {
  /**
   * @param {{ onBytes?: (bytes: number) => void, onFull?: (isFull: boolean) => void, onReturn?: () => void }} hooks
   *   `onBytes`: so many bytes more (or fewer) wait. `onFull`: too many wait, or none any more. `onReturn`: the loop
   *   has ended.
   */
  constructor(hooks = {}) {
    this.hooks = hooks;
    /** @type {{ event: T, bytes: number }[]} */
    this.items = [];
    /** @type {{ resolve: (result: IteratorResult<T>) => void, reject: (error: any) => void }[]} */
    this.waiters = [];
    this.bytes = 0;
    this.isFull = false;
    this.isEnded = false;
    /** @type {any} the error that the next call reports, once */
    this.error = null;
  }

  /**
   * @param {T} event
   * @param {number} [bytes]
   */
  push(event, bytes = 0) {
    if (this.isEnded) return;
    const waiter = this.waiters.shift();
    if (waiter) return waiter.resolve({ done: false, value: event });
    const last = this.items.at(-1);
    if (last && last.event.type === event.type && MERGED.has(event.type)) {
      last.event = event;
      return;
    }
    this.items.push({ event, bytes: bytes + EVENT_BYTES });
    this.count(bytes + EVENT_BYTES);
  }

  /**
   * Ends the iteration after what waits. All waiting consumers wake.
   * @param {any} error null: it was closed
   */
  end(error) {
    if (this.isEnded) return;
    this.isEnded = true;
    this.error = error;
    const waiters = this.waiters;
    this.waiters = [];
    for (const waiter of waiters) this.settle(waiter.resolve, waiter.reject);
  }

  clear() {
    const bytes = this.bytes;
    this.items = [];
    this.count(-bytes);
  }

  /** @param {number} bytes */
  count(bytes) {
    if (bytes === 0) return;
    this.bytes += bytes;
    this.hooks.onBytes?.(bytes);
    const isFull = this.isFull ? this.bytes > 0 : this.bytes > CONSUMER_BYTES_MAX;
    if (isFull === this.isFull) return;
    this.isFull = isFull;
    this.hooks.onFull?.(isFull);
  }

  /**
   * The end of an iteration: the error once, then `done`, for ever.
   * @param {(result: IteratorResult<T>) => void} resolve
   * @param {(error: any) => void} reject
   */
  settle(resolve, reject) {
    const error = this.error;
    this.error = null;
    if (error) reject(error);
    else resolve({ done: true, value: undefined });
  }

  /** @returns {Promise<IteratorResult<T>>} */
  next() {
    const item = this.items.shift();
    if (item) {
      this.count(-item.bytes);
      return Promise.resolve({ done: false, value: item.event });
    }
    return new Promise((resolve, reject) => {
      if (this.isEnded) this.settle(resolve, reject);
      else this.waiters.push({ resolve, reject });
    });
  }

  /** @returns {Promise<IteratorResult<T>>} */
  return() {
    this.clear();
    this.end(null);
    this.error = null;
    this.hooks.onReturn?.();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}
