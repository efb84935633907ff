/**
 * Makes all decisions of a client: what to send, which callers and lists to notify, when to reconnect. It uses no
 * socket, no task and no clock.
 *
 *     idle ──connect──▶ connecting ──connected──▶ handshaking ──WELCOME──▶ ready ──GOAWAY──▶ leaving
 *                          ▲  │ lost                 │ lost              │ lost           │ lost
 *                          └──┴──▶ backingOff ◀──────┴───────────────────┴────────────────┘
 *     any ──close, or a permanent error──▶ closed
 *
 * Its owner calls `connected`, `received`, `lost`, `time` and `unpacked` of packed.js with what happens, and performs
 * what `take` returns after each call. Times are milliseconds of any clock that does not go back.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { COMPRESSED, encodeFrame, FrameDecoder, preface, readPreface } from '../wire/frames.js';
import { encode } from '../wire/messages.js';
import { begin, fail, flush, lossError } from './calls.js';
import { checkKeepAlive, connectionLost, ended } from './connection.js';
import { dispatch } from './frames.js';
import { CONNECT_TIMEOUT_MS, LEADER_PAUSE_MS_MAX, QUEUE_BYTES_HARD_MAX, QUEUE_BYTES_MAX } from './limits.js';
import { Backoff, OneAddress } from './route.js';
import { RequestTable } from './table.js';
import { FEATURES, T } from './types.js';

/** @typedef {import('./table.js').OutgoingRequest} OutgoingRequest */

/**
 * @typedef {object} MachineOptions
 * @property {string[]} homes addresses of servers with the same store; each in one form
 * @property {() => number} random for jitter and orders of addresses: at least 0, less than 1
 * @property {string} session 32 hexadecimal digits
 * @property {string} [clientName]
 * @property {{ number: number, secret: string } | null} [token]
 * @property {string} [user] a label, for servers without tokens
 * @property {string | null} [store] the name of the store that the servers must have
 * @property {typeof import('./packed.js') | null} [unpacks] the module, where the owner can unpack
 * @property {typeof import('./cluster.js') | null} [cluster] the module, for several addresses or a leader
 * @property {boolean} [followsLeader] whether the client goes to the leader that another node names
 * @property {(text: string) => string | null} [readAddress] the address of a leader, in the form of `homes`
 * @property {boolean} [canPause] whether the transport can stop to receive
 * @property {number} [connectTimeout] milliseconds
 * @property {number} [reconnectPauseMax] milliseconds
 */

/**
 * What the owner performs after each call: close the old connection, connect, send on the current one; unpack `unpack`
 * and call `unpacked`; handle the events; call `time` at `deadline`.
 * @typedef {object} Output
 * @property {boolean} close
 * @property {string | null} connect
 * @property {Uint8Array[]} send
 * @property {{ body: Uint8Array } | null} unpack
 * @property {{ type: string, [name: string]: any }[]} events
 * @property {boolean} reads whether the transport should receive
 * @property {number | null} deadline
 */

export class Machine {
  /** @param {MachineOptions} options */
  constructor(options) {
    this.options = {
      followsLeader: true, readAddress: (/** @type {string} */ text) => text, canPause: true, connectTimeout: CONNECT_TIMEOUT_MS, ...options,
    };
    /** What a client of a cluster does besides: cluster.js. @type {typeof import('./cluster.js') | null} */
    this.cluster = options.cluster ?? null;
    this.random = options.random;
    this.route = new (this.cluster?.Addresses ?? OneAddress)(options.homes, this.random);
    this.backoff = new Backoff(options.reconnectPauseMax);
    /** @type {'idle' | 'connecting' | 'handshaking' | 'ready' | 'leaving' | 'backingOff' | 'closed'} */
    this.phase = 'idle';
    this.now = 0;
    /** Why the client is closed. @type {any} */
    this.error = null;
    /** WELCOME of the current or last connection. @type {any} */
    this.welcome = null;
    /** WELCOME of a server whose model is compared with the one before: greeting.js. @type {any} */
    this.greeting = null;
    /** The models that the client has read, by their hashes. @type {Map<string, any>} */
    this.models = new Map();
    /** The hashes of the server's model, and of those that it extends. @type {Set<any>} */
    this.valid = new Set();
    this.table = new RequestTable();
    /**
     * Lists and feeds: what begins on each connection (`begin`), gets answers and refusals (`answered`, `refused`), and
     * ends with a `model`.
     * @type {Set<any>}
     */
    this.followers = new Set();
    /** What the frames of each view go to. @type {Map<number, any>} */
    this.views = new Map();
    /** The open group: groups.js. @type {any} */
    this.group = null;
    /** The newest point that the client knows of. @type {{ history: string, revision: number } | null} */
    this.seen = null;
    /** Revisions of this client that some list has not reached. @type {number[]} */
    this.own = [];
    /** The last AUTHORS: a net difference may name revisions that are older than those of the one before. @type {{ revision: number, sessionNumber: number, user: string }[]} */
    this.authors = [];
    /** @type {any} */
    this.search = null;
    /** Why the client could not connect to the leader. @type {{ address: string, error: any, at: number } | null} */
    this.leaderFault = null;
    /** The address to connect to as soon as the connection is closed. @type {string | null} */
    this.moving = null;
    /** The nodes that were left because they had not reached a revision, since the last answer to a read. */
    this.lateNodes = 0;
    this.latePauses = new Backoff(LEADER_PAUSE_MS_MAX);
    /** The failed attempts since a server was ready, of this round. @type {any[]} */
    this.faults = [];
    /** Why no address could be used in the last whole round. @type {any} */
    this.roundFault = null;
    /** When what is due: backoff, handshake, keepAlive, search, late. @type {Map<string, number>} */
    this.timers = new Map();
    this.hasBeenReady = false;
    /** @type {number | null} */
    this.readySince = null;
    /** Why the connection is about to end, from the server or from this client. @type {any} */
    this.closeReason = null;
    this.isClosing = false;
    /** Whether this server would refuse another attempt in the same way. */
    this.isRefusedForGood = false;
    /** The pause that GOAWAY has asked for, in milliseconds. */
    this.retryAfter = 0;
    /** Why the last connection was lost. */
    this.lossReason = 'there is no connection yet';
    this.lastReceived = 0;
    /** @type {number | null} */
    this.pingedAt = null;
    /** Bytes that consumers have not taken. */
    this.queued = 0;
    /** Whether the connection was closed because consumers were too slow; the next one waits for them. */
    this.isSlow = false;
    /** The compressed frame that is being unpacked; those behind it wait. @type {any} */
    this.packed = null;
    /** Whether this client could not unpack as fast as the server sends. */
    this.refusesPacked = false;
    this.decoder = new FrameDecoder();
    /** The bytes of the server's preface; null when it was read. @type {Uint8Array | null} */
    this.preface = null;
    this.hasChannel = false;
    this.output = this.emptyOutput();
  }

