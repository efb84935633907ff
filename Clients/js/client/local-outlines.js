/**
 * Outlines of a client that shows its own writes. This module is loaded when a program opens one.
 * @module
 */

import { objectID } from '../wire/model.js';
import { Folds } from '../machine/folds.js';
import { OutlineList } from '../machine/outlines.js';
import { LocalList, withFlags } from './local-lists.js';
import { OutlineResults, outlineRequest } from './outlines.js';
import { OutlineShape, OutlineState } from './outline-state.js';
import { shapeOf } from './shown.js';

/** How long states wait for the answer to a fold state, in milliseconds. */
const KEPT_MS_MAX = 2_000;

/** Changes after which no answer is due soon. */
const BREAKS = new Set(['disconnected', 'paused', 'reset']);

/** The changes that bring a state of the server. */
const STATES = new Set(['snapshot', 'diff']);

/** A state of an outline that may show writes which the server has not confirmed. */
class LocalOutlineState extends withFlags(OutlineState) {}

/** @type {Map<string, any>} */
const shapes = new Map();

/** @param {any} arrived @param {any} request */
const shown = (arrived, request) => {
  const names = request.namesOf(arrived.projection.slice(0, -2));
  return new LocalOutlineState(arrived, shapeOf(names, OutlineShape, shapes), request);
};

/** Remembers what the server was asked for: the machine makes requests of several changes. */
class AskedOutlineList extends OutlineList {
  /** By the program's requests. @type {WeakMap<object, any>} */
  wires = new WeakMap();
  /** Fold states that the server has not answered, in their order. @type {Set<Map<number, boolean>>} */
  askedFolds = new Set();

  /** @param {any} m @param {any} spec */
  open(m, spec) {
    // A state of the cache does not come by `show`.
    this.wires.set(spec.request, spec.wire);
    super.open(m, spec);
  }

  /** @param {any} m @param {any} change @param {number} [bytes] */
  show(m, change, bytes) {
    this.wires.set(this.spec.request, this.spec.wire);
    super.show(m, change, bytes);
  }
}

/** Remembers which fold states wait for the server: those of new rows, and of rows without children, count at once. */
class LocalOutlineResults extends OutlineResults {
  #list;

  /** @param {any} nest @param {any} request @param {AskedOutlineList} list @param {any} show */
  constructor(nest, request, list, show) {
    super(nest, request, list, show);
    this.#list = list;
  }

  /** @param {any} objects @param {boolean} isExpanded */
  async setExpanded(objects, isExpanded) {
    const all = typeof objects === 'object' && objects?.[Symbol.iterator] ? [...objects] : [objects];
    const states = new Map(all.map((object) => [objectID(object), isExpanded]));
    const { askedFolds, to } = this.#list;
    askedFolds.add(states);
    to.foldsAsked();
    let isConfirmed = false;
    try {
      const result = await super.setExpanded(all, isExpanded);
      isConfirmed = true;
      return result;
    } finally {
      askedFolds.delete(states);
      to.foldsAnswered(isConfirmed ? states : new Map());
    }
  }
}

const OUTLINES = { List: AskedOutlineList, Results: LocalOutlineResults, shown };

/** Where rows have their number of children: below 0 if they are folded, this if they have none. */
const CHILDREN = -2;
const FOLDED = -1;

/** @param {any} state @returns {any[]} */
const rowsOf = ({ sections }) => sections.flatMap((/** @type {any} */ { rows }) => rows);

class LocalOutline extends LocalList {
  /** The projection that the program asked for: later requests have the same. @type {readonly number[] | null} */
  #projection = null;
  /** @type {any} */
  #request = { wire: null, folds: null, asked: [], made: null };
  /** What has arrived, and waits for the answer to a fold state. @type {any[]} */
  #kept = [];
  /** Fold states that the server has confirmed, until the next state, which has them. @type {Map<number, boolean>} */
  #confirmed = new Map();
  /** @type {any} */
  #timer = null;
  /** Whether a state has waited as long as it may: the next ones do not, until one has the fold states. */
  #isLate = false;

  /** @param {any} local @param {any} request @param {any} kind */
  constructor(local, request, kind) {
    super(local, request, kind);
  }

  /** @param {any} request */
  async resolve(request) {
    const spec = await super.resolve(request);
    this.#projection ??= /** @type {any} */ (this.requests.get(request)).projection;
    return spec;
  }

