/**
 * Where the client connects, and the pauses between attempts, which are random so that the clients of a restarted
 * server do not come back at the same moment.
 * @module
 */

/** The first pause between attempts to connect, in milliseconds (`reconnectMillisecondsMin`). */
export const RECONNECT_MS_MIN = 100;
/** The longest pause between attempts to connect (`reconnectMillisecondsMax`). */
export const RECONNECT_MS_MAX = 30_000;
/** The age of a lost connection from which the next attempt is made at once (`reconnectHealthySeconds`). */
const HEALTHY_MS = 30_000;
/** The same for a connection to a node of a cluster (`reconnectNodeHealthySeconds`). */
const NODE_HEALTHY_MS = 1_000;
/** Beyond so many doublings every pause is the longest one. */
const DOUBLINGS_MAX = 20;

/**
 * A small generator of numbers in 0 … 1. The seed comes from outside, so that a run can be repeated. It makes jitter
 * and orders of addresses; keys and sessions come from a cryptographic source.
 */
export class Random {
  /** @param {number} seed an integer */
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** @returns {number} at least 0, less than 1 */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /**
   * @param {number} below at least 1
   * @returns {number} an integer from 0 to below - 1
   */
  index(below) {
    return Math.floor(this.next() * below);
  }

  /**
   * @template T
   * @param {T[]} items
   * @returns {T[]} the same items in a random order
   */
  shuffled(items) {
    const all = items.slice();
    for (let i = all.length - 1; i > 0; i--) {
      const j = this.index(i + 1);
      [all[i], all[j]] = [all[j], all[i]];
    }
    return all;
  }
}

/** Pauses that double: none, then 100 ms up to `msMax`, each between half of it and all of it. */
export class Backoff {
  /** @param {number} [msMax] the longest pause, in milliseconds */
  constructor(msMax = RECONNECT_MS_MAX) {
    this.msMax = msMax;
    this.attempts = 0;
  }

  /**
   * @param {Random} random
   * @returns {number} the pause before the next attempt, in milliseconds
   */
  next(random) {
    const attempt = this.attempts++;
    if (attempt === 0) return 0;
    const pause = Math.min(RECONNECT_MS_MIN * 2 ** Math.min(attempt - 1, DOUBLINGS_MAX), this.msMax);
    return Math.round(pause / 2 + random.next() * (pause / 2));
  }

  /** Notes an attempt without a pause, at another address. */
  attemptedAtOnce() {
    this.attempts = Math.max(this.attempts, 1);
  }

  /**
   * Notes the end of a connection. The pauses begin anew if it lived long enough.
   * @param {number} ms its age
   * @param {boolean} isNode whether it was to a node of a cluster
   * @returns {boolean} whether it lived long enough
   */
  connectionLived(ms, isNode) {
    if (ms < (isNode ? NODE_HEALTHY_MS : HEALTHY_MS)) return false;
    this.attempts = 0;
    return true;
  }
}

/**
 * The addresses that a client connects to: those of its user, and that of the leader that a node named last.
 *
 * The client tries each address once before it tries one again: a *round*. It pauses between two rounds, not within
 * one. Addresses are texts in one form each.
 */
export class Route {
  /**
   * Begins at one of the addresses at random.
   * @param {string[]} homes at least one
   * @param {Random} random
   */
  constructor(homes, random) {
    /** The addresses of the user, none twice. */
    this.homes = [...new Set(homes)];
    /** @type {string | null} the leader's address; null until a node has named one */
    this.leader = null;
    /** What is left of the round, in the order of the attempts. */
    this.untried = random.shuffled(this.homes);
    /** Where the client is connected, or connects next. */
    this.current = /** @type {string} */ (this.untried.shift());
  }

  /** Whether the user gave the current address. */
  get isHome() {
    return this.homes.includes(this.current);
  }

  /** Whether the user gave only this address: what it refuses for good, no other server can accept. */
  get isOnly() {
    return this.homes.length === 1 && this.isHome;
  }

  /** Whether all addresses of the round were tried. */
  get isRoundOver() {
    return this.untried.length === 0;
  }

  /** The addresses of a round. From a list, the client does not go to the leader unless a request needs it. */
  get candidates() {
    const { homes, leader } = this;
    return homes.length === 1 && leader !== null && leader !== homes[0] ? [homes[0], leader] : homes;
  }

  /**
   * Goes to an address. If that fails, the others follow.
   * @param {string} address
   * @param {Random} random
   */
  move(address, random) {
    this.current = address;
    this.untried = random.shuffled(this.candidates.filter((other) => other !== address));
  }

  /**
   * Begins a round, because the connection to the current address has been good. After the loss of one of several
   * addresses, the others come first. A single address may stand for several servers, so it comes before the leader.
   * @param {Random} random
   */
  beginRound(random) {
    const others = random.shuffled(this.candidates.filter((other) => other !== this.current));
    this.untried = this.homes.length === 1 ? [this.current, ...others] : [...others, this.current];
  }

  /**
   * Chooses the address of the next attempt.
   * @param {Random} random
   * @returns {boolean} whether it begins a new round
   */
  next(random) {
    const isNew = this.untried.length === 0;
    if (isNew) {
      const all = random.shuffled(this.candidates);
      // The address that failed last is not the first again.
      if (all.length > 1 && all[0] === this.current) all.push(/** @type {string} */ (all.shift()));
      this.untried = all;
    }
    this.current = /** @type {string} */ (this.untried.shift());
    return isNew;
  }
}
