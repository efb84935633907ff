/**
 * A cache in memory: it outlives a client, not the page.
 * @module
 */

import { CACHE_BYTES_MAX, CACHE_PREDICATES_MAX, CACHE_VIEW_BYTES_MAX } from '../machine/cache-limits.js';
import { follows, kept, sizeOf } from './changes.js';

/** @typedef {import('./changes.js').Change} Change */

export class MemoryCache {
  /** @type {any} */
  #model = null;
  /** The bytes of predicates by their keys, the last one used at the end. @type {Map<string, Uint8Array>} */
  #predicates = new Map();
  /** By requests, the last one shown at the end. @type {Map<string, any>} */
  #views = new Map();
  #byteCount = 0;
  #byteCountMax;

  /** @param {{ byteCountMax?: number }} [options] */
  constructor(options) {
    this.#byteCountMax = options?.byteCountMax ?? CACHE_BYTES_MAX;
  }

  async model() {
    if (!this.#model) return null;
    return { ...this.#model, predicates: Array.from(this.#predicates, ([key, bytes]) => ({ key, bytes })) };
  }

  /** @param {string} request */
  async view(request) {
    const view = this.#views.get(request);
    if (!view) return null;
    this.#views.delete(request);
    this.#views.set(request, view);
    return { ...view, frames: [...view.frames] };
  }

  /** @param {readonly Change[]} changes */
  record(changes) {
    for (const change of changes) this.#apply(change);
    // Maps keep their order: the least recently shown is the first.
    for (const request of this.#views.keys()) {
      if (this.#byteCount <= this.#byteCountMax) break;
      this.#remove(request);
    }
  }

  /** @param {Change} change */
  #apply(change) {
    switch (change.type) {
      case 'model':
        this.#model = change.model;
        return;
      case 'predicate': {
        this.#predicates.delete(change.key);
        this.#predicates.set(change.key, change.bytes);
        const [oldest] = this.#predicates.keys();
        if (this.#predicates.size > CACHE_PREDICATES_MAX) this.#predicates.delete(oldest);
        return;
      }
      case 'replace': return this.#put(change.view);
      case 'append': {
        const { append } = change;
        const view = this.#views.get(append.request);
        if (view && follows(append, view)) this.#put(kept(view, append));
        return;
      }
      case 'remove': return this.#remove(change.request);
    }
  }

  /** @param {any} view */
  #put(view) {
    this.#remove(view.request);
    const bytes = sizeOf(view);
    if (bytes > CACHE_VIEW_BYTES_MAX) return;
    this.#views.set(view.request, view);
    this.#byteCount += bytes;
  }

  /** @param {string} request */
  #remove(request) {
    const view = this.#views.get(request);
    if (!view) return;
    this.#views.delete(request);
    this.#byteCount -= sizeOf(view);
  }

  async flush() {}

  async clear() {
    this.#model = null;
    this.#predicates.clear();
    this.#views.clear();
    this.#byteCount = 0;
  }

  async close() {}
}
