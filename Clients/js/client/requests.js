/**
 * Requests as a program builds them. Each is immutable: every method returns another one.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { entityProperty, firstColumn, isRelationship, objectID } from '../wire/model.js';
import { predicateText } from './text.js';

/** @typedef {import('../wire/model.js').Model} Model */

/** The name of the inverse that a server has added to a relationship without one. */
const HIDDEN = 'nest_inverse_';
/** The name of an object's own entity in `properties`. */
const ENTITY = '@entity';
const COUNT = '@count';
/** The functions of an attribute behind a to-many relationship. The server knows which types they take. */
const FUNCTIONS = ['@sum', '@min', '@max', '@avg'];

/** @param {string} code @param {string} message @returns {never} */
function refuse(code, message) {
  throw new NestError(code, message);
}

/**
 * Reads a path, such as `employer.name`, `tags.@count` or `phones.@sum.minutes`.
 * @param {Model} model
 * @param {any} entity where it begins
 * @param {string} text
 * @returns {{ steps: number[], leaf: number, property: number, type?: string, function?: number, attribute?: number }}
 *   `type`: of the attribute where it ends
 */
export function readPath(model, entity, text) {
  const names = String(text).split('.');
  const called = FUNCTIONS.indexOf(names[names.length - 2]) + 1;
  const attribute = /** @type {any} */ (called && names.pop());
  const isCount = called || names.at(-1) === COUNT;
  if (isCount) names.pop();
  const steps = [];
  for (const [index, name] of names.entries()) {
    const property = entity.property(name);
    const isLast = index === names.length - 1;
    if (isLast && isCount) {
      if (!property.isToMany) break;
      if (!called) return { steps, leaf: 2, property: property.number };
      const end = model.entity(property.destination).property(attribute);
      return { steps, leaf: 3, property: property.number, function: called, attribute: end.number };
    }
    if (!isRelationship(property)) {
      if (!isLast) refuse('UNKNOWN_PROPERTY', `${text}: nothing can follow ${name}`);
      return { steps, leaf: 1, property: property.number, type: property.type };
    }
    if (property.isToMany) {
      refuse('UNKNOWN_PROPERTY', `${text}: ${name} leads to many objects`);
    }
    steps.push(property.number);
    entity = model.entity(property.destination);
  }
  if (isCount) refuse('UNKNOWN_PROPERTY', `${text}: nothing leads to many objects`);
  return { steps, leaf: 0, property: 0 };
}

/**
 * Reads sort keys, such as `name:c,-createdAt` or `order`.
 * @param {Model} model
 * @param {any} entity
 * @param {string} text
 */
function readSort(model, entity, text) {
  return String(text).split(',').map((part) => {
    const key = part.trim();
    if (key === 'order' && !entity.find(key)) return { order: true, descending: false, folding: 0 };
    const [, sign, path, folding] = /^([-+]?)([^:\s]*)(?::(c|d|cd|dc))?$/.exec(key)
      ?? refuse('INVALID', `'${key}' is no sort key: write path, -path, path:c, path:d or path:cd`);
    const bits = (folding?.includes('c') ? 1 : 0) + (folding?.includes('d') ? 2 : 0);
    return { path: readPath(model, entity, path), descending: sign === '-', folding: bits };
  });
}

/** @param {number} value @param {string} what */
function count(value, what) {
  if (!Number.isSafeInteger(value) || value < 0) refuse('INVALID', `${what} is a whole number from 0, not ${value}`);
  return value;
}

/** @type {readonly any[]} */
const EMPTY = Object.freeze([]);

/**
 * The names of the values of rows, each with the type of its attribute, if it is one.
 * @typedef {[string, any][]} Names
 */

/**
 * A request for objects: which, in which order, in which sections, with which values, and which rows of the result.
 * The texts are those of the query language (docs/query-language.md).
 */
