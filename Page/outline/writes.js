// What waits to be written: one transaction after the other, in the order in which somebody made them. Each shows at
// once, as steps over the rows that the server has sent (overlay.js), and is sent until the server has answered.

import { NestError } from '/client/index.js';

/** How long to wait before a write is sent again that the server could not take, in milliseconds. */
const PAUSE_MS = 500;

/** The keys of rows: their ids; below 0 for rows whose insertion has no receipt yet. */
export class Keys {
  #next = -1;
  /** The key of an object that was inserted here, and the reverse. */
  #keys = new Map();
  #ids = new Map();

  /** A key for a row that is new. */
  make() {
    return this.#next--;
  }

  /** The key of an object. */
  of(id) {
    return this.#keys.get(id) ?? id;
  }

  /** The id of a key; null: its object is not stored. */
  id(key) {
    return key > 0 ? key : this.#ids.get(key) ?? null;
  }

  know(key, id) {
    this.#ids.set(key, id);
    this.#keys.set(id, key);
  }
}

export class Writes {
  #nest;
  #listeners = new Set();
  #isRunning = false;
  #idle = [];
  /** The write that is being sent, and those behind it. */
  #queue = [];
  /** Writes with a receipt, whose steps apply until the rows are at its revision. */
  #made = [];
  /** Revisions of receipts that the rows may not show yet. */
  #known = new Set();

  constructor(nest, keys) {
    this.#nest = nest;
    this.keys = keys;
  }

  subscribe(listener) {
    this.#listeners.add(listener);
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }

  /** How many writes have no receipt. */
  get count() {
    return this.#queue.length;
  }

  /** What is laid over the rows. */
  get steps() {
    return [...this.#made, ...this.#queue].flatMap(({ steps }) => steps);
  }

  /** Whether rows at these revisions may be shown: one that was inserted here has no key before its receipt. */
  mustWait(own) {
    const [first] = this.#queue;
    if (!first?.isSent || !first.inserts) return false;
    return own === null || own.some((revision) => !this.#known.has(revision));
  }

  /** The rows are at a revision: steps that they contain go. */
  reached(revision) {
    this.#made = this.#made.filter((write) => write.revision > revision);
    for (const known of this.#known) if (known <= revision) this.#known.delete(known);
  }

  /**
   * Adds a write.
   *
   * - `name` of the undo entry, or what gives it when it is sent. `steps` to show. `coalescing`, `key`: of the
   *   transaction.
   * - `body(tx, id, made)` adds its steps: `id(key)` is an object; `made(key, object)` names one that `tx` inserts.
   * - `inserts`: whether it makes rows. `begin()`: called, and awaited, before it is sent; it is left out if that is
   *   false.
   * - `mend(error)`: called when the server refuses; true: send it again, as it is now.
   * - `done(receipt)`, `refused(error)`.
   *
   * Resolves with the receipt; null: it was refused, or left out.
   */
  add(write) {
    return new Promise((resolve) => {
      this.#queue.push({ steps: [], isSent: false, ...write, resolve });
      this.#changed();
      this.#run();
    });
  }

  /** Resolves when everything that was added has an answer. */
  idle() {
    return this.#queue.length === 0 ? Promise.resolve() : new Promise((resolve) => { this.#idle.push(resolve); });
  }

  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#queue.length > 0) {
      const [write] = this.#queue;
      const receipt = await this.#send(write);
      this.#queue.shift();
      write.resolve(receipt);
      this.#changed();
    }
    this.#isRunning = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #send(write) {
    for (;;) {
      try {
        if (await write.begin?.() === false) return null;
        write.isSent = true;
        const receipt = await this.#transact(write);
        if (receipt.isChanged) {
          this.#known.add(receipt.revision);
          this.#made.push(Object.assign(write, { revision: receipt.revision }));
        }
        write.done?.(receipt);
        return receipt;
      } catch (error) {
        if (await this.#again(write, error)) continue;
        write.refused?.(error);
        return null;
      }
    }
  }

  async #transact({ name, body, coalescing, key }) {
    const objects = new Map();
    const id = (rowKey) => {
      const found = objects.get(rowKey) ?? this.keys.id(rowKey);
      if (found === null) throw new NestError('NOT_FOUND', 'the row above it was not stored');
      return found;
    };
    const receipt = await this.#nest.transaction(typeof name === 'function' ? name() : name,
      (tx) => body(tx, id, (rowKey, object) => objects.set(rowKey, object)), { coalescing, key, timeout: Infinity });
    for (const [rowKey, object] of objects) this.keys.know(rowKey, receipt.id(object));
    return receipt;
  }

  async #again(write, error) {
    if (error.code === 'OUTCOME_UNKNOWN' && error.key && this.#nest.state.phase !== 'closed') {
      // With its key it is executed at most once.
      write.key = error.key;
      return true;
    }
    if (error instanceof NestError && error.retry > 0 && error.retry !== 3 && this.#nest.state.phase !== 'closed') {
      await new Promise((resolve) => { setTimeout(resolve, error.retryAfter || PAUSE_MS); });
      return true;
    }
    try {
      return Boolean(await write.mend?.(error));
    } catch {
      return false;
    }
  }
}
