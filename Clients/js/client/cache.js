/**
 * A client that begins with what its cache has of an earlier run. Only programs with a cache load this module.
 * @module
 */

import { encodeText, fromHex, Writer } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { fnv1a, hashText } from '../wire/hash.js';
import { decodeModel } from '../wire/model.js';
import { sha256 } from '../wire/sha256.js';
import { CACHE_PREDICATE_TEXT_MAX, CACHE_READ_MS_MAX } from '../machine/cache-limits.js';
import { beginWith, CachedList, Newest, shared } from '../machine/cached.js';
import { beginRecording } from '../machine/recording.js';
import { CachedResults } from './cached-results.js';
import { report } from './listeners.js';
import { loaded, Nest } from './nest.js';
import { invalid } from './options.js';
import { OF_TIME } from './text.js';

/** What a cache must have: cache.d.ts. */
const METHODS = ['model', 'view', 'record', 'flush'];

/**
 * A hash of the token and of the name of the store: a client with others does not use a state.
 * @param {any} settings
 */
export function identityOf({ token, store }) {
  const writer = new Writer();
  writer.u8(token ? 1 : 0);
  if (token) writer.raw(sha256(fromHex(token.secret, 32)).subarray(0, 16));
  writer.u8(store ? 1 : 0);
  writer.raw(encodeText(store ?? ''));
  return hashText(fnv1a(writer.done()));
}

/**
 * @param {import('./driver.js').Platform} platform
 * @param {any} settings
 * @returns {Promise<CachedNest>} connected, unless the cache has the model
 */
export const start = (platform, settings) => new CachedNest(platform, settings).connect();

export class CachedNest extends Nest {
  #cache;
  #identity;
  /**
   * The model of the cache, until a server has said which one it has.
   * @type {any}
   */
  #cached = null;
  /**
   * The hash of the model that the cache has.
   * @type {string | null}
   */
  #kept = null;
  /** Predicates that the cache had. @type {Map<string, Uint8Array>} */
  #predicates = new Map();
  /**
   * The history of the cached states that were shown; '' if there are several.
   * @type {string | null}
   */
  #history = null;
  /** The calls of the cache that have not been answered in time. */
  #late = 0;
  /** The states that are read now, by requests. @type {Map<string, Promise<any>>} */
  #loading = new Map();
  /** @type {import('./cached-undo.js').KeptUndo | null} */
  #undo = null;

