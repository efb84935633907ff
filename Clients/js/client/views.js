/**
 * Answers as a program sees them: names instead of numbers, frozen.
 * @module
 */

/** @typedef {import('../wire/model.js').Model} Model */

/** @param {any[]} pairs @returns {Readonly<Record<string, any>>} without a prototype: every name is only a name */
const record = (pairs) => Object.freeze(Object.assign(Object.create(null), Object.fromEntries(pairs)));

/** @param {Model} model @param {number} entity @param {number | null} property */
export const nameOf = (model, entity, property) =>
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