  /** @returns {Output} */
  emptyOutput() {
    return { close: false, connect: null, send: [], unpack: null, events: [], reads: true, deadline: null };
  }

  /** Why there is no connection: the faults of the last whole round, or of the first attempts. */
  get connectFault() {
    return this.roundFault ?? (this.faults.length > 0 ? this.faults[0].error : null);
  }

  // MARK: What happens

  /** Begins to connect. @param {number} now */
  connect(now) {
    this.now = now;
    if (this.phase === 'idle') this.open();
  }

  /** The transport is open. @param {number} now */
  connected(now) {
    this.now = now;
    if (this.phase !== 'connecting') return;
    this.phase = 'handshaking';
    this.closeReason = null;
    this.hasChannel = true;
    this.decoder = new FrameDecoder();
    this.preface = new Uint8Array(0);
    const { clientName, session, token, user, unpacks } = this.options;
    const packed = unpacks?.features(this) ?? 0;
    this.output.send.push(preface());
    this.send(T.hello, 0, encode('hello', { clientName, features: FEATURES | packed, session, token, user }));
  }

  /**
   * Bytes have arrived. They must not change afterwards.
   * @param {Uint8Array} bytes
   * @param {number} now
   */
  received(bytes, now) {
    this.now = now;
    if (!this.hasChannel || this.isClosing) return;
    this.lastReceived = now;
    this.pingedAt = null;
    this.guarded(() => {
      const left = this.preface ? this.readPreface(bytes) : bytes;
      if (left) this.decoder.push(left);
      if (!this.packed) this.readFrames();
      else this.options.unpacks?.waits(this);
    });
  }

  /**
   * The connection is lost, or could not be made.
   * @param {number} now
   * @param {any} [error] why
   */
  lost(now, error = null) {
    this.now = now;
    if (this.phase !== 'connecting' && !this.hasChannel) return;
    this.closeReason ??= error;
    this.output.send = [];
    this.isClosing = true;
  }

  /** Some time has passed. @param {number} now */
  time(now) {
    this.now = now;
    for (const [name, due] of [...this.timers]) {
      if (due > now || this.timers.get(name) !== due) continue;
      this.timers.delete(name);
      if (name === 'backoff') this.open();
      else if (name === 'handshake') {
        this.closeConnection(`${this.route.current} does not answer`, 'UNREACHABLE');
      } else if (name === 'keepAlive') checkKeepAlive(this);
      else if (name === 'search') this.cluster?.searchPauseEnded(this);
      else for (const one of this.followers) begin(this, one);
    }
  }

  /** Closes the client. @param {number} now */
  close(now) {
    this.now = now;
    this.giveUp(new NestError('CLOSED', 'the client was closed'));
  }

  /**
   * Consumers have taken changes, or wait to take them.
   * @param {number} bytes by which the bytes that wait have grown
   * @param {number} now
   */
  queuesChanged(bytes, now) {
    this.now = now;
    this.queued += bytes;
    if (this.isSlow && this.queued < QUEUE_BYTES_MAX / 2) this.queuesDrained();
  }

