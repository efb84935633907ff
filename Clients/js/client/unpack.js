/**
 * Zstandard, where the platform has it.
 * @module
 */

import * as machine from '../machine/packed.js';
import { checkedContent, contentSize } from '../wire/compression.js';

/**
 * Makes what unpacks frames. The declared size is checked before memory is taken, and must be that of the content.
 * @param {(bytes: Uint8Array, size: number) => Promise<Uint8Array>} unpack
 * @returns {any} a function of bytes and the largest size, with null for what cannot be unpacked; with what the machine
 *   needs for compressed frames
 */
export function unpacker(unpack) {
  const unpacked = async (/** @type {Uint8Array} */ bytes, /** @type {number | undefined} */ sizeMax = undefined) => {
    try {
      const size = contentSize(bytes, sizeMax);
      return checkedContent(await unpack(bytes, size), size);
    } catch {
      return null;
    }
  };
  /** Unpacks a frame for the machine. @param {import('./driver.js').Driver} driver @param {any} packed */
  const frame = async (driver, packed) => {
    const body = await unpacked(packed.body);
    driver.happened((m, now) => machine.unpacked(m, packed, body, now));
  };
  return Object.assign(unpacked, { frame, machine });
}

/** Unpacks by DecompressionStream, which must know Zstandard. */
export function streamUnpacker() {
  const Stream = /** @type {any} */ (globalThis).DecompressionStream;
  return unpacker(async (bytes, size) => {
    const stream = new Stream('zstd');
    const writer = stream.writable.getWriter();
    // The reader reports the errors of both.
    writer.write(bytes).catch(() => {});
    writer.close().catch(() => {});
    const content = new Uint8Array(size);
    const reader = stream.readable.getReader();
    for (let at = 0; ;) {
      const { done, value } = await reader.read();
      if (done) return content.subarray(0, at);
      // More than declared: `set` throws.
      content.set(value, at);
      at += value.length;
    }
  });
}
