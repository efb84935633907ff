// Random numbers from seeds, for tests that compare with a simple implementation. NEST_SEED=7 runs one seed.

/** The seeds of a test. */
export function seeds(count) {
  const first = process.env.NEST_SEED;
  return first === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(first)];
}

/** A generator of numbers in [0, 1) from a seed. */
export function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
