/**
 * Outlines: lists whose rows fold and unfold. Each has a view of its own. Programs load this module with their first.
 *
 * At most one RESUBSCRIBE or SET_EXPANDED of an outline is under way. Meanwhile changes are merged, so that a scroll
 * does not undo the zoom before it, and fold states wait: none is lost, even with the connection. If merged changes are
 * refused, each is requested by itself, so that one that is wrong takes no other with it.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { Limits } from '../wire/limits-more.js';
import { encode } from '../wire/messages.js';
import { childrenProperty, depthProperty } from '../wire/messages-outline.js';
import { fail, sizeError } from './calls.js';
import { Folds, merged } from './folds.js';
import { List, reply } from './lists.js';
import { specOf } from './spec.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./spec.js').Spec} Spec */
/** @typedef {import('./views.js').View} View */
/** @typedef {import('./folds.js').FoldCall} FoldCall */

/**
 * What a caller wants to be different.
 * @typedef {object} Edit
 * @property {Record<string, any>} wire fields of the request, such as `window`
 * @property {Record<string, any>} fields the same, as the program's request has them
 * @property {any} call null: its caller has given up
 * @property {boolean} [isAlone] whether it was refused with others, and is now requested by itself
 */

/** The callers of several edits or fold states, as one. */
class Callers {
  /** @param {any[]} all each with its `call` */
  constructor(all) {
    this.all = all;
  }

  /** @param {any} value */
  resolve(value) {
    for (const { call } of this.all) call?.resolve(value);
  }

  /** @param {any} error */
  reject(error) {
    for (const { call } of this.all) call?.reject(error);
  }

  restart() {
    for (const { call } of this.all) call?.restart();
  }
}

const FEATURE_OUTLINES = 1 << 8;
const AS_BEFORE = Object.freeze({ expansion: 'asBefore', exceptions: [] });

/** @param {Record<string, any>} edit @param {Record<string, any>} later whether nothing is left of the edit after it */
const covers = (edit, later) => Object.keys(edit.wire).every((name) => name in later.wire);

export class OutlineList extends List {
  constructor() {
    super(null);
    /** The fold states that the server has. */
    this.folds = new Folds({ expansion: 'none', exceptions: [] });
    /** Those that it has not confirmed: in SET_EXPANDED, and those that wait. @type {any} */
    this.folding = null;
    /** @type {FoldCall[]} */
    this.waitingFolds = [];
    /** Those that come after a change that waits, because it replaces the states before it. @type {FoldCall[]} */
    this.laterFolds = [];
    /** Where its window was last. @type {any} */
    this.place = null;
  }

  get changes() {
    return [...super.changes, this.folding, ...this.waitingFolds, ...this.laterFolds];
  }

  /** Whether a change that waits replaces fold states. */
  get replacesFolds() {
    return this.#edits(this.waiting).some(hasFolds);
  }

