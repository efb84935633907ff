/**
 * Tokens: only programs that have one load this module.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { invalid } from './options.js';

/** The hexadecimal digits of a secret follow the number of its token. */
const TOKEN = /^\s*nest_([1-9][0-9]{0,15})_([0-9a-f]{64})\s*$/i;

/**
 * Reads a token as `nestc token create` prints it. The message of an error does not contain it.
 * @param {string} text
 * @returns {{ number: number, secret: string }}
 */
export function readToken(text) {
  const [, digits, secret] = TOKEN.exec(text) ?? invalid('the token does not have the form nest_NUMBER_SECRET');
  const number = Number(digits);
  return Number.isSafeInteger(number) ? { number, secret } : invalid('the number of the token is too large');
}

/**
 * Whether only this machine can read what is sent to a host.
 * @param {string} host a name, or an address without brackets
 */
export const isLocal = (host) => host === 'localhost' || host === '::1' || /^(::ffff:)?127\.[0-9.]+$/.test(host);

/** The error for a token that others could read. @param {string} address */
export const clearToken = (address) => new NestError(
  'UNTRUSTED',
  `the token is not sent to ${address} without TLS, where others could read it: use wss:// or nests://, or set `
    + 'sendsTokenInClear',
);

/** What `connect` sets for a token. @param {string} text */
export const tokenSettings = (text) => ({
  token: readToken(text),
  /** Throws if others could read it. @param {string} address @param {string} host to which it goes unencrypted */
  checkClear(/** @type {string} */ address, /** @type {string} */ host) {
    if (!isLocal(host)) throw clearToken(address);
  },
});
