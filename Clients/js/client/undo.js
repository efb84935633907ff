/**
 * What the session can undo and redo.
 * @module
 */

import { UndoFollower } from '../machine/undo.js';
import { Queue } from './queue.js';

/** @typedef {import('./nest.js').Nest} Nest */

/** What follows the undo state of each client, for all that ask. @type {WeakMap<Nest, UndoHub>} */
const hubs = new WeakMap();

/** The server pushes the undo state of a connection once, however many parts of a program show it. */
class UndoHub {
  /** @param {Nest} nest */
  constructor(nest) {
    this.nest = nest;
    /** @type {any} */
    this.state = null;
    /** @type {Set<UndoStates>} */
    this.all = new Set();
    /** @type {UndoFollower | null} */
    this.follower = null;
  }

  /** @param {UndoStates} one */
  add(one) {
    this.all.add(one);
    if (this.state) one.receive(this.state);
    if (this.follower) return;
    const follower = new UndoFollower(this);
    this.follower = follower;
    this.nest.run((m) => follower.open(m));
  }

  /** @param {UndoStates} one */
  remove(one) {
    const { follower } = this;
    if (!this.all.delete(one) || this.all.size > 0 || !follower) return;
    this.follower = this.state = null;
    this.nest.run((m) => follower.close(m));
  }

  /** @param {any} event of the machine */
  receive({ change }) {
    this.state = Object.freeze(change.state);
    for (const one of [...this.all]) one.receive(this.state);
  }

  /** @param {any} error */
  end(error) {
    this.follower = this.state = null;
    for (const one of [...this.all]) one.end(error);
  }
}

/** @param {Nest} nest @returns {UndoHub} */
function hubOf(nest) {
  const hub = hubs.get(nest) ?? new UndoHub(nest);
  hubs.set(nest, hub);
  return hub;
}

/** What the session can undo and redo now. @param {Nest} nest */
export async function undoState(nest) {
  const follows = hubs.get(nest)?.follower != null;
  return Object.freeze(await nest.request('getUndoState', { follows }, { answer: 'undoState' }));
}

/** @param {Nest} nest @returns {UndoStates} */
export const undoStates = (nest) => new UndoStates(hubOf(nest));

/**
 * What the session can undo and redo, now and after each change. A slow loop gets only the newest state.
 */
export class UndoStates {
  #hub;
  #queue;
  /** @type {Set<(state: any) => void>} */
  #listeners = new Set();

  /** @param {UndoHub} hub */
  constructor(hub) {
    this.#hub = hub;
    /**
     * The newest state, frozen: `{undo, redo, undoCount, redoCount, blockedCount, droppedCount, group}`.
     * @type {any}
     */
    this.state = null;
    this.#queue = new Queue({ onReturn: () => this.close() });
    this.subscribe = this.subscribe.bind(this);
    this.getSnapshot = () => this.state;
    hub.add(this);
  }

  /** @param {(state: any) => void} listener @returns {() => void} ends it */
  subscribe(listener) {
    const own = (/** @type {any} */ state) => listener(state);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  [Symbol.asyncIterator]() {
    return this.#queue;
  }

  close() {
    this.#queue.clear();
    this.end(null);
  }

  // MARK: For the library

  /** @param {any} state */
  receive(state) {
    this.state = state;
    this.#queue.replace(state);
    for (const listener of [...this.#listeners]) listener(state);
  }

  /** @param {any} error */
  end(error) {
    this.#queue.end(error);
    this.#hub.remove(this);
  }
}
