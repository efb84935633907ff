import { NestError } from './errors.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();
const scratch = new DataView(new ArrayBuffer(8));
const big32 = 32n;
const hexCodes = [...'0123456789abcdef'].map((digit) => digit.charCodeAt(0));
/** Bytes that become one string, of which short texts are slices: a slice keeps no more than that in memory. */
const stretch = 8192;
const shortText = 1024;

const oneByte = new TextDecoder('latin1');
/** A string with one character for each byte; only those of ASCII are used. buffer.js has a faster way for Node. */
export const platform = { characters: (bytes, from, to) => oneByte.decode(bytes.subarray(from, to)) };

export const malformed = (what) => new NestError('MALFORMED', `malformed: ${what}`);
const unencodable = (what) => new NestError('INVALID', `${what} cannot be encoded`);

/** Bytes as hexadecimal digits. */
export function toHex(bytes, from = 0, to = bytes.length) {
  let text = '';
  for (let i = from; i < to; i += 16) {
    const codes = [];
    for (let j = i; j < to && j < i + 16; j++) codes.push(hexCodes[bytes[j] >> 4], hexCodes[bytes[j] & 15]);
    text += String.fromCharCode.apply(null, codes);
  }
  return text;
}

/** The bytes of hexadecimal digits; INVALID for anything else, or for another number of bytes than `count`. */
export function fromHex(text, count) {
  const right = typeof text === 'string' && text.length % 2 === 0 && !/[^0-9a-fA-F]/.test(text);
  if (!right || count !== undefined && text.length !== 2 * count) {
    throw new NestError('INVALID', `not ${count ?? 'some'} bytes in hexadecimal digits: ${String(text).slice(0, 80)}`);
  }
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

const bigOf = (high, low) => (BigInt(high) << big32) | BigInt(low);

/** Reads the primitives of the protocol. Every method throws NestError MALFORMED if the bytes are not what it says. */
export class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    this.view = null;
    this.text = '';
    this.textAt = 0;
    /** What the reader of rows and diffs must know of their view. */
    this.width = 0;
    this.hasWindow = false;
  }

  /** How many bytes are left. */
  get left() {
    return this.end - this.at;
  }

  /** The position of the next `count` bytes, which it passes. */
  skip(count) {
    const at = this.at;
    if (!(count <= this.end - at)) throw malformed('it ends too early');
    this.at = at + count;
    return at;
  }

  u8() {
    if (this.at >= this.end) throw malformed('it ends too early');
    return this.bytes[this.at++];
  }

  u16() {
    const at = this.skip(2);
    return this.bytes[at] << 8 | this.bytes[at + 1];
  }

  u32() {
    const at = this.skip(4);
    const b = this.bytes;
    return (b[at] << 24 | b[at + 1] << 16 | b[at + 2] << 8 | b[at + 3]) >>> 0;
  }

  /** A `u64` as 16 hexadecimal digits. */
  u64() {
    return this.hex(8);
  }

  /** An `i64`: a number, or a BigInt beyond 2^53-1. */
  i64() {
    const high = this.u32() | 0;
    const low = this.u32();
    return high >= -0x200000 && high < 0x200000 && (high !== -0x200000 || low !== 0)
      ? high * 4294967296 + low : BigInt.asIntN(64, bigOf(high, low));
  }

  f64() {
    const { buffer, byteOffset, length } = this.bytes;
    this.view ??= new DataView(buffer, byteOffset, length);
    const value = this.view.getFloat64(this.skip(8));
    if (value !== value) throw malformed('a double is not a number');
    return value;
  }

  /** A length or count, which only is compared: above 2^53 it is not exact. */
  size() {
    const first = this.u8();
    if (first < 0x40) return first;
    if (first < 0x80) return (first & 0x3f) << 8 | this.u8();
    this.at--;
    const high = this.u32();
    return first < 0xc0 ? high & 0x3fffffff : (high & 0x3fffffff) * 4294967296 + this.u32();
  }

  /** A `varint` up to 2^53-1. */
  varint(max = Number.MAX_SAFE_INTEGER) {
    const value = this.size();
    if (value > max) throw malformed('a number is out of its range');
    return value;
  }

  /** Any `varint`: a number, or a BigInt beyond 2^53-1. */
  varintAny() {
    const at = this.at;
    const value = this.size();
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    this.at = at;
    return bigOf(this.u32() & 0x3fffffff, this.u32());
  }

  /** A `zigzag`: a number, or a BigInt beyond 2^53-1. */
  zigzag() {
    const first = this.u8();
    if (first < 0x40) return first & 1 ? -(first >> 1) - 1 : first >> 1;
    this.at--;
    if (first < 0xc0) {
      const n = this.size();
      return n & 1 ? -(n >>> 1) - 1 : n >>> 1;
    }
    const high = this.u32() & 0x3fffffff;
    const low = this.u32();
    const half = high * 2147483648 + (low >>> 1);
    if (half < Number.MAX_SAFE_INTEGER) return low & 1 ? -half - 1 : half;
    const n = bigOf(high, low) >> 1n;
    return low & 1 ? -n - 1n : half === Number.MAX_SAFE_INTEGER ? half : n;
  }

  /** A count of things of at least `each` bytes: LIMIT_EXCEEDED above `max`, MALFORMED if they cannot be there. */
  count(max = Infinity, each = 1) {
    const count = this.size();
    if (count > max) throw new NestError('LIMIT_EXCEEDED', `a list is longer than ${max}`);
    if (count * each > this.end - this.at) throw malformed('a count cannot be true');
    return count;
  }

  /** The next `count` bytes, copied. */
  raw(count) {
    const at = this.skip(count);
    return this.bytes.slice(at, at + count);
  }

  hex(count) {
    const at = this.skip(count);
    return toHex(this.bytes, at, at + count);
  }

  /** An `id128` as 32 hexadecimal digits. */
  id128() {
    return this.hex(16);
  }

  /** A `string` of at most `max` bytes; INVALID_TEXT if it is not UTF-8 or contains a NUL. */
  string(max = Infinity, code = 'LIMIT_EXCEEDED') {
    const count = this.size();
    if (count > max) throw new NestError(code, `a text is longer than ${max} bytes`);
    return this.utf8(count);
  }

  /** A text of the next `count` bytes. */
  utf8(count) {
    const at = this.skip(count);
    const end = this.at;
    const bytes = this.bytes;
    let i = at;
    while (i < end && bytes[i] - 1 >>> 0 < 0x7f) i++;
    if (i === end && count <= shortText) {
      // Plain ASCII: a slice of a longer string, which is faster than a decoder for each text.
      let from = at - this.textAt;
      if (from < 0 || from + count > this.text.length) {
        this.text = platform.characters(bytes, at, Math.min(at + stretch, this.end));
        this.textAt = at;
        from = 0;
      }
      return this.text.slice(from, from + count);
    }
    let text;
    try {
      text = utf8.decode(bytes.subarray(at, end));
    } catch {
      throw new NestError('INVALID_TEXT', 'a text is not UTF-8');
    }
    if (text.includes('\0')) throw new NestError('INVALID_TEXT', 'a text contains a NUL');
    return text;
  }

  /** A reader of the next `count` bytes alone, which this one passes. */
  part(count) {
    const at = this.skip(count);
    return new Reader(this.bytes, at, at + count);
  }

  /** Throws if bytes are left, where a message may have none. */
  finish() {
    if (this.at !== this.end) throw malformed('bytes are left over');
  }
}

