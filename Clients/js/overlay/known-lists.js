/**
 * The lists that order rows of views, as far as they are known.
 * @module
 */

import { ListSketch } from './list-sketch.js';

/** @typedef {import('./overlay-view.js').Source} Source */
/** @typedef {{ view: number, owner: number, sketch: ListSketch }} KnownList */

export class KnownLists {
  /** By view: the lists of its owners. @type {Map<number, ListSketch>[]} */
  #views;

  /** @param {import('./shown-rows.js').ShownRows} shown */
  constructor(shown) {
    this.shown = shown;
    this.#views = shown.views.map(() => new Map());
  }

  /** @param {number} view @param {number} owner @param {ListSketch} sketch */
  add(view, owner, sketch) {
    this.#views[view].set(owner, sketch);
  }

  /** @param {number} view @param {number} owner @returns {ListSketch | undefined} */
  get(view, owner) {
    return this.#views[view].get(owner);
  }

  /** @returns {Iterable<KnownList>} */
  * all() {
    for (const [view, lists] of this.#views.entries()) {
      for (const [owner, sketch] of lists) yield { view, owner, sketch };
    }
  }

  /** The lists of views that have the order of a source. @param {Source} source @returns {ListSketch[]} */
  of({ object, relationship }) {
    return this.#views.flatMap((lists, view) => {
      const sketch = this.shown.shapes[view]?.list?.relationship === relationship ? lists.get(object) : undefined;
      return sketch ? [sketch] : [];
    });
  }

  /**
   * The children of an object that a transaction inserts are known: outlines may show them.
   * @param {number} id
   * @param {any} entity
   */
  insert(id, entity) {
    this.shown.outlines.forEach((outline, view) => {
      const shape = this.shown.shapes[view];
      if (!outline || !shape || !this.shown.schema.areRelated(entity.number, shape.entity.number)) return;
      this.add(view, id, new ListSketch([], true, true, true));
    });
  }

  /** Removes an object from all lists. @param {number} id */
  remove(id) {
    for (const lists of this.#views) for (const sketch of lists.values()) sketch.remove(id);
  }
}
