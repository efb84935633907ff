// The two directions of a transfer: what arrives waits until the program asks for it, and what leaves waits for credit.

import { Limits } from '../wire/limits-more.js';
import { NestError } from '../wire/errors.js';
import { decode, encode, messageNames } from '../wire/messages.js';
import '../wire/messages-more.js';
import { atLeastBefore } from '../machine/fetches.js';
import { sendPart } from '../machine/streams.js';
import { T } from '../machine/types.js';

/** Consumed bytes are granted again in steps of this part of the initial credit: fewer frames than chunks. */
const grantParts = 4;
/** The pause before an upload looks again whether its bytes were sent, in milliseconds. */
const drainMS = 5;

/** Bytes of a stream that the server may send before it is granted more. */
const initialCredit = ({ server }) => server?.creditBytesInitial ?? 0;

/**
 * A download: SUBTREE_*, VALUE, BACKUP_* or CHECK_*. The server sends no more bytes of chunks than it was granted, so what
 * waits here is bounded.
 */
export class Download {
  /** @type {{ name: string, body: Uint8Array }[]} */
  #queue = [];
  /** @type {(() => void) | null} */
  #waiter = null;
  /** @type {any} */
  #failure = null;
  #isOver = false;
  /**
   * What the server may still send; null before the first chunk.
   * @type {any}
   */
  #credit = null;
  #consumed = 0;
  #nest;
  #abort = new AbortController();
  #stream;

