/**
 * The rows of all views at one revision: what the client knows of the server's objects.
 * @module
 */

import { entityProperty } from '../wire/model.js';
import { Reference } from '../wire/values.js';
import { ViewShape } from './overlay-view.js';
import { ShownOutline } from './shown-outline.js';

/** @typedef {import('./overlay-view.js').OverlayView} OverlayView */
/** @typedef {import('./memory.js').RememberedRow} RememberedRow */
/** @typedef {{ id: number, values: readonly any[] }} StateRow */

/** The rows of the sections of a state by their ids. @type {WeakMap<object, Map<number, StateRow>>} */
const indexes = new WeakMap();

/** @param {any} state @returns {Map<number, StateRow>} */
function indexOf({ sections }) {
  let index = indexes.get(sections);
  if (!index) {
    index = new Map();
    for (const { rows } of sections) for (const row of rows) index.set(row.id, row);
    indexes.set(sections, index);
  }
  return index;
}

export class ShownRows {
  /** @type {number[] | null} */
  #ids = null;

  /** @param {readonly OverlayView[]} views @param {import('./schema.js').Schema} schema */
  constructor(views, schema) {
    this.schema = schema;
    this.views = views;
    /** Undefined if the model has no such entity. @type {(ViewShape | undefined)[]} */
    this.shapes = views.map((view) => {
      const entity = schema.entity(view.request.entity);
      return entity && new ViewShape(view, schema, entity);
    });
    /**
     * The trees of the views that are outlines; null for others, and for those whose rows lack what it takes.
     * @type {(ShownOutline | null)[]}
     */
    this.outlines = views.map(({ state }, view) => {
      const shape = this.shapes[view];
      return shape?.isOutline ? ShownOutline.of(state, shape, views[view].remembered) : null;
    });
    this.indexes = views.map(({ state }) => indexOf(state));
    /** What is remembered of objects that no view shows. @type {Map<number, RememberedRow>} */
    this.memories = new Map();
    for (const { remembered } of views) {
      for (const [id, one] of remembered ?? []) {
        if (!this.memories.has(id) && !this.contains(id)) this.memories.set(id, one);
      }
    }
  }

  /** What is remembered of an object that no view shows. @param {number} id @returns {RememberedRow | undefined} */
  memory(id) {
    return this.memories.get(id);
  }

  /**
   * The number of objects that no view shows, and that a pending write changes which is laid over what is remembered.
   */
  get memoryCount() {
    let count = 0;
    for (const [id, { root }] of this.memories) if (id === root) count += 1;
    return count;
  }

  /** The ids of all objects, ascending. @returns {readonly number[]} */
  get ids() {
    if (!this.#ids) {
      const all = new Set();
      for (const index of this.indexes) for (const id of index.keys()) all.add(id);
      this.#ids = [...all].sort((a, b) => a - b);
    }
    return this.#ids;
  }

  /** @param {number} id */
  contains(id) {
    return this.indexes.some((index) => index.has(id));
  }

  /** Whether an object is a row of a view. @param {number} id @param {number} view */
  isRow(id, view) {
    return this.indexes[view].has(id);
  }

  /**
   * A stored property of an object; undefined if no view shows it and it is not remembered.
   * @param {number} property
   * @param {number} id
   * @returns {any}
   */
  value(property, id) {
    for (let view = 0; view < this.views.length; view += 1) {
      const shape = this.shapes[view];
      const row = shape && this.indexes[view].get(id);
      if (!row) continue;
      const slot = shape.slots.get(property);
      if (slot !== undefined) return row.values[slot];
      if (shape.toOne === property && !shape.isOutline && shape.source) return new Reference(shape.source.object);
    }
    return this.memories.get(id)?.values.get(property);
  }

  /** The entity of an object; undefined if it is not known. @param {number} id @returns {any} */
  entity(id) {
    for (let view = 0; view < this.views.length; view += 1) {
      const shape = this.shapes[view];
      const row = shape && this.indexes[view].get(id);
      if (!row) continue;
      if (shape.onlyKind) return shape.onlyKind;
      const slot = shape.slots.get(entityProperty);
      if (slot !== undefined && typeof row.values[slot] === 'number') return this.schema.entity(row.values[slot]);
    }
    const memory = this.memories.get(id);
    if (memory) return memory.entity;
    // The root of an entity is an object of that entity.
    return this.schema.entities.find(({ root }) => root?.object === id);
  }
}
