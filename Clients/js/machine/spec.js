/**
 * Requests of lists and reads, as the machine sends them.
 * @module
 */

import { toHex } from '../wire/bytes.js';
import { encodeFetchRequest } from '../wire/request.js';

/**
 * A request as the machine sends it.
 * @typedef {object} Spec
 * @property {any} wire a fetch request: wire/request.js
 * @property {Uint8Array} bytes what it is encoded to
 * @property {string} key the same as text
 * @property {any} model the hash of the model it is made for
 * @property {boolean} windowed
 * @property {any} request what the caller gave
 */

/** @param {any} wire @param {any} model @param {any} request @returns {Spec} */
export function specOf(wire, model, request) {
  const bytes = encodeFetchRequest(wire);
  return Object.freeze({ wire, bytes, key: toHex(bytes), model, windowed: Boolean(wire.window), request });
}
