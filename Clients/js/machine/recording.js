/**
 * What the cache gets of lists: the frames of their views as they came. The recording that has led to a state belongs
 * to the state, which never changes: what continues the state continues the recording.
 *
 * Events of the type `cache` have what the cache is to keep. Importing this module lets every view record whose client
 * has a cache.
 * @module
 */

import { Reader, toHex } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { decode } from '../wire/messages.js';
import { CACHE_CHANGE_BYTES_MIN, CACHE_REVISION_STEP, CACHE_VIEW_BYTES_MAX } from './cache-limits.js';
import { bytesOf, framesOf, subscribedFrame } from './cached-frames.js';
import { TotalsView } from './totals.js';
import { T } from './types.js';
import { views } from './views.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./cached-frames.js').CachedFrame} CachedFrame */

/**
 * How the cache knows a state.
 * @typedef {object} Recording
 * @property {string} request
 * @property {string} modelHash
 * @property {string} historyID
 * @property {string} number identifies the snapshot that the frames begin with
 * @property {number} sequence the frames since that snapshot, with its own
 * @property {number} revision the last one that was recorded
 * @property {string} digest
 * @property {number} snapshotBytes
 * @property {number} changeBytes of the frames behind the snapshot
 */

/** By states. @type {WeakMap<object, Recording>} */
const recordings = new WeakMap();

/** The identities of the clients that have a cache: `identity` of cache.d.ts. @type {WeakMap<Machine, string>} */
const identities = new WeakMap();

/** Lets the views of a client record. @param {Machine} m @param {string} identity */
export function beginRecording(m, identity) {
  identities.set(m, identity);
}

/** The recording that has led to a state; null if there is none. @param {any} state @returns {Recording | null} */
export const recordingOf = (state) => (state && recordings.get(state)) ?? null;

/** @param {any} state @param {Recording | null} recording */
export function setRecording(state, recording) {
  if (recording) recordings.set(state, recording);
  else recordings.delete(state);
}

/** Gives the cache something to keep. @param {Machine} m @param {any} change */
export const keep = (m, change) => m.emit({ type: 'cache', change });

/** The cache forgets a state. @param {Machine} m @param {string} request @param {string} reason */
export const remove = (m, request, reason) => keep(m, { type: 'remove', request, reason });

/** A random number of 64 bits, as hexadecimal digits. @param {Machine} m */
function newNumber(m) {
  const bytes = Uint8Array.from({ length: 8 }, () => Math.floor(m.random() * 256));
  return toHex(bytes);
}

/** The digest that a SNAPSHOT or DIFF names. @param {number} type @param {Uint8Array} body */
function digestIn(type, body) {
  const reader = new Reader(body);
  if (type === T.snapshot) reader.u8();
  else {
    reader.varint();
    reader.varint();
  }
  reader.varint();
  return reader.u64();
}

const isTooLarge = (/** @type {number} */ bytes) => bytes > CACHE_VIEW_BYTES_MAX;

/** A view whose frames are recorded, if its client has a cache. */
export class RecordedView extends TotalsView {
  /**
   * The request that it is recorded under; null: it is not recorded.
   * @type {string | null}
   */
  cacheKey = null;
  /**
   * The frames of a snapshot that arrives; null: none does, or it is too large.
   * @type {CachedFrame[] | null}
   */
  frames = null;
  /**
   * RESULT_TOTALS that the next frame belongs to.
   * @type {CachedFrame | null}
   */
  before = null;
  /** The digest of the snapshot that arrives. */
  nextDigest = '';
  /**
   * The recording that the frame which is handled would continue.
   * @type {Recording | null}
   */
  current = null;
  /** Whether it is recorded anew with the diff that leads to its request: of an outline. */
  isNew = false;
  /**
   * The list that it is recorded for, which may leave when it gets the frame.
   * @type {any}
   */
  list = null;

