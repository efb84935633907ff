// The order and equality of values that predicates, orders and sections share (protocol.md, section 9).

import { compareText, fold } from './text.js';
import { decimalKey } from './decimals.js';

/**
 * A value as programs see it: null, a boolean, a number or BigInt, a text, data, a date, a reference, a uuid, a Double.
 * @typedef {null | boolean | number | bigint | string | Uint8Array
 *   | { readonly microseconds: number | bigint } | { readonly id: number } | { readonly hex: string }
 *   | { readonly value: number }} Value
 */

/**
 * What comparing needs of a value: `kind` says what it can be compared with. Made once for each value that is compared
 * many times.
 * @typedef {object} Comparable
 * @property {'null' | 'boolean' | 'number' | 'text' | 'decimal' | 'data' | 'date' | 'reference' | 'uuid'} kind
 * @property {any} by
 */

/** @type {Comparable} */
const none = { kind: 'null', by: null };

/**
 * @param {Value} value
 * @param {number} [folding] Of text: 1: case, 2: diacritics, 3: both.
 * @param {boolean} [isDecimal] Text is a decimal number.
 * @returns {Comparable}
 */
export function comparable(value, folding = 0, isDecimal = false) {
  if (value === null) return none;
  switch (typeof value) {
    case 'boolean': return { kind: 'boolean', by: value };
    case 'number':
    case 'bigint': return { kind: 'number', by: value };
    case 'string': {
      if (!isDecimal) return { kind: 'text', by: fold(value, folding) };
      const key = decimalKey(value);
      return key === undefined ? { kind: 'text', by: value } : { kind: 'decimal', by: key };
    }
    default:
  }
  if (value instanceof Uint8Array) return { kind: 'data', by: value };
  if ('microseconds' in value) return { kind: 'date', by: value.microseconds };
  if ('value' in value) return { kind: 'number', by: value.value };
  return 'hex' in value ? { kind: 'uuid', by: value.hex } : { kind: 'reference', by: value.id };
}

/**
 * Compares two values exactly; numbers as numbers, whatever their forms.
 * @param {Comparable} a
 * @param {Comparable} b
 * @returns {number | undefined} Below 0, 0, or above 0. Undefined if they cannot be compared, and always for null.
 */
export function compare(a, b) {
  if (a.kind !== b.kind || a.kind === 'null') return undefined;
  return compareSame(a.by, b.by);
}

/**
 * Compares what two comparables of one kind, not null, are compared by.
 * @param {any} a
 * @param {any} b
 * @returns {number}
 */
export function compareSame(a, b) {
  if (typeof a === 'string') return compareText(a, b);
  if (a instanceof Uint8Array) return compareBytes(a, b);
  // A number and a BigInt are compared by their exact values.
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function compareBytes(a, b) {
  const count = Math.min(a.length, b.length);
  for (let index = 0; index < count; index += 1) if (a[index] !== b[index]) return a[index] - b[index];
  return a.length - b.length;
}

/**
 * Whether two values are equal: null equals null and nothing else.
 * @param {Comparable} a
 * @param {Comparable} b
 */
export function isEqual(a, b) {
  return a.kind === 'null' ? b.kind === 'null' : compare(a, b) === 0;
}
