/**
 * Lists that begin with a state from the cache.
 *
 *     cached ──connected, same history and model──▶ SUBSCRIBE names the state ──▶ difference, current, or snapshot
 *        │  └──another history or model──▶ the state is dropped: as without a cache
 *        └──no server can be reached──▶ the state stays, and the client goes on to try
 * @module
 */

import { load } from './cached-frames.js';
import { List } from './lists.js';
import { recordingOf, remove, setRecording } from './recording.js';
import { note } from './seen.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./recording.js').Recording} Recording */
/** @typedef {import('./cached-frames.js').LoadedView} LoadedView */

const OTHER_HISTORY = 'the cached state is of another history of the store';
const OTHER_MODEL = 'the cached state is of another model';

/**
 * Why the store of the current or last connection cannot continue a state; null if it can, or if there was none.
 * @param {Machine} m
 * @param {{ history: string }} head
 * @param {Recording | null} recording
 */
function faultOf(m, { history }, recording) {
  const { historyID, modelHash } = m.welcome ?? {};
  if (historyID !== undefined && historyID !== history) return OTHER_HISTORY;
  return recording && modelHash !== undefined && modelHash !== recording.modelHash ? OTHER_MODEL : null;
}

/**
 * Begins a client with the model of an earlier run. It is never closed because no server can be reached.
 * @param {Machine} m
 * @param {any} model
 */
export function beginWith(m, model) {
  if (m.welcome || m.phase !== 'idle') return;
  m.models.set(model.hash, model);
  m.valid.add(model.hash);
  // As after a connection to a server with this model, of which nothing else is known.
  m.welcome = Object.freeze({ modelHash: model.hash });
  m.hasBeenReady = true;
}

/**
 * Notes on each connection, before any list subscribes, what the lists show: no node may begin one with an older state.
 */
export class Newest {
  model = null;
  // It does not read revisions.
  head = { history: '', revision: Infinity };

  /** @param {Machine} m */
  begin(m) {
    if (m.phase !== 'ready') return;
    for (const one of m.followers) {
      const { head } = one;
      if (one.isFromCache && head?.history === m.welcome.historyID) note(m, head.revision);
    }
  }

  lost() {}

  /** @param {Machine} m */
  end(m) {
    m.followers.delete(this);
  }

  mayWait() {
    return false;
  }
}

/**
 * A list that begins with a state from the cache.
 * @param {any} Base
 */
export const withCache = (Base) => class extends Base {
  /**
   * What it begins with; undefined: the cache was not asked.
   * @type {LoadedView | null | undefined}
   */
  loaded = undefined;
  /** The request as the cache knows it: that of the program, whatever object a window has followed. */
  key = '';
  /** Whether it holds a state that no server has confirmed. */
  isFromCache = false;
  /**
   * How the cache knew that state.
   * @type {Recording | null}
   */
  from = null;

  /** Whether it may have the view of another list. */
  get isShared() {
    return true;
  }

  /** How the cache knows a request. @param {import('./spec.js').Spec} spec */
  keyOf(spec) {
    return spec.key;
  }

  /** Rebuilds a state. @param {import('./cached-frames.js').CachedView} view @param {import('./spec.js').Spec} spec */
  read(view, spec) {
    return load(view, spec);
  }

  /**
   * The request with which it begins, if it begins with this state; null: it does not.
   * @param {import('./spec.js').Spec} spec
   * @param {any} loaded
   * @returns {import('./spec.js').Spec | null}
   */
  beginning(spec, loaded) {
    // It was read for a later request, which has overtaken this one.
    return loaded.request === this.keyOf(spec) ? spec : null;
  }

  /** @param {Machine} m @param {import('./spec.js').Spec} spec */
  open(m, spec) {
    this.key = this.keyOf(spec);
    const { loaded } = this;
    this.loaded = null;
    if (loaded && !this.refusal(m, spec)) spec = this.#show(m, spec, loaded);
    super.open(m, spec);
  }

  /** @param {Machine} m @param {import('./spec.js').Spec} spec @param {LoadedView} loaded */
  #show(m, spec, loaded) {
    const { head, state, recording, isConfirmed, bytes } = loaded;
    const begun = this.beginning(spec, loaded);
    if (!begun) return spec;
    const fault = faultOf(m, head, recording);
    if (fault) {
      remove(m, this.key, fault);
      this.reset(m, 'cache', fault);
      return spec;
    }
    this.spec = begun;
    this.held = { head: { ...head }, state };
    this.isFromCache = !isConfirmed;
    this.from = recording;
    if (!recordingOf(state)) setRecording(state, recording);
    this.follow(state.position);
    if (m.phase === 'ready') note(m, head.revision);
    this.shown = { ...head };
    const change = { type: 'snapshot', reason: 'cache' };
    m.emit({ type: 'change', to: this.to, change, state, revision: head.revision, request: spec.request, bytes });
    return this.spec;
  }

  /** @param {Machine} m */
  begin(m) {
    if (m.phase === 'ready' && !this.view && !this.pending) this.#check(m);
    super.begin(m);
  }

  /** Drops a state that the store of a new connection cannot continue. @param {Machine} m */
  #check(m) {
    const { held } = this;
    const recording = recordingOf(held?.state);
    // Another list with the same state may have forgotten the recording.
    const fault = held && faultOf(m, held.head, this.isFromCache ? this.from : recording);
    if (!fault) return;
    if (recording) {
      setRecording(held.state, null);
      remove(m, recording.request, fault);
    }
    // Of a state that it has confirmed, the server itself says why it cannot continue it.
    if (!this.isFromCache) return;
    this.isFromCache = false;
    this.held = this.shown = null;
    this.reset(m, 'cache', fault);
  }

  /** @param {Machine} m @param {any} answer @param {any} request */
  answered(m, answer, request) {
    const { change, view: old } = this;
    const isAccepted = request === this.pending && change !== null;
    if (request === this.pending) this.isFromCache = false;
    if (isAccepted) {
      this.key = this.keyOf(change.spec);
      // What follows is of the new request; what was recorded stays the last state of the old one.
      if (answer.first === 'current' && old) this.#rename(old);
    }
    super.answered(m, answer, request);
    const { view } = this;
    if (view && view !== old && view.lists.size === 1) /** @type {any} */ (view).cacheKey ??= this.key;
  }

  /** The view has another request. @param {any} view */
  #rename(view) {
    if (view.state) view.state = { ...view.state };
    view.cacheKey = view.lists.size === 1 ? this.key : null;
  }

  /** @param {Machine} m @param {any} error @param {any} request */
  refused(m, error, request) {
    const recording = recordingOf(this.held?.state);
    if (request === this.pending && !this.change && recording && error.retry === 0) {
      remove(m, recording.request, error.message);
    }
    super.refused(m, error, request);
  }
};

export class CachedList extends /** @type {any} */ (withCache(List)) {
  /** @param {any} to the receiver of the events */
  constructor(to) {
    super(to);
  }
}

/**
 * The state of another list of the client that has the same request; undefined if there is none.
 * @param {Machine} m
 * @param {string} key
 * @returns {LoadedView | null | undefined} null: its view, which the server will let a new list join
 */
export function shared(m, key) {
  for (const one of m.followers) {
    if (one.key !== key || one.change || one.waiting) continue;
    if (one.view || one.pending) return null;
    const { held, isFromCache } = one;
    if (held) {
      const { head, state } = held;
      const recording = isFromCache ? one.from : recordingOf(state);
      return { request: key, head: { ...head }, state, recording, isConfirmed: !isFromCache, bytes: 0 };
    }
  }
  return undefined;
}