export class FetchRequest {
  /** @type {{ wire: any, slots: Map<number, string> } | null} */
  #lowered = null;

  /** @param {any} fields `model` and `entity`; the others may be left out */
  constructor(fields) {
    /** @type {Model} the model whose numbers it has: it is sent only to a server whose model is this, or extends it */
    this.model = fields.model;
    /** The description of the entity of the rows. */
    this.description = fields.description;
    /** @type {{ object: number, relationship: number } | null} */
    this.source = fields.source ?? null;
    /** @type {readonly string[]} texts; an object must fulfil all */
    this.predicates = fields.predicates ?? EMPTY;
    /** @type {readonly any[]} */
    this.sort = fields.sort ?? EMPTY;
    /** @type {string[]} names of attributes, to-one relationships and paths; empty: all of the entity */
    this.names = fields.names ?? EMPTY;
    /** @type {any} `{function, path}` */
    this.sectionKey = fields.sectionKey ?? null;
    /** @type {any} `{offset, limit}` or `{anchor, before, after}`; null: all rows */
    this.shownWindow = fields.shownWindow ?? null;
    /** @type {readonly string[]} texts of totals: client/totals.js reads them */
    this.totalTexts = fields.totalTexts ?? EMPTY;
    if (new.target === FetchRequest) Object.freeze(this);
  }

  /**
   * @param {Record<string, any>} changes fields that differ
   * @returns {FetchRequest}
   */
  with(changes) {
    return new FetchRequest({ ...this, ...changes });
  }

  /**
   * Only objects for which this is true. In a template, values are quoted: where`title == ${typed}`.
   * @param {string | TemplateStringsArray} text
   * @param {...any} values
   */
  where(text, ...values) {
    const predicate = predicateText(text, values);
    return predicate.trim() === '' ? this : this.with({ predicates: Object.freeze([...this.predicates, predicate]) });
  }

  /**
   * The order: `sorted('name:c', '-createdAt')`, or `sorted('order')`. Replaces an earlier one.
   * @param {...string} keys
   */
  sorted(...keys) {
    return this.with({ sort: Object.freeze(keys.flatMap((key) => readSort(this.model, this.description, key))) });
  }

  /** The values to send: attributes, to-one relationships, `@entity`, and paths. None: all. @param {...string} names */
  properties(...names) {
    const all = names.flat();
    for (const name of all) this.slot(name, []);
    return this.with({ names: Object.freeze(all) });
  }

  /** Values to send besides: paths such as `employer.name` and `tags.@count`. @param {...string} names */
  columns(...names) {
    const kept = this.names.length > 0 ? this.names : this.storedNames();
    return this.properties(...kept, ...names);
  }

  /**
   * Rows in sections, by a path: `section('name', 'firstCharacter')`. Without an order, rows are sorted by it.
   * @param {string} path
   * @param {'value' | 'firstCharacter' | 'year' | 'month' | 'day'} [by]
   */
  section(path, by = 'value') {
    const sectionKey = Object.freeze({ function: by, path: readPath(this.model, this.description, path) });
    const sort = this.sort.length > 0 ? this.sort : readSort(this.model, this.description, path);
    return this.with({ sectionKey, sort });
  }

  /** Values over all rows, and over those of each section: `totals('count', 'sum(minutes)')`. @param {...string} texts */
  totals(...texts) {
    return this.with({ totalTexts: Object.freeze(texts) });
  }

  /** Some rows: those from `offset` on. @param {number} offset @param {number} limit */
  window(offset, limit) {
    return this.with({
      shownWindow: Object.freeze({ offset: count(offset, 'an offset'), limit: count(limit, 'a limit') }),
    });
  }

  /**
   * An object, and rows before and after it, wherever it moves.
   * @param {any} object
   * @param {number} before
   * @param {number} after
   */
  around(object, before, after) {
    const [b, a] = [count(before, 'the rows before'), count(after, 'the rows after')];
    return this.with({ shownWindow: Object.freeze({ anchor: objectID(object), before: b, after: a }) });
  }

