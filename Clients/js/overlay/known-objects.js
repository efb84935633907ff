/**
 * What is known of the objects once some pending transactions have run: the rows of all views, and what the
 * transactions change.
 *
 * It knows less than the server, but nothing that is false: what a step leaves open becomes unknown, and a step on
 * objects that it cannot follow is counted.
 * @module
 */

import { Reference } from '../wire/values.js';
import { KnownLists } from './known-lists.js';
import { ListSketch } from './list-sketch.js';
import { textOf } from './overlay-view.js';

/** @typedef {import('../rules/values.js').Value} Value */
/** @typedef {import('./overlay-view.js').Source} Source */

/** What the transactions made of an object. */
export class Change {
  isGone = false;
  /** The entity of an object that the transactions inserted. @type {any} */
  entity = undefined;
  /** Set properties; undefined: set to a value that is not known. @type {Map<number, Value | undefined>} */
  values = new Map();
  /** Whether the object was deleted if an object that no view shows was. */
  mayBeGone = false;
}

export class KnownObjects {
  /** @param {import('./shown-rows.js').ShownRows} shown */
  constructor(shown) {
    this.shown = shown;
    this.schema = shown.schema;
    /** The time that attributes get which default to the time of the commit. @type {Value} */
    this.now = null;
    /** @type {Map<number, Change>} */
    this.changes = new Map();
    /**
     * Whether objects are in many-to-many relationships that the transactions set, from both sides.
     * @type {Map<string, Map<number, boolean>>}
     */
    this.pairs = new Map();
    /** To-many relationships of which all objects are known. @type {Map<string, Source>} */
    this.exact = new Map();
    /** The lists that order rows of views. An outline has one for each object whose children it shows. */
    this.lists = new KnownLists(shown);
    /** The outlines of which rows may have gone that they do not show. @type {Set<number>} */
    this.doubtfulOutlines = new Set();
    /**
     * The properties that the transactions may have changed, of any object: number and topmost entity.
     * @type {Set<number>}
     */
    this.changed = new Set();
    /** The number of steps that could not be followed. */
    this.opaqueSteps = 0;
    shown.shapes.forEach((shape, view) => {
      if (!shape?.list) return;
      if (shape.isOutline) {
        const found = shown.outlines[view]?.sketches(!this.#showsAll(shape)) ?? [];
        for (const [owner, sketch] of found) this.lists.add(view, owner, sketch);
        return;
      }
      const entries = shown.views[view].state.sections.flatMap((/** @type {any} */ { rows }) =>
        rows.map((/** @type {any} */ { id }) => id));
      const { startsAtFirst, endsAtLast } = shape;
      const isComplete = startsAtFirst && endsAtLast && this.#showsAll(shape);
      this.lists.add(view, shape.list.object, new ListSketch(entries, startsAtFirst, endsAtLast, isComplete));
    });
    // The server may have other values of these objects.
    this.opaqueSteps = shown.memoryCount;
    shown.views.forEach(({ remembered }, view) => {
      if (!remembered?.size) return;
      for (const [id, { place }] of [...remembered].sort(([a], [b]) => a - b)) {
        if (place) this.lists.insert(id, view, place);
      }
    });
  }

  /**
   * Whether a view without a window shows all objects of its source.
   * @param {import('./overlay-view.js').ViewShape} shape
   */
  #showsAll({ predicate, relationship, request }) {
    return predicate.isEmpty && relationship && this.schema.isKind(relationship.destination, request.entity);
  }

  // MARK: Reading

  /** @param {number} id */
  isGone(id) {
    return this.changes.get(id)?.isGone ?? false;
  }

  /**
   * Whether the transactions inserted the object, and the server does not show it yet: everything of it is known.
   * @param {number} id
   */
  isFresh(id) {
    return this.changes.get(id)?.entity !== undefined && !this.shown.contains(id);
  }

  /** @param {number} id @returns {any} */
  entity(id) {
    return this.changes.get(id)?.entity ?? this.shown.entity(id);
  }

  /**
   * A stored property of an object; undefined if it is not known.
   * @param {number} property
   * @param {number} id
   * @returns {any}
   */
  value(property, id) {
    const change = this.changes.get(id);
    if (change?.isGone) return undefined;
    return change?.values.has(property) ? change.values.get(property) : this.shown.value(property, id);
  }

