// The order of rows, and the keys of their sections (protocol.md, section 9).

import { NestError } from '../wire/errors.js';
import { CASE, firstScalar, fold } from './text.js';
import { comparable, compareSame } from './values.js';
import { periodText } from './dates.js';
import { pathType } from './faults.js';
import { valueAt } from './truth.js';

/** @typedef {import('./values.js').Value} Value */

/**
 * One sort key.
 * @typedef {object} Term
 * @property {string} type The type of the attribute, such as `decimal`; `integer` for a count.
 * @property {boolean} [descending]
 * @property {number} [folding] Of text: 1: case, 2: diacritics, 3: both.
 * @property {import('./predicates.js').Path} [path] Where the value is, for `keyOf`.
 */

/**
 * The sort key of a row, prepared for many comparisons.
 * @typedef {object} RowKey
 * @property {readonly any[]} parts
 * @property {number} id
 */

const isText = (/** @type {string} */ type) => type === 'string' || type === 'uri';
/** @type {readonly string[]} */
const periods = ['year', 'month', 'day'];

/** An order of rows by values; ids complete it, ascending. Null is below every value. */
export class Order {
  /**
   * @param {readonly Term[]} terms
   * @throws {NestError} INVALID: folding of something that is not text.
   */
  constructor(terms) {
    for (const term of terms) {
      if (term.folding && !isText(term.type)) throw new NestError('INVALID', '[c] and [d] are for text');
    }
    /** @type {readonly Term[]} */
    this.terms = terms;
    Object.freeze(this);
  }

  /**
   * The order of a request.
   * @param {readonly any[]} sort As in `(await nest.resolve(request)).wire.sort`.
   * @param {any} entity The entity of the rows.
   * @param {any} model
   * @throws {NestError} UNSUPPORTED: the order of a relationship, which is not one by values. UNKNOWN_PROPERTY: the
   *   model does not have a path.
   */
  static of(sort, entity, model) {
    return new Order(sort.map((key) => {
      if (key.order) throw new NestError('UNSUPPORTED', 'the order of a relationship is not one by values');
      const type = pathType(key.path, entity, model);
      if (typeof type === 'string') throw new NestError('UNKNOWN_PROPERTY', type);
      if (type.many !== undefined) throw new NestError('UNKNOWN_PROPERTY', 'a path of an order leads to one object');
      if (type.kind === 'object') throw new NestError('UNSUPPORTED', 'an object has no order');
      return Object.freeze({ ...key, type: type.kind === 'count' ? 'integer' : type.type });
    }));
  }

  /**
   * The sort key of an object. The terms must have paths, as those of `Order.of` do.
   * @param {number} id
   * @param {import('./truth.js').Lookup} lookup
   * @returns {RowKey | undefined} Undefined if a value is not known.
   */
  keyOf(id, lookup) {
    const values = this.terms.map(({ path }) => {
      if (!path) throw new NestError('INVALID', 'a term of the order has no path');
      return valueAt(id, path, 0, lookup);
    });
    return this.key(values, id);
  }

  /**
   * The sort key of a row: the values of the terms, in their order.
   * @param {readonly (Value | undefined)[]} values
   * @param {number} id
   * @returns {RowKey | undefined} Undefined if a value is not known: neither is the place of the row.
   */
  key(values, id) {
    const parts = [];
    for (const [index, term] of this.terms.entries()) {
      const value = values[index];
      if (value === undefined) return undefined;
      parts.push(comparable(value, term.folding, term.type === 'decimal').by);
    }
    return { parts, id };
  }

  /**
   * @param {RowKey} a
   * @param {RowKey} b
   * @returns {number} Below 0 if a comes before b, above 0 if after; 0 only for the same id.
   */
  compare(a, b) {
    for (const [index, term] of this.terms.entries()) {
      const [x, y] = [a.parts[index], b.parts[index]];
      let order = 0;
      if (x === null || y === null) order = x === y ? 0 : x === null ? -1 : 1;
      else order = compareSame(x, y);
      if (order !== 0) return term.descending ? -order : order;
    }
    return a.id - b.id;
  }

  /**
   * The key of the section of a row, by the value of the first term.
   * @param {'value' | 'firstCharacter' | 'year' | 'month' | 'day'} section
   * @param {Value} value
   * @returns {Value}
   * @throws {NestError} INVALID: the function does not fit the type.
   */
  sectionKey(section, value) {
    const { type, folding = 0 } = this.terms[0];
    const fits = section === 'value' ? type !== 'data' && type !== 'decimal'
      : section === 'firstCharacter' ? isText(type) : type === 'date' && periods.includes(section);
    if (!fits) throw new NestError('INVALID', `there are no sections by ${section} of the type ${type}`);
    if (value === null) return null;
    if (section === 'year' || section === 'month' || section === 'day') {
      return periodText(/** @type {{ microseconds: number | bigint }} */ (value).microseconds, section);
    }
    if (typeof value !== 'string') return value;
    const folded = fold(value, folding);
    return section === 'value' ? folded : shown(firstScalar(folded), folding);
  }
}

/**
 * In upper case if the order ignores case, and the text folds back to the same.
 * @param {string} folded
 * @param {number} folding
 */
function shown(folded, folding) {
  if (!(folding & CASE)) return folded;
  const upper = folded.toUpperCase();
  return fold(upper, folding) === folded ? upper : folded;
}
