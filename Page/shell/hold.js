// Holds receipts back, for /wire: while it is on, what the server says about a write waits in the page, and everything
// that comes behind it. So one sees what the page shows before the server has answered.

import { types as T } from '/client/wire/messages.js';
import '/client/wire/messages-optimistic.js';

/** How long frames wait, in milliseconds. A client that hears nothing for longer gives the connection up. */
export const HELD_MS_MAX = 8_000;
/** Frames that wait on one connection. */
export const HELD_FRAMES_MAX = 1_000;
/** Bytes that wait on one connection. */
export const HELD_BYTES_MAX = 4 << 20;

const PREFACE_BYTES = 8;
const HEADER_BYTES = 12;
/** What says that a write was made. */
const HELD = new Set([T.receipt, T.own]);

/**
 * The frames that one connection receives, on their way to the client. It gets every byte once and in order. While
 * `isOn`, a frame that says that a write was made waits, and what comes behind it waits too.
 */
export class Gate {
  isOn = false;
  /** What waits: pieces `{ type, bytes }` in order; `type` of the first piece of a frame, otherwise null. */
  #held = [];
  #isHolding = false;
  /** The bytes of the present frame, or of the preface, that have not come yet. */
  #left = PREFACE_BYTES;
  /** The beginning of a header: it is not known yet whether its frame waits. */
  #header = new Uint8Array(0);
  #deliver;

  /** @param {(bytes: Uint8Array) => void} deliver */
  constructor(deliver) {
    this.#deliver = deliver;
  }

  /** The types of the frames that wait, in order. */
  get held() {
    return this.#held.map(({ type }) => type).filter((type) => type !== null);
  }

  get bytes() {
    return this.#held.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Whether more waits than may. */
  get isFull() {
    return this.bytes > HELD_BYTES_MAX || this.held.length > HELD_FRAMES_MAX;
  }

  /** Takes what has come, and delivers what need not wait. */
  push(arrived) {
    const bytes = joined([this.#header, arrived]);
    this.#header = new Uint8Array(0);
    let at = 0;
    // What is delivered ends where holding begins.
    let end = null;
    while (at < bytes.length) {
      let type = null;
      if (this.#left === 0) {
        if (bytes.length - at < HEADER_BYTES) {
          this.#header = bytes.slice(at);
          break;
        }
        type = bytes[at + 4];
        this.#left = HEADER_BYTES + new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(0);
        if (this.isOn && HELD.has(type)) this.#isHolding = true;
        if (this.#isHolding) end ??= at;
      }
      const piece = bytes.subarray(at, at + this.#left);
      if (this.#isHolding) {
        end ??= at;
        this.#held.push({ type, bytes: piece });
      }
      this.#left -= piece.length;
      at += piece.length;
    }
    if ((end ?? at) > 0) this.#deliver(bytes.subarray(0, end ?? at));
  }

  /** Lets the first frame that waits go, and those behind it up to the next one that says that a write was made. */
  next() {
    const following = this.#held.findIndex(({ type }, index) => index > 0 && this.isOn && HELD.has(type));
    this.#isHolding = following > 0;
    this.#letGo(following > 0 ? following : this.#held.length);
  }

  /** Lets everything go that waits. */
  release() {
    this.#isHolding = false;
    this.#letGo(this.#held.length);
  }

  /** Drops what waits, as a network does that fails. */
  drop() {
    this.#held = [];
    this.#isHolding = false;
  }

  #letGo(count) {
    const pieces = this.#held.splice(0, count);
    if (pieces.length > 0) this.#deliver(joined(pieces.map(({ bytes }) => bytes)));
  }
}

/** The bytes of some arrays one after the other; of one that is not empty, itself. */
function joined(parts) {
  const [first, ...more] = parts.filter(({ length }) => length > 0);
  if (more.length === 0) return first ?? new Uint8Array(0);
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The switch for all connections of a window, and what waits on them. */
export class Hold {
  #isOn = false;
  #gates = new Set();
  #timer = null;
  #listeners = new Set();

  get isOn() {
    return this.#isOn;
  }

  /** The types of the frames that wait. */
  get held() {
    return [...this.#gates].flatMap(({ held }) => held);
  }

  /** Holds back from now on, or no longer: then what waits goes. */
  set(isOn) {
    this.#isOn = isOn;
    for (const gate of this.#gates) {
      gate.isOn = isOn;
      if (!isOn) gate.release();
    }
    this.#changed();
  }

  /** Lets the next frame go that says that a write was made, and what comes behind it. */
  next() {
    for (const gate of this.#gates) gate.next();
    this.#changed();
  }

  /** The gate of a connection that begins: `push(bytes)`; `end(isCut)`: it has ended, or this side ends it (`isCut`). */
  open(deliver) {
    const gate = new Gate(deliver);
    gate.isOn = this.#isOn;
    this.#gates.add(gate);
    return {
      push: (bytes) => {
        const before = gate.held.length;
        gate.push(bytes);
        if (gate.isFull) gate.release();
        if (gate.held.length !== before) this.#changed(before > 0 && gate.held.length > before);
      },
      end: (isCut) => {
        this.#gates.delete(gate);
        if (isCut) gate.drop();
        else gate.release();
        this.#changed();
      },
    };
  }

  /** Calls a function after each change of `isOn` or `held`. Returns what ends it. */
  follow(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** `isMore`: some have waited before, whose time goes on. */
  #changed(isMore = false) {
    if (!isMore) {
      clearTimeout(this.#timer);
      if (this.held.length > 0) this.#timer = setTimeout(() => this.#expire(), HELD_MS_MAX);
    }
    for (const listener of this.#listeners) listener();
  }

  #expire() {
    for (const gate of this.#gates) gate.release();
    this.#changed();
  }
}
