/**
 * Values of paths from objects, as far as they are known, and whether transactions may have changed them.
 * @module
 */

import { Reference } from '../wire/values.js';
import { textOf } from './overlay-view.js';

/** @typedef {import('../rules/values.js').Value} Value */

export class KnownPaths {
  /** @param {import('./known-objects.js').KnownObjects} known */
  constructor(known) {
    this.known = known;
    this.schema = known.schema;
  }

  /**
   * The value of a path without a to-many step.
   * @param {any} path
   * @param {number} id
   * @returns {Value | undefined} undefined if it is not known
   */
  value({ steps, leaf, property }, id) {
    const { known, schema } = this;
    let current = id;
    for (const step of steps) {
      const entity = known.entity(current);
      const relationship = entity && schema.relationship(entity, step);
      if (!relationship || relationship.isToMany) return undefined;
      const value = /** @type {any} */ (known.value(step, current));
      if (value === undefined) return undefined;
      if (!(value instanceof Reference)) return null;
      current = value.id;
    }
    if (leaf === 0) return new Reference(current);
    if (leaf === 1) return known.value(property, current);
    return leaf === 2 ? this.#count(property, current) : undefined;
  }

  /**
   * How many objects a relationship of an object leads to that the transactions inserted.
   * @param {number} property
   * @param {number} id
   */
  #count(property, id) {
    const { known, schema } = this;
    if (!known.isFresh(id)) return undefined;
    const relationship = schema.relationship(known.entity(id), property);
    const inverse = relationship && schema.inverse(relationship);
    if (!inverse) return undefined;
    if (!inverse.isToMany) return known.referring(id, inverse, relationship.destination).length;
    let count = 0;
    for (const isMember of known.pairs.get(textOf({ object: id, relationship: property }))?.values() ?? []) {
      if (isMember) count += 1;
    }
    return count;
  }

  // MARK: What the transactions change

  /**
   * Whether the transactions may have changed the value of a path from an object. For a path of the object alone that
   * is known exactly.
   * @param {any} path
   * @param {number} id
   * @returns {boolean}
   */
  isAffected(path, id) {
    const { known } = this;
    if (path.steps.length === 0) {
      if (path.leaf === 0) return false;
      if (path.leaf === 1) return known.changes.get(id)?.values.has(path.property) ?? false;
    }
    const entity = known.entity(id);
    return entity ? this.isAffectedFrom(path, entity) : known.changed.size > 0;
  }

  /** @param {any} comparison @param {number} id */
  isComparisonAffected({ operator, path }, id) {
    return operator === 'IN SUBTREE' ? this.known.changed.size > 0 : this.isAffected(path, id);
  }

  /**
   * Whether the transactions may have changed the values of a path from any object of an entity.
   * @param {any} path
   * @param {any} from
   * @returns {boolean}
   */
  isAffectedFrom({ steps, leaf, property, attribute }, from) {
    const { known, schema } = this;
    if (known.changed.size === 0) return false;
    // A SUBQUERY reads whatever its predicate does.
    if (leaf === 4) return true;
    let entity = from;
    for (const step of steps) {
      const relationship = schema.relationship(entity, step);
      const next = relationship && schema.entity(relationship.destination);
      if (!next) return true;
      if (known.isChanged(step, entity.number)) return true;
      const inverse = schema.inverse(relationship);
      if (inverse && known.isChanged(inverse.number, next.number)) return true;
      entity = next;
    }
    if (leaf === 0) return false;
    if (leaf === 1) return known.isChanged(property, entity.number);
    const relationship = schema.relationship(entity, property);
    const inverse = relationship && schema.inverse(relationship);
    if (!inverse) return true;
    return known.isChanged(property, entity.number) || known.isChanged(inverse.number, relationship.destination)
      || (leaf === 3 && known.isChanged(attribute, relationship.destination));
  }
}
