/**
 * Whether an object is a row of a request, as far as its own values say: the predicate.
 * @module
 */

import { NestError } from '../wire/errors.js';
import { decodePredicate } from '../wire/predicate.js';
import { test } from '../rules/comparisons.js';
import { check } from '../rules/faults.js';
import { comparisonOf } from '../rules/predicates.js';
import { evaluate } from '../rules/truth.js';
import { isFoldable, ownProperty, SELF } from './own.js';

/** @typedef {import('../rules/predicates.js').Node} Node */
/** @typedef {import('../rules/comparisons.js').Truth} Truth */
/** @typedef {import('./own.js').Own} Own */

/**
 * @typedef {object} OwnTest
 * @property {number} property SELF: the id of the object
 * @property {number} folding
 * @property {(value: import('./own.js').Value) => Truth} isTrue
 */

/** A comparison with what is not known, for a predicate that this client cannot read. */
const NOT_READ = Object.freeze({ quantifier: 0, path: { steps: [], leaf: 0, property: 0 }, operator: '?', folding: 0,
  values: [] });

/** The predicate of a request. It may be used any number of times. */
export class RowPredicate {
  /**
   * @param {Uint8Array | null} bytes as in `(await nest.resolve(request)).wire.predicate`; null: every object is a row
   * @param {any} entity of the request
   * @param {any} model
   */
  constructor(bytes, entity, model) {
    const { nodes, types } = read(bytes, entity, model);
    /** @type {readonly Node[]} */
    this.nodes = nodes;
    /** What each node that is a comparison tests; undefined if own values do not decide it. @type {any[]} */
    this.tests = nodes.map((node, index) => ownTest(node, types[index]));
    /** Whether own values decide it, if all are known. */
    this.isOwn = nodes.every((node, index) => !comparisonOf(node) || this.tests[index]);
    /** The properties that it reads of an object, ascending. @type {readonly number[]} */
    this.reads = ascending(this.tests.flatMap((one) => one?.property || []));
    Object.freeze(this);
  }

  /**
   * @param {number} id
   * @param {Own} own
   * @returns {Truth} undefined if that depends on what is not known; AND, OR and NOT are those of Kleene
   */
  truth(id, own) {
    return evaluate(this.nodes, (_, index) => {
      const one = this.tests[index];
      if (!one) return undefined;
      const value = one.property === SELF ? { id } : own(one.property);
      return value === undefined || !isFoldable(value, one.folding) ? undefined : one.isTrue(value);
    });
  }
}

/** @param {readonly number[]} numbers @returns {readonly number[]} each once */
export const ascending = (numbers) => Object.freeze([...new Set(numbers)].sort((a, b) => a - b));

/**
 * What this client does not understand is not known: the server has accepted it.
 * @param {Uint8Array | null} bytes
 * @param {any} entity
 * @param {any} model
 * @returns {{ nodes: readonly Node[], types: any[] }}
 */
function read(bytes, entity, model) {
  if (!bytes) return { nodes: [], types: [] };
  try {
    const nodes = decodePredicate(bytes);
    const { faults, types } = check(nodes, entity, model);
    if (faults.length === 0) return { nodes, types };
  } catch (error) {
    if (!(error instanceof NestError)) throw error;
  }
  return { nodes: [NOT_READ], types: [] };
}

/**
 * @param {Node} node
 * @param {any} type
 * @returns {OwnTest | undefined} undefined for MATCHES, IN SUBTREE, counts, ANY, ALL, NONE and paths of other objects
 */
function ownTest(node, type) {
  const comparison = comparisonOf(node);
  if (!comparison || !type || comparison.quantifier) return undefined;
  const { operator, folding, path } = comparison;
  const property = ownProperty(path);
  if (property === undefined || operator === 'MATCHES' || operator === 'IN SUBTREE') return undefined;
  return { property, folding, isTrue: test(comparison, type.isDecimal) };
}
