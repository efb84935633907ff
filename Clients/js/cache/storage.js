/**
 * The stores of a cache in IndexedDB. A batch of changes is one transaction over all stores that it may change, so that
 * several pages may use one database.
 *
 *     meta         'sums': the bytes of all views, the next id, and the clock of what was shown; 'model'
 *     predicates   the bytes of predicates, by their keys
 *     views        one state: what CachedView has, without frames; by requests
 *     pieces       frames of a view, those of one batch together; by the id of the view and a number from 0
 *     left         changes of pages that were left, which the next page applies
 *
 * When a page ends, the browser aborts its transactions, and drops the ones that still wait for others. So nothing may
 * be in the way of what a page leaves: a transaction has `left` among its stores only if it takes what is there.
 * @module
 */

import { CACHE_PREDICATES_MAX, CACHE_VIEW_BYTES_MAX } from '../machine/cache-limits.js';
import { follows, ROW_BYTES } from './changes.js';
import {
  checksum, damaged, decodeChange, decodeFrames, encodeChange, encodeFrames, headChecksum, isBytes, pieceName,
} from './pieces.js';

const STORES = ['meta', 'predicates', 'views', 'pieces', 'left'];

/** Records of changes that a page leaves; more are dropped. */
const LEFT_MAX = 64;

/** The version of the database: one of another version is emptied. */
export const VERSION = 1;

/** Makes the stores anew. @param {IDBDatabase} database */
export function makeStores(database) {
  for (const name of Array.from(database.objectStoreNames)) database.deleteObjectStore(name);
  for (const name of STORES) database.createObjectStore(name, { autoIncrement: name === 'left' });
  return database;
}

/** What a request of IndexedDB gives. @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
export const result = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** The pieces of a view. @param {number} id */
const piecesOf = (id) => IDBKeyRange.bound([id, 0], [id, Infinity]);

/** @param {any} model */
const modelRecord = ({ identity, hash, bytes }) =>
  ({ identity, hash, bytes, checksum: checksum(bytes, `${identity} ${hash}`) });

/** Whether a record of a model is as it was written. @param {any} record */
const isModel = (record) =>
  isBytes(record?.bytes) && checksum(record.bytes, `${record.identity} ${record.hash}`) === record.checksum;

/** Whether a record of a view is as it was written. @param {any} head @param {any} request its key */
const isHead = (head, request) =>
  head?.request === request && head.checksum === headChecksum(head) && Number.isSafeInteger(head.shown);

export class Storage {
  /** @param {IDBDatabase} database */
  constructor(database) {
    this.database = database;
  }

