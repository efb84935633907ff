/**
 * Runs transactions as the server will, on what is known.
 * @module
 */

import { Reference } from '../wire/values.js';
import { deleteObject } from './known-deletes.js';
import { UNKNOWN } from './list-sketch.js';
import { textOf } from './overlay-view.js';
import { Refusal } from './refusal.js';
import { isHiddenInverse } from './schema.js';
import { defaultOf, stored } from './stored.js';

/** @typedef {import('./known-objects.js').KnownObjects} KnownObjects */
/** @typedef {import('./list-sketch.js').SketchPlace} SketchPlace */
/** @typedef {(reference: number) => number | undefined} Resolve the id of a reference, if it is known */

/**
 * Runs a transaction.
 * @param {KnownObjects} known
 * @param {readonly any[]} mutations as a transaction sends them
 * @throws {Refusal} if the server must refuse it: then what is known is of no more use
 */
export function run(known, mutations) {
  /** @type {(number | undefined)[]} */
  const results = [];
  const resolve = (/** @type {number} */ reference) => (reference > 0 ? reference : results[-reference - 1]);
  for (const mutation of mutations) {
    if (mutation.insertAs) {
      const { object, entity: number, values, placements } = mutation.insertAs;
      results.push(object);
      const entity = known.schema.entity(number);
      if (!entity) throw new Refusal();
      insert(known, object, entity, values, placements, resolve);
    } else if (mutation.insert || mutation.findOrCreate) {
      // Its id is not known, or whether it inserts.
      results.push(undefined);
      known.opaqueSteps += 1;
    } else {
      const [name] = Object.keys(mutation);
      if (!steps[name](known, mutation[name], resolve)) known.opaqueSteps += 1;
    }
  }
}

/**
 * Each returns false for a step on objects of which nothing is known.
 * @type {Record<string, (known: KnownObjects, fields: any, resolve: Resolve) => boolean>}
 */
const steps = {
  update(known, { object, values }, resolve) {
    const id = found(known, object, resolve);
    const entity = id && known.entity(id);
    if (!entity) return false;
    assignAll(known, id, entity, values, resolve);
    return true;
  },
  move(known, { object, placement }, resolve) {
    const id = found(known, object, resolve);
    const entity = id && known.entity(id);
    if (!entity) return false;
    move(known, id, entity, placement, resolve);
    return true;
  },
  delete(known, { object }, resolve) {
    const id = found(known, object, resolve);
    if (!id) return false;
    deleteObject(known, id);
    return true;
  },
  relate(known, { owner, relationship: property, object, place }, resolve) {
    const id = found(known, owner, resolve);
    if (!id) return false;
    const target = found(known, object, resolve);
    const relationship = target && toMany(known, property, id);
    if (!target || !relationship) return false;
    relate(known, id, relationship, target, placeOf(place, resolve));
    return true;
  },
  unrelate(known, { owner, relationship: property, object }, resolve) {
    const id = found(known, owner, resolve);
    if (!id) return false;
    const target = found(known, object, resolve);
    const relationship = target && toMany(known, property, id);
    if (!target || !relationship) return false;
    unrelate(known, id, relationship, target);
    return true;
  },
  setRelated(known, { owner, relationship: property, objects }, resolve) {
    const id = found(known, owner, resolve);
    const relationship = id && toMany(known, property, id);
    if (!id || !relationship) return false;
    const targets = [];
    for (const object of objects) {
      const target = found(known, object, resolve);
      if (!target) return false;
      targets.push(target);
    }
    setRelated(known, id, relationship, targets);
    return true;
  },
};

/** @param {KnownObjects} known @param {number} reference @param {Resolve} resolve @returns {number | undefined} */
function found(known, reference, resolve) {
  const id = resolve(reference);
  if (id !== undefined && known.isGone(id)) throw new Refusal();
  return id;
}

/**
 * A to-many relationship of an object. If nothing is known of the object, the number must mean the same in every
 * entity.
 * @param {KnownObjects} known
 * @param {number} property
 * @param {number} id
 * @returns {any}
 */
function toMany(known, property, id) {
  const { schema, shown } = known;
  const entity = known.entity(id);
  if (entity) {
    const relationship = schema.relationship(entity, property);
    return relationship?.isToMany ? relationship : undefined;
  }
  const text = textOf({ object: id, relationship: property });
  const shape = shown.shapes.find((one) => one?.sourceText === text);
  if (shape) return shape.relationship;
  const all = new Set(schema.entities.map((one) => schema.relationship(one, property)).filter(Boolean));
  const [only] = all;
  return all.size === 1 && only.isToMany ? only : undefined;
}

/** @param {any} place as a transaction sends it @param {Resolve} resolve @returns {SketchPlace} */
function placeOf(place, resolve) {
  if (place === null || place === 'last') return 'last';
  if (place === 'first') return 'first';
  if ('at' in place) return place;
  if ('before' in place) return { beside: resolve(place.before) ?? UNKNOWN, isAfter: false };
  if ('after' in place) return { beside: resolve(place.after) ?? UNKNOWN, isAfter: true };
  const { left, right } = place.near;
  const sibling = (/** @type {number | null} */ one) => (one === null ? null : resolve(one) ?? UNKNOWN);
  return { left: sibling(left), right: sibling(right) };
}

