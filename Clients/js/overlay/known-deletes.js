/**
 * Deletes, with their delete rules. The rules may reach objects that no view shows, and through these objects that
 * views do show: what is then left open becomes doubtful.
 * @module
 */

import { Reference } from '../wire/values.js';
import { Refusal } from './refusal.js';
import { isHiddenInverse } from './schema.js';

/** @typedef {import('./known-objects.js').KnownObjects} KnownObjects */

/** @param {KnownObjects} known @param {number} id */
export function deleteObject(known, id) {
  const { roots } = known.schema;
  if (roots.has(id)) throw new Refusal();
  if (!known.entity(id)) {
    // Its rules are not known.
    known.opaqueSteps += 1;
    known.change(id).isGone = true;
    return;
  }
  const reach = new DeleteReach(known.schema);
  const deleted = new Set([id]);
  // What is added is visited, too.
  for (const object of deleted) {
    const entity = known.entity(object);
    if (!entity) continue;
    for (const relationship of known.schema.relationshipsOf(entity)) {
      if (relationship.deleteRule !== 'cascade') continue;
      for (const other of targets(known, object, relationship, reach)) deleted.add(other);
    }
  }
  for (const root of roots) if (deleted.has(root)) throw new Refusal();
  const safe = ancestors(known, id, reach);
  for (const object of deleted) remove(known, object, deleted);
  if (reach.entities.size > 0) doubt(known, reach, safe);
}

/**
 * The known objects that a relationship leads to; notes that it may lead to others.
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} relationship
 * @param {DeleteReach} reach
 * @returns {number[]}
 */
function targets(known, id, relationship, reach) {
  const inverse = known.schema.inverse(relationship);
  if (!inverse) return [];
  if (!relationship.isToMany) {
    const value = known.value(relationship.number, id);
    if (value === null) return [];
    if (value instanceof Reference) {
      if (!known.entity(value.id)) reach.add(relationship);
      return [value.id];
    }
    // The other side of one to one may be known.
    const found = inverse.isToMany ? [] : known.referring(id, inverse, relationship.destination);
    if (found.length === 0) reach.add(relationship);
    return found;
  }
  if (!known.isFresh(id)) reach.add(relationship);
  if (!inverse.isToMany) return known.referring(id, inverse, relationship.destination);
  const source = { object: id, relationship: relationship.number };
  return known.all.filter((object) => known.isMember(object, source, relationship) === true
    && known.isOf(object, relationship.destination));
}

/**
 * Removes an object. Those that refer to it refer to nothing.
 * @param {KnownObjects} known
 * @param {number} id
 * @param {Set<number>} deleted
 */
function remove(known, id, deleted) {
  const { schema } = known;
  const entity = known.entity(id);
  for (const relationship of entity ? schema.relationshipsOf(entity) : []) {
    const inverse = schema.inverse(relationship);
    if (!inverse) continue;
    known.note(relationship.number, entity.number);
    known.note(inverse.number, relationship.destination);
    if (inverse.isToMany) continue;
    for (const other of known.referring(id, inverse, relationship.destination)) {
      if (deleted.has(other)) continue;
      const list = { object: id, relationship: relationship.number };
      const lists = known.lists.of(list);
      known.lists.remove(other, (one) => lists.includes(one));
      known.set(inverse.number, other, null);
    }
  }
  known.change(id).isGone = true;
  known.lists.remove(id);
}

// MARK: What may be deleted

/**
 * The objects above the deleted one in its tree: nothing below it can be above it. Only the roots if a delete may reach
 * them in another way.
 * @param {KnownObjects} known
 * @param {number} id
 * @param {DeleteReach} reach
 * @returns {Set<number>}
 */
function ancestors(known, id, reach) {
  const { schema } = known;
  const safe = new Set(schema.roots);
  const entity = known.entity(id);
  for (const relationship of entity ? schema.relationshipsOf(entity) : []) {
    const inverse = relationship.isToMany ? undefined : schema.inverse(relationship);
    const isTree = inverse?.isToMany && !isHiddenInverse(inverse) && inverse.deleteRule === 'cascade'
      && schema.top(relationship.destination) === schema.top(inverse.destination)
      && reach.isOnlyBy(inverse, relationship.destination);
    if (!isTree) continue;
    let above = known.value(relationship.number, id);
    while (above instanceof Reference && !safe.has(above.id)) {
      safe.add(above.id);
      above = known.value(relationship.number, above.id);
    }
    known.shown.outlines.forEach((outline, view) => {
      if (!outline?.nodes.has(id) || known.shown.shapes[view]?.relationship !== inverse) return;
      // All rows are below the object of the source, and none is above an object that the window begins below.
      for (const { owner } of outline.spine) safe.add(owner);
    });
  }
  return safe;
}

/**
 * Marks what may have changed because of objects that no view shows.
 * @param {KnownObjects} known
 * @param {DeleteReach} reach
 * @param {Set<number>} safe
 */
