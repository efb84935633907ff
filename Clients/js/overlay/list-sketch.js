/**
 * What is known of the order of one list: the members that a view shows, in their order, and those that pending
 * transactions have put among them. Each step is O(n) for n entries.
 * @module
 */

/**
 * A place with its references resolved. A sibling is null, UNKNOWN, or an id.
 * @typedef {'first' | 'last' | { at: number } | { beside: number | typeof UNKNOWN, isAfter: boolean }
 *   | { left: number | null | typeof UNKNOWN, right: number | null | typeof UNKNOWN }} SketchPlace
 */

/** A reference to an object without a known id. */
export const UNKNOWN = 0;

/** @typedef {(id: number) => boolean | undefined} IsMember */

export class ListSketch {
  // Made when they are needed: an outline has a sketch for each row, and most rows have no children.
  /** @type {Set<number> | undefined} */
  #uncertain;
  /** @type {Set<number> | undefined} */
  #before;
  /** @type {Set<number> | undefined} */
  #after;

  /**
   * @param {number[]} entries the members whose order is known among each other. Some are not shown, because the
   *   predicate does not admit them
   * @param {boolean} startsAtFirst whether the first entry comes before all other members that the view could show
   * @param {boolean} endsAtLast whether the last one comes after them
   * @param {boolean} isComplete whether the entries are all members
   */
  constructor(entries, startsAtFirst, endsAtLast, isComplete) {
    this.entries = entries;
    this.startsAtFirst = startsAtFirst;
    this.endsAtLast = endsAtLast;
    this.isComplete = isComplete;
  }

  /** Members whose place is not known. Those that were shown stay among the entries. @returns {Set<number>} */
  get uncertain() {
    return this.#uncertain ??= new Set();
  }

  /** Members that were put before the beginning of the window. @returns {Set<number>} */
  get before() {
    return this.#before ??= new Set();
  }

  /** Members that were put behind the end of the window. @returns {Set<number>} */
  get after() {
    return this.#after ??= new Set();
  }

  /**
   * Puts an object beside those that it was beside. Does nothing if they are not known, or all members are.
   * @param {number} object
   * @param {import('./memory.js').RememberedPlace} place
   */
  insert(object, { left, right }) {
    if (this.isComplete || this.entries.includes(object)) return;
    const { entries } = this;
    const [after, before] = [left, right].map((one) => (one === undefined ? -1 : entries.indexOf(one)));
    if (after >= 0) entries.splice(after + 1, 0, object);
    else if (before >= 0) entries.splice(before, 0, object);
    else if (entries.length === 0 && this.startsAtFirst && this.endsAtLast) entries.push(object);
  }

  /** @param {number} object */
  remove(object) {
    const index = this.entries.indexOf(object);
    if (index >= 0) this.entries.splice(index, 1);
    for (const part of [this.#uncertain, this.#before, this.#after]) part?.delete(object);
  }

  /** The list has exactly these members, in this order. @param {number[]} members */
  replace(members) {
    this.entries = [...members];
    this.startsAtFirst = this.endsAtLast = this.isComplete = true;
    for (const part of [this.#uncertain, this.#before, this.#after]) part?.clear();
  }

  /** The object's place is not known any more. @param {number} object */
  doubt(object) {
    this.uncertain.add(object);
  }

  /**
   * Puts an object at a place, or moves it there.
   * @param {number} object
   * @param {SketchPlace} place
   * @param {IsMember} isMember whether an object is in the list, as far as that is known
   * @returns {boolean} false if the server must refuse the place
   */
  place(object, place, isMember) {
    const old = this.entries.indexOf(object);
    this.remove(object);
    return this.#put(object, place, old, isMember);
  }

  /**
   * @param {number} object
   * @param {SketchPlace} place
   * @param {number} old its index; -1: none
   * @param {IsMember} isMember
   */
  #put(object, place, old, isMember) {
    if (place === 'first') {
      if (this.startsAtFirst) this.entries.unshift(object);
      else this.before.add(object);
      return true;
    }
    if (place === 'last') return this.#putLast(object);
    if ('at' in place) {
      if (!this.isComplete || this.uncertain.size > 0) return this.#guess(object, old);
      if (place.at > this.entries.length) return false;
      this.entries.splice(place.at, 0, object);
      return true;
    }
    if ('beside' in place) {
      const { beside, isAfter } = place;
      if (beside === UNKNOWN) return this.#guess(object, old);
      if (beside === object) return false;
      return this.#putBeside(object, beside, isAfter, old, isMember) ?? false;
    }
    for (const [sibling, isAfter] of /** @type {const} */ ([[place.left, true], [place.right, false]])) {
      if (sibling === null || sibling === object) continue;
      if (sibling === UNKNOWN) return this.#guess(object, old);
      const isPut = this.#putBeside(object, sibling, isAfter, old, isMember);
      if (isPut !== undefined) return isPut;
    }
    return this.#putLast(object);
  }

  /** @param {number} object */
  #putLast(object) {
    if (this.endsAtLast) this.entries.push(object);
    else this.after.add(object);
    return true;
  }

  /**
   * @param {number} object
   * @param {number} sibling
   * @param {boolean} isAfter
   * @param {number} old
   * @param {IsMember} isMember
   * @returns {boolean | undefined} undefined if the sibling is not in the list
   */
  #putBeside(object, sibling, isAfter, old, isMember) {
    if (this.uncertain.has(sibling)) return this.#guess(object, old);
    const index = this.entries.indexOf(sibling);
    if (index >= 0) this.entries.splice(index + (isAfter ? 1 : 0), 0, object);
    else if (this.before.has(sibling)) this.before.add(object);
    else if (this.after.has(sibling)) this.after.add(object);
    else if (this.isComplete || isMember(sibling) === false) return undefined;
    else return this.#guess(object, old);
    return true;
  }

  /** Leaves an object whose place is not known where it was. @param {number} object @param {number} old */
  #guess(object, old) {
    if (old >= 0) this.entries.splice(Math.min(old, this.entries.length), 0, object);
    this.uncertain.add(object);
    return true;
  }
}
