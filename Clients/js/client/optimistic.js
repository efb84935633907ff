/**
 * What a program needs that shows its writes before the server has them: reserved ids, and places near a gap. This
 * module is loaded with the first of them.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { RESERVED_IDS_MAX } from '../wire/messages-optimistic.js';
import { CALL, invalid, known } from './options.js';

/**
 * Reserves object ids, durable when it resolves. They belong to the session of the client; no other object ever gets
 * them, whether they are used or not. index.d.ts says how long a session keeps them. Each call is a commit.
 * @param {import('./nest.js').Nest} nest
 * @param {number} count from 1 to 65,536
 * @param {{ signal?: AbortSignal, timeout?: number }} [given]
 * @returns {Promise<readonly number[]>} ascending
 */
export async function reserveIDs(nest, count, given) {
  const options = known('reserveIDs', given, CALL);
  if (!Number.isSafeInteger(count) || count < 1) invalid(`reserveIDs takes a number from 1 to ${RESERVED_IDS_MAX}`);
  const reserved = await nest.request('reserve', { count }, { ...options, answer: 'reserved' });
  if (reserved.count !== count) {
    throw new NestError('PROTOCOL', `the server reserved ${reserved.count} ids instead of ${count}`);
  }
  return Object.freeze(Array.from({ length: count }, (_, index) => reserved.first + index));
}
