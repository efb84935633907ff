// 64-bit arithmetic in two halves of 32 bits, and arithmetic modulo 2^61-1 in parts of 21, 21 and 19 bits: all products
// and sums stay below 2^53, so that they are exact and need no BigInt.

const digits = (n) => (n >>> 0).toString(16).padStart(8, '0');

/** Goes on with FNV-1a, 64 bits: `{high, low}`, two halves of 32 bits. */
export function fnv1a(bytes, from = { high: 0xcbf29ce4, low: 0x84222325 }) {
  let { high, low } = from;
  for (let i = 0; i < bytes.length; i++) {
    low = (low ^ bytes[i]) >>> 0;
    // times 2^40 + 0x1b3
    const product = low * 0x1b3;
    high = Math.imul(high, 0x1b3) + (low << 8) + Math.floor(product / 4294967296) | 0;
    low = product >>> 0;
  }
  return { high: high >>> 0, low };
}

/** A hash of two halves as 16 hexadecimal digits. */
export const hashText = ({ high, low }) => digits(high) + digits(low);

const bits21 = 0x1fffff;
const bits19 = 0x7ffff;
const down21 = 1 / 2097152;
const down19 = 1 / 524288;
// B = 0x0c9b1d3f5a276e85
const b0 = 0x5a276e85 & bits21;
const b1 = (0x5a276e85 >>> 21 | 0x0c9b1d3f << 11) & bits21;
const b2 = 0x0c9b1d3f >>> 10;

// The high half of the product of two numbers of 32 bits.
function high32(a, b) {
  const al = a & 0xffff;
  const ah = a >>> 16;
  const bl = b & 0xffff;
  const bh = b >>> 16;
  const middle = ah * bl + (al * bl >>> 16);
  const other = al * bh + (middle & 0xffff);
  return ah * bh + Math.floor(middle / 65536) + Math.floor(other / 65536) | 0;
}

/** The digest of a state (protocol.md, section 12), row by row. */
export class Digest {
  constructor() {
    this.d0 = 0;
    this.d1 = 0;
    this.d2 = 0;
  }

  /** Adds the next row of the section whose key has this hash. */
  add(hash, id) {
    // z = hash xor id * 0x9e3779b97f4a7c15
    let low = id >>> 0;
    let high = Math.floor(id / 4294967296);
    high = high32(low, 0x7f4a7c15) + Math.imul(high, 0x7f4a7c15) + Math.imul(low, 0x9e3779b9) ^ hash.high;
    low = Math.imul(low, 0x7f4a7c15) ^ hash.low;
    // z = (z xor z >> 30) * 0xbf58476d1ce4e5b9
    low ^= low >>> 30 | high << 2;
    high ^= high >>> 30;
    high = high32(low, 0x1ce4e5b9) + Math.imul(high, 0x1ce4e5b9) + Math.imul(low, 0xbf58476d) | 0;
    low = Math.imul(low, 0x1ce4e5b9);
    // z = (z xor z >> 27) * 0x94d049bb133111eb
    low ^= low >>> 27 | high << 5;
    high ^= high >>> 27;
    high = high32(low, 0x133111eb) + Math.imul(high, 0x133111eb) + Math.imul(low, 0x94d049bb) | 0;
    low = Math.imul(low, 0x133111eb);
    // z = z xor z >> 31
    low ^= low >>> 31 | high << 1;
    high ^= high >>> 31;
    // r = z mod (2^61 - 2) + 1: what is above 2^61 counts twice
    let r0 = (low & bits21) + 2 * (high >>> 29);
    let r1 = ((low >>> 21 | high << 11) & bits21) + (r0 >>> 21);
    let r2 = (high >>> 10 & bits19) + (r1 >>> 21);
    r0 &= bits21;
    r1 &= bits21;
    if (r2 > bits19) {
      r2 &= bits19;
      r0 += 2;
    } else if (r2 === bits19 && r1 === bits21 && r0 >= bits21 - 1) {
      r2 = r1 = 0;
      r0 -= bits21 - 1;
    }
    // digest = (digest * B + r) mod (2^61 - 1), with 2^63 = 4 and 2^84 = 4 * 2^21
    const { d0, d1, d2 } = this;
    let s0 = d0 * b0 + 4 * (d1 * b2 + d2 * b1) + r0 + 1;
    let s1 = d0 * b1 + d1 * b0 + 4 * d2 * b2 + r1;
    let s2 = d0 * b2 + d1 * b1 + d2 * b0 + r2;
    let carry = Math.floor(s0 * down21);
    s0 -= carry * 2097152;
    s1 += carry;
    carry = Math.floor(s1 * down21);
    s1 -= carry * 2097152;
    s2 += carry;
    carry = Math.floor(s2 * down19);
    s2 -= carry * 524288;
    s0 += carry;
    carry = Math.floor(s0 * down21);
    s0 -= carry * 2097152;
    s1 += carry;
    carry = s1 >>> 21;
    s1 &= bits21;
    s2 += carry;
    if (s2 > bits19) {
      // Here s1 is 0, so that s0 may become 2^21: the sums and the text below stay right.
      s2 = 0;
      s0 += 1;
    }
    if (s2 === bits19 && s1 === bits21 && s0 === bits21) s0 = s1 = s2 = 0;
    this.d0 = s0;
    this.d1 = s1;
    this.d2 = s2;
  }

  /** The digest of the rows so far, as 16 hexadecimal digits. */
  toString() {
    const low = this.d0 | this.d1 << 21;
    const high = this.d1 >>> 11 | this.d2 << 10;
    return digits(high) + digits(low);
  }
}