  /**
   * Runs a transaction. It happens as a whole or not at all.
   * @template T
   * @param {'readonly' | 'readwrite'} mode
   * @param {string[]} names of the stores
   * @param {(stores: Record<string, IDBObjectStore>) => Promise<T>} body awaits requests of the stores only
   * @returns {Promise<T>}
   */
  async #run(mode, names, body) {
    const transaction = this.database.transaction(names, mode, { durability: 'relaxed' });
    const ended = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(undefined);
      transaction.onabort = () => reject(transaction.error ?? new Error('the transaction was aborted'));
    });
    // A mistake in the body is the reason then.
    ended.catch(() => {});
    const stores = Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)]));
    try {
      const found = await body(stores);
      await ended;
      return found;
    } catch (error) {
      try {
        transaction.abort();
      } catch {
        // It has ended.
      }
      throw error;
    }
  }

  // MARK: Reading

  /** @returns {Promise<any>} the model with its predicates, or null */
  model() {
    return this.#run('readonly', ['meta', 'predicates'], async ({ meta, predicates }) => {
      const [model, keys, values] = await Promise.all([
        result(meta.get('model')), result(predicates.getAllKeys()), result(predicates.getAll())]);
      if (!model) return null;
      if (!isModel(model)) damaged('the model');
      const { identity, hash, bytes } = model;
      const whole = keys.map((key, index) => ({ ...values[index], key: String(key) }))
        .filter((one) => isBytes(one.bytes) && checksum(one.bytes, one.key) === one.checksum);
      return { identity, hash, bytes, predicates: whole };
    });
  }

  /**
   * The state of a view; null if there is none.
   * @param {string} request
   * @returns {Promise<any>}
   */
  view(request) {
    return this.#run('readonly', ['views', 'pieces'], async ({ views, pieces }) => {
      const head = await result(views.get(request));
      if (!head) return null;
      if (!isHead(head, request)) damaged('a view');
      const found = await result(pieces.getAll(piecesOf(head.id)));
      if (found.length !== head.pieces) damaged('the number of pieces');
      const frames = found.flatMap((piece, number) => {
        const bytes = piece?.frames;
        if (!isBytes(bytes) || checksum(bytes, pieceName(head, number)) !== piece.checksum) damaged('a piece');
        return decodeFrames(bytes);
      });
      const { identity, modelHash, historyID, revision, digest, recording, sequence } = head;
      return { request, identity, modelHash, historyID, revision, digest, recording, sequence, frames };
    });
  }

  // MARK: Writing

  /**
   * Writes a batch of changes, and before them what pages have left.
   * @param {import('./changes.js').UnwrittenChanges} changes
   * @param {number} byteCountMax
   * @param {() => boolean} isLeft whether the changes have been left meanwhile: others may have been left after them,
   *   so these come first, and the changes not anew
   */
  async write(changes, byteCountMax, isLeft) {
    if (await this.hasLeft()) {
      await this.#batch(STORES, byteCountMax, (batch, { left }) => batch.takeLeft(left));
    }
    if (isLeft()) return;
    await this.#batch(STORES.filter((name) => name !== 'left'), byteCountMax, async (batch) => {
      if (changes.model) batch.model(changes.model);
      for (const [key, bytes] of changes.predicates) batch.predicate(key, bytes);
      for (const [request, list] of changes.views) await batch.changes(request, list);
      for (const request of changes.shown) await batch.shown(request);
      if (changes.predicates.size > 0) await batch.forgetPredicates();
    });
  }

  /**
   * @param {string[]} names
   * @param {number} byteCountMax
   * @param {(batch: Batch, stores: Record<string, IDBObjectStore>) => Promise<void>} body
   */
  #batch(names, byteCountMax, body) {
    return this.#run('readwrite', names, async (stores) => {
      const batch = new Batch(stores, await result(stores.meta.get('sums')));
      await body(batch, stores);
      await batch.evict(byteCountMax);
      stores.meta.put(batch.sums, 'sums');
    });
  }

  /**
   * Leaves changes to the next page, because this one may end at once: nothing is read before, and nothing awaited.
   * @param {import('./changes.js').UnwrittenChanges[]} all in order
   */
  leave(all) {
    const transaction = this.database.transaction('left', 'readwrite');
    const left = transaction.objectStore('left');
    for (const { model, predicates, views } of all) {
      const lists = [...views].map(([request, list]) => ({ request, list: list.map(encodeChange) }));
      const texts = Array.from(predicates, ([key, bytes]) => ({ key, bytes, checksum: checksum(bytes, key) }));
      left.put({ model: model && modelRecord(model), predicates: texts, lists });
    }
    transaction.commit?.();
  }

  /** Whether pages have left changes. @returns {Promise<boolean>} */
  async hasLeft() {
    const transaction = this.database.transaction('left', 'readonly');
    const count = result(transaction.objectStore('left').count());
    // It ends without this page, which may have to leave something.
    transaction.commit?.();
    return await count > 0;
  }

  /** Counts anew what the views take, and removes what is damaged or belongs to no view. */
  recount() {
    return this.#run('readwrite', ['meta', 'views', 'pieces'], async ({ meta, views, pieces }) => {
      const [requests, found, keys, old] = await Promise.all([
        result(views.getAllKeys()), result(views.getAll()), result(pieces.getAllKeys()), result(meta.get('sums'))]);
      const heads = found.filter((head, index) => {
        const isWhole = isHead(head, requests[index]);
        if (!isWhole) views.delete(requests[index]);
        return isWhole;
      });
      const owned = new Set(heads.map(({ id }) => id));
      const ids = new Set(keys.map((key) => /** @type {any} */ (key)[0]));
      for (const id of ids) if (!owned.has(id)) pieces.delete(piecesOf(id));
      const clock = Math.max(old?.clock ?? 0, ...heads.map(({ shown }) => shown));
      const nextID = Math.max(old?.nextID ?? 1, ...heads.map(({ id }) => id + 1));
      meta.put({ bytes: heads.reduce((sum, { bytes }) => sum + bytes, 0), nextID, clock }, 'sums');
    });
  }

  /** Forgets everything. */
  clear() {
    return this.#run('readwrite', STORES, async (stores) => {
      for (const name of STORES) stores[name].clear();
    });
  }

  close() {
    this.database.close();
  }
}

/** What one transaction writes. */
class Batch {
  /** @param {Record<string, IDBObjectStore>} stores @param {any} sums */
  constructor({ meta, predicates, views, pieces }, sums) {
    this.meta = meta;
    this.predicates = predicates;
    this.views = views;
    this.pieces = pieces;
    this.sums = { bytes: 0, nextID: 1, clock: 0, ...sums };
  }

