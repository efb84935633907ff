/**
 * What every part of a client uses: the connection, requests, and the end of everything.
 * @module
 */

import { toHex } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { encode, typeOf } from '../wire/messages.js';
import { abandon, submit } from '../machine/calls.js';
import { REQUEST_TIMEOUT_MS } from '../machine/limits.js';
import { Driver, TIMER_MS_MAX } from './driver.js';
import { Listeners } from './listeners.js';
import { checkTime } from './options.js';

/** @typedef {import('./driver.js').Platform} Platform */
/** @typedef {import('../machine/machine.js').Machine} Machine */

/**
 * How `request` handles a request.
 * @typedef {object} RequestOptions
 * @property {import('../machine/table.js').Kind} [kind] what happens when the connection is lost: `read`
 * @property {string} [answer] the name of the reply
 * @property {any} [model] the hash of the model whose numbers the request or its answer has
 * @property {AbortSignal} [signal] abandons the request
 * @property {number} [timeout] milliseconds from the call to the answer
 * @property {{ part?: (type: number, body: Uint8Array) => void, credit?: (bytes: number) => void,
 *   call?: any }} [stream] gets what arrives; its `call` is what client/streams.js sends parts for
 * @property {(m: any) => Uint8Array} [bodyAt] makes the body anew for each server
 * @property {number[]} [projection] for FETCH
 * @property {any[]} [totals] for FETCH
 * @property {boolean} [isRaw] whether the answer is `{type, body}`
 * @property {Promise<any>} [ready] resolves with more of the request: it is sent then, if its time is not over
 */

/** @typedef {'connecting' | 'ready' | 'reconnecting' | 'closed'} Phase */
/**
 * @typedef {{ readonly phase: Phase, readonly address: string | null, readonly error: any, readonly pause: number }}
 *   ClientState
 */

/**
 * With what lists and feeds end: null if the program has closed the client, as if it had closed each of them.
 * @param {any} error
 */
const endOf = (error) => (error.code === 'CLOSED' ? null : error);

export class Core {
  #driver;
  #random;
  /** Lists and feeds, for the end of the client and for hidden pages. @type {Set<any>} */
  #open = new Set();
  /** @type {Listeners<ClientState>} */
  #listeners = new Listeners();
  /** @type {{ resolve: (nest: any) => void, reject: (error: any) => void } | null} */
  #connecting = null;
  #isHidden = false;

