/**
 * What the overlay asks of a model: kinds of entities, and the other sides of relationships.
 * @module
 */

import { isRelationship } from '../wire/model.js';

/** @type {WeakMap<object, Schema>} */
const schemas = new WeakMap();

/** The schema of a model, which is made once. @param {any} model @returns {Schema} */
export function schemaOf(model) {
  let schema = schemas.get(model);
  if (!schema) schemas.set(model, schema = new Schema(model));
  return schema;
}

export class Schema {
  /** @param {any} model */
  constructor(model) {
    this.model = model;
    /** @type {readonly any[]} */
    this.entities = model.entities;
    /** An entity has its own copy of what it inherits: one object stands for all. @type {Map<string, any>} */
    const all = new Map();
    /** By entity: its relationships by their numbers. @type {Map<any, Map<number, any>>} */
    this.relationships = new Map(this.entities.map((entity) => [entity, new Map(entity.relationships.map(
      (/** @type {any} */ one) => {
        const text = JSON.stringify(one);
        if (!all.has(text)) all.set(text, one);
        return [one.number, all.get(text)];
      }))]));
    /** By the number of an entity: its own, its parent's, and so on. @type {Map<number, number[]>} */
    this.lineages = new Map(this.entities.map((entity) => [entity.number, this.#lineage(entity)]));
    /** The root objects, which are never deleted. @type {Set<number>} */
    this.roots = new Set(this.entities.flatMap(({ root }) => (root ? [root.object] : [])));
  }

  /** @param {any} entity @returns {number[]} */
  #lineage(entity) {
    const numbers = [];
    // The parents of an invalid model may form a cycle.
    for (let next = entity; next && numbers.length <= this.entities.length; next = this.model.find(next.parent)) {
      numbers.push(next.number);
      if (next.parent === null) break;
    }
    return numbers;
  }

  /** @param {number} number @returns {any} the entity, or undefined */
  entity(number) {
    return this.model.byNumber.get(number);
  }

  /** @param {any} entity @param {number} number @returns {any} its relationship, or undefined */
  relationship(entity, number) {
    return this.relationships.get(entity)?.get(number);
  }

  /** @param {any} entity @returns {Iterable<any>} */
  relationshipsOf(entity) {
    return this.relationships.get(entity)?.values() ?? [];
  }

  /** @param {any} entity @param {number} number @returns {any} its attribute, or undefined */
  attribute(entity, number) {
    const found = entity.byNumber.get(number);
    return found && !isRelationship(found) ? found : undefined;
  }

  /** Whether rows of the entity have a value of the property. @param {any} entity @param {number} number */
  isStored(entity, number) {
    const found = entity.byNumber.get(number);
    return found !== undefined && !found.isToMany;
  }

  /** @param {any} relationship @returns {any} its inverse, or undefined */
  inverse(relationship) {
    return this.relationship(this.entity(relationship.destination), relationship.inverse);
  }

  /** Whether objects of an entity are of the kind of another. @param {number} entity @param {number} ancestor */
  isKind(entity, ancestor) {
    return this.lineages.get(entity)?.includes(ancestor) ?? false;
  }

  /** The entities whose objects a fetch of this one finds. @param {number} entity @returns {any[]} */
  kinds(entity) {
    return this.entities.filter(({ number }) => this.isKind(number, entity));
  }

  /** The topmost entity above an entity. @param {number} entity @returns {number} */
  top(entity) {
    return this.lineages.get(entity)?.at(-1) ?? entity;
  }

  /** Whether an object may be of both entities. @param {number} a @param {number} b */
  areRelated(a, b) {
    return this.isKind(a, b) || this.isKind(b, a);
  }

  /**
   * The type of the attribute at the end of a path; undefined for an object or a count.
   * @param {any} path
   * @param {any} entity
   */
  attributeType({ steps, leaf, property, function: name, attribute }, entity) {
    let at = entity;
    for (const step of steps) at = at && this.entity(this.relationship(at, step)?.destination);
    if (!at || leaf === 0 || leaf === 2 || leaf === 4) return undefined;
    if (leaf === 1) return this.attribute(at, property)?.type;
    const end = this.entity(this.relationship(at, property)?.destination);
    const type = end && this.attribute(end, attribute)?.type;
    return type && aggregateType(name, type);
  }
}

/**
 * The type of a function of an attribute; undefined if it takes no such values.
 * @param {number} name
 * @param {string} type
 */
function aggregateType(name, type) {
  const [isSum, isAverage] = [name === 1, name === 4];
  // The least and the greatest value.
  if (!isSum && !isAverage) return type;
  if (type === 'decimal') return type;
  if (type === 'double' || type === 'float') return 'double';
  if (!type.startsWith('integer')) return undefined;
  return isSum ? 'integer' : 'decimal';
}

/** The name of the inverse that a server has added to a relationship without one. */
const HIDDEN = 'nest_inverse_';

/** @param {any} relationship */
export const isHiddenInverse = ({ name }) => name.startsWith(HIDDEN);