  /**
   * Whether a to-one relationship of an object leads to another.
   * @param {number} property
   * @param {number} id
   * @param {number} target
   */
  refers(property, id, target) {
    const value = this.value(property, id);
    return value instanceof Reference && value.id === target;
  }

  /**
   * The known objects whose to-one relationship refers to an object. O(n).
   * @param {number} id
   * @param {any} relationship
   * @param {number} kind
   * @returns {number[]}
   */
  referring(id, relationship, kind) {
    return this.all.filter((object) => this.refers(relationship.number, object, id) && this.isOf(object, kind));
  }

  /** Whether the entity of an object is known, and of a kind. @param {number} id @param {number} kind */
  isOf(id, kind) {
    const entity = this.entity(id);
    return entity !== undefined && this.schema.isKind(entity.number, kind);
  }

  /** All known objects, ascending. @returns {readonly number[]} */
  get all() {
    const { ids } = this.shown;
    if (this.changes.size === 0) return ids;
    const all = ids.filter((id) => !this.isGone(id));
    const count = all.length;
    for (const [id, { isGone }] of this.changes) if (!isGone && !this.shown.contains(id)) all.push(id);
    return all.length > count ? all.sort((a, b) => a - b) : all;
  }

  /**
   * Whether an object is in a to-many relationship of another.
   * @param {number} id
   * @param {Source} source
   * @param {any} relationship
   * @returns {boolean | undefined} undefined if that is not known
   */
  isMember(id, source, relationship) {
    if (this.isGone(id) || this.isGone(source.object)) return false;
    const inverse = this.schema.inverse(relationship);
    if (!inverse) return undefined;
    if (!inverse.isToMany) {
      const value = this.value(inverse.number, id);
      return value === undefined ? undefined : value instanceof Reference && value.id === source.object;
    }
    const text = textOf(source);
    const known = this.pairs.get(text)?.get(id);
    if (known !== undefined) return known;
    if (this.exact.has(text) || this.exact.has(textOf({ object: id, relationship: inverse.number }))) return false;
    if (this.isFresh(id) || this.isFresh(source.object)) return false;
    for (const [view, shape] of this.shown.shapes.entries()) {
      if (shape?.sourceText !== text || shape.relationship !== relationship) continue;
      if (this.shown.isRow(id, view)) return true;
      if (shape.startsAtFirst && shape.endsAtLast && this.#showsAll(shape)) return false;
    }
    return undefined;
  }

  // MARK: Changing

  /** @param {number} id @returns {Change} */
  change(id) {
    let change = this.changes.get(id);
    if (!change) this.changes.set(id, change = new Change());
    return change;
  }

  /** @param {number} property @param {number} id @param {Value | undefined} value */
  set(property, id, value) {
    this.change(id).values.set(property, value);
    const entity = this.entity(id);
    if (entity) this.note(property, entity.number);
    else this.opaqueSteps += 1;
  }

  /** The property of some object of an entity may have changed. @param {number} property @param {number} entity */
  note(property, entity) {
    this.changed.add(numberOf(property, this.schema.top(entity)));
  }

  /** @param {number} property @param {number} entity */
  isChanged(property, entity) {
    return this.changed.has(numberOf(property, this.schema.top(entity)));
  }

  /**
   * Puts an object into the lists of a relationship that views show, or moves it there.
   * @param {number} id
   * @param {Source} source
   * @param {any} relationship
   * @param {import('./list-sketch.js').SketchPlace} place
   * @returns {boolean} false if the server must refuse the place
   */
  place(id, source, relationship, place) {
    if (this.isFresh(source.object)) this.lists.addNew(source);
    for (const list of this.lists.of(source)) {
      if (this.lists.place(id, list, place, (one) => this.isMember(one, source, relationship))) continue;
      if (this.opaqueSteps === 0) return false;
      this.lists.doubt(id, list);
    }
    return true;
  }
}

/** @param {number} property @param {number} top both below 65,536 */
const numberOf = (property, top) => property * 65_536 + top;
