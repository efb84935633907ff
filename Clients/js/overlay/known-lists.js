/**
 * The lists that order rows of views, as far as they are known.
 * @module
 */

import { ListSketch } from './list-sketch.js';

/** @typedef {import('./overlay-view.js').Source} Source */
/**
 * A list that orders rows of a view.
 * @typedef {{ view: number, owner: number, sketch: ListSketch }} KnownList
 */

export class KnownLists {
  /** By view: the lists of its owners. @type {Map<number, KnownList>[]} */
  #views;
  /** The lists that mention an object. @type {Map<number, Set<KnownList>>} */
  #memberships = new Map();

  /** @param {import('./shown-rows.js').ShownRows} shown */
  constructor(shown) {
    this.shown = shown;
    this.#views = shown.views.map(() => new Map());
  }

  /** @param {number} view @param {number} owner @param {ListSketch} sketch */
  add(view, owner, sketch) {
    const list = { view, owner, sketch };
    this.#views[view].set(owner, list);
    for (const id of sketch.entries) this.#note(id, list);
  }

  /**
   * Puts what is remembered where it was.
   * @param {number} id
   * @param {number} view
   * @param {import('./memory.js').RememberedPlace} place
   */
  insert(id, view, place) {
    const list = place.owner === undefined ? undefined : this.#views[view].get(place.owner);
    list?.sketch.insert(id, place);
    if (list?.sketch.entries.includes(id)) this.#note(id, list);
  }

  /** @param {number} id @param {KnownList} list */
  #note(id, list) {
    const lists = this.#memberships.get(id);
    if (lists) lists.add(list);
    else this.#memberships.set(id, new Set([list]));
  }

  /** @param {number} view @param {number} owner @returns {ListSketch | undefined} */
  get(view, owner) {
    return this.#views[view].get(owner)?.sketch;
  }

  /** The lists of views that have the order of a source. @param {Source} source @returns {KnownList[]} */
  of({ object, relationship }) {
    return this.#views.flatMap((lists, view) => {
      const list = this.shown.shapes[view]?.list?.relationship === relationship ? lists.get(object) : undefined;
      return list ? [list] : [];
    });
  }

  /** The children of an object that a transaction inserted are known: outlines may show them. @param {Source} source */
  addNew({ object, relationship }) {
    this.shown.outlines.forEach((outline, view) => {
      if (!outline || this.shown.shapes[view]?.source?.relationship !== relationship) return;
      if (!this.#views[view].has(object)) this.add(view, object, new ListSketch([], true, true, true));
    });
  }

  /**
   * Puts an object at a place of a list, or moves it there: ListSketch.place.
   * @param {number} id
   * @param {KnownList} list
   * @param {import('./list-sketch.js').SketchPlace} place
   * @param {import('./list-sketch.js').IsMember} isMember
   */
  place(id, list, place, isMember) {
    this.#note(id, list);
    return list.sketch.place(id, place, isMember);
  }

  /** The place of an object in a list is not known any more. @param {number} id @param {KnownList} list */
  doubt(id, list) {
    this.#note(id, list);
    list.sketch.doubt(id);
  }

  /** A list has exactly these members, in this order. @param {KnownList} list @param {number[]} members */
  replace(list, members) {
    list.sketch.replace(members);
    for (const id of members) this.#note(id, list);
  }

  /**
   * Removes an object from the lists that are meant. O(lists that mention it).
   * @param {number} id
   * @param {(list: KnownList) => boolean} [isMeant]
   */
  remove(id, isMeant = () => true) {
    const lists = this.#memberships.get(id);
    for (const list of lists ?? []) {
      if (!isMeant(list)) continue;
      list.sketch.remove(id);
      lists?.delete(list);
    }
  }
}