  /**
   * @param {Platform} platform
   * @param {any} settings
   */
  constructor(platform, settings) {
    this.#random = platform.randomBytes;
    const { followsLeader = true } = settings;
    /** What `connect` was given, with its defaults. */
    this.settings = settings;
    this.#driver = new Driver(platform, settings, {
      ...platform,
      ...settings,
      random: Math.random,
      unpacks: settings.compression !== false && platform.unzstd?.machine,
      followsLeader: followsLeader && platform.followsLeader,
    }, (event) => this.handle(event));
    /**
     * `{phase, address, error, pause}`, frozen. `phase` is connecting, ready, reconnecting or closed; `error` says why
     * there is no connection; `pause` is the time before the next attempt, in milliseconds.
     * @type {ClientState}
     */
    this.state = Object.freeze({ phase: 'connecting', address: null, error: null, pause: 0 });
    /** Unpacks a Zstandard frame; null where the platform cannot. */
    this.unzstd = platform.unzstd;
    if (settings.onState) this.onState(settings.onState);
  }

  // MARK: The connection

  /**
   * Connects. `connect` calls it.
   * @returns {Promise<this>} rejects if no server can be used; the client is closed then
   */
  connect() {
    return new Promise((resolve, reject) => {
      this.#connecting = { resolve, reject };
      this.run((m, now) => m.connect(now));
    });
  }

  /**
   * Closes the client. Lists and feeds end, and their loops are done; requests fail with CLOSED, or OUTCOME_UNKNOWN if a
   * write was sent.
   */
  close() {
    for (const one of [...this.#open]) one.leave?.();
    this.run((m, now) => m.close(now));
  }

  /**
   * Calls a function after each change of `state`.
   * @param {(state: any) => void} listener
   * @returns {() => void} ends it
   */
  onState(listener) {
    return this.#listeners.add(listener);
  }

  /** What the server has said of itself and of this client: WELCOME, frozen; null before the first connection. */
  get server() {
    return this.#driver.machine.welcome;
  }

  /** The server's model, if it was read. */
  get knownModel() {
    return this.#driver.machine.models.get(this.server?.modelHash);
  }

  /** The secret that owns the undo stacks of this client: 32 hexadecimal digits. Keep it to undo in a later run. */
  get session() {
    return this.settings.session;
  }

  // MARK: For the other parts of the library

  /** A new idempotency key. */
  newKey() {
    return toHex(this.#random(16));
  }

  /** Bytes that the transport has not sent yet. */
  get waiting() {
    return this.#driver.transport?.waiting ?? 0;
  }

  /**
   * Sends a request.
   * @param {string} name of the message
   * @param {any} fields of the message, or its body as Uint8Array
   * @param {RequestOptions} [options]
   * @returns {Promise<any>} the fields of the reply
   */
  request(name, fields, options = {}) {
    const { kind = 'read', answer, signal, timeout, stream, ready, ...rest } = options;
    return this.call((m, call, more) => {
      const type = typeOf(name);
      const body = more?.body ?? (fields instanceof Uint8Array ? fields : encode(name, fields));
      const of = answer && typeOf(answer);
      submit(m, { ...rest, owner: { call }, kind, type, answer: of, ...more, body });
    }, { signal, timeout, stream, ready });
  }

  /**
   * Starts something that the machine answers.
   * @param {(machine: Machine, call: any, ready?: any) => void} start
   * @param {{ signal?: AbortSignal, timeout?: number, stream?: any, isHeld?: () => boolean, ready?: Promise<any> }}
   *   options `isHeld`: whether no time passes for it now; `call.restart` lets it begin again. `ready`: what it waits
   *   for before it starts
   * @returns {Promise<any>}
   */
  call(start, { signal, timeout, stream, isHeld, ready } = {}) {
    const time = timeout ?? this.settings.requestTimeout ?? REQUEST_TIMEOUT_MS;
    return new Promise((resolve, reject) => {
      checkTime(time, 'timeout');
      const abort = () => this.run((m) => abandon(m, call, false));
      const expire = () => this.run((m) => {
        // A stream that was sent has no time limit: silence on the connection shows a dead server.
        if (!isHeld?.() && (!stream || m.table.idOf(call) === undefined)) abandon(m, call, true);
      });
      /** @type {any} */
      let timer;
      const restart = () => {
        clearTimeout(timer);
        timer = setTimeout(expire, Math.min(time, TIMER_MS_MAX));
      };
      const settled = () => {
        call.isWaiting = false;
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      const call = {
        stream,
        isWaiting: Boolean(ready),
        restart,
        resolve: (/** @type {any} */ value) => {
          settled();
          resolve(value);
        },
        reject: (/** @type {any} */ error) => {
          settled();
          reject(error);
        },
      };
      restart();
      if (stream) stream.call = call;
      signal?.addEventListener('abort', abort);
      const begin = (/** @type {any} */ more = undefined) => {
        try {
          this.run((m) => start(m, call, more));
        } catch (error) {
          call.reject(error);
        }
      };
      if (signal?.aborted) call.reject(new NestError('CANCELLED', 'cancelled before it was sent'));
      else if (!ready) return begin();
      ready?.then((more) => {
        if (!call.isWaiting) return;
        call.isWaiting = false;
        begin(more);
      }, call.reject);
    });
  }

  /**
   * Calls the machine, and performs what it decides.
   * @template T
   * @param {(machine: Machine, now: number) => T} body
   * @returns {T}
   */
  run(body) {
    return this.#driver.run(body);
  }

  /** @param {any} one a list or feed that has ended */
  forget(one) {
    this.#open.delete(one);
  }

  /** @param {any} one a list or feed that ends with the client */
  remember(one) {
    if (this.state.phase === 'closed') return one.end(endOf(this.state.error));
    this.#open.add(one);
    if (this.#isHidden) one.setHidden?.(true);
  }

  /** Pauses or resumes all lists, because the page is hidden or visible. @param {boolean} isHidden */
  setHidden(isHidden) {
    this.#isHidden = isHidden;
    for (const one of this.#open) one.setHidden?.(isHidden);
  }

  /** @param {any} event of the machine @returns {void} */
  handle(event) {
    switch (event.type) {
      case 'answer': return event.call.resolve(event.reply);
      case 'fail': return event.call.reject(event.error);
      case 'part': return event.call.stream?.part?.(event.part, event.body);
      case 'credit': return event.call.stream?.credit?.(event.bytes);
      case 'change': return event.to.receive(event);
      case 'end': return event.to.end(endOf(event.error));
      case 'greeting':
        return void import('../machine/greeting.js').then(
          ({ ask }) => this.run((m) => ask(m, event.welcome)),
          (error) => this.run((m) =>
            m.closeConnection(`a part of the library cannot be loaded: ${error}`, 'UNREACHABLE')),
        );
      case 'ready':
        this.#connecting?.resolve(this);
        this.#connecting = null;
        return this.#setState({ phase: 'ready', address: event.address, error: null, pause: 0 });
      case 'lost':
        return this.#setState({
          phase: event.wasReady || this.server ? 'reconnecting' : 'connecting', address: event.address,
          error: event.error, pause: event.pause,
        });
      case 'closed':
        this.#connecting?.reject(event.error);
        this.#connecting = null;
        for (const one of [...this.#open]) one.end(endOf(event.error));
        return this.#setState({ phase: 'closed', address: null, error: event.error, pause: 0 });
    }
  }

  /** @param {any} state */
  #setState(state) {
    this.state = Object.freeze(state);
    this.#listeners.call(this.state);
  }
}
