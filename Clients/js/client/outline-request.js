/**
 * The request of an outline.
 * @module
 */

import { childrenProperty, depthProperty } from '../wire/messages-outline.js';
import { objectID } from '../wire/model.js';
import { invalid } from './options.js';
import { FetchRequest } from './requests.js';

const EXPANSIONS = ['none', 'all'];

/**
 * Which rows are unfolded.
 * @param {FetchRequest} request
 * @param {any} expand 'none', 'all', or the name of a boolean attribute
 * @param {Iterable<any>} except objects with the other state
 * @param {Iterable<[any, boolean]>} set states of objects, if `expand` is an attribute
 */
export function outlineOf({ description }, expand, except, set) {
  const exceptions = [...new Set(Array.from(except, objectID))].sort((a, b) => a - b);
  const states = Array.from(set, ([object, isExpanded]) => [objectID(object), Boolean(isExpanded)]);
  if (EXPANSIONS.includes(expand)) {
    if (states.length > 0) invalid('set is for an outline by an attribute; otherwise there is except');
    return Object.freeze({ expansion: expand, exceptions });
  }
  const { type, number, name } = description.property(expand);
  if (type !== 'boolean') invalid(`expand is 'none', 'all' or a boolean attribute; ${name} is none`);
  return Object.freeze({ expansion: Object.freeze({ attribute: number }), exceptions, states });
}

/** A request with a source and a window, whose rows have a depth and a number of children. */
export class OutlineRequest extends FetchRequest {
  /** @param {any} fields */
  constructor(fields) {
    super(fields);
    /** Which rows are unfolded. @type {{ expansion: any, exceptions: readonly number[], states?: any }} */
    this.outline = fields.outline;
    Object.freeze(this);
  }

  /**
   * @param {FetchRequest} request
   * @param {any} outline
   * @param {number} limit of a window, if the request has none
   */
  static of(request, outline, limit) {
    if (!(request instanceof FetchRequest)) invalid('an outline is of a request, such as items.children(1)');
    if (!request.source) invalid('an outline is below an object: begin with entity.of(object, \'children\')');
    if (request.sort.length > 0) invalid('the rows of an outline have the order of their relationship: sort no rows');
    return new OutlineRequest({ ...(request.shownWindow ? request : request.window(0, limit)), outline });
  }

  /** How many rows its window has at most. @returns {number} */
  get rowCount() {
    const { limit, before, after } = this.shownWindow;
    return limit ?? before + 1 + after;
  }

  /** @param {Record<string, any>} changes @returns {any} */
  with(changes) {
    return new OutlineRequest({ ...this, ...changes });
  }

  lower() {
    const { wire, slots } = super.lower();
    const projection = [...wire.projection, childrenProperty, depthProperty];
    return { wire: { ...wire, projection, outline: this.outline }, slots };
  }
}
