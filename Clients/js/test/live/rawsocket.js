// A WebSocket client that can break every rule: the test writes bytes and reads what comes.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { FrameDecoder, encodeFrame, preface } from '../../wire/frames.js';
import { encode, messageNames, typeOf } from '../../wire/messages.js';
import '../../wire/opposite.js';

/** Opcodes of RFC 6455. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/** The bytes of a frame. `masked`, `fin`, `rsv` and `claimed`, the length that the header names, may be wrong. */
export function frame(opcode, payload = Buffer.alloc(0), { masked = true, fin = true, rsv = 0, claimed } = {}) {
  const length = claimed ?? payload.length;
  const size = Buffer.alloc(length < 126 ? 0 : length < 65536 ? 2 : 8);
  if (size.length === 2) size.writeUInt16BE(length);
  if (size.length === 8) size.writeBigUInt64BE(BigInt(length));
  const short = [length, 126, 127][[0, 2, 8].indexOf(size.length)];
  const mask = masked ? randomBytes(4) : Buffer.alloc(0);
  const body = masked ? Buffer.from(payload.map((byte, index) => byte ^ mask[index & 3])) : payload;
  return Buffer.concat([Buffer.from([fin << 7 | rsv << 4 | opcode, masked << 7 | short]), size, mask, body]);
}

/** The head of a handshake. A field of null is left out; one of a list occurs several times. */
export function handshake(host, fields = {}, first = 'GET /nest HTTP/1.1') {
  const all = {
    Host: host, Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AQIDBAUGBwgJCgsMDQ4PEA==', 'Sec-WebSocket-Protocol': 'nest.1', ...fields,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== null)
    .flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}`));
  return [first, ...lines, '', ''].join('\r\n');
}

/** What a server must answer to the key of `handshake`. */
export const proof = createHash('sha1')
  .update('AQIDBAUGBwgJCgsMDQ4PEA==258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');

/** A connection whose bytes the test reads one after the other. */
export class RawSocket {
  constructor(port) {
    this.socket = connect(port, '127.0.0.1');
    this.bytes = Buffer.alloc(0);
    this.hasEnded = false;
    this.wake = () => {};
    this.parts = [];
    this.socket.on('data', (part) => { this.parts.push(part); this.wake(); });
    this.socket.on('error', () => {});
    this.ended = new Promise((resolve) => this.socket.on('close', () => {
      this.hasEnded = true;
      this.wake();
      resolve();
    }));
  }

  write(bytes) {
    this.socket.write(bytes);
  }

  /** Resolves with what `read` finds in the bytes that have come, as soon as that is not null; null at the end. */
  async #next(read) {
    for (;;) {
      if (this.parts.length > 0) this.bytes = Buffer.concat([this.bytes, ...this.parts.splice(0)]);
      const found = read();
      if (found !== null) return found;
      if (this.hasEnded) return null;
      await new Promise((resolve) => { this.wake = resolve; });
    }
  }

  /** The next head of an answer: its status, its fields in lower case, and its body if it has a length. */
  async head({ body = true } = {}) {
    return this.#next(() => {
      const end = this.bytes.indexOf('\r\n\r\n');
      if (end < 0) return null;
      const [first, ...lines] = this.bytes.toString('latin1', 0, end).split('\r\n');
      const fields = Object.fromEntries(lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }));
      const length = body ? Number(fields['content-length'] ?? 0) : 0;
      if (this.bytes.length < end + 4 + length) return null;
      const text = this.bytes.toString('utf8', end + 4, end + 4 + length);
      this.bytes = this.bytes.subarray(end + 4 + length);
      return { status: Number(first.split(' ')[1]), fields, text };
    });
  }

  /** The next WebSocket frame; null at the end of the connection. `code`: that of a close frame. */
  async frame() {
    return this.#next(() => {
      if (this.bytes.length < 2) return null;
      const short = this.bytes[1] & 127;
      const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
      if (this.bytes.length < start) return null;
      const long = [() => this.bytes.readUInt16BE(2), () => Number(this.bytes.readBigUInt64BE(2))];
      const length = short < 126 ? short : long[short - 126]();
      if (this.bytes.length < start + length) return null;
      const [first, second] = this.bytes;
      const payload = this.bytes.subarray(start, start + length);
      this.bytes = this.bytes.subarray(start + length);
      const opcode = first & 15;
      const code = opcode === opcodes.close && length >= 2 ? payload.readUInt16BE(0) : null;
      return { opcode, fin: first >> 7 === 1, rsv: first >> 4 & 7, masked: second >> 7 === 1, payload, code };
    });
  }

  close() {
    this.socket.destroy();
    return this.ended;
  }
}

const session = '0f0e0d0c0b0a09080706050403020100';

/** A frame of the protocol, as bytes. */
export const message = (name, id, fields) => Buffer.from(encodeFrame(typeOf(name), 0, id, encode(name, fields)));

/** The preface and HELLO. */
export const login = Buffer.concat([preface(), message('hello', 0, { clientName: 'raw', features: 0, session })]);

/** The frames of the protocol in the binary messages of a WebSocket. */
export class Messages {
  constructor(raw) {
    Object.assign(this, { raw, decoder: new FrameDecoder(1 << 20), preface: null });
  }

  /** The next frame of the protocol, or a pong; at the end `{ close }`, the code of the close frame or null. */
  async next() {
    for (;;) {
      const found = this.preface && this.decoder.next();
      if (found) return { name: messageNames.get(found.type), ...found };
      const got = await this.raw.frame();
      if (got === null || got.opcode === opcodes.close) return { close: got?.code ?? null };
      assert.equal(got.masked, false, 'a server does not mask');
      if (got.opcode !== opcodes.binary) return got;
      const bytes = new Uint8Array(got.payload);
      const start = this.preface ? 0 : 8;
      this.preface ??= Buffer.from(bytes.subarray(0, 8));
      if (bytes.length > start) this.decoder.push(bytes.subarray(start));
    }
  }
}
