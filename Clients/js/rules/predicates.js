// Predicates as nodes: a program in postfix order (protocol.md, section 9).

/**
 * @typedef {object} Path
 * @property {readonly number[]} steps The relationships to follow.
 * @property {number} leaf 0: the object at their end. 1: an attribute. 2: how many objects a relationship leads to. 3: a
 *   function of an attribute of these. 4: how many of them a SUBQUERY's program is true of.
 * @property {number} property The attribute or relationship of leaf 1 to 4; otherwise 0.
 * @property {number} [function] Of leaf 3: 1 is `@sum`, 2 `@min`, 3 `@max`, 4 `@avg`.
 * @property {number} [attribute] Of leaf 3.
 * @property {readonly Node[]} [where] The program of leaf 4.
 */

/**
 * @typedef {object} Comparison
 * @property {number} quantifier 1: ANY, 2: ALL, 3: NONE of the objects of the path's step to many; 0 without one.
 * @property {Path} path
 * @property {string} operator As in the text of a predicate: `==`, `BETWEEN`, `IN SUBTREE`, …
 * @property {number} folding 1: case, 2: diacritics, 3: both.
 * @property {readonly any[]} values A double is a Double, so that it is written as it was read.
 */

/** @typedef {Comparison | { constant: boolean } | { not: true } | { and: number } | { or: number }} Node */

/**
 * The comparison of a node that is one.
 * @param {Node} node
 * @returns {Comparison | undefined}
 */
export const comparisonOf = (node) => ('operator' in node ? node : undefined);

/**
 * How many operands a node takes from the stack.
 * @param {Node} node
 * @returns {number}
 */
export const operands = (node) => ('not' in node ? 1 : 'and' in node ? node.and : 'or' in node ? node.or : 0);
