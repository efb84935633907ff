import { Limits } from './limits.js';
import { NestError } from './errors.js';
import { encodeText, fromHex, integer, malformed, Reader, toHex } from './bytes.js';

// A value in JavaScript: null, a boolean, a string (also a decimal or a URI), a number, a BigInt (an integer beyond
// 2^53-1), Uint8Array (data), NestDate, Reference, UUID. A double is a number too: the attribute's type says which.
// Where the difference must be kept, and in what is written, a Double is a double even if it has no fraction.
// The classes freeze nothing, because a result may have a hundred thousand of them: what shows them does.

/** A date, exact to the microsecond. */
export class NestDate {
  constructor(microseconds) {
    this.microseconds = microseconds;
  }

  static from(date) {
    if (!(date.getTime() === date.getTime())) throw new NestError('INVALID', 'an invalid Date');
    return new NestDate(date.getTime() * 1000);
  }

  toDate() {
    const us = this.microseconds;
    if (typeof us === 'number') return new Date(Math.floor(us / 1000));
    return new Date(Number(us / 1000n) - (us % 1000n < 0n ? 1 : 0));
  }

  valueOf() {
    return this.microseconds;
  }

  toString() {
    const date = this.toDate();
    if (Number.isNaN(date.getTime())) return `${this.microseconds} microseconds`;
    const us = Number((BigInt(this.microseconds) % 1000n + 1000n) % 1000n);
    return date.toISOString().replace('Z', us ? `${String(us).padStart(3, '0')}Z` : 'Z');
  }

  toJSON() {
    return this.toString();
  }
}

/** A to-one relationship's other end. */
export class Reference {
  constructor(id) {
    this.id = id;
  }

  toString() {
    return String(this.id);
  }

  toJSON() {
    return this.id;
  }
}

/** A uuid, as 32 hexadecimal digits. */
export class UUID {
  constructor(hex) {
    this.hex = hex;
  }

  /** The UUID of a text with or without hyphens; INVALID for anything else. */
  static from(text) {
    return new UUID(toHex(fromHex(String(text).replace(/-/g, ''), 16)));
  }

  toString() {
    return this.hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  toJSON() {
    return this.toString();
  }
}

/**
 * A large value: what a row has of an attribute of the type largeData or largeText. nest-client/values sends and reads
 * its bytes. On the wire it is data of 48 bytes (protocol.md, section 13).
 */
export class LargeValue {
  #bytes;

  constructor(bytes) {
    const reader = new Reader(bytes);
    this.#bytes = bytes;
    /** The number of the value in its store. */
    this.id = reader.i64();
    /** The number of bytes. */
    this.length = /** @type {any} */ (reader.i64());
    this.sha256 = reader.hex(32);
  }

  /** What it is on the wire. */
  get bytes() {
    return this.#bytes;
  }
}

/** A double, where a number alone could be an integer. */
export class Double {
  constructor(value) {
    this.value = Number(value);
  }

  valueOf() {
    return this.value;
  }
}

/** Reads a value; a double is a number. */
export function readValue(reader) {
  if (reader.at >= reader.end) throw malformed('it ends too early');
  const tag = reader.bytes[reader.at++];
  if (tag >= 0x80) {
    if (tag < 0xc0) return reader.utf8(tag & 0x3f);
  } else if (tag >= 0x40) return tag & 0x3f;
  switch (tag) {
    case 0: return null;
    case 1: return false;
    case 2: return true;
    case 3: return reader.zigzag();
    case 4: return reader.i64();
    case 5: return reader.f64();
    case 6: return reader.string(Limits.valueBytesMax, 'VALUE_TOO_LARGE');
    case 7: return reader.raw(valueLength(reader));
    case 8: return new NestDate(reader.zigzag());
    case 9: return new Reference(readObject(reader));
    case 10: return new UUID(reader.id128());
    case 11: return new NestDate(reader.i64());
    default: throw malformed(`the tag ${tag} of a value is unknown`);
  }
}

/** Reads a value; a double is a Double, so that it can be written again as what it is. */
export function readExact(reader) {
  const isDouble = reader.bytes[reader.at] === 5;
  const value = readValue(reader);
  return isDouble ? new Double(value) : value;
}

function valueLength(reader) {
  const length = reader.size();
  if (length > Limits.valueBytesMax) throw new NestError('VALUE_TOO_LARGE', `a value of ${length} bytes is too large`);
  return length;
}

/** Reads an object id, 1 … 2^53-1. */
export function readObject(reader) {
  const id = reader.varint();
  if (id === 0) throw malformed('there is no object 0');
  return id;
}

const fitsZigzag = (value) => BigInt.asIntN(62, BigInt(value)) === BigInt(value);

/**
 * Writes a value in its shortest form. A number is an integer if it is a safe integer and not -0; one beyond 2^53
 * without a fraction must be a Double or a BigInt. INVALID for what is no value, and NaN; INVALID_TEXT for text that is
 * not well-formed; VALUE_TOO_LARGE above 65,536 bytes.
 */
export function writeValue(writer, value) {
  switch (typeof value) {
    case 'undefined': return writer.u8(0);
    case 'boolean': return writer.u8(value ? 2 : 1);
    case 'string': return writeText(writer, value);
    case 'number':
      if (!Number.isInteger(value) || Object.is(value, -0)) return writeDouble(writer, value);
      if (value >= 0 && value < 64) return writer.u8(0x40 | value);
      return writeInteger(writer, value, 3, 4);
    case 'bigint':
      if (value >= 0n && value < 64n) return writer.u8(0x40 | Number(value));
      return writeInteger(writer, value, 3, 4);
  }
  if (value === null) return writer.u8(0);
  if (value instanceof Double) return writeDouble(writer, value.value);
  if (value instanceof NestDate) return writeInteger(writer, value.microseconds, 8, 11);
  if (value instanceof Date) return writeInteger(writer, NestDate.from(value).microseconds, 8, 11);
  if (value instanceof Reference) {
    writer.u8(9);
    return writer.varint(value.id);
  }
  if (value instanceof UUID) {
    writer.u8(10);
    return writer.id128(value.hex);
  }
  if (value instanceof Uint8Array) {
    checkLength(value.length);
    writer.u8(7);
    return writer.bytes(value);
  }
  throw new NestError('INVALID', `${Object.prototype.toString.call(value)} is not a value`);
}

function checkLength(count) {
  if (count > Limits.valueBytesMax) throw new NestError('VALUE_TOO_LARGE', `a value of ${count} bytes is too large`);
}

function writeText(writer, text) {
  const bytes = encodeText(text);
  checkLength(bytes.length);
  if (bytes.length < 64) {
    writer.u8(0x80 | bytes.length);
    writer.raw(bytes);
  } else {
    writer.u8(6);
    writer.bytes(bytes);
  }
}

function writeDouble(writer, value) {
  writer.u8(5);
  writer.f64(value);
}

function writeInteger(writer, value, short, long) {
  const fits = fitsZigzag(integer(value));
  writer.u8(fits ? short : long);
  if (fits) writer.zigzag(value);
  else writer.i64(value);
}
