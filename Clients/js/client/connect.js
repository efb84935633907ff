/**
 * The settings of a client, and its start.
 * @module
 */

import { toHex } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { Limits } from '../wire/limits.js';
import { SERVER_ADDRESSES_MAX } from '../machine/limits.js';
import { Nest } from './nest.js';

/** @typedef {import('./driver.js').Platform} Platform */

/** Hexadecimal digits of a session, and of the secret of a token. */
const SESSION = /^[0-9a-f]{32}$/i;
const TOKEN = /^\s*nest_([1-9][0-9]{0,15})_([0-9a-f]{64})\s*$/i;

/** @param {string} message @returns {never} */
export function invalid(message) {
  throw new NestError('INVALID', message);
}

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

/**
 * @param {Platform} platform
 * @param {string[]} homes addresses, each in one form
 * @param {any} options of `connect`
 * @returns {Promise<Nest>}
 */
export async function start(platform, homes, options) {
  if (homes.length === 0) invalid('name a server: connect({ url })');
  if (homes.length > SERVER_ADDRESSES_MAX) invalid(`a list of servers has at most ${SERVER_ADDRESSES_MAX} addresses`);
  const { session = toHex(platform.randomBytes(16)), token = null, user = '', clientName = 'nest js' } = options;
  if (!SESSION.test(session)) invalid('a session has 32 hexadecimal digits');
  for (const text of [user, clientName]) {
    if (new TextEncoder().encode(text).length > Limits.nameBytesMax) invalid('a name is too long');
  }
  const settings = { ...options, homes, session, clientName, user, token: token && readToken(token) };
  // Undefined options must not replace the defaults of the machine.
  for (const name of Object.keys(settings)) if (settings[name] === undefined) delete settings[name];
  return new Nest(platform, settings).connect();
}
