/**
 * An order by values, whose values may be those of other objects, and the sections of that order.
 * @module
 */

import { Order } from '../rules/order.js';
import { comparable, isEqual } from '../rules/values.js';
import { sectionKey } from '../wire/rows.js';
import { Double } from '../wire/values.js';
import { isFoldable } from './own.js';

/** @typedef {import('../rules/values.js').Value} Value */

/** @param {string} type */
const isText = (type) => type === 'string' || type === 'uri';

export class RowTerms {
  /** @param {readonly any[]} sort @param {any} entity @param {import('./schema.js').Schema} schema */
  constructor(sort, entity, schema) {
    const terms = sort.map(({ path, descending, folding = 0 }) => {
      // Counts have no attribute. They are integers.
      const type = schema.attributeType(path, entity) ?? 'integer';
      return Object.freeze({ path, type, descending, folding: isText(type) ? folding : 0 });
    });
    this.order = new Order(terms);
    /** @type {readonly any[]} */
    this.all = terms;
    /**
     * By rows of the server: what `key` says of them; null: undefined. Rows never change, and those of a request have the
     * same projection.
     * @type {WeakMap<object, import('../rules/order.js').RowKey | null>}
     */
    this.keys = new WeakMap();
  }

  /**
   * The place of a row.
   * @param {readonly (Value | undefined)[]} values of the terms
   * @param {number} id
   * @returns {import('../rules/order.js').RowKey | undefined} undefined if it is not known
   */
  key(values, id) {
    const isKnown = values.every((value, index) =>
      value !== undefined && isFoldable(value, this.all[index].folding));
    return isKnown ? this.order.key(values, id) : undefined;
  }

  /**
   * The section of a row by the value of the first term; undefined if it is not known.
   * @param {any} name of the function
   * @param {Value} value
   */
  section(name, value) {
    const [{ type, folding }] = this.all;
    if (!isFoldable(value, folding)) return undefined;
    const key = this.order.sectionKey(name, value);
    // Its hash is that of a double, also if the number is whole. There is no negative zero.
    const isDouble = key !== null && (type === 'double' || type === 'float');
    return sectionKey(isDouble ? new Double(Number(key) + 0) : key);
  }
}

/**
 * Whether two values of a term have the same place; undefined if that is not known.
 * @param {any} term
 * @param {Value} a
 * @param {Value} b
 */
export function isSamePlace({ type, folding }, a, b) {
  if (a === b) return true;
  if (!isFoldable(a, folding) || !isFoldable(b, folding)) return undefined;
  const isDecimal = type === 'decimal';
  return isEqual(comparable(a, folding, isDecimal), comparable(b, folding, isDecimal));
}
