/**
 * Changes of a cache, and those that wait to be written: the ones of a view are merged where they follow each other.
 * @module
 */

import { CACHE_UNWRITTEN_BYTES_MAX } from '../machine/cache-limits.js';

/**
 * What cache.d.ts calls CacheChange.
 * @typedef {{ type: 'model', model: any } | { type: 'predicate', key: string, bytes: Uint8Array }
 *   | { type: 'replace', view: any } | { type: 'append', append: any }
 *   | { type: 'remove', request: string, reason: string }} Change
 */

/** What a view takes besides its frames, about. */
export const ROW_BYTES = 256;
/** What a frame takes besides its body, about. */
const FRAME_BYTES = 64;

/** @param {readonly { body: Uint8Array }[]} frames */
const bodies = (frames) => frames.reduce((sum, { body }) => sum + body.length, 0);

/** The bytes of a view, about. @param {{ request: string, frames: readonly { body: Uint8Array }[] }} view */
export const sizeOf = ({ request, frames }) => request.length + ROW_BYTES + bodies(frames);

/**
 * Whether frames follow a state: that of this recording, after `sequence` frames, at the revision `base`. Otherwise
 * another client has written the view.
 * @param {any} append
 * @param {{ recording: string, sequence: number, revision: number }} state
 */
export const follows = ({ recording, sequence, base }, state) =>
  recording === state.recording && sequence === state.sequence && base === state.revision;

/** A view, or an append, with the frames that follow it. @param {any} view @param {any} append */
export const kept = (view, { frames, revision, digest }) => ({
  ...view, sequence: view.sequence + frames.length, revision, digest, frames: [...view.frames, ...frames],
});

/**
 * A change of a view: a new state, frames, or neither: its removal.
 * @typedef {{ replacement: any, append: any }} ViewChange
 */

/** @returns {ViewChange} */
const removal = () => ({ replacement: null, append: null });

export class UnwrittenChanges {
  /** @type {any} */
  model = null;
  /** @type {Map<string, Uint8Array>} */
  predicates = new Map();
  /** By requests, in order. @type {Map<string, ViewChange[]>} */
  views = new Map();
  /** The views that were shown, the last one at the end. @type {Set<string>} */
  shown = new Set();
  #byteCount = 0;

  get isEmpty() {
    return this.model === null && this.predicates.size + this.views.size + this.shown.size === 0;
  }

  /** @param {string} request */
  concerns(request) {
    return this.views.has(request);
  }

  /**
   * @param {Change} change
   * @returns {boolean} false: it is dropped, because too many bytes wait
   */
  add(change) {
    switch (change.type) {
      case 'model':
        this.model = change.model;
        return true;
      case 'predicate':
        this.predicates.delete(change.key);
        if (!this.#count(change.key.length + change.bytes.length)) return false;
        this.predicates.set(change.key, change.bytes);
        return true;
      case 'remove':
        this.views.set(change.request, [removal()]);
        return true;
      case 'replace': {
        const { view } = change;
        const isKept = this.#count(bodies(view.frames) + FRAME_BYTES * view.frames.length);
        // Otherwise what is written is older than what the program was shown.
        this.views.set(view.request, [isKept ? { replacement: view, append: null } : removal()]);
        if (isKept) this.note(view.request);
        return isKept;
      }
      default: return this.#append(change.append);
    }
  }

  /** @param {any} append */
  #append(append) {
    const { request, frames } = append;
    if (!this.#count(bodies(frames) + FRAME_BYTES * frames.length)) return false;
    const list = this.views.get(request) ?? [];
    this.views.set(request, list);
    const last = list.at(-1);
    const { replacement, append: before } = last ?? removal();
    if (last && replacement && follows(append, replacement)) last.replacement = kept(replacement, append);
    else if (last && before && follows(append, { ...before, sequence: before.sequence + before.frames.length })) {
      // Its sequence stays that of its first frame.
      last.append = { ...kept(before, append), sequence: before.sequence };
    } else list.push({ replacement: null, append });
    return true;
  }

  /** A view was shown. @param {string} request */
  note(request) {
    this.shown.delete(request);
    this.shown.add(request);
  }

  /**
   * Adds what is left of a batch that could not be written: its model, and the removal of each view, because what is
   * written may be a state that was to be removed. Later changes win.
   * @param {UnwrittenChanges} lost
   */
  restore(lost) {
    this.model ??= lost.model;
    for (const request of lost.views.keys()) {
      const [first] = this.views.get(request) ?? [];
      if (!first || first.append) this.views.set(request, [removal()]);
    }
  }

  /** @param {number} bytes */
  #count(bytes) {
    if (this.#byteCount + bytes > CACHE_UNWRITTEN_BYTES_MAX) return false;
    this.#byteCount += bytes;
    return true;
  }
}