  /** All rows again. */
  whole() {
    return this.with({ shownWindow: null });
  }

  /**
   * The objects of a to-many relationship of an object of this entity. INVALID if this request has any condition.
   * @param {any} object its id, or anything with an `id`
   * @param {string} name of the relationship
   */
  of(object, name) {
    const { description, source, predicates, sort, names, sectionKey, shownWindow, totalTexts } = this;
    if (source || sectionKey || shownWindow || predicates.length + sort.length + names.length + totalTexts.length > 0) {
      refuse('INVALID', `begin with entity.of(object, '${name}')`);
    }
    const relationship = description.property(name);
    if (!relationship.isToMany) {
      refuse('UNKNOWN_PROPERTY', `${description.name}.${name} is not a to-many relationship`);
    }
    return new FetchRequest({
      model: this.model,
      description: this.model.entity(relationship.destination),
      source: Object.freeze({ object: objectID(object), relationship: relationship.number }),
    });
  }

  // MARK: For the library

  /** The names of what rows have without `properties`. */
  storedNames() {
    const kinds = this.model.entities.filter((/** @type {any} */ one) => one.parent === this.description.number);
    const stored = this.description.properties.filter((/** @type {any} */ property) => !property.isToMany)
      .sort((/** @type {any} */ a, /** @type {any} */ b) => a.number - b.number);
    // Without any, the server would send all properties that it has by then.
    const entity = kinds.length > 0 || stored.length === 0 ? [ENTITY] : [];
    return [...entity, ...stored.map((/** @type {any} */ property) => property.name)];
  }

  /**
   * The number of a value in a projection. A path becomes a column.
   * @param {string} name
   * @param {any[]} columns to which it is added
   */
  slot(name, columns) {
    if (name === ENTITY) return entityProperty;
    const property = this.description.find(name);
    if (property && !property.isToMany) return property.number;
    columns.push(readPath(this.model, this.description, name));
    return firstColumn + columns.length - 1;
  }

  /** What is sent, without the predicate; and the name of each number. */
  lowered() {
    return this.#lowered ??= this.lower();
  }

  lower() {
    const { description, source, sort, sectionKey, shownWindow } = this;
    /** @type {any[]} */
    const columns = [];
    /** @type {Map<number, string>} */
    const slots = new Map();
    for (const name of new Set(this.names.length > 0 ? this.names : this.storedNames())) {
      slots.set(this.slot(name, columns), name);
    }
    const projection = [...slots.keys()].sort((a, b) => a - b);
    const entity = description.number;
    const wire = { entity, source, projection, sort, columns, section: sectionKey, window: shownWindow };
    return { wire, slots };
  }

  /**
   * The names of a projection of the server, each with the type of its attribute.
   * @param {number[]} projection
   * @returns {Names}
   */
  namesOf(projection) {
    const { slots, wire } = this.lowered();
    return projection.map((number) => [
      slots.get(number) ?? String(number), (this.description.find(number) ?? wire.columns[number - firstColumn])?.type,
    ]);
  }
}

/**
 * An entity of the server's model, and the request for all its objects. Each to-many relationship is a method:
 * `items.children(1)` is `items.of(1, 'children')`. One with the name of another member, or `then`, has only `of`.
 */
export class Entity extends FetchRequest {
  /** @param {Model} model @param {any} description */
  constructor(model, description) {
    super({ model, description });
    for (const { name, isToMany } of description.relationships) {
      // An object with a method `then` would be taken for a promise.
      if (!isToMany || name === 'then' || name.startsWith(HIDDEN) || name in this) continue;
      Object.defineProperty(this, name, { value: (/** @type {any} */ object) => this.of(object, name) });
    }
    Object.freeze(this);
  }

  /** Its name in the model. */
  get name() {
    return this.description.name;
  }
}
