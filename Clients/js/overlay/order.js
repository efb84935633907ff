/**
 * Where a row of a request is among the others, as far as its own values say: its place in the order, and its section.
 * @module
 */

import { Order } from '../rules/order.js';
import { comparable, isEqual } from '../rules/values.js';
import { sectionKey } from '../wire/rows.js';
import { Double } from '../wire/values.js';
import { isFoldable, ownProperty } from './own.js';
import { ascending } from './predicate.js';

/** @typedef {import('./own.js').Own} Own */
/** @typedef {import('../rules/order.js').RowKey} RowKey */
/** @typedef {import('../rules/predicates.js').Node} Node */

/**
 * The section of a row, as states of wire/results.js have it: its key, and the two halves of its hash.
 * @typedef {{ key: any, hash: any }} SectionKey
 */

/** The only section of a request without sections. @type {SectionKey} */
export const WHOLE = Object.freeze(sectionKey(''));

/** The order and the sections of a request. It may be used any number of times. */
export class RowOrder {
  /**
   * @param {any} wire the request, as in `(await nest.resolve(request)).wire`
   * @param {any} entity of the request
   * @param {any} model
   * @param {readonly Node[]} [nodes] of its predicate: `RowPredicate.nodes`
   */
  constructor({ source, sort, section }, entity, model, nodes = []) {
    const isListOrder = sort.some((/** @type {any} */ key) => key.order);
    const terms = isListOrder ? [] : sort.map((/** @type {any} */ key) => ownTerm(key, entity));
    /**
     * The list whose order the rows have; null if they are ordered by values, or by ids alone. `{ isUnknown: true }` if
     * this client cannot tell which list it is.
     * @type {List | { isUnknown: true } | null}
     */
    this.list = orderedList(isListOrder, sort, source, entity, model, nodes);
    /** Whether own values decide the place of a row, if all are known: not in the order of a list. */
    this.isOwn = this.list === null && terms.every(Boolean);
    this.order = new Order(this.isOwn ? terms : []);
    /** @type {string | null} */
    this.function = section?.function ?? null;
    /** The first term alone, which decides the section. */
    this.first = section && terms[0] ? new Order([terms[0]]) : null;
    const read = this.isOwn ? terms : this.first?.terms ?? [];
    /** The properties of rows that order and section read, ascending. @type {readonly number[]} */
    this.reads = ascending(read.map((/** @type {any} */ term) => term.property));
    Object.freeze(this);
  }

  /**
   * The place of a row among the others: compare it with `compare`.
   * @param {number} id
   * @param {Own} own
   * @returns {RowKey | undefined} undefined if it is not known
   */
  key(id, own) {
    if (!this.isOwn) return undefined;
    return this.order.key(this.order.terms.map((term) => ownValue(term, own)), id);
  }

  /**
   * @param {RowKey} a
   * @param {RowKey} b
   * @returns {number} below 0 if a comes before b, above 0 if after; 0 only for the same id
   */
  compare(a, b) {
    return this.order.compare(a, b);
  }

  /**
   * The section of a row.
   * @param {Own} own
   * @returns {SectionKey | undefined} undefined if it is not known
   */
  section(own) {
    if (this.function === null) return WHOLE;
    if (!this.first) return undefined;
    const [term] = this.first.terms;
    const value = ownValue(term, own);
    if (value === undefined) return undefined;
    const key = this.first.sectionKey(/** @type {any} */ (this.function), value);
    // Its hash is that of a double, also if the number is whole. There is no negative zero.
    const isDouble = key !== null && (term.type === 'double' || term.type === 'float');
    return sectionKey(isDouble ? new Double(Number(key) + 0) : key);
  }
}

/**
 * Whether two sections are the same.
 * @param {{ key: any }} a
 * @param {{ key: any }} b
 */
export const isSameSection = (a, b) => isEqual(comparable(a.key), comparable(b.key));

/**
 * @param {any} key of a sort
 * @param {any} entity
 * @returns {any} the term; undefined if it reads other objects
 */
function ownTerm({ path, descending, folding = 0 }, entity) {
  const property = path.leaf === 1 ? ownProperty(path) : undefined;
  const type = property && entity.find(property)?.type;
  return type && Object.freeze({ property, type, descending, folding });
}

/** @param {any} term @param {Own} own */
function ownValue({ property, folding }, own) {
  const value = own(property);
  return value === undefined || !isFoldable(value, folding) ? undefined : value;
}

// MARK: Lists

/**
 * The objects of a to-many relationship of an object.
 * @typedef {object} List
 * @property {number} owner
 * @property {number} relationship the to-many relationship
 * @property {number} inverse the relationship of the rows that leads back
 * @property {boolean} isOrdered
 * @property {boolean} isPaired the inverse leads to many, too: no value of a row says whether it is in the list
 */

/**
 * The list whose objects are the rows.
 * @param {{ object: number, relationship: number } | null} source of the request
 * @param {any} entity of the request
 * @param {any} model
 * @returns {List | null | undefined} null: all objects of the entity. Undefined: this client cannot tell, because
 *   relationships of two unrelated entities have the number of this one
 */
export function listOf(source, entity, model) {
  if (!source) return null;
  const { object: owner, relationship } = source;
  const found = entity.relationships.flatMap((/** @type {any} */ back) => {
    const forth = back.inverse === relationship && model.find(back.destination)?.find(relationship);
    return forth?.isToMany ? [listBy(back, forth, owner)] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

/** @param {any} back @param {any} forth @param {number} owner @returns {List} */
const listBy = (back, forth, owner) => Object.freeze({
  owner, relationship: forth.number, inverse: back.number, isOrdered: forth.isOrdered, isPaired: back.isToMany,
});

/**
 * @param {boolean} isListOrder whether the request asks for the order of a list
 * @param {readonly any[]} sort
 * @param {any} source
 * @param {any} entity
 * @param {any} model
 * @param {readonly Node[]} nodes
 */
function orderedList(isListOrder, sort, source, entity, model, nodes) {
  if (sort.length > 0 && !isListOrder) return null;
  const list = source ? listOf(source, entity, model) : isListOrder ? selected(nodes, entity, model) : null;
  if (list === undefined) return Object.freeze({ isUnknown: /** @type {true} */ (true) });
  return list?.isOrdered ? list : null;
}

/**
 * The list that a comparison such as `parent == 7` in the outermost AND selects.
 * @param {readonly Node[]} nodes
 * @param {any} entity
 * @param {any} model
 * @returns {List | undefined}
 */
function selected(nodes, entity, model) {
  for (const { operator, path, values, quantifier } of necessary(nodes)) {
    if (operator !== '==' || quantifier || path.leaf !== 0 || path.steps.length !== 1) continue;
    const back = entity.find(path.steps[0]);
    const forth = model.find(back?.destination)?.find(back?.inverse);
    if (forth?.isOrdered && typeof values[0]?.id === 'number') return listBy(back, forth, values[0].id);
  }
  return undefined;
}

/** @param {readonly Node[]} nodes @returns {any[]} the comparisons that are true of every row */
function necessary(nodes) {
  /** @type {any[][]} */
  const stack = [];
  for (const node of nodes) {
    if ('operator' in node) stack.push([node]);
    else if ('constant' in node) stack.push([]);
    else if ('not' in node) stack.splice(-1, 1, []);
    else if ('and' in node) stack.push(stack.splice(-node.and).flat());
    else stack.splice(-node.or, node.or, []);
  }
  return stack[0] ?? [];
}
