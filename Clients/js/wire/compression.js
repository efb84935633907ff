// Zstandard frames (protocol.md, section 5): what must be true of one before memory is taken for it. Only clients whose
// platform can decompress load this.
import { Limits } from './limits-more.js';
import { malformed } from './bytes.js';

/** The types of frames that a server may compress. */
export const compressible = new Set([0x33, 0x3a, 0x34, 0x15, 0x1b, 0x41, 0x43, 0x45, 0x55, 0x39, 0xb5]);

const sizeBytes = [0, 2, 4, 8];
const dictionaryBytes = [0, 1, 2, 4];

const little = (bytes, at, count) => {
  let value = 0;
  for (let i = count - 1; i >= 0; i--) value = value * 256 + bytes[at + i];
  return value;
};

/**
 * The declared size of the content of one whole Zstandard frame, with nothing before or after it; MALFORMED if the
 * bytes are anything else, or declare more than `max`.
 */
export function contentSize(bytes, max = Limits.frameUnpackedBytesMax) {
  const broken = malformed('a compressed body is not one whole Zstandard frame that declares its size');
  if (bytes.length < 6 || little(bytes, 0, 4) !== 0xfd2fb528) throw broken;
  const descriptor = bytes[4];
  const isSingle = (descriptor & 0x20) !== 0;
  const count = sizeBytes[descriptor >> 6] || (isSingle ? 1 : 0);
  if (count === 0 || descriptor & 8) throw broken;
  let at = 5 + (isSingle ? 0 : 1) + dictionaryBytes[descriptor & 3];
  if (at + count > bytes.length) throw broken;
  const size = little(bytes, at, count) + (count === 2 ? 256 : 0);
  if (size > max) throw malformed(`a compressed body declares ${size} bytes`);
  at += count;
  // The blocks: the last one must be there, and nothing may follow it but the checksum.
  let plain = 0;
  for (let last = false; !last;) {
    if (at + 3 > bytes.length) throw broken;
    const block = little(bytes, at, 3);
    last = (block & 1) === 1;
    const kind = block >> 1 & 3;
    if (kind === 3) throw broken;
    plain = kind === 2 ? NaN : plain + (block >> 3);
    at += 3 + (kind === 1 ? 1 : block >> 3);
  }
  if (at + (descriptor & 4 ? 4 : 0) !== bytes.length) throw broken;
  if (plain === plain && plain !== size) throw broken;
  return size;
}

/** The content, if its size is the declared one; MALFORMED otherwise. `unpacked` is what the platform made of it. */
export function checkedContent(unpacked, size) {
  if (unpacked.length !== size) throw malformed('a compressed body has another size than it declares');
  return unpacked;
}
