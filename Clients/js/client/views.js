/**
 * Answers as a program sees them: names instead of numbers, frozen.
 * @module
 */

import { NestDate } from '../wire/values.js';

/** @typedef {import('../wire/model.js').Model} Model */

/** @param {any[]} pairs @returns {Readonly<Record<string, any>>} without a prototype: every name is only a name */
const record = (pairs) => Object.freeze(Object.assign(Object.create(null), Object.fromEntries(pairs)));

/** @param {Model} model @param {number} entity @param {number | null} property */
const nameOf = (model, entity, property) =>
  (property === null ? null : model.find(entity)?.find(property)?.name ?? String(property));

/** @param {any} found of OBJECT @param {Model} model */
export function object(found, model) {
  const name = (/** @type {any} */ { property }) => nameOf(model, found.entity, property);
  return Object.freeze({
    entity: model.find(found.entity)?.name ?? String(found.entity),
    id: found.id,
    revision: found.revision,
    values: record(found.values.map((/** @type {any} */ one) => [name(one), one.value])),
    counts: record(found.counts.map((/** @type {any} */ one) => [name(one), one.count])),
  });
}

/** @param {any} found of UNDO_PREVIEW @param {Model} model */
export function preview(found, model) {
  const entityName = (/** @type {number} */ number) => model.find(number)?.name ?? String(number);
  return Object.freeze({
    ...found,
    conflicts: Object.freeze(found.conflicts.listed.map((/** @type {any} */ one) => Object.freeze({
      ...one, entity: entityName(one.entity), property: nameOf(model, one.entity, one.property),
    }))),
    conflictCount: found.conflicts.count,
    changes: Object.freeze(found.changes.map((/** @type {any} */ one) => Object.freeze({
      ...one,
      entity: entityName(one.entity),
      properties: Object.freeze(one.properties.map((/** @type {any} */ number) => nameOf(model, one.entity, number))),
      values: Object.freeze(one.values.map((/** @type {any} */ value) => Object.freeze({
        ...value, property: nameOf(model, one.entity, value.property),
      }))),
    }))),
  });
}

/** @param {any} entry of HISTORY */
export const historyEntry = (entry) => Object.freeze({ ...entry, time: Object.freeze(new NestDate(entry.time)) });