// MARK: Values

/**
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} entity
 * @param {readonly any[]} values
 * @param {readonly any[]} placements
 * @param {Resolve} resolve
 */
function insert(known, id, entity, values, placements, resolve) {
  const { schema } = known;
  const isShown = known.shown.contains(id);
  known.change(id).entity = entity;
  for (const attribute of entity.attributes) {
    // A server that has the object already also knows the time.
    if (attribute.defaultsToNow && isShown) continue;
    known.set(attribute.number, id, defaultOf(attribute, known.now));
  }
  for (const { number, isToMany } of schema.relationshipsOf(entity)) {
    if (!isToMany && !isShown) known.set(number, id, null);
  }
  const set = new Set(values.map(({ property }) => property));
  for (const { relationship } of placements) set.add(relationship);
  assignAll(known, id, entity, values, resolve);
  const { root } = entity;
  const above = root && !set.has(root.relationship) && schema.relationship(entity, root.relationship);
  if (above) assign(known, id, above, root.object, 'last');
  for (const placement of placements) move(known, id, entity, placement, resolve);
}

/**
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} entity
 * @param {readonly any[]} values
 * @param {Resolve} resolve
 */
function assignAll(known, id, entity, values, resolve) {
  for (const assignment of values) {
    const { property, value } = assignment;
    const attribute = known.schema.attribute(entity, property);
    const isReference = 'reference' in assignment;
    if (attribute) {
      if (isReference) throw new Refusal();
      known.set(property, id, stored(attribute, value));
      continue;
    }
    const relationship = known.schema.relationship(entity, property);
    if (!relationship || relationship.isToMany) throw new Refusal();
    if (!isReference && value !== null && !(value instanceof Reference)) throw new Refusal();
    const target = isReference ? resolve(assignment.reference) : value?.id ?? null;
    if (target === undefined) {
      known.opaqueSteps += 1;
      known.set(property, id, undefined);
    } else assign(known, id, relationship, target, 'last');
  }
}

/**
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} entity
 * @param {any} placement
 * @param {Resolve} resolve
 */
function move(known, id, entity, placement, resolve) {
  const relationship = known.schema.relationship(entity, placement.relationship);
  if (!relationship || relationship.isToMany) throw new Refusal();
  const owner = resolve(placement.owner);
  if (owner === undefined) {
    known.opaqueSteps += 1;
    known.set(relationship.number, id, undefined);
  } else assign(known, id, relationship, owner, placeOf(placement.place, resolve));
}

// MARK: Relationships

/** @param {number | null} id */
const referenceTo = (id) => (id === null ? null : new Reference(id));

/**
 * Sets a to-one relationship and its other side.
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} relationship
 * @param {number | null} target
 * @param {SketchPlace} place
 */
function assign(known, id, relationship, target, place) {
  const { number, destination } = relationship;
  const inverse = known.schema.inverse(relationship);
  if (!inverse || (target !== null && known.isGone(target))) throw new Refusal();
  if (inverse.isToMany) {
    if (target !== null) checkCycle(known, id, relationship, target);
    leave(known, inverse, id, target === null ? [] : [target]);
    known.set(number, id, referenceTo(target));
    if (target === null) return;
    if (!known.place(id, { object: target, relationship: inverse.number }, inverse, place)) throw new Refusal();
    return;
  }
  // One to one: an object that had either of them loses it. An object may have itself.
  for (const other of known.all) {
    if (other !== target && known.refers(inverse.number, other, id) && known.isOf(other, destination)) {
      known.set(inverse.number, other, null);
    }
    if (target === null || other === id) continue;
    if (known.refers(number, other, target) && known.isOf(other, inverse.destination)) {
      known.set(number, other, null);
    }
  }
  known.set(number, id, referenceTo(target));
  if (target === null) return;
  if (known.entity(target)) {
    known.set(inverse.number, target, new Reference(id));
  } else {
    // No view shows the other object.
    known.change(target).values.set(inverse.number, new Reference(id));
    known.note(inverse.number, destination);
  }
}

/**
 * Takes an object out of the lists of a relationship, except of those owners.
 * @param {KnownObjects} known
 * @param {any} relationship
 * @param {number} id
 * @param {readonly number[]} owners
 */
function leave(known, relationship, id, owners) {
  known.lists.remove(id, ({ view, owner }) => {
    const shape = known.shown.shapes[view];
    if (shape?.list?.relationship !== relationship.number || owners.includes(owner)) return false;
    return shape.listRelationship(known.schema) === relationship;
  });
}

/**
 * Refuses to put an object below itself.
 * @param {KnownObjects} known
 * @param {number} id
 * @param {any} relationship
 * @param {number} target
 */
