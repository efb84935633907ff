// SHA-256 (FIPS 180-4). `crypto.subtle` has it too, but not in every page, and only of bytes that are all there.

/** The first 32 bits of the fraction of a number. */
const fraction = (x) => (x - Math.floor(x)) * 4294967296 | 0;

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
const constants = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const begin = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const blockBytes = 64;

const turned = (x, count) => x >>> count | x << 32 - count;

/** The hash of bytes that come in pieces. */
export class SHA256 {
  #sum = begin.slice();
  #words = new Int32Array(64);
  /** The beginning of a block that is not full. */
  #rest = new Uint8Array(blockBytes);
  #length = 0;

  /** Adds bytes. */
  update(bytes) {
    const held = this.#length % blockBytes;
    this.#length += bytes.length;
    let at = 0;
    if (held > 0) {
      at = Math.min(blockBytes - held, bytes.length);
      this.#rest.set(bytes.subarray(0, at), held);
      if (held + at < blockBytes) return this;
      this.#add(this.#rest, 0);
    }
    for (; at + blockBytes <= bytes.length; at += blockBytes) this.#add(bytes, at);
    this.#rest.set(bytes.subarray(at));
    return this;
  }

  /** The hash of all bytes so far: 32 bytes. Add none after it. */
  digest() {
    const length = this.#length;
    const end = new Uint8Array(blockBytes - (length + 8) % blockBytes + 8);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(length / 0x20000000));
    view.setUint32(end.length - 4, length << 3);
    this.update(end);
    const hash = new DataView(new ArrayBuffer(32));
    this.#sum.forEach((each, i) => hash.setInt32(4 * i, each));
    return new Uint8Array(hash.buffer);
  }

  #add(bytes, from) {
    const w = this.#words;
    for (let i = 0, at = from; i < 16; i++, at += 4) {
      w[i] = bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    }
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15];
      const b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >>> 3) + (turned(b, 17) ^ turned(b, 19) ^ b >>> 10);
    }
    const sum = this.#sum;
    let [a, b, c, d, e, f, g, h] = sum;
    for (let i = 0; i < 64; i++) {
      const first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (e & f ^ ~e & g) + constants[i] + w[i] | 0;
      const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + (a & b ^ a & c ^ b & c) | 0;
      h = g;
      g = f;
      f = e;
      e = d + first | 0;
      d = c;
      c = b;
      b = a;
      a = first + second | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((each, i) => { sum[i] += each; });
  }
}

/** The hash of bytes: 32 bytes. */
export const sha256 = (bytes) => new SHA256().update(bytes).digest();