  /** @param {import('./driver.js').Platform} platform @param {any} settings */
  constructor(platform, settings) {
    super(platform, settings);
    const { cache } = settings;
    for (const name of METHODS) {
      if (typeof cache[name] !== 'function') invalid(`a cache has ${METHODS.join('(), ')}()`);
    }
    this.#cache = cache;
    this.#identity = identityOf(settings);
    this.run((m) => {
      beginRecording(m, this.#identity);
      m.followers.add(new Newest());
    });
  }

  /** What lists of this client are made of. */
  get List() {
    return CachedList;
  }

  /** @returns {Promise<this>} resolves at once if the cache has the model: the client connects meanwhile */
  async connect() {
    const model = await this.#readModel();
    const connected = super.connect();
    if (!model) return connected;
    // `state` says why the client is closed.
    connected.catch(() => {});
    return this;
  }

  async #readModel() {
    const found = await this.#within(() => this.#cache.model());
    if (found?.identity !== this.#identity) return null;
    try {
      const model = decodeModel(found.bytes);
      if (model.hash !== found.hash) throw new NestError('CHECKSUM', 'the cached model is damaged');
      this.#cached = model;
    } catch (error) {
      report(error);
      return null;
    }
    this.#kept = found.hash;
    for (const { key, bytes } of found.predicates ?? []) this.#predicates.set(key, bytes);
    this.run((m) => beginWith(m, this.#cached));
    return this.#cached;
  }

  /** Null before the first connection, although the machine has the model of an earlier run. */
  get server() {
    const known = super.server;
    return known?.historyID === undefined ? null : known;
  }

  get knownModel() {
    return this.server ? super.knownModel : this.#cached ?? undefined;
  }

  /**
   * @param {string} name
   * @param {any} fields
   * @param {any} [options]
   * @returns {Promise<any>}
   */
  request(name, fields, options) {
    if (name === 'parsePredicate') return this.#parse(fields, options);
    const reply = super.request(name, fields, options);
    return name === 'getModel' ? reply.then((answer) => this.#keepModel(answer)) : reply;
  }

  /** @param {any} answer */
  #keepModel(answer) {
    const bytes = answer.body.slice();
    const hash = hashText(fnv1a(bytes));
    this.#kept = hash;
    this.#record({ type: 'model', model: { identity: this.#identity, hash, bytes } });
    return answer;
  }

  /** @param {any} fields of PARSE_PREDICATE @param {any} options */
  async #parse(fields, options) {
    const { entity, text, zone } = fields;
    // A word such as `today` means something else in each run.
    const isKept = text.length <= CACHE_PREDICATE_TEXT_MAX && !OF_TIME.test(text);
    const key = JSON.stringify([this.#identity, options.model, entity, text, zone]);
    const known = isKept ? this.#predicates.get(key) : undefined;
    const answer = known ? { predicate: known } : await super.request('parsePredicate', fields, options);
    if (isKept) this.#record({ type: 'predicate', key, bytes: answer.predicate });
    return answer;
  }

  // MARK: Lists

  /** The history that the shown states are of, before a server has said which it has: null if there are none. */
  get cachedHistory() {
    return this.#history;
  }

  /** @param {any} request @returns {any} */
  results(request) {
    const list = new CachedResults(this, request, new CachedList(null));
    this.remember(list);
    return list;
  }

  /** What outlines of this client are made of. @returns {Promise<any>} */
  outlines() {
    return loaded(import('./cached-outlines.js'));
  }

  /** @param {any} request @param {any} [options] @returns {Promise<any>} */
  async outline(request, options) {
    return (await this.outlines()).outline(this, request, options);
  }

  /** @returns {Promise<any>} it has the last state until the server has sent one */
  async undoStates() {
    // It must be there before the first state arrives.
    const { KeptUndo, UNDO_STATE_KEY } = await loaded(import('./cached-undo.js'));
    const states = await super.undoStates();
    const number = () => this.newKey().slice(0, 16);
    const undo = this.#undo ??= new KeptUndo(this.#identity, this.session, number, (change) => this.#record(change));
    if (states.state) this.run((m) => undo.received(m));
    else {
      const view = await this.#within(() => this.#cache.view(UNDO_STATE_KEY));
      undo.begin(view, states, this.server?.historyID);
    }
    return states;
  }

  /**
   * Reads what a list begins with.
   * @param {CachedList} list
   * @param {import('../machine/spec.js').Spec} spec
   */
  async load(list, spec) {
    if (list.loaded !== undefined) return;
    list.loaded = null;
    const other = list.isShared ? this.run((m) => shared(m, spec.key)) : undefined;
    list.loaded = other === undefined ? await this.#view(list, spec) : other;
  }

  /** @param {CachedList} list @param {import('../machine/spec.js').Spec} spec @returns {Promise<any>} */
  #view(list, spec) {
    const key = list.keyOf(spec);
    const reading = this.#loading.get(key) ?? this.#read(list, spec, key).finally(() => this.#loading.delete(key));
    this.#loading.set(key, reading);
    return reading;
  }

  /** @param {CachedList} list @param {import('../machine/spec.js').Spec} spec @param {string} key */
  async #read(list, spec, key) {
    const view = await this.#within(() => this.#cache.view(key));
    if (!view) return null;
    const drop = (/** @type {string} */ reason) => {
      this.#record({ type: 'remove', request: key, reason });
      return null;
    };
    if (view.identity !== this.#identity) return drop('the cached state is of another token or store');
    try {
      const found = list.read(view, spec);
      const { history } = found.head;
      this.#history = (this.#history ?? history) === history ? history : '';
      return found;
    } catch (error) {
      return drop(`the cached state cannot be used: ${/** @type {any} */ (error).message}`);
    }
  }

  /**
   * What the cache answers, or null: it fails, or takes too long. The client goes on without.
   * @param {() => Promise<any>} ask
   * @returns {Promise<any>}
   */
  #within(ask) {
    // While it does not answer, nothing else waits for it.
    if (this.#late > 0) return Promise.resolve(null);
    return new Promise((resolve) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.#late += 1;
        resolve(null);
      }, CACHE_READ_MS_MAX);
      const settle = (/** @type {any} */ found) => {
        clearTimeout(timer);
        if (isLate) this.#late -= 1;
        resolve(found ?? null);
      };
      Promise.resolve().then(ask).then(settle, (error) => {
        report(error);
        settle(null);
      });
    });
  }

  // MARK: What the cache gets

  /** @param {any} event of the machine @returns {void} */
  handle(event) {
    if (event.type === 'cache') return this.#record(event.change);
    super.handle(event);
    const { type, change, welcome } = event;
    if (type === 'change' && change.type === 'undoState') this.run((m) => this.#undo?.received(m));
    if (type === 'ready') this.#undo?.connected(welcome.historyID);
    // Another model, which the machine has compared: the next run begins with it.
    const isOther = type === 'ready' && this.#kept !== null && this.#kept !== welcome.modelHash;
    if (isOther) this.request('getModel', {}, { answer: 'model', isRaw: true }).catch(() => {});
  }

  /** @param {any} change */
  #record(change) {
    try {
      this.#cache.record([change]);
    } catch (error) {
      report(error);
    }
  }

  close() {
    super.close();
    Promise.resolve().then(() => this.#cache.flush()).catch(report);
  }
}
