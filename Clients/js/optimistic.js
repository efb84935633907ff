/**
 * Optimistic writes: lists show this client's writes at once, and the server decides what stays.
 * @module
 */

import { Local } from './client/local.js';
import { Nest } from './client/nest.js';
import { invalid } from './client/options.js';

/** @type {WeakMap<Nest, Local>} */
const locals = new WeakMap();

/**
 * The optimistic side of a client; the same for each call.
 * @param {any} nest
 * @returns {any}
 */
export function optimistic(nest) {
  if (!(nest instanceof Nest)) invalid('it is optimistic(nest), with what connect has returned');
  let local = locals.get(nest);
  if (!local) locals.set(nest, local = new Local(nest));
  return local;
}