  /** @param {any} change @returns {Edit[]} */
  #edits(change) {
    return change?.call?.all ?? [];
  }

  /** @param {Machine} m @param {Spec} spec */
  open(m, spec) {
    this.folds = new Folds(spec.wire.outline);
    super.open(m, spec);
  }

  /** @param {Machine} m */
  begin(m) {
    if (m.phase === 'ready' && (m.welcome.features & FEATURE_OUTLINES) === 0) {
      return this.end(m, new NestError('UNSUPPORTED', 'the server has no outlines: it is of an earlier version'));
    }
    super.begin(m);
  }

  /** @param {Machine} m @param {string} name @param {any} fields @param {Spec} spec */
  submit(m, name, fields, spec) {
    /** @type {any} */
    let outline = AS_BEFORE;
    if (name === 'subscribe') {
      outline = this.folds.outline;
      // The server keeps no differences of outlines. If it need not resume, it says that the middle of the window is gone.
      fields = { ...fields, resume: null };
      this.#foldAgain();
    } else if (this.#edits(this.change).some(hasFolds)) outline = spec.wire.outline;
    super.submit(m, name, { ...fields, request: { ...fields.request, outline } }, spec);
  }

  /** What the new view does not have: states that may not have arrived, and those that a request cannot express. */
  #foldAgain() {
    const { folding, folds: { again }, waitingFolds } = this;
    const all = [.../** @type {FoldCall[]} */ (folding?.call.all ?? []), ...waitingFolds];
    this.folding = null;
    this.waitingFolds = [...again, ...all.filter(({ isAgain }) => !isAgain)];
  }

  // MARK: Answers

  /** @param {Machine} m @param {any} answer @param {any} request */
  answered(m, answer, request) {
    const { projection } = answer;
    if (projection.at(-1) !== depthProperty || projection.at(-2) !== childrenProperty) {
      return m.violation('the rows of an outline have no depth or no number of children');
    }
    if (request === this.pending && this.#edits(this.change).some(hasFolds)) {
      this.folds = new Folds(/** @type {any} */ (this.change).spec.wire.outline);
      this.waitingFolds.unshift(...this.folds.again);
      this.keepFolds(m, null);
    }
    super.answered(m, answer, request);
  }

  /** @param {Machine} m @param {any} error @param {any} request */
  refused(m, error, request) {
    const { change, spec } = this;
    const window = this.#lastWindow();
    const edits = this.#edits(change);
    const isForRows = edits.some((edit) => 'window' in edit.wire);
    const isWithoutMiddle = error.code === 'NOT_FOUND' && window && !isForRows;
    if (request !== this.pending || (!isWithoutMiddle && edits.length < 2)) return super.refused(m, error, request);
    this.pending = null;
    // The object in the middle of its window is gone, or hidden: the window begins where it did.
    const place = { wire: { window }, fields: { shownWindow: window }, call: null };
    if (!change) {
      this.spec = changed(spec, [place]);
      return this.begin(m);
    }
    this.change = null;
    if (isWithoutMiddle) {
      const [{ wire, fields, ...rest }, ...others] = edits;
      this.#putBack([{ ...rest, wire: { ...wire, ...place.wire }, fields: { ...fields, ...place.fields } }, ...others]);
    } else this.#putBack(edits.map((edit) => ({ ...edit, isAlone: true })));
    this.goOn(m);
  }

  /** Changes that were sent wait again, before those that came after them. @param {Edit[]} edits */
  #putBack(edits) {
    if (edits.some(hasFolds)) {
      this.laterFolds.unshift(...this.waitingFolds);
      this.waitingFolds = [];
    }
    this.#wait([...edits, ...this.#edits(this.waiting)]);
  }

  /** The rows that a window around an object has shown last, by their numbers; null if there are none. */
  #lastWindow() {
    const { wire: { window } } = this.spec;
    if (!window?.anchor || !this.place) return null;
    return Object.freeze({ offset: this.place.start.row, limit: window.before + 1 + window.after });
  }

  /** @param {any} position */
  follow(position) {
    this.place = position;
    super.follow(position);
  }

  /** @param {Machine} m @param {View} view */
  enter(m, view) {
    view.hasSteps = true;
    super.enter(m, view);
  }

  /** @param {Machine} m @param {any} change @param {number} [bytes] */
  show(m, change, bytes) {
    const isNew = change.type === 'snapshot' || change.type === 'diff';
    if (isNew && !this.view?.state.sections.every((/** @type {any} */ { rows }) => rows.every(isRow))) {
      return m.violation('a row of an outline has no depth or no number of children');
    }
    super.show(m, change, bytes);
  }

  /** @param {Machine} m */
  settle(m) {
    const { view } = this;
    // An answer is due: the next message would be made without knowing it.
    if (this.folding) return;
    if (view?.isReady && !this.pending && this.pauses.size === 0 && this.waitingFolds.length > 0) {
      return this.#setExpanded(m, view);
    }
    const edits = this.#edits(this.waiting);
    const next = edits[0]?.isAlone ? edits.slice(0, 1) : edits;
    // Made anew: the request may have changed since.
    this.#wait(next);
    super.settle(m);
    if (this.waiting) return this.#wait(edits);
    this.#wait(edits.slice(next.length));
    if (!next.some(hasFolds)) return;
    this.waitingFolds = this.laterFolds;
    this.laterFolds = [];
  }

  /** @param {Machine} m @param {View} view */
  #setExpanded(m, { id }) {
    const { taken, states } = merged(this.waitingFolds);
    this.waitingFolds = this.waitingFolds.slice(taken.length);
    const folding = { call: new Callers(taken), states };
    this.folding = folding;
    const fields = { view: id, states: Array.from(states, ([object, isExpanded]) => ({ object, isExpanded })) };
    const owner = {
      answered: () => this.#folded(m, folding, null),
      refused: (/** @type {Machine} */ _, /** @type {any} */ error) => this.#folded(m, folding, error),
    };
    const { model } = this.spec;
    const body = encode('setExpanded', fields);
    m.table.submit({ owner, kind: 'connection', type: T.setExpanded, body, answer: T.done, model });
  }

  /** @param {Machine} m @param {any} folding @param {any} error null: the server has the states */
  #folded(m, folding, error) {
    // Otherwise they are set again, in another view.
    if (folding !== this.folding) return;
    this.folding = null;
    const { all } = folding.call;
    if (error && all.length > 1) {
      // One that is wrong takes no other with it.
      this.waitingFolds.unshift(...all.map((/** @type {FoldCall} */ one) => ({ ...one, isAlone: true })));
    } else if (error) {
      fail(m, { owner: folding }, error);
      // The server refuses what the view before had.
      if (all[0].isAgain) for (const object of folding.states.keys()) this.folds.states.delete(object);
    } else {
      this.folds.set(folding.states);
      if (!all[0].isAgain) this.keepFolds(m, folding.states);
      reply(m, folding, true);
    }
    this.goOn(m);
  }

  /**
   * For a client with a cache: the server has fold states.
   * @param {Machine} _m
   * @param {Map<number, boolean> | null} _states null: others than before, all of them
   */
  keepFolds(_m, _states) {}

  // MARK: The caller

  /**
   * Changes the request. The call gets true, or false if later calls have replaced all that it wants.
   * @param {Machine} m
   * @param {any} made
   * @param {any} call
   */
  changeTo(m, { wire, fields }, call) {
    const edit = { wire, fields, call };
    const error = this.#ended(m) ?? this.refusal(m, changed(this.spec, [edit]));
    if (error) return fail(m, { owner: { call } }, error);
    const edits = this.#edits(this.waiting);
    for (const one of edits.filter((earlier) => covers(earlier, edit))) reply(m, one, false);
    if (hasFolds(edit)) {
      this.waitingFolds.push(...this.laterFolds);
      this.laterFolds = [];
    }
    this.#wait([...edits.filter((earlier) => !covers(earlier, edit)), edit]);
    this.settle(m);
  }

  /** @param {Edit[]} edits */
  #wait(edits) {
    this.waiting = edits.length === 0 ? null : { spec: changed(this.spec, edits), call: new Callers(edits) };
  }

  /**
   * Folds and unfolds objects.
   * @param {Machine} m
   * @param {Map<number, boolean>} states
   * @param {any} call
   */
  fold(m, states, call) {
    const most = Limits.outlineExceptionsMax;
    const error = this.#ended(m) ?? (states.size > most
      ? new NestError('LIMIT_EXCEEDED', `at most ${most} objects can be folded or unfolded at once`)
      : sizeError(m, states.size * OBJECT_BYTES));
    if (error) return fail(m, { owner: { call } }, error);
    (this.replacesFolds ? this.laterFolds : this.waitingFolds).push({ states, call });
    this.settle(m);
  }

  /** @param {Machine} m */
  #ended(m) {
    return m.error ?? (m.followers.has(this) ? null : m.cancelled('the outline has ended'));
  }

  /** @param {Machine} m @param {any} error */
  leaveAll(m, error) {
    super.leaveAll(m, error);
    this.folding = null;
    this.waitingFolds = [];
    this.laterFolds = [];
  }

  /** @param {any} call */
  abandon(call) {
    const isOther = (/** @type {{ call: any }} */ one) => one.call !== call;
    const count = this.waitingFolds.length + this.laterFolds.length;
    this.waitingFolds = this.waitingFolds.filter(isOther);
    this.laterFolds = this.laterFolds.filter(isOther);
    if (this.waitingFolds.length + this.laterFolds.length < count) return true;
    const edits = this.#edits(this.waiting);
    if (!edits.every(isOther)) {
      this.#wait(edits.filter(isOther));
      return true;
    }
    const sent = [...this.#edits(this.change), ...(this.folding?.call.all ?? [])].find((one) => !isOther(one));
    if (sent) sent.call = null;
    return Boolean(sent);
  }

  /** @param {Machine} m @param {string} reason */
  lost(m, reason) {
    const { change } = this;
    if (change) {
      this.change = null;
      this.#putBack(this.#edits(change));
    }
    super.lost(m, reason);
  }
}

/** What an object and its state take in SET_EXPANDED. */
const OBJECT_BYTES = 9;

/** @param {{ values: any[] }} row */
export const isRow = ({ values }) => values.slice(-2).every(Number.isSafeInteger) && values.at(-1) >= 0;

/** @param {Edit} edit whether it replaces the fold states */
const hasFolds = ({ wire }) => 'outline' in wire;

/** @param {Spec} spec @param {Edit[]} edits @returns {Spec} */
function changed({ wire, model, request }, edits) {
  const all = Object.assign({}, wire, ...edits.map((edit) => edit.wire));
  return specOf(all, model, request.with(Object.assign({}, ...edits.map((edit) => edit.fields))));
}
