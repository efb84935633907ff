/**
 * A cache in IndexedDB. Changes are written together, at most each second. A page that is hidden or left may end before
 * a transaction that reads does: it leaves its changes as they are, and the next one applies them.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { CACHE_BYTES_MAX, CACHE_OPEN_MS_MAX, CACHE_WRITE_MS } from '../machine/cache-limits.js';
import { report } from '../client/listeners.js';
import { invalid, known } from '../client/options.js';
import { UnwrittenChanges } from './changes.js';
import { makeStores, result, Storage, VERSION } from './storage.js';

/** @typedef {import('./changes.js').Change} Change */

const OPTIONS = ['name', 'byteCountMax', 'onFault'];
/** When a page may end without another word. */
const LEAVING = ['pagehide', 'visibilitychange'];

/**
 * What comes first: the end of a promise, or that of a time.
 * @template T
 * @param {Promise<T>} promise
 * @param {string} what takes too long
 * @returns {Promise<T>}
 */
function inTime(promise, what) {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new NestError('TIMED_OUT', `${what} takes too long`));
    const timer = setTimeout(expire, CACHE_OPEN_MS_MAX);
    promise.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

/**
 * @param {IDBFactory} factory
 * @param {string} name
 * @returns {Promise<IDBDatabase>}
 */
function openDatabase(factory, name) {
  const request = factory.open(name, VERSION);
  request.onupgradeneeded = () => makeStores(request.result);
  const opened = result(request);
  return inTime(opened, 'opening it').catch((error) => {
    // It may open later, and would be in the way of others.
    opened.then((database) => database.close(), () => {});
    throw error;
  });
}

