// Records the frames of this window's connections, for /wire: a WebSocket that keeps what it carries, in a ring of
// bounded size. Frames are cut apart here and decoded where somebody looks at them.

import { COMPRESSED, FrameDecoder, MORE } from '/client/wire/frames.js';
import { compressible } from '/client/wire/compression.js';
import { Limits } from '/client/wire/limits.js';
import { decode, types as T } from '/client/wire/messages.js';
import '/client/wire/opposite.js';

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
 *   that it answers, or null), `view` (`{ width, hasWindow }` of its view, for rows and diffs, or null);
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

/** What the frames of one connection are to each other: answers to requests, and rows of views. */
export class Context {
  /** Requests without their last reply: id → { type, time, hasWindow }. */
  #requests = new Map();
  /** Views: id → { width, hasWindow }. */
  #views = new Map();

  /** `{ of, view }` of a frame. */
  see({ type, flags, id, body }, isOut, time) {
    const none = { of: null, view: null };
    if (id === 0) return none;
    if (id >= Limits.viewIDMin) return { of: null, view: this.#views.get(id) ?? null };
    if (isOut) {
      if (!this.#requests.has(id)) {
        this.#requests.set(id, { type, time, hasWindow: windowOf(type, body), width: widthOf(type, body) });
        if (this.#requests.size > FRAMES_MAX) this.#requests.delete(this.#requests.keys().next().value);
      }
      return none;
    }
    const of = this.#requests.get(id) ?? null;
    if (type === T.subscribed && of && !(flags & COMPRESSED)) this.#subscribed(body, of);
    if (!(flags & MORE) && !STREAMED.has(type)) this.#requests.delete(id);
    return { of, view: of && { width: of.width, hasWindow: of.hasWindow } };
  }

  #subscribed(body, { hasWindow }) {
    const { view, projection } = attempt(() => decode('subscribed', body)) ?? {};
    if (view === undefined) return;
    this.#views.set(view, { width: projection.length, hasWindow });
    if (this.#views.size > FRAMES_MAX) this.#views.delete(this.#views.keys().next().value);
  }
}

/** Replies after which another frame of the same request follows. */
const STREAMED = new Set([T.credit, T.subtreeStart, T.subtreeChunk, T.backupStart, T.backupChunk, T.checkProgress]);
const REQUESTS = new Map([[T.subscribe, 'subscribe'], [T.resubscribe, 'resubscribe'], [T.fetch, 'fetch']]);

const attempt = (body) => {
  try {
    return body();
  } catch {
    return undefined;
  }
};
const requestOf = (type, body) => REQUESTS.has(type) ? attempt(() => decode(REQUESTS.get(type), body).request) : undefined;
const windowOf = (type, body) => (requestOf(type, body)?.window ?? null) !== null;
/** How many values the rows of an answer have, where the request says so; null: all properties of the entity. */
const widthOf = (type, body) => {
  const request = type === T.fetch ? requestOf(type, body) : null;
  return request?.projection.length ? request.projection.length + request.columns.length : null;
};

/** The class that `connect` gets as its `WebSocket`, and the frames that its sockets carry. */
export function tapped(ring, Base = WebSocket) {
  let connections = 0;
  const open = new Set();
  class Tap extends Base {
    #connection = (connections += 1);
    #context = new Context();
    #cutters = { in: new Cutter(), out: new Cutter() };

    constructor(...given) {
      super(...given);
      open.add(this);
      this.addEventListener('open', () => this.#note('opened', new URL(this.url).host));
      this.addEventListener('close', ({ code, reason }) => {
        open.delete(this);
        this.#note('closed', reason ? `${code} ${reason}` : String(code));
      });
      this.addEventListener('message', ({ data }) => {
        if (data instanceof ArrayBuffer) this.#record(new Uint8Array(data), false);
      });
    }

    send(bytes) {
      super.send(bytes);
      // The client may use its buffer again.
      this.#record(bytes.slice(), true);
    }

    #note(kind, text) {
      ring.add({ kind, time: Date.now(), connection: this.#connection, text });
    }

    #record(bytes, isOut) {
      const time = Date.now();
      for (const frame of this.#cutters[isOut ? 'out' : 'in'].cut(bytes)) {
        const { of, view } = this.#context.see(frame, isOut, performance.now());
        ring.add({
          kind: 'frame', time, connection: this.#connection, isOut, type: frame.type, flags: frame.flags, id: frame.id,
          size: frame.body.length, body: frame.body.slice(0, BODY_MAX), of, view,
          after: of ? performance.now() - of.time : null,
        });
      }
    }
  }
  /** Closes the connection as a broken network does: the client does not expect it. */
  const cut = () => open.forEach((socket) => socket.close(CUT, 'cut by this page'));
  return { Tap, cut };
}

/** The code with which a page closes a socket on purpose: browsers leave 4000 to 4999 to pages. */
const CUT = 4000;
