/**
 * Shows a client in a scope, and follows who is present there.
 * @module
 */

import { decode, encode } from '../wire/messages.js';
import '../wire/messages-presence.js';
import { handlers } from './frames.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

/**
 * By which number others see the client of each machine, as far as the server has said it.
 * @type {WeakMap<Machine, number>}
 */
const numbers = new WeakMap();

/** Whether another part of the program follows the scope too. @param {Machine} m @param {number} scope */
const isFollowed = (m, scope) =>
  [...m.followers].some((one) => one instanceof PresenceFollower && one.scope === scope);

/** Follows one scope, across connections, and shows there what `set` was given last. */
export class PresenceFollower {
  /** @param {any} to the receiver of the events @param {number} scope */
  constructor(to, scope) {
    this.to = to;
    this.scope = scope;
    this.model = null;
    this.head = null;
    /** What the client shows; null: nothing. @type {Uint8Array | null} */
    this.bytes = null;
    /** Who is present, by number. @type {Map<number, any>} */
    this.others = new Map();
    /** Whether the server does not show it. */
    this.isRefused = false;
    /** Whether these are all who are present now. */
    this.isLive = false;
  }

  /** @param {Machine} m */
  open(m) {
    if (m.error) return this.end(m, m.error);
    m.followers.add(this);
    this.begin(m);
  }

  /** @param {Machine} m */
  begin(m) {
    if (m.phase !== 'ready') return;
    // Another server may have given the number to another client. PRESENT comes before the next PRESENCE.
    numbers.delete(m);
    this.follow(m, this, true);
    if (this.bytes) this.send(m, this.bytes);
  }

  /** @param {Machine} m @param {any} owner @param {boolean} follows */
  follow(m, owner, follows) {
    const body = encode('followPresence', { scope: this.scope, follows });
    m.table.submit({ owner, kind: 'connection', type: T.followPresence, body, answer: T.done });
  }

  /**
   * Shows something, on this connection and on later ones.
   * @param {Machine} m
   * @param {Uint8Array | null} bytes null: nothing
   */
  set(m, bytes) {
    if (`${bytes}` === `${this.bytes}` && !this.isRefused) return;
    this.bytes = bytes;
    this.isRefused = false;
    if (m.phase === 'ready' && m.followers.has(this)) this.send(m, bytes);
  }

  /** @param {Machine} m @param {Uint8Array | null} bytes */
  send(m, bytes) {
    const body = encode('setPresence', { scope: this.scope, bytes });
    m.table.submit({ owner: this, kind: 'connection', type: T.setPresence, body, answer: T.present });
  }

  /** @param {Machine} m @param {any} reply @param {any} request */
  answered(m, reply, { type }) {
    if (type !== T.setPresence) return;
    if (reply.number > 0) numbers.set(m, reply.number);
    this.changed(m, null);
  }

  /** A push. @param {Machine} m @param {any} message */
  presence(m, { isWhole, changes }) {
    if (isWhole) this.others = new Map();
    this.isLive = true;
    for (const { isGone, ...one } of changes) {
      if (isGone) this.others.delete(one.number);
      else this.others.set(one.number, one);
    }
    this.changed(m, null);
  }

  /**
   * The server takes no such presence now, or knows no such scope. Only the latter ends it.
   * @param {Machine} m
   * @param {any} error
   * @param {any} request
   */
  refused(m, error, { type }) {
    if (!m.followers.has(this)) return;
    this.isRefused = type === T.setPresence;
    if (this.isRefused) this.changed(m, error);
    else this.end(m, error);
  }

  /** @param {Machine} m @param {any} error why the client is not shown, if it is not */
  changed(m, error) {
    if (!m.followers.has(this)) return;
    const all = [...this.others.values()].sort((a, b) => a.number - b.number);
    const change = { type: 'presence', all, number: numbers.get(m) ?? 0, isLive: this.isLive, error };
    m.emit({ type: 'change', to: this.to, change });
  }

  mayWait() {
    return false;
  }

  /** @param {Machine} m */
  lost(m) {
    this.isLive = false;
    this.changed(m, null);
  }

  /** Leaves the scope and ends, without an event. @param {Machine} m */
  close(m) {
    if (!m.followers.delete(this) || m.phase !== 'ready') return;
    if (this.bytes) m.table.submit({
      owner: null, kind: 'connection', type: T.setPresence, answer: T.present,
      body: encode('setPresence', { scope: this.scope, bytes: null }),
    });
    if (!isFollowed(m, this.scope)) this.follow(m, null, false);
  }

  /** @param {Machine} m @param {any} error */
  end(m, error) {
    m.followers.delete(this);
    m.emit({ type: 'end', to: this.to, error });
  }
}

handlers.set(T.presence, (m, { body }) => {
  const message = decode('presence', body);
  for (const one of m.followers) {
    if (one instanceof PresenceFollower && one.scope === message.scope) one.presence(m, message);
  }
});