  /**
   * @param nest The client.
   * @param {string} name The request.
   * @param {object} fields Of its body, or its bytes.
   * @param {{ signal?: AbortSignal, model?: string, atLeast?: number }} options As of `nest.request`.
   */
  constructor(nest, name, fields, { signal, model, atLeast } = {}) {
    this.#nest = nest;
    const forget = follow(signal, () => this.cancel());
    /** @type {any} */
    const stream = { part: (type, body) => this.#received(messageNames.get(type), body) };
    this.#stream = stream;
    const bodyAt = atLeast === undefined ? undefined : atLeastBefore(atLeast, fields);
    nest.request(name, fields, { kind: 'download', bodyAt, model, stream, signal: this.#abort.signal })
      .then(() => this.#wake(), (error) => this.#fail(error)).finally(forget);
  }

  /** Ends it early. Has no effect after the end. */
  cancel() {
    if (this.#isOver) return;
    this.#fail(new NestError('CANCELLED', 'the program has left the transfer'));
    this.#abort.abort();
  }

  #received(name, body) {
    if (this.#failure) return;
    if (name === 'subtreeChunk' || name === 'backupChunk') {
      // Of the connection that the request was sent on.
      this.#credit = (this.#credit ?? initialCredit(this.#nest)) - body.length;
      if (this.#credit < 0) {
        this.#fail(new NestError('FLOW_CONTROL', 'the server sent more than it was granted'));
        this.#abort.abort();
        return;
      }
    }
    this.#queue.push({ name, body });
    this.#wake();
  }

  #fail(error) {
    this.#failure ??= error;
    this.#wake();
  }

  #wake() {
    this.#waiter?.();
    this.#waiter = null;
  }

  /** @returns {Promise<void>} */
  #event() {
    return new Promise((resolve) => { this.#waiter = resolve; });
  }

  /**
   * The next message: its name, and its body. One caller at a time.
   * @returns {Promise<{ name: string, body: Uint8Array }>}
   * @throws {NestError} Why the transfer ended before its last message.
   */
  async next() {
    for (;;) {
      const next = this.#queue.shift();
      if (next) return next;
      if (this.#failure) throw this.#failure;
      if (this.#waiter) throw new NestError('INVALID', 'a transfer is read by one loop');
      await this.#event();
    }
  }

  /** The fields of the next message, which must have this name. */
  async expect(name) {
    const found = await this.next();
    if (found.name !== name) {
      this.cancel();
      throw new NestError('PROTOCOL', `the server sent ${found.name} in place of ${name}`);
    }
    return decode(name, found.body);
  }

  /** Notes that the last message was read, and that it was right. */
  finish() {
    this.#isOver = true;
  }

  /** Lets the server send as many bytes more as the program has consumed. */
  consumed(count) {
    this.#consumed += count;
    if (this.#consumed < initialCredit(this.#nest) / grantParts) return;
    this.#credit = (this.#credit ?? 0) + this.#consumed;
    const bytes = this.#consumed;
    this.#nest.run((m) => sendPart(m, this.#stream.call, T.credit, encode('credit', { bytes })));
    this.#consumed = 0;
  }
}

/** The same iteration; one that is left before its first step ends the download too. */
export const ending = (iterator, download) => ({
  next: () => iterator.next(),
  return: () => {
    download.cancel();
    return iterator.return();
  },
  [Symbol.asyncIterator]() {
    return this;
  },
});

/**
 * The bytes of a chunk: a byte for the packing, then the bytes, or one Zstandard frame.
 * @param nest The client.
 * @param {Uint8Array} packed
 * @returns {Promise<Uint8Array>}
 */
export async function unpacked(nest, packed) {
  if (packed[0] === 0) return packed.subarray(1);
  if (packed[0] !== 1) throw new NestError('MALFORMED', 'the packing of a chunk is not known');
  const bytes = await nest.unzstd(packed.subarray(1), Limits.chunkUnpackedBytesMax);
  if (!bytes) throw new NestError('UNSUPPORTED', 'the server sent a compressed chunk, which was not asked for');
  return bytes;
}

/** An upload: it sends a chunk when the server has granted its bytes, and the socket has room. */
export class Upload {
  // The client adds the initial credit when it has sent the request.
  #credit = 0;
  /** @type {(() => void) | null} */
  #waiter = null;
  /** @type {any} */
  #failure = null;
  #abort = new AbortController();
  #nest;
  #stream;
  #call;

  /**
   * @param nest The client.
   * @param {string} name The request.
   * @param {object} fields Of its body.
   * @param {{ signal?: AbortSignal, model?: string, answer?: string }} options `answer`: the name of the reply
   */
  constructor(nest, name, fields, { signal, model, answer = 'receipt' } = {}) {
    const forget = follow(signal, () => this.cancel());
    this.#nest = nest;
    /** @type {any} */
    const stream = {
      credit: (bytes) => {
        this.#credit += bytes;
        this.#wake();
      },
    };
    this.#stream = stream;
    this.#call = nest.request(name, fields, {
      kind: 'upload', answer, model, stream, signal: this.#abort.signal,
    });
    this.#call.catch((error) => {
      this.#failure = error;
      this.#wake();
    }).finally(forget);
  }

  #wake() {
    this.#waiter?.();
    this.#waiter = null;
  }

  /** @returns {Promise<void>} */
  #event() {
    return new Promise((resolve) => { this.#waiter = resolve; });
  }

  /** The longest chunk: more could never be sent. */
  get chunkBytesMax() {
    return Math.min(this.#nest.server?.frameBytesMax ?? Limits.frameBytesMax, initialCredit(this.#nest));
  }

  /** Ends it early: nothing is stored. Has no effect after the end. */
  cancel() {
    this.#abort.abort();
  }

  /** Sends the body of a chunk when it may. Throws the error of a server that has refused the upload. */
  async send(body) {
    while (!this.#failure && this.#credit < body.length) {
      await this.#event();
    }
    // What waits in the transport is at most a chunk.
    while (this.#nest.waiting > Limits.frameBytesMax) await new Promise((resolve) => setTimeout(resolve, drainMS));
    if (this.#failure) throw this.#failure;
    this.#credit -= body.length;
    // False once the request is over: then its promise has the reason.
    if (!this.#part(T.subtreeChunk, body)) await this.#call;
  }

  /** Returns false when the request is over. */
  #part(type, body) {
    return this.#nest.run((m) => sendPart(m, this.#stream.call, type, body));
  }

  /** Ends the upload. Returns the server's reply. */
  end(fields) {
    if (!this.#failure) this.#part(T.subtreeEnd, encode('subtreeEnd', fields));
    return this.#call;
  }
}

/** Calls `cancel` when the signal of a program is aborted; returns what ends that. */
function follow(signal, cancel) {
  if (signal?.aborted) throw new NestError('CANCELLED', 'cancelled before it began');
  signal?.addEventListener('abort', cancel, { once: true });
  return () => signal?.removeEventListener('abort', cancel);
}
