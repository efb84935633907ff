/**
 * A live list: its state, and the changes of that state.
 * @module
 */

import { frozen } from '../wire/model.js';
import { List } from '../machine/lists.js';
import { Listeners } from './listeners.js';
import { Queue } from './queue.js';
import { emptyState, shown } from './shown.js';

/** @typedef {import('./nest.js').Nest} Nest */
/** @typedef {import('./requests.js').FetchRequest} FetchRequest */

/** What a row costs in the states that wait for a consumer. */
const ROW_BYTES = 8;

/** What each change says about the rows that are shown. */
const STATUS = /** @type {Record<string, any>} */ ({
  snapshot: 'live', diff: 'live', position: '', progress: '', request: '', reset: 'loading',
  disconnected: 'disconnected', paused: 'paused',
});

/**
 * The live result of a request. Iterate it, or call `subscribe`: both get each change when it has been applied, and
 * `state` is always the newest state. Call `close` when it is not needed any more.
 */
export class Results {
  #nest;
  #list;
  #shown;
  /** @type {Set<Queue<any>>} */
  #queues = new Set();
  /** @type {Listeners<any>} */
  #listeners = new Listeners();
  /** @type {any} the state as it arrived */
  #arrived = null;
  /** @type {Promise<void>} */
  #begun;
  /**
   * Ends what calls wait for, when the list ends. One promise for all would keep each call until then.
   * @type {Set<(found?: any) => void>}
   */
  #stops = new Set();
  #changeNumber = 0;

  /**
   * @param {Nest} nest
   * @param {FetchRequest} request
   * @param {List} [list]
   * @param {(state: any, request: any) => any} [show] makes the state of what arrived
   */
  constructor(nest, request, list = new List(null), show = shown) {
    this.#nest = nest;
    this.#list = list;
    this.#shown = show;
    list.to = this;
    /** The request of `state`. */
    this.request = request;
    /** The newest state, frozen. Without rows, at revision 0, before the first. */
    this.state = emptyState(request);
    /** The newest revision at which `state` is exact. */
    this.revision = 0;
    /**
     * `connecting`, `live`, `loading` (the rows will be replaced), `disconnected`, `paused`, or `ended`.
     * @type {'connecting' | 'live' | 'loading' | 'disconnected' | 'paused' | 'ended'}
     */
    this.status = 'connecting';
    /** Why the list has ended; null if it has not, or was closed. @type {import('../wire/errors.js').NestError | null} */
    this.error = null;
    /**
     * Calls a function after each change of `state`, `status` or `request`; not when only `revision` has grown. Returns
     * what ends it. Bound, as React's useSyncExternalStore needs it, and `getSnapshot` too.
     * @type {(listener: (change: any) => void) => () => void}
     */
    this.subscribe = (listener) => this.#listeners.add(listener);
    /** The newest state: the same object until something changes. */
    this.getSnapshot = () => this.state;
    this.#begun = this.#begin(request);
  }

