/**
 * A client: a connection that lasts. It connects again by itself, resumes its lists, and sends unanswered requests
 * again where that is safe.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { decodeModel } from '../wire/model.js';
import { specOf } from '../machine/spec.js';
import { Core } from './core.js';
import { invalid, known, WRITE } from './options.js';
import { Entity, FetchRequest } from './requests.js';
import { Results } from './results.js';
import { joined, Predicates } from './text.js';
import { Receipt, Transaction } from './transaction.js';

/** @typedef {import('./core.js').RequestOptions} RequestOptions */

/** A part of the library that is loaded when it is used. @template T @param {Promise<T>} part @returns {Promise<T>} */
export const loaded = (part) => part.catch((error) => {
  throw new NestError('UNREACHABLE', `a part of the library cannot be loaded: ${error}`);
});
const more = () => loaded(import('./more.js'));

/** Use `connect`, which returns a connected client. */
export class Nest extends Core {
  /** @type {Promise<any> | null} */
  #reading = null;
  #predicates = new Predicates();
  /**
   * The sending of the undo before, whose module may have to be loaded.
   * @type {Promise<any> | null}
   */
  #loading = null;

  // MARK: The model and requests

  /** The server's model. It is read once, and again when the server has another one. @returns {Promise<any>} */
  async model() {
    if (this.knownModel) return this.knownModel;
    this.#reading ??= this.request('getModel', {}, { answer: 'model', isRaw: true }).then(({ body }) => {
      const model = decodeModel(body);
      this.run((m) => m.models.set(model.hash, model));
      return model;
    }).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** The entity of a name: the request for all its objects. @param {string} name @returns {Promise<Entity>} */
  async entity(name) {
    const model = await this.model();
    return new Entity(model, model.entity(name));
  }

  /**
   * What a request is to the server: its predicates are parsed.
   * @param {FetchRequest} request
   * @returns {Promise<import('../machine/spec.js').Spec>}
   */
  async resolve(request) {
    if (!(request instanceof FetchRequest)) invalid('a request is made from entity()');
    const parsed = await Promise.all(request.predicates.map((text) => this.#parse(request, text)));
    const { wire } = request.lowered();
    const totals = request.totalTexts[0] && (await loaded(import('./totals.js'))).read(this, request);
    return specOf({ ...wire, totals, predicate: joined(parsed) }, request.model.hash, request);
  }

  /** @param {FetchRequest} request @param {string} text @returns {Promise<Uint8Array>} */
  #parse({ model, description }, text) {
    const zone = this.settings.zone ?? '';
    return this.#predicates.get([model.hash, description.number, text, zone], async () => {
      const fields = { entity: description.number, text, now: 0, zone };
      const { predicate } = await this.request('parsePredicate', fields, { answer: 'predicate', model: model.hash });
      return predicate;
    });
  }

  // MARK: Reading

  /** A live list. Nothing is sent before the next turn. @param {FetchRequest} request @returns {Results} */
  results(request) {
    const list = new Results(this, request);
    this.remember(list);
    return list;
  }

  /**
   * Reads the result of a request, once.
   * @param {FetchRequest} request
   * @param {{ atLeast?: number | 'newest', signal?: AbortSignal, timeout?: number }} [options] `atLeast`: the revision
   *   of a receipt, or 'newest': every write that was acknowledged before. The result is never older than what this
   *   client has seen.
   * @returns {Promise<import('./shown.js').ListState>}
   */
  async fetch(request, options) {
    return (await more()).fetch(this, request, options);
  }

  /**
   * How many rows a request finds, whatever its window is.
   * @param {FetchRequest} request
   * @param {any} [options] as of `fetch`
   */
  async count(request, options) {
    return (await this.fetch(request.window(0, 0), options)).total;
  }

  /** Everything that an object holds. NOT_FOUND if there is none. @param {any} id @param {RequestOptions} [options] */
  async object(id, options) {
    return (await more()).object(this, id, options);
  }

  /**
   * A live outline: what is below an object in preorder, with folded rows (client/outlines.js).
   * @param {FetchRequest} request
   * @param {any} [options]
   */
  async outline(request, options) {
    return (await loaded(import('./outlines.js'))).outline(this, request, options);
  }

  /**
   * Who is present at an object, and where: client/presence.js. `set` shows this client there.
   * @param {any} scope the object, or its id
   * @returns {Promise<any>}
   */
  async presence(scope) {
    return (await loaded(import('./presence.js'))).presence(this, scope);
  }

  // MARK: Writing

  /**
   * Executes steps together or not at all, as one undo entry. Resolves when they are durable.
   * @param {string | null} name of the undo entry; null or '': the server makes one
   * @param {(tx: Transaction) => any} body adds the steps; it is called once
   * @param {{ key?: string, coalescing?: { key: string, milliseconds: number } | null, signal?: AbortSignal,
   *   timeout?: number }} [given] `key`: 32 hexadecimal digits that were never used before. To repeat a write whose
   *   outcome is unknown, send it again with its key. `coalescing`: joins this write and the one before into one entry.
   * @returns {Promise<Receipt>}
   */
  async transaction(name, body, given = {}) {
    const { key, coalescing = null, signal, timeout } = known('transaction', given, ['coalescing', ...WRITE]);
    if (typeof body !== 'function') invalid('it is transaction(name, body)');
    const tx = new Transaction();
    const before = this.#loading;
    await body(tx);
    tx.isSent = true;
    const { preconditions, mutations, models } = tx;
    await before;
    const fields = { key, name: name || null, preconditions, mutations, coalescing };
    return new Receipt(await this.write('transaction', fields, { signal, timeout, model: [...models] }));
  }

  /**
   * Reserves object ids of this session for `tx.insert(entity, values, { id })`: client/optimistic.js.
   * @param {any[]} args
   * @returns {Promise<readonly number[]>}
   */
  async reserveIDs(...args) {
    return (await loaded(import('./optimistic.js'))).reserveIDs(this, ...args);
  }

  /**
   * Takes back the newest entry of the session's undo stack. `receipt.conflicts` lists what was left.
   * @param {{ policy?: 'keep' | 'force' | 'strict', rehomes?: boolean, expected?: number | null, key?: string,
   *   signal?: AbortSignal, timeout?: number }} [options] `expected`: the entry that is meant, by its revision
   */
  undo(options) {
    return this.#undo('undo', options);
  }

  /** Does again what was taken back last. @param {any} [options] as of `undo` */
  redo(options) {
    return this.#undo('redo', options);
  }

  // MARK: Less often: these parts are loaded when they are used

  /** What the session can undo and redo now. @returns {Promise<any>} */
  undoState() {
    return this.#undo('undoState');
  }

  /** The same, now and after each change: `for await`, or `subscribe`. @returns {Promise<any>} */
  undoStates() {
    return this.#undo('undoStates');
  }

  /** What every transaction changes: see `Changes` in client/feeds.js. @param {any} [options] */
  changes(options = {}) {
    const feed = loaded(import('./feeds.js')).then(({ Changes }) => new Changes(this, options));
    // The loop reports the error.
    feed.catch(() => {});
    return {
      next: async () => (await feed).next(),
      return: async () => (await feed).return(),
      close: async () => (await feed).close(),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /**
   * Takes back one past transaction, however old, as a new undo entry.
   * @param {number} revision
   * @param {any} [options] as of `undo`, and `ofAnyone`: whether it may be another session's
   * @returns {Promise<Receipt>}
   */
  revert(revision, options) {
    return this.#undo('revert', revision, options);
  }

  /**
   * Makes all writes of this client during `body` one undo entry. They stay if `body` fails. A lost connection ends the
   * group: later writes then fail, and so does this.
   * @param {string | null} name
   * @param {(nest: Nest) => Promise<any>} body
   */
  async group(name, body) {
    return (await more()).group(this, name, body);
  }

  /** Begins a group. @param {string | null} [name] @returns {Promise<number>} its number, for `joinGroup` */
  async beginGroup(name) {
    return (await more()).beginGroup(this, name);
  }

  /** Joins a group that another client of the session has open. @param {number} number @returns {Promise<any>} */
  async joinGroup(number) {
    return (await more()).beginGroup(this, null, number);
  }

  /** Ends the group, or leaves it. NOT_FOUND if it has ended: writes since then have entries of their own. */
  async endGroup() {
    return (await more()).leaveGroup(this);
  }

  /** What an undo would do now: client/more.js. @param {any[]} args */
  async preview(...args) {
    return (await more()).preview(this, ...args);
  }

  /** Committed transactions, newest first: client/more.js. @param {any[]} args */
  async history(...args) {
    return (await more()).history(this, ...args);
  }

  /** The milliseconds that a message takes to the server and back. @returns {Promise<number>} */
  async ping() {
    return (await more()).ping(this);
  }

  /** How the server evaluates a request, and what it costs to follow it. @param {FetchRequest} request */
  async explain(request) {
    return (await more()).explain(this, request);
  }

  /** The counters and gauges of the server, by name. @returns {Promise<Map<string, number | bigint>>} */
  async statistics() {
    return (await more()).statistics(this);
  }

  /** Reads a whole sub-tree: client/transfers.js. @param {any} request */
  async export(request) {
    return (await loaded(import('./transfers.js'))).exportSubtree(this, request);
  }

  /** Writes a whole sub-tree: client/transfers.js. @param {any} request @param {any} rows */
  async import(request, rows) {
    return (await loaded(import('./transfers.js'))).importSubtree(this, request, rows);
  }

  /** What operators need (tokens, clients, backups, checks, the cluster): client/operations.js. */
  async operations() {
    return new (await loaded(import('./operations.js'))).Operations(this);
  }

  /** Tokens: the same as `operations()`. */
  tokens() {
    return this.operations();
  }

  /** Calls a function of client/undo.js. Writes after it are sent after it. @param {string} name @param {any[]} args */
  async #undo(name, ...args) {
    const before = this.#loading;
    const module = loaded(import('./undo.js'));
    const sent = (async () => {
      await before;
      return { answer: /** @type {any} */ (await module)[name](this, ...args) };
    })();
    this.#loading = sent.catch(() => {});
    return (await sent).answer;
  }

  /** @param {string} name @param {any} fields without a `key`, it gets one @param {any} options */
  async write(name, fields, options) {
    const key = fields.key ?? this.newKey();
    try {
      return await this.request(name, { ...fields, key }, { ...options, kind: 'write', answer: 'receipt' });
    } catch (/** @type {any} */ error) {
      // A program that sends it again needs its key.
      if (error.code === 'OUTCOME_UNKNOWN') error.key = key;
      throw error;
    }
  }
}
