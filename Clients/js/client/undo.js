/**
 * What the session can undo and redo.
 * @module
 */

import { isFollowed, UndoFollower } from '../machine/undo.js';
import { Listeners } from './listeners.js';
import { Queue } from './queue.js';

/** @typedef {import('./nest.js').Nest} Nest */

/** What the session can undo and redo now. @param {Nest} nest */
export async function undoState(nest) {
  const follows = nest.run(isFollowed);
  return Object.freeze(await nest.request('getUndoState', { follows }, { answer: 'undoState' }));
}

/**
 * What the session can undo and redo, now and after each change. A slow loop gets only the newest state.
 */
export class UndoStates {
  #nest;
  #follower = new UndoFollower(this);
  #queue;
  /** @type {Listeners<any>} */
  #listeners = new Listeners();

  /** @param {Nest} nest */
  constructor(nest) {
    this.#nest = nest;
    /**
     * The newest state, frozen: `{undo, redo, undoCount, redoCount, blockedCount, droppedCount, group}`.
     * @type {any}
     */
    this.state = null;
    /** Whether it was closed, or has ended with its client: the listeners are called then too. */
    this.isEnded = false;
    /** Why it has ended; null if it has not, or was closed. @type {any} */
    this.error = null;
    this.#queue = new Queue({ onReturn: () => this.close() });
    this.subscribe = this.subscribe.bind(this);
    this.getSnapshot = () => this.state;
    nest.run((m) => this.#follower.open(m));
  }

  /** @param {(state: any) => void} listener @returns {() => void} ends it */
  subscribe(listener) {
    return this.#listeners.add(listener);
  }

  [Symbol.asyncIterator]() {
    return this.#queue;
  }

  close() {
    this.#nest.run((m) => this.#follower.close(m));
    this.#queue.clear();
    this.end(null);
  }

  // MARK: For the library

  /** @param {any} event of the machine */
  receive({ change: { state } }) {
    this.state = Object.freeze(state);
    this.#queue.replace(state);
    this.#listeners.call(this.state);
  }

  /** @param {any} error */
  end(error) {
    if (this.isEnded) return;
    this.isEnded = true;
    this.error = error;
    this.#queue.end(error);
    this.#listeners.call(this.state);
  }
}
