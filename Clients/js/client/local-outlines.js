/**
 * Outlines of a client that shows its own writes. This module is loaded when a program opens one.
 * @module
 */

import { OutlineList } from '../machine/outlines.js';
import { LocalList, withFlags } from './local-lists.js';
import { OutlineResults, outlineRequest } from './outlines.js';
import { OutlineShape, OutlineState } from './outline-state.js';
import { shapeOf } from './shown.js';

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

  /** @param {any} m @param {any} change @param {number} [bytes] */
  show(m, change, bytes) {
    this.wires.set(this.spec.request, this.spec.wire);
    super.show(m, change, bytes);
  }
}

const OUTLINES = { List: AskedOutlineList, Results: OutlineResults, shown };

class LocalOutline extends LocalList {
  /** The projection that the program asked for: later requests have the same. @type {readonly number[] | null} */
  #projection = null;
  /** @type {any} */
  #request = { wire: null, folds: null, made: null };

  /** @param {any} local @param {any} request */
  constructor(local, request) {
    super(local, request, OUTLINES);
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

  /** With the fold states that the server has confirmed: those of new rows depend on them. */
  get view() {
    const { wire } = this.asked;
    const { folds } = this.list;
    if (this.#request.wire !== wire || this.#request.folds !== folds) {
      const { expansion, exceptions, states } = folds;
      this.#request = { wire, folds, made: { ...wire, outline: { expansion, exceptions, states } } };
    }
    return { request: this.#request.made, state: this.state };
  }
}

/**
 * @param {any} local
 * @param {any} request
 * @param {any} [folds] as of `nest.outline`
 * @returns {LocalList}
 */
export const localOutline = (local, request, folds) => new LocalOutline(local, outlineRequest(request, folds));
