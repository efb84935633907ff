/**
 * The totals of requests. This module is loaded when a request has some.
 * @module
 */

import '../machine/totals.js';
import { NestError } from '../wire/errors.js';
import { Limits } from '../wire/limits-more.js';
import { invalid } from './options.js';
import { readPath } from './requests.js';

const FEATURE_TOTALS = 1 << 10;

/**
 * Reads the totals of a request: each has its `name`, which is its text without spaces. The server knows which types
 * the functions take.
 * @param {import('./nest.js').Nest} nest
 * @param {import('./requests.js').FetchRequest} request
 */
export function read(nest, { model, description, totalTexts }) {
  // Before the first connection (client/cache.js) it is not known.
  if (nest.server && (nest.server.features & FEATURE_TOTALS) === 0) {
    throw new NestError('UNSUPPORTED', 'the server has no totals: it is of an earlier version');
  }
  const all = new Map();
  for (const text of totalTexts.flatMap((texts) => String(texts).split(','))) {
    const name = text.replace(/\s/g, '');
    const [, called, path] = /^(?:count|(sum|min|max|avg)\(([^()]+)\))$/.exec(name)
      ?? invalid(`'${text.trim()}' is no total: write count, sum(path), min(path), max(path) or avg(path)`);
    all.set(name, called ? { name, function: called, path: readPath(model, description, path) }
      : { name, function: 'count' });
  }
  if (all.size > Limits.totalsMax) {
    throw new NestError('LIMIT_EXCEEDED', `a request has at most ${Limits.totalsMax} totals, not ${all.size}`);
  }
  return [...all.values()];
}
