// The truth of a predicate for an object (protocol.md, section 9). A program in postfix order, run without recursion.

import { NestError } from '../wire/errors.js';
import { test } from './comparisons.js';
import { check } from './faults.js';
import { comparisonOf } from './predicates.js';

/** @typedef {import('./values.js').Value} Value */
/** @typedef {import('./predicates.js').Node} Node */
/** @typedef {import('./predicates.js').Comparison} Comparison */
/** @typedef {import('./predicates.js').Path} Path */
/** @typedef {import('./comparisons.js').Truth} Truth */

/**
 * What a predicate reads of objects. Undefined means: not known here.
 * @typedef {object} Lookup
 * @property {(object: number, property: number) => Value | undefined} value An attribute, or a to-one relationship as a
 *   reference or null.
 * @property {(object: number, relationship: number) => Iterable<number> | undefined} related The objects of a to-many
 *   relationship.
 * @property {(object: number, relationship: number) => number | undefined} [count] How many objects a to-many
 *   relationship leads to. Without it, as many as `related` returns.
 * @property {Matches} [matches]
 */

/**
 * Decides MATCHES, for a program that has RE2. The whole text must match.
 * @typedef {(text: string, pattern: string, options: { ignoresCase: boolean, ignoresDiacritics: boolean }) => Truth}
 *   Matches
 */

/** A predicate for the objects of an entity, checked against a model. It may be used any number of times. */
export class Filter {
  /**
   * @param {readonly Node[]} nodes
   * @param {any} entity The entity of the objects.
   * @param {any} model
   * @throws {NestError} INVALID_PREDICATE: the predicate does not fit the model; the text lists all mistakes.
   */
  constructor(nodes, entity, model) {
    const { faults, types } = check(nodes, entity, model);
    if (faults.length) throw new NestError('INVALID_PREDICATE', faults.join('; '));
    /** @type {readonly Node[]} */
    this.nodes = nodes;
    /** @type {readonly import('./faults.js').PathType[]} Of each node that is a comparison. */
    this.types = types;
    /** @type {readonly (ReturnType<typeof test> | undefined)[]} */
    this.tests = nodes.map((node, index) => {
      const comparison = comparisonOf(node);
      return comparison && comparison.operator !== 'IN SUBTREE' ? test(comparison, types[index].isDecimal) : undefined;
    });
    /** The predicate of each SUBQUERY that is counted. @type {readonly (Filter | undefined)[]} */
    this.inner = nodes.map((node, index) => {
      const where = comparisonOf(node)?.path.where;
      return where && new Filter(where, types[index].members, model);
    });
    Object.freeze(this);
  }

  /**
   * Whether the predicate is true of an object. Undefined if that depends on a value that is not known, or on MATCHES:
   * then AND, OR and NOT are those of Kleene's three-valued logic.
   * @param {number} object
   * @param {Lookup} lookup
   * @returns {Truth}
   */
  truth(object, lookup) {
    return evaluate(this.nodes, (comparison, index) => this.#compared(comparison, index, object, lookup));
  }

  /**
   * @param {Comparison} comparison
   * @param {number} index Of the node.
   * @param {number} object
   * @param {Lookup} lookup
   * @returns {Truth}
   */
  #compared(comparison, index, object, lookup) {
    const isTrue = this.tests[index];
    const type = this.types[index];
    if (!isTrue) return isBelow(object, comparison, type, lookup);
    const { path, quantifier } = comparison;
    const truthAt = (/** @type {number} */ start, /** @type {number} */ from) => {
      const inner = this.inner[index];
      const value = inner ? countWhere(start, path, inner, lookup) : valueAt(start, path, from, lookup);
      return value === undefined ? undefined : isTrue(value, lookup.matches);
    };
    if (quantifier === 0) return truthAt(object, 0);
    // The step to many; behind a null reference there are no objects.
    const many = /** @type {number} */ (type.many);
    const owner = followed(object, path.steps.slice(0, many), lookup);
    if (owner === undefined) return undefined;
    const objects = owner === null ? [] : lookup.related(owner, path.steps[many]);
    if (objects === undefined) return undefined;
    const truths = Array.from(objects, (one) => truthAt(one, many + 1));
    if (quantifier === 2) return combined(truths, false);
    return quantifier === 1 ? combined(truths, true) : not(combined(truths, true));
  }
}

