/**
 * Several addresses of one store. Only a client that has several, or that can follow a leader, loads this module.
 * @module
 */

import { NestError } from '../wire/errors.js';

/** Addresses of a list of servers (`serverAddressesMax`). */
const SERVER_ADDRESSES_MAX = 32;

/**
 * @param {() => number} random
 * @param {number} below at least 1
 * @returns {number} an integer from 0 to below - 1
 */
export const indexBelow = (random, below) => Math.floor(random() * below);

/**
 * @template T
 * @param {() => number} random
 * @param {T[]} items
 * @returns {T[]} the same items in a random order
 */
function shuffled(random, items) {
  const all = items.slice();
  for (let i = all.length - 1; i > 0; i--) {
    const j = indexBelow(random, i + 1);
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all;
}

/**
 * The addresses that a client connects to: those of its user, and that of the leader that a node named last.
 *
 * The client tries each address once before it tries one again: a *round*. It pauses between two rounds, not within
 * one. Addresses are texts in one form each.
 */
export class Addresses {
  /**
   * Begins at one of the addresses at random.
   * @param {string[]} homes at least one
   * @param {() => number} random
   */
  constructor(homes, random) {
    if (homes.length > SERVER_ADDRESSES_MAX) {
      throw new NestError('INVALID', `a list of servers has at most ${SERVER_ADDRESSES_MAX} addresses`);
    }
    /** The addresses of the user, none twice. */
    this.homes = [...new Set(homes)];
    /** @type {string | null} the leader's address; null until a node has named one */
    this.leader = null;
    /** What is left of the round, in the order of the attempts. */
    this.untried = shuffled(random, this.homes);
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
   * @param {() => number} random
   */
  move(address, random) {
    this.current = address;
    this.untried = shuffled(random, this.candidates.filter((other) => other !== address));
  }

  /**
   * Begins a round, because the connection to the current address has been good. After the loss of one of several
   * addresses, the others come first. A single address may stand for several servers, so it comes before the leader.
   * @param {() => number} random
   */
  beginRound(random) {
    const others = shuffled(random, this.candidates.filter((other) => other !== this.current));
    this.untried = this.homes.length === 1 ? [this.current, ...others] : [...others, this.current];
  }

  /**
   * Chooses the address of the next attempt.
   * @param {() => number} random
   * @returns {boolean} whether it begins a new round
   */
  next(random) {
    const isNew = this.untried.length === 0;
    if (isNew) {
      const all = shuffled(random, this.candidates);
      // The address that failed last is not the first again.
      if (all.length > 1 && all[0] === this.current) all.push(/** @type {string} */ (all.shift()));
      this.untried = all;
    }
    this.current = /** @type {string} */ (this.untried.shift());
    return isNew;
  }
}
