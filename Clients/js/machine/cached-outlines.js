/**
 * Outlines that begin with rows and fold states from the cache. Programs load this module with their first outline of a
 * client that has a cache.
 *
 * The cache keeps the last rows of the request as the program has first asked it, and the fold states, also those that
 * are set while other rows are shown. Its frames have the client's messages about fold states, too:
 *
 *     SUBSCRIBE      the request as the program has asked it
 *     RESUBSCRIBE    the fold states from then on, instead of all before
 *     SET_EXPANDED   fold states that were set
 * @module
 */

import { difference, isNothing } from '../overlay/difference.js';
import { Reader } from '../wire/bytes.js';
import { fields, number16 } from '../wire/codec.js';
import { NestError } from '../wire/errors.js';
import { decode, encode } from '../wire/messages.js';
import '../wire/messages-outline.js';
import { requestFields } from '../wire/request.js';
import { applyDiff } from '../wire/results.js';
import { withCache } from './cached.js';
import { bytesOf, load } from './cached-frames.js';
import { Folds } from './folds.js';
import { isRow } from './outlines.js';
import { keep, recordingOf, setRecording } from './recording.js';
import { specOf } from './spec.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./spec.js').Spec} Spec */
/** @typedef {import('./cached-frames.js').CachedFrame} CachedFrame */
/** @typedef {import('./recording.js').Recording} Recording */

/** Any view id. */
const VIEW = 0x80000000;
const FOLDED = Object.freeze({ expansion: 'none', exceptions: Object.freeze([]) });
const FOLDS = new Set([T.subscribe, T.resubscribe, T.setExpanded]);

/** A request with other fold states. @param {Spec} spec @param {any} outline */
const withFolds = ({ wire, model, request }, outline) => specOf({ ...wire, outline }, model, request);

/** The same for all fold states. @param {Spec} spec */
const keyOf = (spec) => withFolds(spec, FOLDED).key;

/** @param {any} wire */
const askedBody = (wire) => encode('subscribe', { resume: null, atLeast: 0, request: wire });

/** @param {any} wire @param {any} outline @returns {CachedFrame} */
const replacingFrame = (wire, outline) =>
  ({ type: T.resubscribe, body: encode('resubscribe', { view: VIEW, request: { ...wire, outline } }).slice() });

/** @param {Map<number, boolean>} states @returns {CachedFrame} */
function statesFrame(states) {
  const all = Array.from(states, ([object, isExpanded]) => ({ object, isExpanded }));
  return { type: T.setExpanded, body: encode('setExpanded', { view: VIEW, states: all }).slice() };
}

/** @param {string} message @returns {never} */
const fault = (message) => {
  throw new NestError('MALFORMED', message);
};

/** The fold states in a request. @param {number} type @param {Uint8Array} body @returns {any} */
function foldsIn(type, body) {
  const reader = new Reader(body);
  // SUBSCRIBE: nothing to resume, and a revision. RESUBSCRIBE: a view.
  if (type === T.subscribe) reader.u8();
  reader.varint();
  number16.read(reader);
  const { outline } = fields({ 9: requestFields[9] }).read(reader);
  return outline ?? FOLDED;
}

/** @param {any} a @param {any} b whether two outlines have the same fold states */
const isSame = (a, b) => JSON.stringify([a.expansion, a.exceptions]) === JSON.stringify([b.expansion, b.exceptions]);

/** @param {Iterable<[number, boolean]>} a @param {Iterable<[number, boolean]>} b */
const areSame = (a, b) => JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());

/**
 * Rebuilds the state of an outline from its frames.
 * @param {import('./cached-frames.js').CachedView} view
 * @param {Spec} spec
 * @returns {any} as of `load`, and `folds`: the last fold states; `asked`: the body with which they began
 * @throws NestError if the frames do not lead to the state that the view says
 */
export function loadOutline(view, spec) {
  const mine = view.frames.filter(({ type }) => FOLDS.has(type));
  const [first, ...rest] = mine;
  if (first?.type !== T.subscribe || view.frames[0] !== first) fault('it has no fold states');
  let folds = new Folds(foldsIn(T.subscribe, first.body));
  for (const { type, body } of rest) {
    if (type === T.resubscribe) folds = new Folds(foldsIn(type, body));
    else if (type === T.subscribe) fault('it has two requests');
    else {
      const { states } = decode('setExpanded', body);
      folds.set(new Map(states.map((/** @type {any} */ { object, isExpanded }) => [object, isExpanded])));
    }
  }
  const loaded = load({ ...view, frames: view.frames.filter(({ type }) => !FOLDS.has(type)) }, spec);
  loaded.bytes += bytesOf(mine);
  const { sections, projection } = loaded.state;
  const isOutline = sections.every((/** @type {any} */ { rows }) => rows.every(isRow));
  if (!isOutline || projection.at(-1) !== 65535 || projection.at(-2) !== 65534) {
    fault('its rows are not those of an outline');
  }
  return { ...loaded, folds, asked: first.body };
}

/** @param {Uint8Array} a @param {Uint8Array} b */
const isEqual = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);

/**
 * @param {any} Base OutlineList, or a class that extends it
 */
