/**
 * The settings of a client, and its start.
 * @module
 */

import { encodeText, toHex } from '../wire/bytes.js';
import { Limits } from '../wire/limits.js';
import { Nest } from './nest.js';
import { checkTime, invalid, known } from './options.js';

/** @typedef {import('./driver.js').Platform} Platform */

/** Hexadecimal digits of a session. */
const SESSION = /^[0-9a-f]{32}$/i;

/** Options that are milliseconds. */
const TIMES = ['requestTimeout', 'connectTimeout', 'reconnectPauseMax'];

const OPTIONS = ['url', 'urls', 'session', 'token', 'user', 'clientName', 'store', 'tls', 'zone', 'WebSocket', 'onState',
  'cache', 'compression', 'followsLeader', 'pausesWhenHidden', 'sendsTokenInClear', ...TIMES];

/**
 * Options as `connect` gets them. One that it does not know could mean another server.
 * @param {any} given an object, or a URL
 */
export function optionsOf(given) {
  const options = known('connect', typeof given === 'string' ? { url: given } : given, OPTIONS);
  for (const name of TIMES) if (options[name] !== undefined) checkTime(options[name], name);
  return options;
}

/**
 * @param {Platform} platform
 * @param {string[]} homes addresses, each in one form
 * @param {any} options of `connect`
 * @returns {Promise<Nest>}
 */
export async function start(platform, homes, options) {
  if (homes.length === 0) invalid('name a server: connect({ url })');
  const { session = toHex(platform.randomBytes(16)), token = null, user = '', clientName = 'nest js' } = options;
  if (!SESSION.test(session)) invalid('a session has 32 hexadecimal digits');
  for (const text of [user, clientName]) {
    if (encodeText(text).length > Limits.nameBytesMax) invalid('a name is too long');
  }
  const settings = { ...options, homes, session, clientName, user, token: null };
  // Only a program with a token loads what reads it.
  if (token) Object.assign(settings, (await import('./token.js')).tokenSettings(token));
  // Undefined options must not replace the defaults of the machine.
  for (const name of Object.keys(settings)) if (settings[name] === undefined) delete settings[name];
  // Only a program with a cache loads what uses it.
  if (settings.cache) return (await import('./cache.js')).start(platform, settings);
  return new Nest(platform, settings).connect();
}
