/**
 * Values as the server keeps them: what a row will have after a write is confirmed, in the form in which rows come.
 * @module
 */

import { NestDate } from '../wire/values.js';

/** @typedef {import('../rules/values.js').Value} Value */

/**
 * @param {{ type: string }} attribute
 * @param {Value} value as a transaction sends it
 * @returns {Value}
 */
export function stored({ type }, value) {
  if (value === null) return null;
  if (type === 'double' || type === 'float') return number(type, value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Date) return NestDate.from(value);
  return type === 'decimal' && typeof value === 'string' ? canonicalDecimal(value) : value;
}

/**
 * The value that an insert leaves to the server.
 * @param {any} attribute
 * @param {Value} now an estimate of the server's time
 * @returns {Value}
 */
export const defaultOf = (attribute, now) => (attribute.defaultsToNow ? now : stored(attribute, attribute.default));

/** There is no negative zero; a float has 32 bits. @param {string} type @param {any} value */
function number(type, value) {
  const all = Number(value) + 0;
  return type === 'float' ? Math.fround(all) + 0 : all;
}

/**
 * Each number has one text: without an exponent, and without zeros that are not needed.
 * @param {string} text
 * @returns {string} the text itself if it is not a number, which the server refuses
 */
function canonicalDecimal(text) {
  const parts = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,5}))?$/.exec(text);
  if (!parts || parts[2] + parts[3] === '') return text;
  const [, sign, whole, fraction, power = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  // The number of digits before the point; negative: zeros after it.
  const point = digits.length - fraction.length + Number(power);
  const minus = sign === '-' ? '-' : '';
  // The server refuses more than 38 digits.
  if (Math.abs(point) > 99) return text;
  if (point <= 0) return `${minus}0.${'0'.repeat(-point)}${significant}`;
  if (point >= significant.length) return minus + significant.padEnd(point, '0');
  return `${minus}${significant.slice(0, point)}.${significant.slice(point)}`;
}
