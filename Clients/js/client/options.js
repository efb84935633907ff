/**
 * Options of a program's calls.
 * @module
 */

import { NestError } from '../wire/errors.js';

/** Options of every request, and of every write. */
export const CALL = ['signal', 'timeout'];
export const WRITE = ['key', ...CALL];

/** @param {string} message @returns {never} */
export function invalid(message) {
  throw new NestError('INVALID', message);
}

/**
 * The options of a call. One that it does not know is a mistake: the call would do something else than is meant.
 * @param {string} what
 * @param {any} given null or left out: none
 * @param {string[]} names
 * @returns {any}
 */
export function known(what, given, names) {
  for (const name of Object.keys(given ?? {})) {
    if (!names.includes(name)) invalid(`${what} has no option '${name}', only ${names.join(', ')}`);
  }
  return given ?? {};
}

/** @param {any} value @param {string} name */
export function checkTime(value, name) {
  if (!(typeof value === 'number' && value >= 0)) invalid(`${name} is a number of milliseconds, not ${String(value)}`);
}
