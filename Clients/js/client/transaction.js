/**
 * Writes as a program builds them, and what the server answers.
 * @module
 */

import { isRelationship, objectID, valueFor } from '../wire/model.js';
import { invalid, known } from './options.js';

/** @typedef {import('./requests.js').FetchRequest} FetchRequest */

/** An object that a transaction inserts or finds: later steps may use it, and `receipt.id` has its id. */
export class NewObject {
  /** @param {object} transaction @param {number} index from 1 */
  constructor(transaction, index) {
    this.transaction = transaction;
    this.index = index;
    Object.freeze(this);
  }
}

/**
 * Collects the steps of one transaction. They are executed in this order, together or not at all. An object is an id,
 * anything with an `id`, or what `insert` and `findOrCreate` have returned.
 */
export class Transaction {
  constructor() {
    /** @type {any[]} */
    this.mutations = [];
    /** @type {{ object: number, revision: number }[]} */
    this.preconditions = [];
    this.resultCount = 0;
    this.isSent = false;
    /** The hashes of the models of its entities. @type {Set<any>} */
    this.models = new Set();
  }

  /**
   * Inserts an object.
   * @param {FetchRequest} entity
   * @param {Record<string, any>} [values] by name; a to-one relationship is an object; what is undefined is left out
   * @param {any} [place] see `move`; left out: the last under the root, or under what `values` refer to. Or `id`, one
   *   of `nest.reserveIDs`, which the object gets: alone, or together with a whole place
   * @returns {NewObject}
   */
  insert(entity, values = {}, place) {
    if (!('id' in Object(place))) return this.result({ insert: this.inserted(entity, values, place) });
    const { id, ...rest } = place;
    const inserted = this.inserted(entity, values, Object.keys(rest)[0] && rest);
    return this.result({ insertAs: { object: objectID(id), ...inserted } });
  }

  /**
   * Finds the first object with these values, or inserts one with them and with `values`.
   * @param {FetchRequest} entity
   * @param {Record<string, any>} match
   * @param {Record<string, any>} [values]
   * @param {any} [place]
   * @returns {NewObject}
   */
  findOrCreate(entity, match, values = {}, place) {
    const found = this.assignments(entity, match);
    // Without one of them, another object would be found.
    if (found.length < Object.keys(match).length) invalid('a value to find by is undefined');
    return this.result({ findOrCreate: { ...this.inserted(entity, values, place), match: found } });
  }

  /** @param {FetchRequest} entity of the object @param {any} object @param {Record<string, any>} values */
  update(entity, object, values) {
    const assigned = this.assignments(entity, values);
    this.step({ update: { object: this.reference(object), values: assigned } });
  }

  /**
   * Moves an object in a hierarchy or an ordered relationship.
   * @param {FetchRequest} entity of the object
   * @param {any} object
   * @param {any} place `of`: the owner; `as`: the to-one relationship that leads to it, if the entity has several; and
   *   where: `last: true` (the default), `first: true`, `before: object`, `after: object`, `at: index`, or
   *   `near: { left, right }`: the gap where a user dropped an object, after `left` if it is still in the list, else
   *   before `right`, else last; each may be null
   */
  move(entity, object, place) {
    const placement = this.placement(entity, place);
    this.step({ move: { object: this.reference(object), placement } });
  }

  /** Deletes an object with everything that the delete rules reach. @param {any} object */
  delete(object) {
    this.step({ delete: { object: this.reference(object) } });
  }

  /**
   * Puts an object into a to-many relationship of another.
   * @param {FetchRequest} entity of the owner
   * @param {any} owner
   * @param {string} name of the relationship
   * @param {any} object
   * @param {any} [place] as in `move`, without `of`
   */
  relate(entity, owner, name, object, place = {}) {
    const related = this.related(entity, owner, name);
    this.step({ relate: { ...related, object: this.reference(object), place: this.place(place) } });
  }

  /**
   * Takes an object out of a to-many relationship.
   * @param {FetchRequest} entity
   * @param {any} owner
   * @param {string} name
   * @param {any} object
   */
  unrelate(entity, owner, name, object) {
    this.step({ unrelate: { ...this.related(entity, owner, name), object: this.reference(object) } });
  }

  /**
   * Makes a to-many relationship lead to exactly these objects.
   * @param {FetchRequest} entity
   * @param {any} owner
   * @param {string} name
   * @param {any[]} objects
   */
  setRelated(entity, owner, name, objects) {
    const references = objects.map((object) => this.reference(object));
    this.step({ setRelated: { ...this.related(entity, owner, name), objects: references } });
  }

  /**
   * The object must not have changed since the revision: otherwise CONFLICT.
   * @param {any} object
   * @param {number} [revision]
   */
  expect(object, revision = object?.revision) {
    this.preconditions.push({ object: objectID(object), revision });
  }

  // MARK: For the library

  /** @param {any} mutation */
  step(mutation) {
    if (this.isSent) invalid('the transaction was sent: await all its steps');
    this.mutations.push(mutation);
  }