/** Writes the primitives of the protocol. What cannot be encoded is refused with NestError INVALID or INVALID_TEXT. */
export class Writer {
  constructor() {
    this.buffer = new Uint8Array(64);
    this.at = 0;
  }

  /** Makes room for `count` bytes, and returns their position. */
  room(count) {
    const at = this.at;
    if (at + count > this.buffer.length) {
      const grown = new Uint8Array(Math.max(2 * this.buffer.length, at + count));
      grown.set(this.buffer);
      this.buffer = grown;
    }
    this.at = at + count;
    return at;
  }

  u8(value) {
    const at = this.room(1);
    this.buffer[at] = value;
  }

  u16(value) {
    this.u8(value >> 8);
    this.u8(value);
  }

  u32(value) {
    this.u16(value >>> 16);
    this.u16(value);
  }

  u64(digits) {
    this.hex(digits, 8);
  }

  i64(value) {
    const n = BigInt(value);
    if (BigInt.asIntN(64, n) !== n) throw unencodable(value);
    this.u32(Number(BigInt.asUintN(32, n >> big32)));
    this.u32(Number(BigInt.asUintN(32, n)));
  }

  f64(value) {
    if (value !== value) throw unencodable('NaN');
    scratch.setFloat64(0, value);
    this.u32(scratch.getUint32(0));
    this.u32(scratch.getUint32(4));
  }

  /** A number 0 … 2^53-1, or a BigInt up to 2^62-1. */
  varint(value) {
    if (typeof value === 'bigint' && value >= 0n && value >> 62n === 0n) {
      if (value > 0x3fffffffn) {
        this.u32(Number(value >> big32 | 0xc0000000n));
        return this.u32(Number(value & 0xffffffffn));
      }
      value = Number(value);
    }
    if (!Number.isSafeInteger(value) || value < 0) throw unencodable(`${typeof value} ${String(value)}`);
    if (value < 0x40) this.u8(value);
    else if (value < 0x4000) this.u16(value | 0x4000);
    else if (value < 0x40000000) this.u32((value | 0x80000000) >>> 0);
    else {
      this.u32((Math.floor(value / 4294967296) | 0xc0000000) >>> 0);
      this.u32(value % 4294967296);
    }
  }

  zigzag(value) {
    if (typeof value === 'number' && Math.abs(value) < 0x1fffffff) {
      return this.varint(value < 0 ? -2 * value - 1 : 2 * value);
    }
    const n = integer(value);
    this.varint(n < 0n ? -2n * n - 1n : 2n * n);
  }

  raw(bytes) {
    const at = this.room(bytes.length);
    this.buffer.set(bytes, at);
  }

  hex(digits, count) {
    this.raw(fromHex(digits, count));
  }

  id128(digits) {
    this.hex(digits, 16);
  }

  /** Bytes with their length before them. */
  bytes(bytes) {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  string(text, max = Infinity, code = 'LIMIT_EXCEEDED') {
    const bytes = encodeText(text);
    if (bytes.length > max) throw new NestError(code, `a text is longer than ${max} bytes`);
    this.bytes(bytes);
  }

  /** What was written. */
  done() {
    return this.buffer.subarray(0, this.at);
  }
}

/** A safe integer or BigInt as BigInt; INVALID for anything else. */
export function integer(value) {
  if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) throw unencodable(`${typeof value} ${String(value)}`);
  return BigInt(value);
}

/** The UTF-8 of a text; INVALID_TEXT if it has a NUL or half of a surrogate pair. */
export function encodeText(text) {
  if (typeof text !== 'string') throw unencodable(`${typeof text} as text`);
  if (/[\0\p{Surrogate}]/u.test(text)) throw new NestError('INVALID_TEXT', 'a text contains a NUL or half a character');
  return encoder.encode(text);
}
