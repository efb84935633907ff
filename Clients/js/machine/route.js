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

/** Pauses that double: none, then 100 ms up to `msMax`, each between half of it and all of it. */
export class Backoff {
  /** @param {number} [msMax] the longest pause, in milliseconds */
  constructor(msMax = RECONNECT_MS_MAX) {
    this.msMax = msMax;
    this.attempts = 0;
  }

  /**
   * @param {() => number} random
   * @returns {number} the pause before the next attempt, in milliseconds
   */
  next(random) {
    const attempt = this.attempts++;
    if (attempt === 0) return 0;
    const pause = Math.min(RECONNECT_MS_MIN * 2 ** (attempt - 1), this.msMax);
    return Math.round(pause / 2 + random() * (pause / 2));
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

/** The only address of a client: machine/addresses.js has the form of it for several. */
export class OneAddress {
  /** @param {string[]} homes */
  constructor([address]) {
    this.homes = [address];
    this.current = address;
    /** @type {string | null} */
    this.leader = null;
    this.isHome = true;
    this.isOnly = true;
    this.isRoundOver = true;
  }

  beginRound() {}

  /** Every attempt is a round. */
  next() {
    return true;
  }
}