function doubt(known, reach, safe) {
  const { schema } = known;
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false;
    for (const id of known.all) {
      const entity = safe.has(id) ? undefined : known.entity(id);
      if (!entity) continue;
      if (reach.isUnseen(entity.number)) isGrowing = mayBeGone(known, id) || isGrowing;
      for (const relationship of schema.relationshipsOf(entity)) {
        if (relationship.isToMany) continue;
        const isReached = reach.mayReach(relationship.destination) && mayLose(known, id, relationship, safe);
        // It may be the deleted object that a value which no view has refers to.
        const isFollowed = reach.follows(relationship) && known.value(relationship.number, id) === undefined;
        if (!isReached && !isFollowed) continue;
        if (schema.inverse(relationship)?.deleteRule === 'cascade') {
          isGrowing = mayBeGone(known, id) || isGrowing;
        } else if (known.value(relationship.number, id) !== undefined) {
          known.set(relationship.number, id, undefined);
          isGrowing = true;
        }
      }
    }
  }
  for (const shape of known.shown.shapes) {
    // No row need refer to the object whose relationship a view shows.
    const object = shape?.source?.object;
    const inverse = shape?.relationship && schema.inverse(shape.relationship);
    if (object === undefined || !inverse || safe.has(object) || isSeen(known, object)) continue;
    if (reach.mayReach(inverse.destination)) mayBeGone(known, object);
  }
  for (const relationship of reach.relationships) {
    known.note(relationship.number, relationship.destination);
    const inverse = schema.inverse(relationship);
    if (inverse) known.note(inverse.number, relationship.destination);
  }
  reach.noteProperties(known);
}

/** @param {KnownObjects} known @param {number} id @returns {boolean} whether that is new */
function mayBeGone(known, id) {
  const change = known.change(id);
  if (change.mayBeGone) return false;
  change.mayBeGone = true;
  return true;
}

/**
 * Whether the object that a relationship refers to may have been deleted.
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} relationship
 * @param {Set<number>} safe
 */
function mayLose(known, id, relationship, safe) {
  const value = known.value(relationship.number, id);
  if (value === undefined) return true;
  if (!(value instanceof Reference)) return false;
  const target = value.id;
  const change = known.changes.get(target);
  // What refers to a deleted object of a known entity has lost it already.
  return !safe.has(target) && (change ? change.isGone || change.mayBeGone : !isSeen(known, target));
}

/** Whether everything that can delete the object is followed. @param {KnownObjects} known @param {number} id */
const isSeen = (known, id) => known.shown.contains(id) || known.isFresh(id);

/** The entities whose objects a delete may reach through objects that no view shows. */
class DeleteReach {
  /** @param {import('./schema.js').Schema} schema */
  constructor(schema) {
    this.schema = schema;
    /** @type {Set<any>} */
    this.relationships = new Set();
    /** @type {Set<number>} */
    this.entities = new Set();
  }

  /** Adds what a cascade along a relationship may reach, and all that follows. @param {any} relationship */
  add(relationship) {
    const { schema, relationships, entities } = this;
    relationships.add(relationship);
    // What is added is visited, too.
    for (const { destination } of relationships) {
      const all = [...schema.kinds(destination).map(({ number }) => number), ...schema.lineages.get(destination) ?? []];
      for (const number of all) {
        if (entities.has(number)) continue;
        entities.add(number);
        for (const next of schema.relationshipsOf(schema.entity(number))) {
          if (next.deleteRule === 'cascade') relationships.add(next);
        }
      }
    }
  }

  /** @param {number} entity */
  mayReach(entity) {
    for (const one of this.entities) if (this.schema.areRelated(one, entity)) return true;
    return false;
  }

  /** Whether it reaches objects by the other side of a to-one relationship of theirs. @param {any} relationship */
  follows(relationship) {
    const other = this.schema.inverse(relationship);
    return Boolean(other) && [...this.relationships].some(({ number, destination, inverse }) =>
      number === other.number && destination === other.destination && inverse === other.inverse);
  }

  /** Whether a cascade reaches objects of which no to-one value shows it. @param {number} entity */
  isUnseen(entity) {
    return [...this.relationships].some((one) => this.schema.inverse(one)?.isToMany
      && this.schema.areRelated(one.destination, entity));
  }

  /** Whether it reaches an entity only along one relationship. @param {any} relationship @param {number} entity */
  isOnlyBy(relationship, entity) {
    return [...this.relationships].every((one) =>
      one === relationship || !this.schema.areRelated(one.destination, entity));
  }

  /**
   * Notes all properties that refer to objects which it may reach, and those of such objects.
   * @param {KnownObjects} known
   */
  noteProperties(known) {
    for (const entity of this.schema.entities) {
      for (const { number, destination } of this.schema.relationshipsOf(entity)) {
        if (this.mayReach(entity.number) || this.mayReach(destination)) known.note(number, entity.number);
      }
    }
  }
}
