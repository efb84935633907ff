/**
 * Values as the query language writes them.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { Double, NestDate, Reference, UUID } from '../wire/values.js';

/** @type {Record<string, string>} */
const ESCAPES = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r' };

/** How many bytes become one argument of String.fromCharCode. */
const STRETCH = 4_096;

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += STRETCH) {
    text += String.fromCharCode(...bytes.subarray(at, at + STRETCH));
  }
  return btoa(text);
}

/**
 * Writes a value in a predicate: a text that a user typed cannot become anything else.
 * @param {any} value a string, number, BigInt, boolean, null, Date, NestDate, UUID, Uint8Array, an object with an `id`
 *   (a row, a Reference), or an array of these
 * @returns {string} throws NestError INVALID for anything else
 */
export function quote(value) {
  switch (typeof value) {
    case 'string': return `"${value.replace(/["\\\n\t\r]/g, (mark) => ESCAPES[mark])}"`;
    case 'boolean': return value ? 'YES' : 'NO';
    case 'bigint': return String(value);
    case 'number': if (Number.isFinite(value)) return String(value); break;
    case 'undefined': return 'nil';
    case 'object':
      if (value === null) return 'nil';
      if (Array.isArray(value)) return `{${value.map(quote).join(', ')}}`;
      if (value instanceof Date) return `date("${NestDate.from(value)}")`;
      if (value instanceof NestDate) return `date("${value}")`;
      if (value instanceof UUID) return `uuid("${value}")`;
      if (value instanceof Double) return quote(value.value);
      if (value instanceof Uint8Array) return `data("${base64(value)}")`;
      if (value instanceof Reference || Number.isSafeInteger(value.id)) return String(value.id);
  }
  throw new NestError('INVALID', `a predicate cannot contain a value of type ${typeof value}: ${String(value)}`);
}

/**
 * The text of a predicate, from a text or a template whose values are quoted.
 * @param {string | TemplateStringsArray} text
 * @param {any[]} values
 * @returns {string}
 */
export function predicateText(text, values) {
  if (typeof text === 'string') return text;
  return String.raw({ raw: text.raw }, ...values.map(quote));
}