export class IndexedDBCache {
  /**
   * Null: there is none, or it fails.
   * @type {Storage | null}
   */
  #storage = null;
  #unwritten = new UnwrittenChanges();
  /** What is done one after the other. @type {Promise<any>} */
  #last = Promise.resolve();
  /** @type {any} */
  #timer = null;
  #isClosed = false;
  /** Whether the sums of the database were counted: a page may have ended, or a record be damaged. */
  #isCounted = false;
  #hasWarned = false;
  #settings;
  /** What is being written, until it has been left. */
  #writing = new UnwrittenChanges();
  #leave = (/** @type {any} */ { type }) => {
    if (type === 'pagehide' || globalThis.document?.visibilityState === 'hidden') this.#leaveNow();
  };

  /**
   * Opens the database, or makes it. It never rejects because the platform has none, or because it cannot be used: the
   * cache is empty then, and `fault` says why.
   * @param {any} given see cache.d.ts
   * @returns {Promise<IndexedDBCache>}
   */
  static async open(given) {
    const cache = new IndexedDBCache(given);
    await cache.#open();
    return cache;
  }

  /** @param {any} given */
  constructor(given) {
    const { name, byteCountMax = CACHE_BYTES_MAX, onFault } = known('IndexedDBCache', given, OPTIONS);
    if (typeof name !== 'string' || name === '') invalid('a cache has a name: IndexedDBCache.open({ name })');
    if (!(typeof byteCountMax === 'number' && byteCountMax >= 0)) invalid('byteCountMax is a number of bytes');
    this.#settings = { name, byteCountMax, onFault };
    /**
     * Why the cache does not work; null if it does.
     * @type {NestError | null}
     */
    this.fault = null;
  }

  async #open() {
    const { name } = this.#settings;
    try {
      const factory = globalThis.indexedDB;
      if (!factory) throw new NestError('UNSUPPORTED', 'the platform has no IndexedDB');
      const database = await openDatabase(factory, name).catch(async (error) => {
        // What is newer is of another page; what takes too long is blocked. Anything else is damage.
        if (error instanceof NestError || error?.name === 'VersionError') throw error;
        await this.#delete();
        return openDatabase(factory, name);
      });
      // A page with a newer version of the library, or one that removes the database, must not wait for this one.
      database.onversionchange = () => this.#fail(new NestError('UNSUPPORTED', 'another page replaces the database'));
      database.onclose = () => this.#fail(new NestError('STORAGE_FAILURE', 'the browser has closed the database'));
      this.#storage = new Storage(database);
      for (const type of LEAVING) globalThis.addEventListener?.(type, this.#leave, true);
    } catch (error) {
      this.#fail(error);
    }
  }

  #delete() {
    return inTime(result(globalThis.indexedDB.deleteDatabase(this.#settings.name)), 'removing it');
  }

  // MARK: What a client calls

  /** @returns {Promise<any>} */
  model() {
    return this.#use(async (storage) => {
      await this.#write(storage);
      return storage.model();
    });
  }

  /** @param {string} request @returns {Promise<any>} */
  view(request) {
    return this.#use(async (storage) => {
      if (this.#unwritten.concerns(request)) await this.#write(storage);
      // If they could not be written, the database may have a state that was to be removed.
      if (this.#unwritten.concerns(request)) return null;
      try {
        const found = await storage.view(request);
        if (found) {
          this.#unwritten.note(request);
          this.#writeLater();
        }
        return found;
      } catch (error) {
        if (!(error instanceof NestError)) throw error;
        // It is damaged: never shown, and forgotten.
        this.record([{ type: 'remove', request, reason: error.message }]);
        return null;
      }
    });
  }

  /** @param {readonly Change[]} changes */
  record(changes) {
    if (!this.#storage || this.#isClosed) return;
    for (const change of changes) this.#unwritten.add(change);
    this.#writeLater();
  }

  /** @returns {Promise<void>} when everything that was recorded is kept */
  async flush() {
    await this.#use((storage) => this.#write(storage));
  }

  /**
   * Forgets everything, for example when the user signs out.
   * @returns {Promise<void>} rejects if the states may still be there
   */
  async clear() {
    this.#unwritten = new UnwrittenChanges();
    const cleared = this.#last.then(async () => {
      this.#unwritten = new UnwrittenChanges();
      if (this.#storage) await this.#storage.clear();
      else if (globalThis.indexedDB) await this.#delete();
    });
    this.#last = cleared.catch(() => {});
    return cleared.catch((error) => {
      throw new NestError('INVALID', `the cache ${this.#settings.name} cannot be cleared: ${textOf(error)}`);
    });
  }

  /** Writes everything, and keeps nothing any more. @returns {Promise<void>} */
  async close() {
    await this.flush();
    this.#isClosed = true;
    this.#release();
  }

  // MARK: The database

  /**
   * @param {(storage: Storage) => Promise<any>} body
   * @returns {Promise<any>} null if the database fails
   */
  #use(body) {
    /** @type {Promise<any>} */
    const used = this.#last.then(async () => {
      const storage = this.#storage;
      if (!storage) return null;
      try {
        return await body(storage);
      } catch (error) {
        this.#warn(error);
        return null;
      }
    });
    this.#last = used;
    return used;
  }

  /** Writes all changes. @param {Storage} storage */
  async #write(storage) {
    const changes = this.#unwritten;
    if (changes.isEmpty && (this.#isCounted || !await storage.hasLeft())) return;
    this.#unwritten = new UnwrittenChanges();
    this.#writing = changes;
    try {
      if (!this.#isCounted) await storage.recount();
      this.#isCounted = true;
      await storage.write(changes, this.#settings.byteCountMax, () => this.#writing !== changes);
    } catch (error) {
      this.#warn(error);
      this.#unwritten.restore(changes);
      this.#writeLater();
    } finally {
      this.#writing = new UnwrittenChanges();
    }
  }

  /** The page may end at once, and what is written with it. */
  #leaveNow() {
    const all = [this.#writing, this.#unwritten].filter((changes) => !changes.isEmpty);
    if (!this.#storage || all.length === 0) return;
    try {
      this.#storage.leave(all);
      this.#writing = new UnwrittenChanges();
      this.#unwritten = new UnwrittenChanges();
    } catch (error) {
      this.#warn(error);
    }
  }

  #writeLater() {
    if (this.#unwritten.isEmpty) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.flush();
    }, CACHE_WRITE_MS);
  }

  /** The cache goes on, without what could not be read or written. @param {any} error */
  #warn(error) {
    this.fault = error instanceof NestError ? error : new NestError('STORAGE_FAILURE', textOf(error));
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { onFault, name } = this.#settings;
    if (!onFault) return console.warn(`nest: the cache ${name} fails: ${this.fault.message}`);
    try {
      onFault(this.fault);
    } catch (mistake) {
      report(mistake);
    }
  }

  /** The client goes on without a cache. @param {any} error */
  #fail(error) {
    if (this.#isClosed) return;
    this.#release();
    this.#warn(error);
  }

  #release() {
    clearTimeout(this.#timer);
    this.#timer = null;
    for (const type of LEAVING) globalThis.removeEventListener?.(type, this.#leave, true);
    this.#unwritten = new UnwrittenChanges();
    this.#storage?.close();
    this.#storage = null;
  }
}

/** @param {any} error */
const textOf = (error) => (error?.message ? `${error.name}: ${error.message}` : String(error));
