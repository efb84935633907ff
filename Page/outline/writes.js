// What is written here: transactions that show at once, in the rows of the library's optimistic outline. They are sent in
// the order in which somebody made them; this module knows what each is for.

import { optimistic } from '/client/optimistic.js';

/** The code of a write that was undone before it was sent: nothing was refused. */
const UNDONE = 'CANCELLED';
/** Inserted objects that are remembered until a row shows them; most of those beyond are far from what is shown. */
const UNSEEN_MAX = 10_000;

export class Writes {
  #nest;
  #local;
  /** The objects that a write changes beside their texts, of writes that the rows do not have yet. */
  #touched = new Map();
  /** Objects that were inserted here, and that no row has shown as the server has them. */
  #unseen = new Set();
  /** How many writes were made anew after a refusal, and have no answer. */
  #mending = 0;

  /** `mayEdit`: without, nothing is written, and no ids are reserved. */
  constructor(nest, mayEdit) {
    this.#nest = nest;
    this.#local = mayEdit ? optimistic(nest) : null;
  }

  /** The live rows: with own writes, if there can be any. */
  outline(request, folds) {
    return (this.#local ?? this.#nest).outline(request, folds);
  }

  /** Calls a function when a write was made, or its state has changed. Returns what ends it. */
  subscribe(listener) {
    return this.#local?.subscribe(listener) ?? (() => {});
  }

  /** The writes that the rows do not have yet as the server has them. */
  get pending() {
    return this.#local?.pending ?? [];
  }

  /** The objects that are inserted by writes that the rows do not have yet. */
  get inserted() {
    return new Set(this.pending.flatMap(({ ids }) => ids));
  }

  /**
   * Says for rows whether they are new: inserted here, and not yet seen as the server has them. A paused outline keeps
   * its rows when their writes are settled. `isPending`: whether a write changes the row.
   */
  newness() {
    for (const id of this.inserted) this.#unseen.add(id);
    if (this.#unseen.size > UNSEEN_MAX) this.#unseen = this.inserted;
    return (id, isPending) => {
      if (!isPending) this.#unseen.delete(id);
      return isPending && this.#unseen.has(id);
    };
  }

  /** Resolves when everything that was written has an answer. */
  async idle() {
    await Promise.allSettled(this.pending.map(({ done }) => done));
  }

  /** Resolves when the rows have all writes that change an object beside its text; null: they have them. */
  settled(id) {
    this.#dropSettled();
    const found = [...this.#touched].filter(([, objects]) => objects.includes(id)).map(([write]) => write);
    if (found.length === 0) return null;
    return new Promise((resolve) => {
      const end = this.subscribe(() => {
        if (this.pending.some((write) => found.includes(write))) return;
        end();
        resolve();
      });
    });
  }

  /**
   * Calls `act(id)` with the id of an object that a transaction inserts: at once, unless ids have to be reserved; with
   * null if none can be.
   */
  named(object, act) {
    if (object.id !== null) return act(object.id);
    const end = this.subscribe(() => {
      if (object.id === null && this.pending.some(({ ids }) => ids.includes(null))) return;
      end();
      act(object.id);
    });
    return undefined;
  }

  /**
   * Makes a transaction of the steps that `body(tx)` adds. Returns the write; `write.ids` are those of its new rows.
   *
   * - `touched`: the objects that it changes, without those whose text it writes.
   * - `coalescing`: as of the library.
   * - `mend(error)`: called when it is refused; true: its steps are made anew, with the same ids.
   * - `done(receipt)`; `refused(error)`: it was, or it is not known whether it was made; `undone()`: it was undone before it
   *   was made.
   *
   * `write.end` resolves with the receipt; null: there is none.
   */
  make(name, body, { touched = [], coalescing, ...rest } = {}) {
    const write = this.#local.transaction(name, body, coalescing && { coalescing });
    return this.#follow(write, { body, touched, ...rest });
  }

  #follow(write, given) {
    this.#touches(write, given.touched);
    write.end = this.#ended(write, given);
    return write;
  }

  #touches(write, objects) {
    this.#dropSettled();
    if (objects.length > 0) this.#touched.set(write, objects);
  }

  #dropSettled() {
    const { pending } = this;
    for (const write of this.#touched.keys()) if (!pending.includes(write)) this.#touched.delete(write);
  }

  async #ended(write, given) {
    let receipt;
    try {
      receipt = await write.done;
    } catch (error) {
      return this.#failed(write, given, error);
    }
    given.done?.(receipt);
    return receipt;
  }

  async #failed(write, given, error) {
    // Refused after somebody has undone it, it is not made anew.
    if (error.code === UNDONE || (write.isUndone && write.state === 'refused')) {
      given.undone?.();
      return null;
    }
    // What it depends on may have been refused, and made anew, behind it.
    const isBehind = error.code === 'NOT_FOUND' && this.#mending > 0 && !given.isAgain;
    if (write.state !== 'refused' || !(given.mend?.(error) || isBehind)) {
      given.refused?.(error, write);
      return null;
    }
    const mended = this.mending();
    return this.#follow(write.again(given.body, { inPlace: true }), { ...given, isAgain: true }).end.finally(mended);
  }

  /** Something is made anew until the result is called: what is refused meanwhile may have depended on it. */
  mending() {
    this.#mending += 1;
    return () => { this.#mending -= 1; };
  }

  /**
   * Makes one write of several transactions: the first shows at once, and what `body(group)` waits for comes before the
   * others. Writes that are made later are sent behind it: it must not wait for them. `instead`: the write that this
   * one is made for again. Returns the write.
   */
  group(name, body, { touched = [], instead = null } = {}) {
    const others = new Set(this.pending);
    const made = this.#local.group(name, body, { instead });
    const write = this.pending.find((one) => !others.has(one));
    if (write) this.#touches(write, touched);
    made.catch(() => {});
    // A client that is closed takes none.
    return write ?? { done: made };
  }

  /** Takes back the newest change of this window, or does it again: 'undo' or 'redo'. Resolves with what the name is. */
  async takeBack(which) {
    const write = this.#local[which]();
    const receipt = await write.done.catch((error) => {
      if (error.code !== UNDONE) throw error;
      return null;
    });
    return { name: receipt?.name || write.name || 'a change', conflictCount: receipt?.conflictCount ?? 0 };
  }
}
