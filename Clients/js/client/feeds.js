/**
 * Feeds: what every transaction changes.
 * @module
 */

import '../wire/messages-more.js';
import { Feed } from '../machine/feeds.js';
import { NestDate } from '../wire/values.js';
import { known } from './options.js';
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
   * @param {{ since?: any, entities?: any[] }} given `since`: an `at` of an earlier feed; left out: from now on.
   *   `entities`: only objects of these, by name or from `entity()`, and of the entities below them
   */
  constructor(nest, given) {
    const { since = null, entities = [] } = known('changes', given, ['since', 'entities']);
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
        // It may be of an entity that the model of the feed does not have.
        const entity = (this.#nest.knownModel ?? this.#model).find(object.entity);
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
