/**
 * Presence: who is at an object now, and where. This module is loaded when it is used.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { objectID } from '../wire/model.js';
import { Limits } from '../wire/limits-more.js';
import { placeBytes, placeOf } from '../wire/messages-presence.js';
import { PresenceFollower } from '../machine/presence.js';
import { Listeners } from './listeners.js';
import { known } from './options.js';
import { Queue } from './queue.js';

/** @typedef {import('./nest.js').Nest} Nest */

/** The server takes 30 a second from a connection: all scopes of a client share this. */
const SET_PAUSE_MS = 40;

/**
 * Somebody who is present.
 * @typedef {object} Person
 * @property {number} connection names the client as long as it is present, also after a reconnect
 * @property {number} session the public number of its session, as history and authors have it; 0: it has none yet
 * @property {string | null} name its user label
 * @property {boolean} claimed whether no server has checked the label: show `~name`
 * @property {boolean} isSelf whether it is this client
 * @property {{ object: number | null, property: number | null, anchor: number | null, head: number | null } | null}
 *   value where it is; null if its bytes are of another form
 * @property {Uint8Array} bytes what it shows
 */

/** @param {Nest} nest @param {any} scope */
export const presence = (nest, scope) => new Presence(nest, objectID(scope));

/** Who is present in a scope. Iterate it, or `subscribe`: both get the newest state only. */
export class Presence {
  #nest;
  #follower;
  #queue;
  /** @type {Listeners<any>} */
  #listeners = new Listeners();

  /** @param {Nest} nest @param {number} scope */
  constructor(nest, scope) {
    this.#nest = nest;
    this.scope = scope;
    /** Who is present, frozen, in the order in which they came. @type {readonly Person[]} */
    this.state = Object.freeze([]);
    /** Whether the state is that of now: false while there is no connection, and before the first state. */
    this.isLive = false;
    /** Whether it was closed, or has ended: listeners are called then too. */
    this.isEnded = false;
    /** Why it has ended, or why the server does not show this client now. @type {any} */
    this.error = null;
    this.#queue = new Queue({ onReturn: () => this.close() });
    this.subscribe = this.subscribe.bind(this);
    this.getSnapshot = () => this.state;
    this.#follower = new PresenceFollower(this, scope);
    nest.remember(this);
    if (!this.isEnded) nest.run((m) => this.#follower.open(m));
  }

  /**
   * Shows this client here, instead of what it showed before. Call it as often as you like: only the newest is sent,
   * several times a second.
   * @param {any} value null: nothing. `{object, property, anchor, head}`, each of which may be left out: an object (or
   *   its id), an attribute of the model (or its number), a selection in its text in UTF-16 code units. A Uint8Array:
   *   anything else
   */
  set(value) {
    if (this.isEnded) return;
    const bytes = bytesOf(value);
    pacer(this.#nest).add(this, () => this.#nest.run((m) => this.#follower.set(m, bytes)));
  }

  /** @param {(state: readonly Person[]) => void} listener @returns {() => void} ends it */
  subscribe(listener) {
    return this.#listeners.add(listener);
  }

  [Symbol.asyncIterator]() {
    return this.#queue;
  }

  /** Leaves the scope, and follows it no more. */
  close() {
    this.leave();
    this.#queue.clear();
    this.end(null);
  }

  // MARK: For the library

  /** Others need not wait for the end of the connection to see that the client is gone. */
  leave() {
    pacer(this.#nest).remove(this);
    this.#nest.run((m) => this.#follower.close(m));
  }

  /** @param {any} event of the machine */
  receive({ change: { all, number, isLive, error } }) {
    this.error = error;
    this.isLive = isLive;
    this.state = Object.freeze(all.map((/** @type {any} */ one) => this.#person(one, number)));
    this.#queue.clear();
    this.#queue.push(/** @type {any} */ (this.state));
    this.#listeners.call(this.state);
  }

  /** @param {any} one @param {number} own @returns {Person} */
  #person(one, own) {
    return Object.freeze({
      connection: one.number, session: one.sessionNumber, name: one.user, claimed: one.userClaimed,
      isSelf: one.number === own, value: Object.freeze(placeOf(one.bytes)), bytes: one.bytes,
    });
  }

  /** @param {any} error */
  end(error) {
    if (this.isEnded) return;
    this.isEnded = true;
    this.isLive = false;
    this.error = error;
    pacer(this.#nest).remove(this);
    this.#nest.forget(this);
    this.#queue.end(error);
    this.#listeners.call(this.state);
  }
}

/** @param {any} value @returns {Uint8Array | null} */
function bytesOf(value) {
  if (value === null || value === undefined) return null;
  if (!(value instanceof Uint8Array)) {
    const { object = null, property = null, ...rest } = known('set', value, ['object', 'property', 'anchor', 'head']);
    value = placeBytes({
      ...rest, object: object === null ? null : objectID(object), property: property?.number ?? property,
    });
  }
  if (value.length <= Limits.presenceBytesMax) return value;
  throw new NestError('LIMIT_EXCEEDED', `a presence has ${value.length} bytes, and at most ${Limits.presenceBytesMax}`);
}

// MARK: Pace

/** Calls what the scopes of a client have to send, one after the other. */
class Pacer {
  /** @type {Map<any, () => void>} */
  #waiting = new Map();
  /** @type {any} */
  #timer = null;

  /** @param {any} key @param {() => void} send replaces what waits under the key */
  add(key, send) {
    this.#waiting.set(key, send);
    if (this.#timer === null) this.#next();
  }

  /** @param {any} key */
  remove(key) {
    this.#waiting.delete(key);
  }

  #next() {
    const [first] = this.#waiting;
    this.#timer = null;
    if (!first) return;
    this.#waiting.delete(first[0]);
    this.#timer = setTimeout(() => this.#next(), SET_PAUSE_MS);
    // A program may end before.
    this.#timer.unref?.();
    first[1]();
  }
}

/** @type {WeakMap<Nest, Pacer>} */
const pacers = new WeakMap();

/** @param {Nest} nest @returns {Pacer} */
function pacer(nest) {
  let own = pacers.get(nest);
  if (!own) pacers.set(nest, own = new Pacer());
  return own;
}
