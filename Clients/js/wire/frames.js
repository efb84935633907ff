import { Limits } from './limits.js';
import { NestError } from './errors.js';
import { Reader, Writer } from './bytes.js';

/** The version of the protocol that this client speaks. */
export const version = 1;
/** Flags of a frame: the message continues in the next frame of the same id; the body is compressed. */
export const MORE = 1;
export const COMPRESSED = 2;

const headerBytes = 12;

/** The eight bytes that a client sends first. */
export const preface = () => new Uint8Array([0x4e, 0x45, 0x53, 0x54, version, version, 0, 0]);

/**
 * Reads the server's preface.
 * @returns null while bytes are missing; otherwise `{version, highest, lowest}`, version 0 if there is none in common
 * @throws NestError PROTOCOL at the first byte that is not of "NEST"
 */
export function readPreface(bytes) {
  const start = preface();
  for (let i = 0; i < 4 && i < bytes.length; i++) {
    if (bytes[i] !== start[i]) throw new NestError('PROTOCOL', 'this is no server of nest');
  }
  return bytes.length < 8 ? null : { version: bytes[4], highest: bytes[5], lowest: bytes[6] };
}

/** A frame as bytes; FRAME_TOO_LARGE if the body has more than `max` bytes, which WELCOME names. */
export function encodeFrame(type, flags, id, body, max = Limits.frameBytesMax) {
  if (body.length > max) {
    throw new NestError('FRAME_TOO_LARGE', `a message of ${body.length} bytes is above the limit of ${max}`);
  }
  const writer = new Writer();
  writer.u32(body.length);
  writer.u8(type);
  writer.u8(flags);
  writer.u16(0);
  writer.u32(id);
  writer.raw(body);
  return writer.done();
}

/** Cuts received bytes into frames, however the transport has cut them. */
export class FrameDecoder {
  constructor(limit = Limits.frameBytesBeforeWelcomeMax) {
    /** The largest body that is accepted: 4,096 bytes until WELCOME. */
    this.limit = limit;
    /** The types of frames that may be compressed: `compressible` if feature bit 4 is in force. @type {any} */
    this.compression = null;
    this.bytes = new Uint8Array(0);
    this.at = 0;
    this.end = 0;
  }

  /** How many bytes wait for the rest of their frame. */
  get waiting() {
    return this.end - this.at;
  }

  /** Adds received bytes, which must not change afterwards. */
  push(bytes) {
    const left = this.end - this.at;
    if (left === 0) {
      this.bytes = bytes;
      this.at = 0;
      this.end = bytes.length;
      return;
    }
    if (this.end + bytes.length > this.bytes.length) {
      // A new buffer: bodies that were handed out are parts of the old one.
      const grown = new Uint8Array(2 * (left + bytes.length));
      grown.set(this.bytes.subarray(this.at, this.end));
      this.bytes = grown;
      this.at = 0;
      this.end = left;
    }
    this.bytes.set(bytes, this.end);
    this.end += bytes.length;
  }

  /**
   * The next whole frame, or null. The type of a frame from 80 on may be unknown: skip it.
   * @throws NestError FRAME_TOO_LARGE, PROTOCOL or UNSUPPORTED_FLAG: the connection must be closed
   */
  next() {
    if (this.end - this.at < headerBytes) return null;
    const header = new Reader(this.bytes, this.at, this.end);
    const length = header.u32();
    const type = header.u8();
    const flags = header.u8();
    if (length > this.limit) {
      throw new NestError('FRAME_TOO_LARGE', `a frame of ${length} bytes is above the limit of ${this.limit}`);
    }
    if (header.u16() !== 0) throw new NestError('PROTOCOL', 'the reserved bytes of a frame are not 0');
    const id = header.u32();
    const known = this.compression?.has(type) ? MORE | COMPRESSED : MORE;
    if (flags & 15 & ~known) throw new NestError('UNSUPPORTED_FLAG', `the flags ${flags} of a frame are not known`);
    if (header.left < length) return null;
    const from = header.at;
    this.at = from + length;
    return { type, flags, id, body: this.bytes.subarray(from, this.at) };
  }
}