  /**
   * Applies what pages have left. What is damaged is dropped, with all that is behind it.
   * @param {IDBObjectStore} left
   */
  async takeLeft(left) {
    const all = await result(left.getAll(null, LEFT_MAX));
    left.clear();
    for (const record of all) {
      let lists;
      try {
        lists = record.lists.map((/** @type {any} */ { request, list }) => ({ request, list: list.map(decodeChange) }));
        for (const { key, bytes, checksum: expected } of record.predicates) {
          if (isBytes(bytes) && checksum(bytes, key) === expected) this.predicate(key, bytes);
        }
      } catch {
        return;
      }
      if (isModel(record.model)) this.meta.put(record.model, 'model');
      for (const { request, list } of lists) {
        await this.changes(request, list);
        await this.shown(request);
      }
    }
  }

  /** @param {string} request @param {readonly any[]} list */
  async changes(request, list) {
    for (const { replacement, append } of list) {
      if (append) await this.append(append);
      else await this.replace(request, replacement);
    }
  }

  /** @param {any} model */
  model(model) {
    this.meta.put(modelRecord(model), 'model');
  }

  /** @param {string} key @param {Uint8Array} bytes */
  predicate(key, bytes) {
    this.predicates.put({ bytes, used: ++this.sums.clock, checksum: checksum(bytes, key) }, key);
  }

  async forgetPredicates() {
    const count = await result(this.predicates.count());
    if (count <= CACHE_PREDICATES_MAX) return;
    const [keys, values] = await Promise.all([result(this.predicates.getAllKeys()), result(this.predicates.getAll())]);
    const order = keys.map((key, index) => ({ key, used: values[index].used })).sort((a, b) => a.used - b.used);
    for (const { key } of order.slice(0, count - CACHE_PREDICATES_MAX)) this.predicates.delete(key);
  }

  /** The record of a view; null if there is none. One that is damaged is removed. @param {string} request */
  async #head(request) {
    const head = await result(this.views.get(request));
    if (!head || isHead(head, request)) return head ?? null;
    this.views.delete(request);
    return null;
  }

  /** @param {any} head */
  #put(head) {
    head.checksum = headChecksum(head);
    this.views.put(head, head.request);
  }

  /** @param {any} head */
  remove(head) {
    this.pieces.delete(piecesOf(head.id));
    this.views.delete(head.request);
    this.sums.bytes -= head.bytes;
  }

  /** @param {any} head @param {readonly any[]} frames */
  #add(head, frames) {
    const bytes = encodeFrames(frames);
    this.pieces.put({ frames: bytes, checksum: checksum(bytes, pieceName(head, head.pieces)) }, [head.id, head.pieces]);
    head.pieces += 1;
    head.bytes += bytes.length;
    this.sums.bytes += bytes.length;
  }

  /** @param {string} request @param {any} view null: it is removed */
  async replace(request, view) {
    const old = await this.#head(request);
    if (old) this.remove(old);
    if (!view) return;
    const { frames, ...more } = view;
    const bytes = request.length + ROW_BYTES;
    const head = { ...more, id: this.sums.nextID++, pieces: 0, bytes, shown: old?.shown ?? 0 };
    this.sums.bytes += bytes;
    this.#add(head, frames);
    if (head.bytes > CACHE_VIEW_BYTES_MAX) this.remove(head);
    else this.#put(head);
  }

  /** @param {any} append */
  async append(append) {
    const head = await this.#head(append.request);
    if (!head || !follows(append, head)) return;
    const { frames, revision, digest } = append;
    if (frames.length > 0) this.#add(head, frames);
    Object.assign(head, { sequence: head.sequence + frames.length, revision, digest });
    if (head.bytes > CACHE_VIEW_BYTES_MAX) this.remove(head);
    else this.#put(head);
  }

  /** @param {string} request */
  async shown(request) {
    const head = await this.#head(request);
    if (head) this.views.put({ ...head, shown: ++this.sums.clock }, request);
  }

  /** Removes the views that were least recently shown. @param {number} byteCountMax */
  async evict(byteCountMax) {
    if (this.sums.bytes <= byteCountMax) return;
    const heads = (await result(this.views.getAll())).filter((head) => isHead(head, head?.request));
    for (const head of heads.sort((a, b) => a.shown - b.shown)) {
      if (this.sums.bytes <= byteCountMax) return;
      this.remove(head);
    }
  }
}
