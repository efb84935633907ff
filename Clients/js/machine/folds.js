/**
 * Which rows of an outline are folded, as far as its program has said it. The server keeps that for a view only, so a
 * client needs it to subscribe again.
 * @module
 */

import { Limits } from '../wire/limits-more.js';

/**
 * Fold states that the server has not confirmed.
 * @typedef {object} FoldCall
 * @property {Map<number, boolean>} states
 * @property {any} call null: nobody waits
 * @property {boolean} [isAgain] whether they are those of the view before
 * @property {boolean} [isAlone] whether they were refused with others, and are now requested by themselves
 */

export class Folds {
  /** @param {{ expansion: any, exceptions: readonly number[], states?: Iterable<[number, boolean]> }} outline */
  constructor({ expansion, exceptions, states = [] }) {
    this.expansion = expansion;
    /** The objects that have the other state than the expansion gives them. */
    this.exceptions = new Set(exceptions);
    /**
     * In an outline by an attribute: the states that were set. Which of them are exceptions depends on the attribute,
     * whose values the client does not know.
     * @type {Map<number, boolean>}
     */
    this.states = new Map(states);
  }

  /** @param {Map<number, boolean>} states */
  set(states) {
    const { expansion, exceptions } = this;
    for (const [object, isExpanded] of states) {
      if (typeof expansion === 'object') this.states.set(object, isExpanded);
      else if (isExpanded === (expansion === 'all')) exceptions.delete(object);
      else exceptions.add(object);
    }
  }

  /** The states to set in a new view, as many at a time as a request may have. @returns {FoldCall[]} */
  get again() {
    const all = [...this.states];
    const calls = [];
    for (let at = 0; at < all.length; at += Limits.outlineExceptionsMax) {
      calls.push({ states: new Map(all.slice(at, at + Limits.outlineExceptionsMax)), call: null, isAgain: true });
    }
    return calls;
  }

  /**
   * The field of the request that subscribes again. If there are too many exceptions, some are those of objects that
   * the server has forgotten, because they were deleted.
   */
  get outline() {
    const exceptions = [...this.exceptions].sort((a, b) => a - b).slice(-Limits.outlineExceptionsMax);
    return { expansion: this.expansion, exceptions };
  }
}

/**
 * The first of the calls, as many as fit into one request, and the last state of each object. If it was refused with
 * others, it is the only one.
 * @param {FoldCall[]} calls at least one
 */
export function merged(calls) {
  const states = new Map();
  let end = 0;
  let count = 0;
  for (const call of calls) {
    count += call.states.size;
    const fits = count <= Limits.outlineExceptionsMax && !calls[0].isAlone && !call.isAlone;
    if (end > 0 && !fits) break;
    for (const [object, isExpanded] of call.states) states.set(object, isExpanded);
    end += 1;
  }
  return { taken: calls.slice(0, end), states };
}
