/**
 * Zstandard, where the platform has it.
 * @module
 */

import { checkedContent, contentSize } from '../wire/compression.js';

/**
 * Makes what unpacks frames. The declared size is checked before memory is taken, and must be that of the content.
 * @param {(bytes: Uint8Array, size: number) => Promise<Uint8Array>} unpack
 * @returns {(bytes: Uint8Array, sizeMax?: number) => Promise<Uint8Array | null>} null: it cannot be unpacked
 */
export const unpacker = (unpack) => async (bytes, sizeMax) => {
  try {
    const size = contentSize(bytes, sizeMax);
    return checkedContent(await unpack(bytes, size), size);
  } catch {
    return null;
  }
};

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