function checkCycle(known, id, relationship, target) {
  const { schema } = known;
  const inverse = schema.inverse(relationship);
  if (isHiddenInverse(inverse) || schema.top(relationship.destination) !== schema.top(inverse.destination)) return;
  const seen = new Set();
  /** @type {number | undefined} */
  let above = target;
  while (above !== undefined && !seen.has(above)) {
    if (above === id) throw new Refusal();
    seen.add(above);
    const value = known.value(relationship.number, above);
    above = value instanceof Reference ? value.id : undefined;
  }
}

/**
 * @param {KnownObjects} known
 * @param {number} owner
 * @param {any} relationship
 * @param {number} object
 * @param {SketchPlace} place
 */
function relate(known, owner, relationship, object, place) {
  const inverse = known.schema.inverse(relationship);
  if (!inverse) throw new Refusal();
  if (!inverse.isToMany) return assign(known, object, inverse, owner, place);
  const source = { object: owner, relationship: relationship.number };
  const back = { object, relationship: inverse.number };
  const was = known.isMember(object, source, relationship);
  setPair(known, source, back, true, relationship, inverse);
  if (!known.place(object, source, relationship, place)) throw new Refusal();
  if (was === true || (textOf(back) === textOf(source) && owner === object)) return;
  // On the other side the owner comes last, if it was not there.
  for (const list of known.lists.of(back)) {
    if (was === undefined) known.lists.doubt(owner, list);
    else known.lists.place(owner, list, 'last', () => undefined);
  }
}

/** @param {KnownObjects} known @param {number} owner @param {any} relationship @param {number} object */
function unrelate(known, owner, relationship, object) {
  const inverse = known.schema.inverse(relationship);
  if (!inverse) return;
  if (!inverse.isToMany) {
    if (known.refers(inverse.number, object, owner)) {
      leave(known, relationship, object, []);
      known.set(inverse.number, object, null);
    } else if (known.value(inverse.number, object) === undefined) {
      // Unrelated if it was there.
      known.opaqueSteps += 1;
    }
    return;
  }
  const source = { object: owner, relationship: relationship.number };
  const back = { object, relationship: inverse.number };
  setPair(known, source, back, false, relationship, inverse);
  const [theirs, ours] = [known.lists.of(source), known.lists.of(back)];
  known.lists.remove(object, (list) => theirs.includes(list));
  known.lists.remove(owner, (list) => ours.includes(list));
}

/**
 * @param {KnownObjects} known
 * @param {import('./overlay-view.js').Source} source
 * @param {import('./overlay-view.js').Source} back
 * @param {boolean} isMember
 * @param {any} relationship
 * @param {any} inverse
 */
function setPair(known, source, back, isMember, relationship, inverse) {
  for (const [from, to] of [[source, back], [back, source]]) {
    const text = textOf(from);
    let pairs = known.pairs.get(text);
    if (!pairs) known.pairs.set(text, pairs = new Map());
    pairs.set(to.object, isMember);
  }
  known.note(relationship.number, inverse.destination);
  known.note(inverse.number, relationship.destination);
}

/** @param {KnownObjects} known @param {number} owner @param {any} relationship @param {readonly number[]} objects */
function setRelated(known, owner, relationship, objects) {
  const inverse = known.schema.inverse(relationship);
  if (!inverse) throw new Refusal();
  const source = { object: owner, relationship: relationship.number };
  const kept = new Set(objects);
  if (kept.size !== objects.length) throw new Refusal();
  if (inverse.isToMany) {
    const paired = new Set(known.pairs.get(textOf(source))?.keys());
    for (const object of [...new Set([...paired, ...known.all])].sort((a, b) => a - b)) {
      if (kept.has(object) || known.isMember(object, source, relationship) === false) continue;
      const isPossible = paired.has(object) || known.isOf(object, relationship.destination);
      if (isPossible) unrelate(known, owner, relationship, object);
    }
    leave(known, inverse, owner, objects);
    for (const object of objects) relate(known, owner, relationship, object, 'last');
    // Members that no view shows are gone.
    known.exact.set(textOf(source), source);
    known.note(relationship.number, inverse.destination);
  } else {
    for (const object of known.referring(owner, inverse, relationship.destination)) {
      if (!kept.has(object)) unrelate(known, owner, relationship, object);
    }
    for (const object of objects) assign(known, object, inverse, owner, 'last');
  }
  known.note(inverse.number, relationship.destination);
  if (!relationship.isOrdered) return;
  doubtOutlines(known, source, relationship);
  // The lists that views show are known whole.
  for (const list of known.lists.of(source)) known.lists.replace(list, [...objects]);
}

/**
 * Doubts the outlines that may show objects of a source which are not known.
 * @param {KnownObjects} known
 * @param {import('./overlay-view.js').Source} source
 * @param {any} relationship
 */
function doubtOutlines(known, { object }, relationship) {
  known.shown.shapes.forEach((shape, view) => {
    if (!shape?.isOutline || shape.relationship !== relationship) return;
    const sketch = known.lists.get(view, object);
    // No list: it is folded, elsewhere, or new and without objects.
    const isKnown = sketch ? sketch.startsAtFirst && sketch.endsAtLast : known.isFresh(object);
    if (!isKnown) known.doubtfulOutlines.add(view);
  });
}