  /** @param {any} mutation @returns {NewObject} */
  result(mutation) {
    this.step(mutation);
    return new NewObject(this, ++this.resultCount);
  }

  /** @param {FetchRequest} entity */
  description(entity) {
    const { model, description } = entity ?? {};
    if (!description) invalid('a step needs an entity, of nest.entity(name)');
    this.models.add(model.hash);
    return description;
  }

  /** @param {any} object @returns {number} an id, or -k for the k-th result */
  reference(object) {
    if (!(object instanceof NewObject)) return objectID(object);
    if (object.transaction !== this) invalid('a new object belongs to another transaction');
    return -object.index;
  }

  /** @param {FetchRequest} entity @param {Record<string, any>} values */
  assignments(entity, values) {
    const description = this.description(entity);
    return Object.entries(values).filter(([, value]) => value !== undefined).map(([name, value]) => {
      const property = description.property(name);
      if (property.isToMany) {
        invalid(`${description.name}.${name} leads to many objects: use relate or setRelated`);
      }
      const isObject = isRelationship(property) && value !== null;
      return isObject
        ? { property: property.number, reference: this.reference(value) }
        : { property: property.number, value: valueFor(property, value) };
    });
  }

  /** @param {FetchRequest} entity @param {Record<string, any>} values @param {any} place */
  inserted(entity, values, place) {
    const description = this.description(entity);
    const placements = place != null ? [this.placement(entity, place)] : [];
    return { entity: description.number, values: this.assignments(entity, values), placements };
  }

  /** @param {FetchRequest} entity @param {any} place */
  placement(entity, place) {
    const description = this.description(entity);
    if (place?.of == null) invalid('a place is { of: owner }');
    const owner = this.reference(place.of);
    const relationship = place.as ? description.property(place.as) : this.ownerOf(entity, description);
    return { relationship: relationship.number, owner, place: this.place(place) };
  }

  /**
   * @param {FetchRequest} entity
   * @param {any} description
   * @returns {any} the only to-one relationship with an ordered inverse
   */
  ownerOf({ model }, description) {
    /** @param {any} relationship */
    const leadsToOwner = ({ isToMany, destination, inverse }) => {
      const other = /** @type {any} */ (model.find(destination)?.find(inverse));
      return !isToMany && other?.isOrdered;
    };
    const found = description.relationships.filter(leadsToOwner);
    if (found.length === 1) return found[0];
    invalid(`name the relationship of ${description.name} to the owner, as in { of: owner, as: 'parent' }`);
  }

  /** @param {any} place */
  place({ near, before, after, first, at, last, of, as, ...unknown }) {
    for (const name of Object.keys(unknown)) invalid(`a place has no '${name}'`);
    if (near != null) {
      const { left, right } = known('near', typeof near === 'object' ? near : { near }, ['left', 'right']);
      return { near: {
        left: left == null ? null : this.reference(left), right: right == null ? null : this.reference(right),
      } };
    }
    if (before != null) return { before: this.reference(before) };
    if (after != null) return { after: this.reference(after) };
    if (at !== undefined) return { at };
    return first ? 'first' : 'last';
  }

  /** @param {FetchRequest} entity @param {any} owner @param {string} name */
  related(entity, owner, name) {
    const property = this.description(entity).property(name);
    if (!property.isToMany) invalid(`${name} leads to one object: use update`);
    return { owner: this.reference(owner), relationship: property.number };
  }
}

/** What the server answers to a write: it is durable. */
export class Receipt {
  /** @param {any} fields */
  constructor({ revision, isChanged, isReplayed, name, results, conflicts }) {
    /** The revision of the write; if it changed nothing, the one at which it was answered. */
    this.revision = revision;
    this.isChanged = isChanged;
    /** Whether this is the answer to an earlier request with the same key. */
    this.isReplayed = isReplayed;
    /** The name of the undo entry. */
    this.name = name;
    /** Runs of ids, of the objects that were inserted or found, in order: `{first, count, isFound}`. */
    this.results = Object.freeze(results.map(Object.freeze));
    /** How many things an undo left or overwrote; `conflicts` lists the first 100. */
    this.conflictCount = conflicts?.count ?? 0;
    /** @type {readonly any[]} */
    this.conflicts = Object.freeze((conflicts?.listed ?? []).map(Object.freeze));
    Object.freeze(this);
  }

  /**
   * @param {NewObject | number} result what `insert` returned, or its number from 1
   * @returns {{ id: number, isFound: boolean }} throws NestError INVALID if there is none
   */
  result(result) {
    let left = result instanceof NewObject ? result.index : result;
    for (const { first, count, isFound } of left > 0 ? this.results : []) {
      if (left <= count) return { id: first + left - 1, isFound };
      left -= count;
    }
    invalid('the write has no such result');
  }

  /** @param {NewObject | number} result @returns {number} the id of the object */
  id(result) {
    return this.result(result).id;
  }
}
