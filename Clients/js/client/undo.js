/**
 * Undo, redo and revert, and what the session can undo and redo. This module is loaded when one of them is used.
 * @module
 */

import '../wire/messages-undo.js';
import { isFollowed, UndoFollower } from '../machine/undo.js';
import { Listeners } from './listeners.js';
import { known, WRITE } from './options.js';
import { Queue } from './queue.js';
import { Receipt } from './transaction.js';

/** @typedef {import('./nest.js').Nest} Nest */
/** @typedef {import('../wire/model.js').Model} Model */

const OPTIONS = ['policy', 'rehomes', ...WRITE];

/** @param {Nest} nest @param {any} [given] */
export const undo = (nest, given) => takeBack(nest, 'undo', known('undo', given, ['expected', ...OPTIONS]));

/** @param {Nest} nest @param {any} [given] */
export const redo = (nest, given) => takeBack(nest, 'redo', known('redo', given, ['expected', ...OPTIONS]));

/** @param {Nest} nest @param {number} revision @param {any} [given] */
export const revert = (nest, revision, given) =>
  takeBack(nest, 'revert', { ofAnyone: false, ...known('revert', given, ['ofAnyone', ...OPTIONS]), revision });

/** @param {Nest} nest @param {'undo' | 'redo' | 'revert'} name @param {any} options */
async function takeBack(nest, name, { signal, timeout, key, policy, ...fields }) {
  const receipt = await nest.write(name, { ...fields, key, policy: policy ?? 'keep' }, { signal, timeout });
  const { conflicts } = receipt;
  if (conflicts?.listed.length) {
    // The write is made: without the model, the conflicts have numbers.
    const model = await nest.model().catch(() => null);
    if (model) conflicts.listed = shownConflicts(conflicts.listed, model);
  }
  return new Receipt(receipt);
}

// MARK: Names instead of numbers

/** @param {Model} model @param {number} number */
export const entityName = (model, number) => model.find(number)?.name ?? String(number);

/** @param {Model} model @param {number} entity @param {number | null} property */
export const nameOf = (model, entity, property) =>
  (property === null ? null : model.find(entity)?.find(property)?.name ?? String(property));

/** @param {any[]} listed @param {Model} model */
export const shownConflicts = (listed, model) => Object.freeze(listed.map((one) => Object.freeze({
  ...one, entity: entityName(model, one.entity), property: nameOf(model, one.entity, one.property),
})));

// MARK: The state

/** What the session can undo and redo now. @param {Nest} nest */
export async function undoState(nest) {
  const follows = nest.run(isFollowed);
  return Object.freeze(await nest.request('getUndoState', { follows }, { answer: 'undoState' }));
}

/** @param {Nest} nest */
export const undoStates = (nest) => new UndoStates(nest);

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
    this.#queue.clear();
    this.#queue.push(state);
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