  get asked() {
    return { wire: this.list.wires.get(this.request), projection: this.#projection };
  }

  /** With the fold states on which rows depend that have no rows below them yet. */
  get view() {
    const { wire } = this.asked;
    const { folds, askedFolds } = this.list;
    const asked = [...askedFolds];
    const last = this.#request;
    const isSame = last.wire === wire && last.folds === folds && last.asked.length === asked.length
      && asked.every((one, at) => one === last.asked[at]);
    if (!isSame) {
      const wanted = new Folds(folds);
      for (const states of asked) wanted.set(states);
      this.#request = { wire, folds, asked, made: { ...wire, outline: wanted } };
    }
    return { request: this.#request.made, state: this.state };
  }

  // MARK: Rows below a row that is being folded or unfolded

  /**
   * A row that has been unfolded for what is put below it is still folded for the server, if the write came before the
   * fold state: its rows would go, and return with those that the fold state brings, which may come before or after the
   * answer. So the states before these wait for them; likewise of a row that has been folded.
   * @param {any} event of the machine
   */
  receive(event) {
    if (BREAKS.has(event.change.type)) {
      this.#isLate = false;
      this.#letGo();
      return super.receive(event);
    }
    if (STATES.has(event.change.type)) this.#confirmed = new Map();
    if (this.#kept.length === 0 && (!event.state || this.#isDue(event.state))) return super.receive(event);
    this.#kept.push(event);
    this.#wait();
  }

  /** Lets go what waits if the newest of it has the fold states. */
  #wait() {
    // The first that waits has a state.
    const newest = this.#kept.filter(({ state }) => state).at(-1);
    if (!newest) return;
    if (this.#isDue(newest.state)) return this.#letGo();
    this.#timer ??= setTimeout(() => {
      this.#isLate = true;
      this.#letGo();
    }, KEPT_MS_MAX);
  }

  /** Whether a state is to be shown now. @param {any} state */
  #isDue(state) {
    if (!this.#lacksFolds(state)) this.#isLate = false;
    else if (!this.#isLate) return false;
    return true;
  }

  /** @param {any} error */
  end(error) {
    this.#letGo();
    super.end(error);
  }

  /**
   * Whether a state hides rows below one that is to be unfolded and shows all that it has, or shows rows below one that is
   * to be folded and shows none: they may be shown, also elsewhere.
   * @param {any} state
   */
  #lacksFolds(state) {
    const { askedFolds } = this.list;
    if (askedFolds.size + this.#confirmed.size === 0 || !state || !this.laid) return false;
    const wanted = new Map([this.#confirmed, ...askedFolds].flatMap((states) => [...states]));
    const children = (/** @type {any} */ { values }) => values.at(CHILDREN);
    const behind = new Map(rowsOf(state).filter((row) => (wanted.get(row.id) ? children(row) < FOLDED
      : wanted.get(row.id) === false && children(row) > 0)).map((row) => [row.id, children(row)]));
    return behind.size > 0 && rowsOf(this.laid).some((row) => behind.has(row.id)
      && (behind.get(row.id) < 0 ? children(row) >= FOLDED : children(row) <= 0));
  }

  #letGo() {
    clearTimeout(this.#timer);
    this.#timer = null;
    for (const event of this.#kept.splice(0)) super.receive(event);
  }

  /** Fold states were asked for: rows without children have them at once. */
  foldsAsked() {
    this.local.arrived(this, 'progress');
  }

  /** The server has confirmed fold states, or has refused them: then there are none. @param {Map<number, boolean>} states */
  foldsAnswered(states) {
    // The rows of a confirmed state may have come before the answer.
    this.#confirmed = new Map([...this.#confirmed, ...states]);
    this.#wait();
    this.local.arrived(this, 'progress');
  }
}

/**
 * @param {any} local
 * @param {any} request
 * @param {any} [folds] as of `nest.outline`
 * @param {any} [caching] the module cached-outlines.js, of a client with a cache
 * @returns {LocalList}
 */
export function localOutline(local, request, folds, caching = null) {
  const kind = caching ? { ...OUTLINES, List: caching.withCachedFolds(AskedOutlineList), isCached: true } : OUTLINES;
  return new LocalOutline(local, outlineRequest(request, folds), kind);
}