export const withCachedFolds = (Base) => class extends /** @type {any} */ (withCache(Base)) {
  /**
   * The request as the program has asked it.
   * @type {any}
   */
  asked = null;
  /** Whether other rows are shown than those that the cache has. */
  isAway = false;
  /**
   * How the cache knows the rows that it has.
   * @type {Recording | null}
   */
  kept = null;
  /**
   * The rows of the cache, until those of the server have arrived: these are shown as a difference.
   * @type {any}
   */
  before = null;

  get isShared() {
    return false;
  }

  /** @param {Spec} spec */
  keyOf(spec) {
    return keyOf(spec);
  }

  /** @param {any} view @param {Spec} spec */
  read(view, spec) {
    return loadOutline(view, spec);
  }

  /** @param {Machine} m @param {Spec} spec */
  open(m, spec) {
    this.asked = spec;
    super.open(m, spec);
  }

  /**
   * It goes on with the last fold states, if the program asks for those that it asked for before, or has kept the last
   * ones itself. Otherwise it wants others.
   * @param {Spec} spec
   * @param {any} loaded
   */
  beginning(spec, loaded) {
    if (!super.beginning(spec, loaded)) return null;
    const { folds, asked } = loaded;
    const { outline } = spec.wire;
    const { states = [] } = outline;
    const goesOn = (isEqual(askedBody(spec.wire), asked) || isSame(outline, folds.outline))
      && (states.length === 0 || areSame(states, folds.states));
    return goesOn ? withFolds(spec, { ...folds.outline, states: [...folds.states] }) : null;
  }

  // MARK: The first rows

  /** @param {Machine} m @param {any} answer @param {any} request */
  answered(m, answer, request) {
    const isMine = request === this.pending;
    const { change, held, isFromCache } = this;
    if (isMine && isFromCache && answer.first === 'snapshot') this.before = held;
    this.kept = recordingOf((this.view ?? held)?.state) ?? this.kept;
    const isFirst = !isMine || !change;
    const wasAway = this.isAway;
    if (!isFirst) this.isAway = keyOf(change.spec) !== keyOf(this.asked);
    const old = this.view;
    super.answered(m, answer, request);
    const { view } = this;
    if (!view) return;
    view.cacheKey = this.isAway ? null : keyOf(this.asked);
    if (isFirst || this.isAway || answer.first === 'snapshot') return;
    // Otherwise the diff that follows leads to rows that the cache does not have.
    if (view === old && !wasAway) setRecording(view.state, this.kept);
    else view.isNew = true;
  }

  /** @param {Machine} m @param {string} cause @param {string} message */
  reset(m, cause, message) {
    const { before } = this;
    if (before && cause === 'server') {
      return this.emit(m, { type: 'resumed', revision: before.head.revision, isExact: false });
    }
    this.before = null;
    // Numbers of another history or model may mean other objects.
    if (cause === 'cache') {
      const { asked } = this;
      Object.assign(this, { spec: asked, folds: new Folds(asked.wire.outline) });
    }
    super.reset(m, cause, message);
  }

  /** @param {Machine} m @param {any} change @param {number} [bytes] */
  show(m, change, bytes) {
    const { before, view } = this;
    if (before && change.type === 'snapshot') {
      this.before = null;
      if (before.head.history !== view.head.history) super.reset(m, 'cache', 'the cached state is of another history');
      else if (before.head.revision <= view.head.revision) change = this.#difference(before, view) ?? change;
    }
    super.show(m, change, bytes);
  }

  /**
   * What a snapshot changes in the rows of the cache. Rows that it does not change stay the same objects.
   * @param {any} before
   * @param {any} view
   */
  #difference({ head, state }, view) {
    const next = view.state;
    if (JSON.stringify(state.projection) !== JSON.stringify(next.projection)) return null;
    const [from, to] = [head.revision, view.head.revision];
    const diff = { from, to, ...difference(state, next) };
    view.state = applyDiff({ ...state, revision: from }, /** @type {any} */ (diff), false);
    if (isNothing(diff)) return { type: 'resumed', revision: to, isExact: true };
    return { type: 'diff', from, to, diff, own: [], authors: [] };
  }

  /** @param {Machine} m @param {any} error @param {any} request */
  refused(m, error, request) {
    super.refused(m, error, request);
    // The object in the middle of its window is gone: it shows the rows that were there.
    if (!this.change && !this.spec.wire.window.anchor && this.asked.wire.window.anchor) this.isAway = true;
  }

  // MARK: Recording

  /** What its frames begin with. @returns {CachedFrame[]} */
  get foldFrames() {
    const { folds, asked: { wire } } = this;
    const frames = [{ type: T.subscribe, body: askedBody(wire).slice() }];
    if (!isSame(folds.outline, wire.outline)) frames.push(replacingFrame(wire, folds.outline));
    for (const { states } of folds.again) frames.push(statesFrame(states));
    return frames;
  }

  /** @param {Machine} m @param {Map<number, boolean> | null} states */
  keepFolds(m, states) {
    const { view, asked, folds } = this;
    const own = this.isAway ? null : recordingOf(view?.state);
    const old = own ?? this.kept;
    if (!old) return;
    const frame = states ? statesFrame(states) : replacingFrame(asked.wire, folds.outline);
    const { request, number, sequence, revision, digest } = old;
    const append = { request, recording: number, sequence, base: revision, frames: [frame], revision, digest };
    this.kept = { ...old, sequence: sequence + 1, changeBytes: old.changeBytes + frame.body.length };
    if (own) setRecording(view.state, this.kept);
    keep(m, { type: 'append', append });
  }
};
