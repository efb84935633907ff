/**
 * Writes as a program sees them that are shown before the server has them.
 * @module
 */

import { objectID } from '../wire/model.js';
import { PendingWrite } from '../overlay/pending.js';
import { NestDate } from '../wire/values.js';
import { invalid } from './options.js';
import { NewObject, Transaction } from './transaction.js';

/** An object that a transaction inserts: its id is known as soon as ids are in stock. */
class LocalObject extends NewObject {
  /** Null before ids are in stock, and for what `findOrCreate` returns. @returns {number | null} */
  get id() {
    return /** @type {LocalTransaction} */ (this.transaction).ids[this.index - 1] || null;
  }
}

/** Collects the steps of a write; every insert has a reserved id. */
export class LocalTransaction extends Transaction {
  /** @param {(count: number) => number[]} take as many ids of the stock as there are, at most `count` */
  constructor(take) {
    super();
    this.take = take;
    /** By result; 0: one that is waited for, or of `findOrCreate`. @type {number[]} */
    this.ids = [];
    /** Those of `ids` that were taken, in the order of the inserts. @type {number[]} */
    this.taken = [];
    /** Inserts whose ids are not in stock yet, and their results. @type {{ insertAs: any, index: number }[]} */
    this.missing = [];
  }

  /** @param {any} entity @param {Record<string, any>} [values] @param {any} [place] */
  insert(entity, values = {}, place) {
    const { id, ...rest } = place ?? {};
    const inserted = this.inserted(entity, values, Object.keys(rest)[0] && rest);
    const object = id === undefined ? this.taking() : objectID(id);
    const insertAs = { object, ...inserted };
    this.ids[this.resultCount] = object;
    if (object === 0) this.missing.push({ insertAs, index: this.resultCount });
    return this.result({ insertAs });
  }

  /** @returns {number} an id of the stock; 0 if there is none */
  taking() {
    const [id] = this.take(1);
    if (id === undefined) return 0;
    this.taken.push(id);
    return id;
  }

  /** @param {any} mutation */
  result(mutation) {
    this.step(mutation);
    this.ids[this.resultCount] ??= 0;
    return new LocalObject(this, ++this.resultCount);
  }

  /** Gives ids to inserts that wait for them. */
  fill() {
    for (const { insertAs, index } of this.missing.splice(0)) {
      const id = this.taking();
      if (id === 0) this.missing.push({ insertAs, index });
      else this.ids[index] = insertAs.object = id;
    }
  }

  /** @param {any} object @returns {number} */
  reference(object) {
    const isOther = object instanceof LocalObject && object.transaction !== this;
    if (!isOther) return super.reference(object);
    if (object.id === null) invalid('the id of an object of another transaction is not known yet: await its `done`');
    return object.id;
  }

  /** The ids of the objects that it names, as far as they are known. @returns {Set<number>} */
  objects() {
    /** @type {Set<number>} */
    const all = new Set(this.ids);
    const add = (/** @type {any} */ reference) => all.add(reference > 0 ? reference : this.ids[-reference - 1]);
    for (const mutation of this.mutations) {
      const [fields] = Object.values(mutation);
      for (const name of ['object', 'owner']) if (typeof fields[name] === 'number') add(fields[name]);
      for (const object of fields.objects ?? []) add(object);
    }
    return all;
  }
}

/** The transactions of a group, which become one write. */
export class LocalGroup {
  /** Why a transaction failed: then the group is given up. @type {any} */
  error = null;
  #write;
  #grew;

  /** @param {Write} write @param {() => void} grew */
  constructor(write, grew) {
    this.#write = write;
    this.#grew = grew;
  }

  /** Adds steps, and shows them at once. @template R @param {(tx: LocalTransaction) => R} body @returns {R} */
  transaction(body) {
    const { phase, error } = this.#write;
    const tx = /** @type {LocalTransaction} */ (this.#write.tx);
    if (phase !== 'open') {
      if (error) throw error;
      invalid('the group has ended');
    }
    tx.isSent = false;
    try {
      const result = body(tx);
      if (typeof (/** @type {any} */ (result))?.then === 'function') {
        invalid('a write that is shown at once has no asynchronous steps');
      }
      return result;
    } catch (/** @type {any} */ error) {
      this.error ??= error;
      throw error;
    } finally {
      // What is added outside of a body would not be shown.
      tx.isSent = true;
      this.#grew();
    }
  }
}

/** A write: `transaction`, `undo` or `redo`. */
export class Write extends PendingWrite {
  /** @type {any} */
  #local;
  /** @type {{ resolve: (receipt: any) => void, reject: (error: any) => void }} */
  #settle = /** @type {any} */ (null);

  /**
   * @param {any} local
   * @param {'transaction' | 'undo' | 'redo'} kind
   * @param {string | null} name of the undo entry
   * @param {LocalTransaction | null} tx
   * @param {any} fields of the message
   */
  constructor(local, kind, name, tx, fields) {
    super();
    this.#local = local;
    this.kind = kind;
    this.name = name;
    this.tx = tx;
    this.fields = fields;
    this.key = fields.key ?? local.nest.newKey();
    this.now = new NestDate(Date.now() * 1000);
    this.place = local.nextPlace();
    this.isShown = tx !== null && tx.missing.length === 0;
    this.history = local.historyID;
    /** What the machine has of it; null while it is not in the machine's hands. @type {any} */
    this.call = null;
    this.attempts = 0;
    /** When the connection was lost on which it was sent first; null: none was. @type {number | null} */
    this.lostAt = null;
    /** Whether an answer was that it be sent again. */
    this.isRetried = false;
    /** Why it was refused or parked. @type {any} */
    this.error = null;
    /** The refused write because of which it was refused. @type {Write | null} */
    this.cause = null;
    /** @type {any} */
    this.receipt = null;
    /** Whether an undo is to take it back, and whether one has. */
    this.isUndone = false;
    this.isTaken = false;
    /** Resolves with the receipt; rejects with the error of a write that was refused or parked. @type {Promise<any>} */
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // A program that shows `pending` need not look at it.
    this.done.catch(() => {});
  }

  /** `queued`, `sent`, `committed`, `settled`, `refused` or `parked`, as a program sees it. */
  get state() {
    return this.phase === 'doubtful' ? 'sent' : this.phase;
  }

  /** The ids of the objects that it inserts, in order; null: not known yet. @returns {(number | null)[]} */
  get ids() {
    return this.tx?.ids.map((id) => id || null) ?? [];
  }

  /**
   * Sends it again, after it was refused or parked: another write. With a function, the steps are made anew, and its
   * inserts without an id get those that this one has taken, in their order. Without, the same steps; one that was
   * parked keeps its key, so that it happens at most once.
   * @param {(tx: any) => void} [body]
   * @param {{ inPlace?: boolean }} [given] whether it comes before the writes that were made after this one
   */
  again(body, given) {
    return this.#local.again(this, body, given);
  }

  /** @param {any} receipt */
  resolve(receipt) {
    this.receipt = receipt;
    this.#settle.resolve(receipt);
  }

  /** @param {any} error */
  reject(error) {
    this.error = error;
    this.#settle.reject(error);
  }
}
