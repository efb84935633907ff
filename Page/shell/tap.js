// Records the frames of this window's connections, for /wire: a WebSocket that keeps what it carries, in a ring of
// bounded size. Frames are cut apart here, and decoded when they are shown.

import { COMPRESSED, FrameDecoder, MORE } from '/client/wire/frames.js';
import { compressible } from '/client/wire/compression.js';
import { Limits } from '/client/wire/limits.js';
import { decode, types as T } from '/client/wire/messages.js';
import '/client/wire/messages-more.js';
import '/client/wire/opposite.js';
import { Hold } from './hold.js';

/** Frames that are kept. */
export const FRAMES_MAX = 2_000;
/** Bytes of bodies that are kept. */
export const BYTES_MAX = 4 << 20;
/** Bytes of one body that are kept. */
export const BODY_MAX = 64 << 10;
/** Bytes of a preface. */
const PREFACE_BYTES = 8;

/**
 * What is kept. An entry: `number`, `time` (milliseconds since 1970), `connection` (from 1), and for `kind`
 * - 'frame': `isOut`, `type`, `flags`, `id`, `size` of the body, `body` (its first BODY_MAX bytes), `of` (the request
 
 * - 'opened', 'closed': of the connection, with `text`.
 */
export class Ring {
  entries = [];
  /** How many entries were dropped because of the bounds. */
  dropped = 0;
  #bytes = 0;
  #count = 0;
  #listeners = new Set();

