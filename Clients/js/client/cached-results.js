/**
 * Live lists of a client with a cache: their states say whether they follow the server.
 * @module
 */

import { Results } from './results.js';
import { ListState, Shape, shapeOf } from './shown.js';

/** By states of the machine: whether the list follows the server. @type {WeakMap<object, boolean>} */
const current = new WeakMap();

/** @type {Map<string, Shape>} */
const shapes = new Map();

/** The states that do not. @type {WeakSet<ListState>} */
const stale = new WeakSet();

export class CachedState extends ListState {
  /** @param {any} arrived @param {Shape} shape @param {any} request */
  constructor(arrived, shape, request) {
    super(arrived, shape, request);
    if (current.get(arrived) === false) stale.add(this);
  }

  /** Whether the list follows the server; false of a state of the cache, and while it is disconnected or paused. */
  get isCurrent() {
    return !stale.has(this);
  }
}

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

export class CachedResults extends Results {
  /**
   * The state that has arrived last, and what is shown of it.
   * @type {any}
   */
  #arrived = null;
  /** @type {any} */
  #copy = null;
  #isCurrent = false;

  /**
   * @param {import('./cache.js').CachedNest} nest
   * @param {any} request
   * @param {import('../machine/cached.js').CachedList} list
   */
  constructor(nest, request, list) {
    const facade = {
      resolve: async (/** @type {any} */ one) => {
        const spec = await nest.resolve(one);
        await nest.load(list, spec);
        return spec;
      },
      run: (/** @type {any} */ body) => nest.run(body),
      call: (/** @type {any} */ start, /** @type {any} */ options) => nest.call(start, options),
      forget: (/** @type {any} */ one) => nest.forget(one),
    };
    super(/** @type {any} */ (facade), request, list, shown);
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
}
