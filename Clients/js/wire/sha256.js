// SHA-256 (FIPS 180-4). `crypto.subtle` has it too, but not in every page.

/** The first 32 bits of the fraction of a number. */
const fraction = (x) => (x - Math.floor(x)) * 4294967296 | 0;

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
const constants = primes.map((prime) => fraction(Math.cbrt(prime)));
const begin = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

const turned = (x, count) => x >>> count | x << 32 - count;

/** The hash of bytes: 32 bytes. */
export function sha256(bytes) {
  const size = bytes.length + 9 + 63 & ~63;
  const padded = new Uint8Array(size);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(size - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(size - 4, bytes.length << 3);
  const sum = Int32Array.from(begin);
  const w = new Int32Array(64);
  for (let block = 0; block < size; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [a, b] = [w[i - 15], w[i - 2]];
      w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >>> 3) + (turned(b, 17) ^ turned(b, 19) ^ b >>> 10);
    }
    let [a, b, c, d, e, f, g, h] = sum;
    for (let i = 0; i < 64; i++) {
      const first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (e & f ^ ~e & g) + constants[i] + w[i] | 0;
      const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + (a & b ^ a & c ^ b & c) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, d + first | 0, c, b, a, first + second | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((each, i) => { sum[i] += each; });
  }
  const hash = new DataView(new ArrayBuffer(32));
  sum.forEach((each, i) => hash.setInt32(4 * i, each));
  return new Uint8Array(hash.buffer);
}
