/**
 * The values of one view's rows, with what the transactions make of them.
 * @module
 */

import { entityProperty, firstColumn } from '../wire/model.js';
import { OUTLINE_CHILDREN } from './overlay-view.js';

/** @typedef {import('./shown-rows.js').StateRow} StateRow */

export class RowValues {
  /**
   * @param {import('./overlay-view.js').ViewShape} shape
   * @param {readonly number[]} projection
   * @param {import('./known-paths.js').KnownPaths} paths
   */
  constructor(shape, projection, paths) {
    this.projection = projection;
    this.paths = paths;
    this.known = paths.known;
    /** @type {readonly any[]} */
    this.columns = shape.request.columns ?? [];
    /** The columns whose values may have changed in any row. */
    this.affectedColumns = new Set(this.columns.keys());
    this.columns.forEach((path, column) => {
      if (!paths.isAffectedFrom(path, shape.entity)) this.affectedColumns.delete(column);
    });
  }

  /** Whether rows that the transactions do not name may have other values. */
  get mayChangeOthers() {
    return this.affectedColumns.size > 0;
  }

  /**
   * A row with the values that the transactions gave it, and whether they are all known.
   * @param {StateRow} row
   * @returns {{ row: StateRow, isKnown: boolean }}
   */
  overlaid(row) {
    const change = this.known.changes.get(row.id);
    /** @type {any[] | null} */
    let values = null;
    let isKnown = true;
    const set = (/** @type {number} */ slot, /** @type {any} */ value) => {
      if (value === undefined) isKnown = false;
      else (values ??= [...row.values])[slot] = value;
    };
    this.projection.forEach((property, slot) => {
      const column = columnOf(property);
      if (column === undefined) {
        if (change?.values.has(property)) set(slot, change.values.get(property));
      } else if (this.affectedColumns.has(column)) {
        const path = this.columns[column];
        const value = this.paths.value(path, row.id);
        if (value !== undefined || this.paths.isAffected(path, row.id)) set(slot, value);
      }
    });
    return { row: values ? { id: row.id, values } : row, isKnown };
  }

  /**
   * The row of an object that was none; undefined if not all of its values are known. Those that only rows of outlines
   * have are 0.
   * @param {number} id
   * @param {import('./memory.js').RememberedRow} [memory] has values that are not known otherwise
   * @returns {StateRow | undefined}
   */
  newRow(id, memory) {
    const entity = this.known.entity(id);
    if (!entity) return undefined;
    const values = [];
    for (const property of this.projection) {
      const value = this.#newValue(property, entity, id, memory);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return { id, values };
  }

  /**
   * @param {number} property
   * @param {any} entity
   * @param {number} id
   * @param {import('./memory.js').RememberedRow} [memory]
   * @returns {any}
   */
  #newValue(property, entity, id, memory) {
    if (property === entityProperty) return entity.number;
    const column = columnOf(property);
    if (column !== undefined) {
      const value = this.paths.value(this.columns[column], id);
      return value === undefined ? memory?.columns[column] : value;
    }
    if (property >= OUTLINE_CHILDREN) return 0;
    if (!this.known.schema.isStored(entity, property)) return null;
    const value = this.known.value(property, id);
    return value === undefined ? memory?.values.get(property) : value;
  }
}

/** @param {number} property @returns {number | undefined} */
const columnOf = (property) => (property >= firstColumn && property < OUTLINE_CHILDREN ? property - firstColumn
  : undefined);
