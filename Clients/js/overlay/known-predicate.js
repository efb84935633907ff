/**
 * A predicate that is decided from what is known, by Kleene's logic: true, false or unknown.
 * @module
 */

import { test } from '../rules/comparisons.js';
import { operands } from '../rules/predicates.js';
import { evaluate } from '../rules/truth.js';
import { isFoldable, isOwnPath } from './own.js';

/** @typedef {import('../rules/comparisons.js').Truth} Truth */
/** @typedef {import('./known-paths.js').KnownPaths} KnownPaths */

export class KnownPredicate {
  /** @param {readonly any[]} nodes @param {any} entity @param {import('./schema.js').Schema} schema */
  constructor(nodes, entity, schema) {
    /** The operands of the outermost AND, each with what its nodes test. */
    this.conjuncts = conjuncts(nodes).map((part) => (
      { nodes: part, tests: part.map((node) => testOf(node, entity, schema)) }));
    /** @type {readonly any[]} */
    this.comparisons = nodes.filter((node) => 'operator' in node);
  }

  get isEmpty() {
    return this.conjuncts.length === 0;
  }

  /**
   * Whether an object satisfies the predicate.
   * @param {number} id
   * @param {KnownPaths} paths
   * @param {boolean} wasTrue whether it did before the transactions; then what they did not change is still true
   * @param {readonly boolean[]} [truths] which operands of the outermost AND were true by what is remembered
   * @returns {Truth}
   */
  isTrue(id, paths, wasTrue, truths) {
    /** @type {Truth} */
    let isTrue = true;
    for (const index of this.conjuncts.keys()) {
      const decided = this.#isTrue(index, id, paths, wasTrue, truths);
      if (decided === false) return false;
      if (decided === undefined) isTrue = undefined;
    }
    return isTrue;
  }

  /**
   * For each operand of the outermost AND whether it is certainly true of an object.
   * @param {number} id
   * @param {KnownPaths} paths
   * @param {boolean} wasTrue
   * @param {readonly boolean[]} [truths]
   */
  truths(id, paths, wasTrue, truths) {
    return this.conjuncts.map((_, index) => this.#isTrue(index, id, paths, wasTrue, truths) === true);
  }

  /**
   * @param {number} at
   * @param {number} id
   * @param {KnownPaths} paths
   * @param {boolean} wasTrue
   * @param {readonly boolean[]} [truths]
   * @returns {Truth}
   */
  #isTrue(at, id, paths, wasTrue, truths) {
    const { nodes, tests } = this.conjuncts[at];
    const isUntouched = () => !nodes.some((node) => 'operator' in node && paths.isComparisonAffected(node, id));
    if (wasTrue && isUntouched()) return true;
    const decided = evaluate(nodes, ({ path, folding }, index) => {
      const isTrueOf = tests[index];
      const value = isTrueOf && paths.value(path, id);
      return value === undefined || !isFoldable(value, folding) ? undefined : isTrueOf?.(value);
    });
    return decided === undefined && truths?.[at] && isUntouched() ? true : decided;
  }
}

/** @param {any} node @param {any} entity @param {import('./schema.js').Schema} schema */
function testOf(node, entity, schema) {
  if (!('operator' in node) || node.quantifier || node.operator === 'IN SUBTREE' || node.operator === 'MATCHES') {
    return undefined;
  }
  return test(node, schema.attributeType(node.path, entity) === 'decimal');
}

/** Whether a comparison reads only the object itself. @param {any} comparison */
export const isOwnComparison = ({ quantifier, operator, path }) =>
  !quantifier && operator !== 'IN SUBTREE' && isOwnPath(path);

/**
 * The operands of the outermost AND, each a program; the whole program if there is none.
 * @param {readonly any[]} nodes
 * @returns {any[][]}
 */
export function conjuncts(nodes) {
  const last = nodes.at(-1);
  if (!last) return [];
  if (!('and' in last)) return [[...nodes]];
  /** Where the operand that ends at each node begins. @type {number[]} */
  const starts = [];
  nodes.slice(0, -1).forEach((node, index) => {
    const count = operands(node);
    if (count === 0) starts.push(index);
    else starts.length -= count - 1;
  });
  const own = starts.slice(-last.and);
  return own.map((start, index) => nodes.slice(start, own[index + 1] ?? nodes.length - 1));
}