/**
 * Runs a program in postfix order by Kleene's logic. Without nodes it is true.
 * @param {readonly Node[]} nodes
 * @param {(comparison: Comparison, index: number) => Truth} compared The truth of the comparison that is a node.
 * @returns {Truth}
 */
export function evaluate(nodes, compared) {
  /** @type {Truth[]} */
  const stack = [];
  nodes.forEach((node, index) => {
    if ('operator' in node) stack.push(compared(node, index));
    else if ('constant' in node) stack.push(node.constant);
    else if ('not' in node) stack.push(not(stack.pop()));
    else if ('and' in node) stack.push(combined(stack.splice(-node.and), false));
    else stack.push(combined(stack.splice(-node.or), true));
  });
  return stack.length ? stack[0] : true;
}

/** @param {Truth} truth @returns {Truth} */
const not = (truth) => truth === undefined ? undefined : !truth;

/**
 * @param {Iterable<Truth>} operands
 * @param {boolean} decisive The operand that decides: false for AND, true for OR.
 * @returns {Truth}
 */
function combined(operands, decisive) {
  let isKnown = true;
  for (const operand of operands) {
    if (operand === decisive) return decisive;
    if (operand === undefined) isKnown = false;
  }
  return isKnown ? !decisive : undefined;
}

/**
 * The value at the end of a path, from its step `from` on. Null behind a null reference.
 * @param {number} object
 * @param {Path} path
 * @param {number} from
 * @param {Lookup} lookup
 * @returns {Value | undefined}
 */
export function valueAt(object, path, from, lookup) {
  const end = followed(object, from ? path.steps.slice(from) : path.steps, lookup);
  if (end === undefined || end === null) return end;
  if (path.leaf === 0) return { id: end };
  const { property } = path;
  if (path.leaf === 1) return lookup.value(end, property);
  // A function of all objects of a relationship: the server computes it.
  if (path.leaf === 3) return undefined;
  if (lookup.count) return lookup.count(end, property);
  const objects = lookup.related(end, property);
  if (objects === undefined) return undefined;
  let count = 0;
  for (const _ of objects) count += 1;
  return count;
}

/**
 * How many objects of a relationship a predicate is true of. Null behind a null reference.
 * @param {number} object
 * @param {Path} path
 * @param {Filter} inner
 * @param {Lookup} lookup
 * @returns {Value | undefined}
 */
function countWhere(object, path, inner, lookup) {
  const end = followed(object, path.steps, lookup);
  const objects = end && lookup.related(end, path.property);
  if (!objects) return end === null ? null : undefined;
  const truths = Array.from(objects, (one) => inner.truth(one, lookup));
  return truths.includes(undefined) ? undefined : truths.filter(Boolean).length;
}

/**
 * The object at the end of to-one steps; null behind a null reference.
 * @param {number} object
 * @param {readonly number[]} steps
 * @param {Lookup} lookup
 * @returns {number | null | undefined}
 */
function followed(object, steps, lookup) {
  let end = object;
  for (const step of steps) {
    const next = lookup.value(end, step);
    if (next === undefined || next === null) return next;
    end = /** @type {{ id: number }} */ (next).id;
  }
  return end;
}

/**
 * Whether an object is below another: the way up, by the inverse of the relationship, meets it. Not the object itself.
 * @param {number} object
 * @param {Comparison} comparison
 * @param {import('./faults.js').PathType} type
 * @param {Lookup} lookup
 * @returns {Truth}
 */
function isBelow(object, comparison, type, lookup) {
  const root = /** @type {{ id: number }} */ (comparison.values[0]).id;
  const up = [/** @type {number} */ (type.up)];
  // What a program looks up may form a circle while a move arrives in parts.
  const met = new Set();
  for (let at = followed(object, up, lookup); at !== root; at = followed(at, up, lookup)) {
    if (at === undefined) return undefined;
    if (at === null || met.has(at)) return false;
    met.add(at);
  }
  return true;
}

/**
 * Whether a predicate is true of an object: `new Filter(…).truth(…)`. Keep a Filter to ask often.
 * @param {{ truth(object: number, lookup: Lookup): Truth }} predicate
 * @param {number} object
 * @param {Lookup} lookup
 * @returns {Truth}
 */
export function truth(predicate, object, lookup) {
  return predicate.truth(object, lookup);
}
