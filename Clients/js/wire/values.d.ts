import type { Reader, Writer } from './bytes.js';

/**
 * A value as a row has it. An integer beyond 2^53-1 is a bigint; a double is a number, which the attribute's type
 * distinguishes from an integer; a decimal and a URI are strings.
 */
export type Value = null | boolean | number | bigint | string | Uint8Array | NestDate | Reference | UUID;

/** A date, exact to the microsecond. */
export class NestDate {
  /** `microseconds` since 1970-01-01 00:00 UTC: a safe integer, or a bigint. */
  constructor(microseconds: number | bigint);
  /** The date of a Date. INVALID if that is invalid. */
  static from(date: Date): NestDate;
  readonly microseconds: number | bigint;
  /** A Date, rounded down to the millisecond; invalid if a Date cannot be so far away. */
  toDate(): Date;
  /** So that dates can be compared with `<`. */
  valueOf(): number | bigint;
  /** ISO 8601 in UTC, with microseconds if there are any. */
  toString(): string;
  toJSON(): string;
}

/** The object at the other end of a to-one relationship. */
export class Reference {
  constructor(id: number);
  readonly id: number;
  toString(): string;
  toJSON(): number;
}

/** A uuid. */
export class UUID {
  /** `hex`: 32 hexadecimal digits. */
  constructor(hex: string);
  /** The uuid of a text with or without hyphens. INVALID for anything else. */
  static from(text: string): UUID;
  readonly hex: string;
  /** With hyphens. */
  toString(): string;
  toJSON(): string;
}

/** What a row has of an attribute of the type largeData or largeText. On the wire it is data of 48 bytes. */
export class LargeValue {
  constructor(bytes: Uint8Array);
  readonly id: number | bigint;
  readonly length: number;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** A double, where a number alone could be an integer. */
export class Double {
  constructor(value: number);
  readonly value: number;
  valueOf(): number;
}

export function readValue(reader: Reader): Value;
export function readExact(reader: Reader): Value | Double;
export function readObject(reader: Reader): number;
export function writeValue(writer: Writer, value: Value | Double | Date | undefined): void;
