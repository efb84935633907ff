/** Large values: attributes of the types largeData and largeText, of up to 16 MiB, whose bytes are outside the rows. */

import type { Entity, FetchRequest, LargeValue, Nest, ObjectLike } from './index.js';

/** How far a transfer is. */
export interface ValueProgress {
  readonly bytes: number;
  readonly length: number;
}

export interface SendValueOptions {
  /** The number of bytes. It is checked; with `sha256`, a stream is not collected before it is sent. */
  length?: number;
  /** Their SHA-256 in hexadecimal digits, which the server checks (CHECKSUM). Left out: it is computed. */
  sha256?: string;
  /** Called after each piece. */
  progress?: (progress: ValueProgress) => void;
  /** Ends the transfer (CANCELLED): nothing is stored. */
  signal?: AbortSignal;
}

export interface ReadValueOptions {
  /** The revision that the server must have reached, such as that of a receipt. */
  atLeast?: number;
  /** The first byte. The SHA-256 can be verified only from 0 on. */
  offset?: number;
  progress?: (progress: ValueProgress) => void;
  signal?: AbortSignal;
}

/** A stream of bytes, or of texts, which are sent as UTF-8. */
export type ValueStream = ReadableStream<Uint8Array | string> | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>;

/**
 * Sends the bytes of a large value, and returns its description, which a transaction of the same session sets: once,
 * and within a day. Until then no object has it.
 *
 * The server must know length and SHA-256 before the first byte. So a Blob is read twice, and a stream is collected in
 * memory, unless both are given. Bytes that the server refuses were not stored: VALUE_TOO_LARGE above its limit,
 * CHECKSUM, INVALID_TEXT for a largeText that is not UTF-8 or has a NUL. CONNECTION_LOST: nothing was stored, send it again.
 */
export function sendValue(
  nest: Nest<any>, entity: FetchRequest<any, any> | Entity | string, property: string,
  source: string | ArrayBuffer | ArrayBufferView | Blob | ValueStream, options?: SendValueOptions,
): Promise<LargeValue>;

/**
 * Begins to read the large value of an object. NOT_FOUND if there is no such object, or if it has no value.
 *
 * If the connection is lost, the loop goes on where it was, up to 5 times without a byte in between; then it throws
 * CONNECTION_LOST. CONFLICT: meanwhile the object has got another value.
 */
export function readValue(
  nest: Nest<any>, entity: FetchRequest<any, any> | Entity | string, object: ObjectLike, property: string,
  options?: ReadValueOptions,
): Promise<ValueBytes>;

/**
 * The bytes of a large value. Read them once: in a loop of pieces, or all with `bytes()` or `text()`. They are complete
 * and verified when the loop ends, not before; CHECKSUM: discard what came. The server sends no faster than they are
 * taken, and leaving the loop ends the transfer.
 */
export interface ValueBytes extends AsyncIterable<Uint8Array> {
  /** What the row has. */
  readonly value: LargeValue;
  readonly type: 'largeData' | 'largeText';
  /** The revision at which the object had it. */
  readonly revision: number;
  readonly offset: number;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
  /** Ends the transfer: call it if you read nothing. */
  cancel(): void;
}