  add(entry) {
    entry.number = (this.#count += 1);
    this.entries.push(entry);
    this.#bytes += entry.body?.length ?? 0;
    while (this.entries.length > FRAMES_MAX || this.#bytes > BYTES_MAX) {
      this.#bytes -= this.entries.shift().body?.length ?? 0;
      this.dropped += 1;
    }
    for (const listener of this.#listeners) listener(entry);
  }

  clear() {
    this.entries = [];
    this.#bytes = 0;
    this.dropped = 0;
    for (const listener of this.#listeners) listener(null);
  }

  /** Calls a function with each entry that comes, and with null when all were removed. Returns what ends it. */
  follow(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Cuts one direction of a connection into frames. A byte stream that is none of nest's ends the recording of it. */
export class Cutter {
  #decoder = new FrameDecoder(Limits.frameBytesMax);
  #preface = PREFACE_BYTES;
  #isBroken = false;

  constructor() {
    this.#decoder.compression = compressible;
  }

  /** The frames that bytes complete. */
  cut(bytes) {
    const skipped = Math.min(this.#preface, bytes.length);
    this.#preface -= skipped;
    if (this.#isBroken || skipped === bytes.length) return [];
    // The decoder keeps what it is given.
    this.#decoder.push(bytes.subarray(skipped));
    const frames = [];
    try {
      for (let frame; (frame = this.#decoder.next());) frames.push(frame);
    } catch {
      this.#isBroken = true;
    }
    return frames;
  }
}

/**
 * What the frames of one connection are to each other: answers to requests, and rows of views. Of a request that has
 * rows it keeps a shape, `{ entity, hasWindow, projection, columns }`, by which they can be read.
 */
export class Context {
  /** Requests without their last reply: id → `{ type, time, shape }`. */
  #requests = new Map();
  /** Views: id → shape. */
  #views = new Map();

  /** `{ of, shape }` of a frame: the request that it answers, and that of the rows in it; or null. */
  see({ type, flags, id, body }, isOut, time) {
    if (id === 0) return { of: null, shape: null };
    if (id >= Limits.viewIDMin) return { of: null, shape: this.#views.get(id) ?? null };
    if (isOut) {
      if (!this.#requests.has(id)) keep(this.#requests, id, { type, time, shape: shapeOf(type, body) });
      return { of: null, shape: null };
    }
    const of = this.#requests.get(id) ?? null;
    if (type === T.subscribed && of?.shape && !(flags & COMPRESSED)) {
      const answer = attempt(() => decode('subscribed', body));
      if (answer) keep(this.#views, answer.view, { ...of.shape, projection: answer.projection });
    }
    if (!(flags & MORE) && !STREAMED.has(type)) this.#requests.delete(id);
    return { of, shape: of?.shape ?? null };
  }
}

/** Adds an entry, and drops the oldest of too many. */
function keep(map, key, value) {
  map.set(key, value);
  if (map.size > FRAMES_MAX) map.delete(map.keys().next().value);
}

/** Replies after which another frame of the same request follows. */
const STREAMED = new Set([T.credit, T.subtreeStart, T.subtreeChunk, T.backupStart, T.backupChunk, T.checkProgress]);
/** Requests whose replies have rows. */
const REQUESTS = new Map([[T.subscribe, 'subscribe'], [T.resubscribe, 'resubscribe'], [T.fetch, 'fetch']]);

const attempt = (body) => {
  try {
    return body();
  } catch {
    return null;
  }
};

function shapeOf(type, body) {
  const request = REQUESTS.has(type) ? attempt(() => decode(REQUESTS.get(type), body).request) : null;
  if (!request) return null;
  const { entity, window, projection, columns, outline } = request;
  return { entity, hasWindow: window !== null || outline !== null, projection, columns };
}

/**
 * The class that `connect` gets as its `WebSocket`. Frames that it receives are recorded as the client gets them: with
 * `hold` they may wait.
 */
export function tapped(ring, Base = WebSocket, hold = new Hold()) {
  let connections = 0;
  const open = new Set();
  class Tap extends Base {
    #connection = (connections += 1);
    #context = new Context();
    #cutters = { in: new Cutter(), out: new Cutter() };
    #received = null;
    #gate;
    /** What is sent at the end of this turn. */
    #unsent = [];

    constructor(...given) {
      super(...given);
      open.add(this);
      this.#gate = hold.open((bytes) => {
        this.#record(bytes, false);
        this.#received?.({ data: bytes.length === bytes.buffer.byteLength ? bytes.buffer : bytes });
      });
      this.addEventListener('open', () => this.#note('opened', new URL(this.url).host));
      // It is called before the client's: what waits comes before the end.
      this.addEventListener('close', ({ code, reason }) => {
        open.delete(this);
        this.#gate.end(false);
        this.#note('closed', code === CUT ? 'cut by this page' : `${code}${reason ? ` ${reason}` : ''}`);
      });
      this.addEventListener('message', ({ data }) => {
        if (data instanceof ArrayBuffer) this.#gate.push(new Uint8Array(data));
        else this.#received?.({ data });
      });
    }

    /** What waits is dropped: a link that is cut loses it, and frames of one user are not for the next one. */
    close(...given) {
      this.#gate.end(true);
      this.#sendAll();
      super.close(...given);
    }

    /** The client's listener: it gets what the gate lets through. */
    set onmessage(listener) {
      this.#received = listener;
    }

    get onmessage() {
      return this.#received;
    }

    /**
     * Sends in a microtask: lists that show a write, whose microtask comes before, are drawn first. To wake the threads of
     * the browser that send takes a third as long.
     */
    send(bytes) {
      // The client may use its buffer again.
      this.#unsent.push(bytes.slice());
      if (this.#unsent.length === 1) queueMicrotask(() => this.#sendAll());
    }

    get bufferedAmount() {
      return this.#unsent.reduce((sum, { length }) => sum + length, super.bufferedAmount);
    }

    #sendAll() {
      for (const bytes of this.#unsent.splice(0)) {
        super.send(bytes);
        this.#record(bytes, true);
      }
    }

    #note(kind, text) {
      ring.add({ kind, time: Date.now(), connection: this.#connection, text });
    }

    #record(bytes, isOut) {
      const time = Date.now();
      for (const frame of this.#cutters[isOut ? 'out' : 'in'].cut(bytes)) {
        const { of, shape } = this.#context.see(frame, isOut, performance.now());
        const { type, flags, id } = frame;
        ring.add({
          kind: 'frame', time, connection: this.#connection, isOut, type, flags, id,
          size: frame.body.length, body: frame.body.slice(0, BODY_MAX), of, shape,
          after: of ? performance.now() - of.time : null,
        });
      }
    }
  }
  /** Closes the connection as a broken network does: the client does not expect it. */
  const cut = () => open.forEach((socket) => socket.close(CUT, 'cut by this page'));
  return { Tap, cut, hold };
}

/** The code with which a page closes a socket on purpose: browsers leave 4000 to 4999 to pages. */
const CUT = 4000;
