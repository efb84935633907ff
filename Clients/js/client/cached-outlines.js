/**
 * Live outlines of a client with a cache. This module is loaded when a program opens one.
 * @module
 */

import { withCachedFolds } from '../machine/cached-outlines.js';
import { OutlineList } from '../machine/outlines.js';
import { withCurrent, withCurrentStates } from './cached-results.js';
import { outlineRequest, OutlineResults } from './outlines.js';
import { OutlineShape, OutlineState } from './outline-state.js';
import { shapeOf } from './shown.js';

export { withCachedFolds };

class CachedOutlineList extends withCachedFolds(OutlineList) {}

class CachedOutlineState extends withCurrent(OutlineState) {}

class CachedOutlineResults extends withCurrentStates(OutlineResults) {}

/** @type {Map<string, any>} */
const shapes = new Map();

/** @param {any} arrived @param {any} request */
const shown = (arrived, request) => {
  const names = request.namesOf(arrived.projection.slice(0, -2));
  return new CachedOutlineState(arrived, shapeOf(names, OutlineShape, shapes), request);
};

/**
 * @param {import('./cache.js').CachedNest} nest
 * @param {import('./requests.js').FetchRequest} request
 * @param {any} [given] as of `outline` in outlines.js
 * @returns {any} as of `nest.outline`
 */
export const outline = (nest, request, given) =>
  new CachedOutlineResults(nest, outlineRequest(request, given), new CachedOutlineList(), shown);
