/**
 * Live lists of a client with a cache: their states say whether they follow the server.
 * @module
 */

import { Results } from './results.js';
import { ListState, Shape, shapeOf } from './shown.js';

/** @typedef {import('./cache.js').CachedNest} CachedNest */

/** By states of the machine: whether the list follows the server. @type {WeakMap<object, boolean>} */
const current = new WeakMap();

/** @type {Map<string, Shape>} */
const shapes = new Map();

/** The states that do not. @type {WeakSet<object>} */
const stale = new WeakSet();

/**
 * States that say whether they follow the server.
 * @param {any} State
 */
export const withCurrent = (State) => class extends State {
  /** @param {any} arrived @param {Shape} shape @param {any} request */
  constructor(arrived, shape, request) {
    super(arrived, shape, request);
    if (current.get(arrived) === false) stale.add(this);
  }

  /** Whether the list follows the server; false of a state of the cache, and while it is disconnected or paused. */
  get isCurrent() {
    return !stale.has(this);
  }
};

export class CachedState extends withCurrent(ListState) {}

/** @param {any} arrived @param {any} request */
const shown = (arrived, request) =>
  new CachedState(arrived, shapeOf(request.namesOf(arrived.projection), Shape, shapes), request);

/** Whether the state is current after a change. @param {any} change @param {boolean} was */
export function isCurrentAfter({ type, reason, isExact }, was) {
  switch (type) {
    case 'snapshot': return reason !== 'cache';
    case 'diff': case 'totals': return true;
    case 'resumed': return isExact;
    case 'reset': case 'disconnected': case 'paused': return false;
    default: return was;
  }
}

/**
 * What a list uses of its client: it asks the cache before it begins.
 * @param {CachedNest} nest
 * @param {import('../machine/cached.js').CachedList} list
 */
export const asking = (nest, list) => /** @type {any} */ ({
  resolve: async (/** @type {any} */ one) => {
    const spec = await nest.resolve(one);
    await nest.load(list, spec);
    return spec;
  },
  run: (/** @type {any} */ body) => nest.run(body),
  call: (/** @type {any} */ start, /** @type {any} */ options) => nest.call(start, options),
  remember: (/** @type {any} */ one) => nest.remember(one),
  forget: (/** @type {any} */ one) => nest.forget(one),
});

/**
 * Live results whose states say whether they follow the server.
 * @param {any} Base
 */
export const withCurrentStates = (Base) => class extends Base {
  /**
   * The state that has arrived last, and what is shown of it.
   * @type {any}
   */
  #arrived = null;
  /** @type {any} */
  #copy = null;
  #isCurrent = false;

  /** @param {CachedNest} nest @param {any} request @param {any} list @param {any} show */
  constructor(nest, request, list, show) {
    super(asking(nest, list), request, list, show);
    let { status } = this;
    Object.defineProperty(this, 'status', {
      get: () => status,
      set: (next) => {
        status = next === 'live' && !this.#isCurrent ? 'cached' : next;
      },
      enumerable: true,
    });
  }

  /** @param {any} event of the machine */
  receive(event) {
    const { change, state = this.#arrived, revision = this.revision, request = this.request } = event;
    const isCurrent = isCurrentAfter(change, this.#isCurrent);
    if (state && (state !== this.#arrived || isCurrent !== this.#isCurrent)) {
      this.#arrived = state;
      // Rows and sections stay the same objects.
      this.#copy = { ...state };
      current.set(this.#copy, isCurrent);
    }
    this.#isCurrent = isCurrent;
    super.receive({ ...event, state: this.#copy, revision, request });
  }
};

export class CachedResults extends withCurrentStates(Results) {
  /** @param {CachedNest} nest @param {any} request @param {any} list */
  constructor(nest, request, list) {
    super(nest, request, list, shown);
  }
}
