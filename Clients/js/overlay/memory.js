/**
 * What is remembered of one object that a view does not show any more: `remembered.js` says when.
 * @module
 */

import { firstColumn } from '../wire/model.js';

/**
 * A place in the order of the rows, by those that were beside it. `owner`: that of the list, or undefined for another
 * order, which has a section.
 * @typedef {{ left: number | undefined, right: number | undefined, owner?: number, section?: any }} RememberedPlace
 */
/**
 * What an outline had below the object. `owner`: the object whose child it is for the server; undefined if the
 * predicate does not admit it.
 * @typedef {{ owner: number | undefined, childCount: number, isExpanded: boolean, children: readonly number[] }}
 *   RememberedNode
 */
/**
 * @typedef {object} RememberedRow
 * @property {number} root the object that the pending write changes: itself, or one above it in an outline
 * @property {any} entity
 * @property {Map<number, any>} values the stored properties that were known
 * @property {any[]} columns
 * @property {boolean[]} truths for each operand of the predicate's outermost AND whether it was true
 * @property {boolean | undefined} isMember whether it was in the relationship of the view's source
 * @property {RememberedPlace | undefined} place
 * @property {RememberedNode | undefined} node in an outline
 */

/**
 * What to remember of an object as the transactions leave it; undefined if it is gone, or not of a kind that the view
 * shows.
 * @param {number} id
 * @param {number} root
 * @param {number} view
 * @param {import('./known-paths.js').KnownPaths} paths
 * @param {RememberedPlace | undefined} place
 * @param {RememberedNode | undefined} node
 * @returns {RememberedRow | undefined}
 */
export function memoryOf(id, root, view, paths, place, node) {
  const { known, schema } = paths;
  const { shown } = known;
  const shape = shown.shapes[view];
  const entity = known.entity(id);
  if (!shape || known.isGone(id) || !entity || !schema.isKind(entity.number, shape.entity.number)) return undefined;
  const before = shown.views[view].remembered?.get(id);
  const row = shown.indexes[view].get(id);
  const values = new Map();
  for (const property of entity.byNumber.keys()) {
    const value = schema.isStored(entity, property) ? known.value(property, id) : undefined;
    if (value !== undefined) values.set(property, value);
  }
  const columns = (shape.request.columns ?? []).map((/** @type {any} */ path, /** @type {number} */ column) => {
    const slot = shape.slots.get(firstColumn + column);
    const value = paths.value(path, id);
    if (value !== undefined) return value;
    return row && slot !== undefined ? row.values[slot] : before?.columns[column];
  });
  const isMember = shape.source && shape.relationship ? known.isMember(id, shape.source, shape.relationship) : undefined;
  return {
    root, entity, values, columns, place, node,
    truths: shape.predicate.truths(id, paths, row !== undefined, before?.truths),
    isMember: isMember ?? before?.isMember,
  };
}

/**
 * The place of an object in the list of an owner.
 * @param {import('./known-objects.js').KnownObjects} known
 * @param {number} id
 * @param {number} view
 * @param {number} owner
 * @returns {RememberedPlace | undefined}
 */
export function placeIn(known, id, view, owner) {
  const sketch = known.lists.get(view, owner);
  const index = sketch && !sketch.uncertain.has(id) ? sketch.entries.indexOf(id) : -1;
  return sketch && index >= 0 ? { left: sketch.entries[index - 1], right: sketch.entries[index + 1], owner } : undefined;
}