  /** @param {FetchRequest} request */
  async #begin(request) {
    try {
      const spec = await this.#nest.resolve(request);
      if (this.status !== 'ended') this.#nest.run((m) => this.#list.open(m, spec));
    } catch (error) {
      this.end(error);
    }
  }

  /**
   * Each change, from the state that the list has now. A change has a `type`, and `state` is the state after it:
   *
   * - `snapshot`: a whole state. `diff`: the rows have changed; `diff` says how, by old and new positions, `own` lists
   *   the revisions that this client wrote, `authors` who wrote which. `position`: a window begins elsewhere.
   * - `progress`: the state is exact at a newer `revision`. `request`: it is the result of a newer request too.
   * - `reset`: a snapshot follows; `cause` is server, mismatch or request. `disconnected`: the client connects again.
   *   `paused`. `resumed`: changes continue; the rows are exact if `isExact`, otherwise a diff follows.
   *
   * A loop that is slow pauses this list at the server, and then gets one diff. It ends when the list is closed, and
   * throws the error with which the server has ended it.
   */
  [Symbol.asyncIterator]() {
    /** @type {Queue<any>} */
    const queue = new Queue({
      onBytes: (bytes) => this.#nest.run((m, now) => m.queuesChanged(bytes, now)),
      onFull: (isFull) => this.#setPause('behind', isFull || [...this.#queues].some((other) => other.isFull)),
      onReturn: () => this.#queues.delete(queue),
    });
    this.#queues.add(queue);
    if (this.status === 'ended') queue.end(null);
    else if (this.#arrived) queue.push(Object.freeze({ type: 'snapshot', reason: 'first', state: this.state }));
    return queue;
  }

  /**
   * Changes the request while the list goes on: search as you type, a window that scrolls.
   * @param {FetchRequest} request
   * @returns {Promise<boolean>} true when the server has accepted it; false if a later call has replaced it, or the list
   *   was closed. If the server refuses, this rejects and nothing changes.
   */
  change(request) {
    const number = ++this.#changeNumber;
    const made = this.#nest.resolve(request).then((spec) => number === this.#changeNumber && spec);
    return this.ask(made, (m, spec, call) => this.#list.changeTo(m, spec, call));
  }

  /**
   * For the library: asks the machine for a change of the list.
   * @param {Promise<any>} made what it is made of; false: a later one has replaced it
   * @param {(m: any, made: any, call: any) => void} begin
   * @returns {Promise<boolean>}
   */
  async ask(made, begin) {
    // Of a paused list, when it continues.
    const isHeld = () => this.#list.pauses.size > 0;
    /** @type {any} */
    let stop;
    try {
      const found = await new Promise((resolve, reject) => {
        this.#stops.add(stop = resolve);
        if (this.status === 'ended') stop();
        made.then((found) => this.#begun.then(() => resolve(found)), reject);
      });
      if (found) return await this.#nest.call((m, call) => begin(m, found, call), { isHeld });
    } catch (error) {
      if (this.status !== 'ended') throw error;
    } finally {
      this.#stops.delete(stop);
    }
    // Nobody waits for a list that the program has closed.
    if (this.error) throw this.error;
    return false;
  }

  /** Ends the subscription at the server and keeps the state, for a part of a page that is hidden. */
  pause() {
    this.#setPause('user', true);
  }

  /** Continues from the held state: one diff with what has happened meanwhile, or a snapshot. */
  resume() {
    this.#setPause('user', false);
  }

  /** Ends the list. Loops over it end. */
  close() {
    this.#nest.run((m) => this.#list.close(m));
    this.end(null);
  }

  async [/** @type {any} */ (Symbol).asyncDispose ?? Symbol('asyncDispose')]() {
    this.close();
  }

  // MARK: For the library

  /** @param {string} reason @param {boolean} isPaused */
  #setPause(reason, isPaused) {
    if (this.status === 'ended') return;
    const list = this.#list;
    this.#nest.run((m) => (isPaused ? list.pause(m, reason) : list.resume(m, reason)));
    if (!isPaused) for (const one of list.changes) one?.call?.restart();
  }

  /** The page has become hidden or visible. @param {boolean} isHidden */
  setHidden(isHidden) {
    this.#setPause('hidden', isHidden);
  }

  /** @param {any} event of the machine */
  receive({ change: arrived, state, revision, request, bytes = 0 }) {
    const { type } = arrived;
    if (state && (state !== this.#arrived || request !== this.request)) {
      this.#arrived = state;
      this.request = request;
      this.state = this.#shown(state, request);
    }
    if (state) this.revision = revision;
    this.status = (type === 'resumed' ? (arrived.isExact ? 'live' : 'loading') : STATUS[type]) || this.status;
    // Its rows are those of the state.
    const event = Object.freeze({ ...frozen(arrived), state: this.state });
    const held = type === 'snapshot' || type === 'diff' ? ROW_BYTES * this.state.count : 0;
    for (const queue of this.#queues) queue.push(event, bytes + held);
    if (type !== 'progress') this.#listeners.call(event);
  }

  /** @param {any} error null: it was closed */
  end(error) {
    if (this.status === 'ended') return;
    this.status = 'ended';
    this.error = error;
    for (const stop of this.#stops) stop();
    this.#nest.forget(this);
    for (const queue of this.#queues) {
      // Nobody takes what waits for a list that its program has closed.
      if (!error) queue.clear();
      queue.end(error);
    }
    this.#listeners.call(Object.freeze({ type: 'ended', error, state: this.state }));
  }
}
