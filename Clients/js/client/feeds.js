/**
 * Feeds: what every transaction changes, and what the session can undo.
 * @module
 */

import '../wire/messages-more.js';
import { Feed, UndoFollower } from '../machine/feeds.js';
import { NestDate } from '../wire/values.js';
import { Queue } from './queue.js';

/** @typedef {import('./nest.js').Nest} Nest */

/**
 * What every transaction changes, for programs that maintain their own data beside the store. Iterate it from one loop,
 * which ends the feed when it ends. An event has a `type`:
 *
 * - `following`: the feed begins after `at`. `changes`: a transaction, or a part of a large one (`isLast` is false).
 * - `progress`: there is nothing more up to `revision`. `disconnected`, `resumed`: the connection.
 *
 * `at` is the point after the event: `nest.changes({ since: at })` continues there, also in another run of the program.
 * A loop that is slow pauses its own feed only.
 */
export class Changes {
  #nest;
  /** @type {Feed | null} */
  #feed = null;
  #queue;
  #model;

  /**
   * @param {Nest} nest
   * @param {{ since?: any, entities?: any[] }} options `since`: an `at` of an earlier feed; left out: from now on.
   *   `entities`: only objects of these, by name or from `entity()`, and of the entities below them
   */
  constructor(nest, { since = null, entities = [] }) {
    this.#nest = nest;
    /** The point up to which everything was taken from the loop: `{history, revision, place}`. @type {any} */
    this.at = since;
    /** @type {any} */
    this.#model = null;
    /** @type {Queue<any>} */
    this.#queue = new Queue({
      onBytes: (bytes) => nest.run((m, now) => m.queuesChanged(bytes, now)),
      onFull: (isFull) => nest.run((m) => this.#feed?.pause(m, isFull)),
      onReturn: () => this.close(),
    });
    nest.remember(this);
    this.#begin(since, entities);
  }

  /** @param {any} since @param {any[]} entities */
  async #begin(since, entities) {
    try {
      const model = await this.#nest.model();
      const numbers = entities.map((one) => model.entity(one.description?.name ?? one).number);
      if (this.#queue.isEnded) return;
      this.#model = model;
      const feed = new Feed(this, since, numbers, model.hash);
      this.#feed = feed;
      this.#nest.run((m) => feed.open(m));
    } catch (error) {
      this.end(error);
    }
  }

  async next() {
    /** @type {IteratorResult<any>} */
    const result = await this.#queue.next();
    if (!result.done && result.value.at) this.at = result.value.at;
    return result;
  }

  return() {
    return this.#queue.return();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** Ends the feed. Its loop ends. */
  close() {
    const feed = this.#feed;
    if (feed) this.#nest.run((m) => feed.close(m));
    this.#queue.clear();
    this.end(null);
  }

  // MARK: For the library

  /** @param {any} event of the machine */
  receive({ change, bytes = 0 }) {
    const isPart = change.type === 'changes';
    this.#queue.push(isPart ? this.#shown(change) : Object.freeze(change), bytes);
  }

  /** @param {any} part */
  #shown({ type, revision, time, sessionNumber, user, kind, reverted, name, place, objects, at }) {
    return Object.freeze({
      type, revision, sessionNumber, user, kind, reverted, name,
      time: Object.freeze(new NestDate(time)),
      at,
      isLast: place === 0,
      objects: Object.freeze(objects.map((/** @type {any} */ object) => {
        const entity = this.#model.find(object.entity);
        const properties = object.properties.map((/** @type {number} */ one) => entity?.find(one)?.name ?? String(one));
        return Object.freeze({
          change: object.change, entity: entity?.name ?? String(object.entity), id: object.id,
          properties: Object.freeze(properties),
        });
      })),
    });
  }

  /** @param {any} error */
  end(error) {
    this.#queue.end(error);
    this.#nest.forget(this);
  }
}

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
