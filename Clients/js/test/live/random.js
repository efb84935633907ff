// Random numbers that a seed repeats (SplitMix32).

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** An integer from 0 to 2^32 - 1. */
  next() {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** An integer from 0 to limit - 1. */
  below(limit) {
    return Math.floor(this.next() / 2 ** 32 * limit);
  }

  /** An integer from first to last. */
  between(first, last) {
    return first + this.below(last - first + 1);
  }

  chance(probability) {
    return this.next() / 2 ** 32 < probability;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** One of the names of { name: weight }. */
  weighted(weights) {
    let left = this.below(Object.values(weights).reduce((sum, each) => sum + each, 0));
    for (const [name, weight] of Object.entries(weights)) if ((left -= weight) < 0) return name;
    return undefined;
  }

  /** A generator of its own, so that what one part draws does not shift what another one draws. */
  fork() {
    return new Random(this.next());
  }
}