  /** @param {Machine} m @param {{ type: number, body: Uint8Array }} frame @param {boolean} hasMore */
  frame(m, frame, hasMore) {
    if (!this.#isRecorded(m)) return super.frame(m, frame, hasMore);
    const { state, head } = this;
    this.current = this.awaits ? null : recordingOf(state);
    this.#note();
    const { type } = frame;
    // The bytes that came with it must not be kept for it.
    const copy = { type, body: frame.body.slice() };
    const isPart = type === T.snapshotSections || type === T.snapshotRows;
    if (type === T.snapshot || isPart) this.#collect(m, copy);
    super.frame(m, frame, hasMore);
    if (type === T.resultTotals && decode('resultTotals', frame.body).isBeforeRows) {
      this.before = copy;
      return;
    }
    if (type === T.subscriptionEnd) return this.#ended(m, frame.body);
    const before = this.before;
    if (!isPart) this.before = null;
    if (type === T.snapshot || isPart) {
      if (!hasMore) this.#finish(m);
    } else if (this.isNew && type === T.diff && this.isReady) {
      this.isNew = false;
      this.#rewrite(m, digestIn(type, frame.body));
    } else if (this.current && head && this.isReady && this.state !== state) {
      const digest = type === T.diff ? digestIn(type, frame.body) : this.current.digest;
      this.#append(m, before ? [before, copy] : [copy], digest);
    }
    this.current = null;
  }

  /** @param {Machine} m @param {number} revision */
  progress(m, revision) {
    this.#note();
    super.progress(m, revision);
    const recording = this.awaits ? null : recordingOf(this.state);
    if (!recording || !this.head || !this.#isRecorded(m)) return;
    if (this.head.revision < recording.revision + CACHE_REVISION_STEP) return;
    this.current = recording;
    this.#append(m, [], recording.digest);
    this.current = null;
  }

  /** @param {Machine} m @param {string} reason */
  restart(m, reason) {
    const recording = this.current ?? recordingOf(this.state);
    if (recording) remove(m, recording.request, `the state is wrong: ${reason}`);
    this.current = null;
    this.frames = null;
    super.restart(m, reason);
  }

  #note() {
    [this.list = null] = this.lists;
  }

  /** @param {Machine} m */
  #isRecorded(m) {
    return this.cacheKey !== null && identities.has(m);
  }

  /** @param {Machine} m @param {CachedFrame} frame */
  #collect(m, frame) {
    if (frame.type === T.snapshot) {
      this.frames = [subscribedFrame(this.projection), ...(this.before ? [this.before] : [])];
      this.before = null;
      this.nextDigest = digestIn(T.snapshot, frame.body);
      this.current = null;
    }
    if (!this.frames) return;
    this.frames.push(frame);
    if (!isTooLarge(bytesOf(this.frames))) return;
    this.frames = null;
    remove(m, /** @type {string} */ (this.cacheKey), 'the state is too large');
  }

  /** Records a whole snapshot. @param {Machine} m */
  #finish(m) {
    const { frames, head, state } = this;
    this.frames = null;
    this.isNew = false;
    if (frames && head && this.isReady) this.#replace(m, frames, this.nextDigest, state);
  }

  /** @param {Machine} m @param {CachedFrame[]} rows @param {string} digest @param {any} state */
  #replace(m, rows, digest, state) {
    const frames = [...(this.list?.foldFrames ?? []), ...rows];
    const { history, revision } = /** @type {any} */ (this.head);
    const { modelHash } = m.welcome;
    const request = /** @type {string} */ (this.cacheKey);
    const sequence = frames.length;
    const recording = { request, modelHash, historyID: history, number: newNumber(m), sequence, revision, digest,
      snapshotBytes: bytesOf(frames), changeBytes: 0 };
    setRecording(state, recording);
    keep(m, {
      type: 'replace',
      view: { request, identity: identities.get(m), modelHash, historyID: history, revision, digest,
        recording: recording.number, sequence, frames },
    });
  }

  /**
   * Records frames that have led to the state.
   * @param {Machine} m
   * @param {CachedFrame[]} frames
   * @param {string} digest
   */
  #append(m, frames, digest) {
    const old = /** @type {Recording} */ (this.current);
    const { state } = this;
    const { revision } = /** @type {any} */ (this.head);
    const { request, number, sequence, revision: base, snapshotBytes } = old;
    const changeBytes = old.changeBytes + bytesOf(frames);
    if (changeBytes > Math.max(snapshotBytes, CACHE_CHANGE_BYTES_MIN) || isTooLarge(snapshotBytes + changeBytes)) {
      return this.#rewrite(m, digest);
    }
    setRecording(state, { ...old, sequence: sequence + frames.length, revision, digest, changeBytes });
    keep(m, { type: 'append', append: { request, recording: number, sequence, base, frames, revision, digest } });
  }

  /**
   * The state becomes a snapshot: the changes outweigh the last one, or there is none.
   * @param {Machine} m
   * @param {string} digest
   */
  #rewrite(m, digest) {
    const request = /** @type {string} */ (this.cacheKey);
    try {
      const frames = framesOf(this.state, digest, this.list?.spec);
      if (!isTooLarge(bytesOf(frames))) return this.#replace(m, frames, digest, this.state);
      remove(m, request, 'the state is too large');
    } catch (error) {
      if (!(error instanceof NestError)) throw error;
      remove(m, request, `the state cannot be written: ${error.message}`);
    }
    setRecording(this.state, null);
  }

  /** What the server does not let the client follow is not shown again. @param {Machine} m @param {Uint8Array} body */
  #ended(m, body) {
    const { code, message } = decode('subscriptionEnd', body);
    const error = new NestError(code, message);
    if (this.current && error.retry === 0) remove(m, this.current.request, error.message);
    this.current = null;
  }
}

views.View = RecordedView;