  queuesDrained() {
    this.isSlow = false;
    this.timers.set('backoff', this.now);
  }

  /** Returns what to perform, once. @returns {Output} */
  take() {
    flush(this);
    const isFull = this.queued >= QUEUE_BYTES_MAX && (this.queued >= QUEUE_BYTES_HARD_MAX || !this.table.isAnswerDue);
    if (isFull && !this.options.canPause && this.phase === 'ready') {
      this.isSlow = true;
      this.closeConnection('the program is too slow');
    }
    // The consumer that should take them may wait for an answer.
    if (this.isSlow && this.phase === 'backingOff' && this.table.isAnswerDue) this.queuesDrained();
    const isDone = this.phase === 'leaving' && this.table.inFlight.size === 0;
    if (this.isClosing || isDone) {
      this.isClosing = false;
      this.output.close = true;
      ended(this);
    }
    const { output } = this;
    this.output = this.emptyOutput();
    output.reads = !isFull;
    output.deadline = this.timers.size === 0 ? null : Math.min(...this.timers.values());
    return output;
  }

  // MARK: For the other parts of the machine

  /** @param {{ type: string, [name: string]: any }} event */
  emit(event) {
    this.output.events.push(event);
  }

  /** @param {number} type @param {number} id @param {Uint8Array} body */
  send(type, id, body) {
    if (this.hasChannel) this.output.send.push(encodeFrame(type, 0, id, body, this.welcome?.frameBytesMax));
  }

  open() {
    this.phase = 'connecting';
    this.timers.set('handshake', this.now + this.options.connectTimeout);
    this.output.connect = this.route.current;
  }

  /**
   * Completes a request with its reply.
   * @param {number} id
   * @param {any} reply
   */
  finish(id, reply) {
    const entry = this.table.finish(id);
    if (!entry) return;
    this.cluster?.answered(this, entry);
    const { owner } = entry.request;
    if (owner?.call) this.emit({ type: 'answer', call: owner.call, reply });
    else owner?.answered(this, reply, entry.request);
  }

  /** @param {Uint8Array} bytes @returns {Uint8Array | null} what follows the preface */
  readPreface(bytes) {
    const held = /** @type {Uint8Array} */ (this.preface);
    const all = new Uint8Array(held.length + bytes.length);
    all.set(held);
    all.set(bytes, held.length);
    const read = readPreface(all);
    this.preface = all;
    if (!read) return null;
    this.preface = null;
    if (read.version === 1) return all.subarray(8);
    const text = `the server speaks versions ${read.lowest} to ${read.highest} of the protocol, not 1`;
    this.leaveServer(new NestError('VERSION_MISMATCH', text));
    return null;
  }

  readFrames() {
    for (;;) {
      // A frame may end the connection, or begin to be unpacked.
      const frame = this.isClosing ? null : this.decoder.next();
      if (!frame) return;
      if ((frame.flags & COMPRESSED) !== 0 && frame.type < 0x80) {
        this.packed = { frame, body: frame.body };
        this.output.unpack = this.packed;
        return;
      }
      dispatch(this, frame);
    }
  }

  /** A mistake of the server ends the connection. @param {() => void} body */
  guarded(body) {
    try {
      body();
    } catch (error) {
      if (!(error instanceof NestError)) throw error;
      this.violation(error.message);
    }
  }

  /** Closes the connection because the server violated the protocol. @param {string} message */
  violation(message) {
    const error = new NestError('PROTOCOL', `the server violated the protocol: ${message}`);
    if (!this.hasBeenReady) return this.leaveServer(error);
    this.closeReason = error;
    this.isClosing = true;
  }

  /**
   * Closes the connection; the client connects again, here or elsewhere.
   * @param {string} reason
   * @param {string} [code]
   */
  closeConnection(reason, code = 'CONNECTION_LOST') {
    this.closeReason = new NestError(code, reason);
    this.isClosing = true;
  }

  /**
   * Handles an error that a retry at this server cannot fix. It ends everything if there is no other server.
   * @param {any} error
   */
  leaveServer(error) {
    if (this.route.isOnly) return this.giveUp(error);
    this.closeReason = error;
    this.isRefusedForGood = error.retry === 0;
    this.isClosing = true;
  }

  /** @param {string} message */
  cancelled(message) {
    return new NestError('CANCELLED', message);
  }

  /**
   * Ends everything with an error that a retry cannot fix.
   * @param {any} error
   */
  giveUp(error) {
    if (this.phase === 'closed') return;
    this.phase = 'closed';
    this.error = error;
    this.timers.clear();
    this.isClosing = true;
    for (const { entry, wasSent } of this.table.removeAll()) {
      const loss = lossError(entry.request);
      fail(this, entry.request, wasSent && loss.code === 'OUTCOME_UNKNOWN' ? loss : error);
    }
    connectionLost(this, error, true);
    this.emit({ type: 'closed', error });
  }
}

