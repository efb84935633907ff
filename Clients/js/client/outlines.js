/**
 * Live outlines. This module is loaded when a program opens one.
 * @module
 */

import '../wire/messages-outline.js';
import { objectID } from '../wire/model.js';
import { OutlineList } from '../machine/outlines.js';
import { invalid, known } from './options.js';
import { outlineOf, OutlineRequest } from './outline-request.js';
import { emptyOutline, runsOf, shownOutline } from './outline-state.js';
import { Results } from './results.js';

/** @typedef {import('./nest.js').Nest} Nest */

/** The rows of a window if the request has none. */
const ROWS = 100;
/** Options that say which rows are unfolded. */
const FOLDS = ['expand', 'except', 'set'];

/**
 * @param {Nest} nest
 * @param {import('./requests.js').FetchRequest} request
 * @param {{ expand?: any, except?: Iterable<any>, set?: Iterable<[any, boolean]> }} [given]
 */
export function outline(nest, request, given) {
  return new OutlineResults(nest, outlineRequest(request, given));
}

/**
 * The request of an outline, with its fold states.
 * @param {import('./requests.js').FetchRequest} request
 * @param {{ expand?: any, except?: Iterable<any>, set?: Iterable<[any, boolean]> }} [given]
 */
export function outlineRequest(request, given) {
  const { expand = 'none', except = [], set = [] } = known('outline', given, FOLDS);
  return OutlineRequest.of(request, outlineOf(request, expand, except, set), ROWS);
}

/** What a window has to be for `change`. @param {any} window @param {OutlineRequest} request */
function windowed(window, request) {
  if (window?.around === undefined) {
    const { offset = 0, limit = request.rowCount } = known('a window', window, ['offset', 'limit']);
    return request.window(offset, limit);
  }
  const { around, before, after } = known('a window around an object', window, ['around', 'before', 'after']);
  const others = request.rowCount - 1;
  return request.around(around, before ?? Math.floor(others / 2), after ?? Math.ceil(others / 2));
}

/**
 * The live result of an outline: rows in preorder, each with its `depth`, its number of `children` and `isExpanded`.
 * Iterate it, or call `subscribe`, as a list. What its user does returns when the server has it: true; or false if
 * later calls have replaced all of it, or the outline was closed. If the server refuses, it rejects, and nothing
 * changes.
 */
export class OutlineResults extends Results {
  #nest;
  #list;
  /** Until the changes before can be sent. @type {Promise<any>} */
  #before = Promise.resolve();

  /**
   * @param {Nest} nest
   * @param {OutlineRequest} request
   * @param {OutlineList} [list]
   * @param {(state: any, request: any) => any} [show] makes the state of what arrived
   */
  constructor(nest, request, list = new OutlineList(), show = shownOutline) {
    super(nest, request, list, show);
    this.#nest = nest;
    this.#list = list;
    this.state = emptyOutline(request);
    nest.remember(this);
  }

  /**
   * Which rows are unfolded, as the server has confirmed it: `outline(request, folds)` continues with them in a later
   * run. `{ expand, except, set }`: `set` are the states that were set in an outline by an attribute.
   */
  get folds() {
    const { outline: { expansion, exceptions }, states } = this.#list.folds;
    const { attribute } = expansion;
    const expand = attribute === undefined ? expansion : this.request.description.property(attribute).name;
    return { expand, except: exceptions, set: [...states] };
  }

  /**
   * Folds or unfolds objects. One that is not shown, or does not exist, is no error: its state counts when it is shown.
   * LIMIT_EXCEEDED if the outline would have too many rows, or too many objects that differ from its expansion.
   * @param {any} objects one, or several
   * @param {boolean} isExpanded
   * @returns {Promise<boolean>}
   */
  async setExpanded(objects, isExpanded) {
    if (typeof isExpanded !== 'boolean') invalid('it is setExpanded(row, true) or setExpanded(row, false)');
    const all = typeof objects === 'object' && objects?.[Symbol.iterator] ? [...objects] : [objects];
    const states = new Map(all.map((object) => [objectID(object), isExpanded]));
    if (states.size === 0) return true;
    return this.ask(this.#inOrder(Promise.resolve(states)), (m, found, call) => this.#list.fold(m, found, call));
  }

  /** Unfolds everything. States that were set before no longer count. */
  expandAll() {
    return this.change({ expand: 'all' });
  }

  /** Folds everything. States that were set before no longer count. */
  foldAll() {
    return this.change({ expand: 'none' });
  }

  /** Shows what is below another object, from its first row on. NOT_FOUND if there is none. @param {any} object */
  zoom(object) {
    return this.change({ under: object, window: {} });
  }

  /**
   * Shows other rows: `{ offset, limit }`, or `{ around: object, before, after }`, which follows that object. What is
   * left out is as large as before. NOT_FOUND if the object is not shown.
   * @param {any} window
   */
  scroll(window) {
    return this.change({ window });
  }

  /**
   * Changes several things in one step; what is left out stays. Calls that follow each other faster than the server
   * answers are merged: of several windows only the newest is requested.
   * @param {any} given `under`: the object above the outline. `where`: the predicate, or null. `window` as in `scroll`.
   *   `expand`, `except` and `set` as in `nest.outline`: instead of all fold states
   * @returns {Promise<boolean>}
   */
  async change(given) {
    const { under, where, window, expand, except, set } =
      known('change of an outline', given, ['under', 'where', 'window', ...FOLDS]);
    let request = /** @type {OutlineRequest} */ (/** @type {any} */ (this.request));
    /** @type {[string, string][]} of the request, and in bytes */
    const names = [];
    if (under !== undefined) {
      request = request.with({ source: Object.freeze({ ...request.source, object: objectID(under) }) });
      names.push(['source', 'source']);
    }
    if (where !== undefined) {
      request = request.with({ predicates: [] });
      if (where !== null) request = /** @type {OutlineRequest} */ (request.where(where));
      names.push(['predicates', 'predicate']);
    }
    if (window !== undefined) {
      request = windowed(window, request);
      names.push(['shownWindow', 'window']);
    }
    if (expand !== undefined) {
      request = request.with({ outline: outlineOf(request, expand, except ?? [], set ?? []) });
      names.push(['outline', 'outline']);
    } else if (except ?? set) invalid('except and set need expand: the state that the others have');
    if (names.length === 0) return true;
    return this.ask(this.#inOrder(this.#edit(request, names)), (m, edit, call) => this.#list.changeTo(m, edit, call));
  }

  /** What a change consists of. @param {OutlineRequest} request @param {[string, string][]} names */
  async #edit(request, names) {
    const { wire } = await this.#nest.resolve(request);
    const pick = (/** @type {any} */ from, /** @type {0 | 1} */ at) =>
      Object.fromEntries(names.map((pair) => [pair[at], from[pair[at]]]));
    return { fields: pick(request, 0), wire: pick(wire, 1) };
  }

  /**
   * Resolves in the order of the calls, although the predicate of one may have to be parsed.
   * @param {Promise<any>} made
   */
  #inOrder(made) {
    const before = this.#before;
    const result = Promise.allSettled([made, before]).then(() => made);
    this.#before = result.then(() => {}, () => {});
    return result;
  }

  // MARK: For the library

  /** @param {any} event of the machine */
  receive(event) {
    const { change } = event;
    super.receive(change.type === 'diff' ? { ...event, change: { ...change, runs: runsOf(change.diff) } } : event);
  }
}
