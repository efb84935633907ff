/**
 * What a row says of itself. A client knows the values of the rows that it shows; what is behind their relationships it
 * may not have, or not as new. So predicates, orders and sections are evaluated by own values alone.
 * @module
 */

/** @typedef {import('../rules/values.js').Value} Value */
/** @typedef {import('../rules/predicates.js').Path} Path */
/**
 * The value of a property of an object: an attribute, or a to-one relationship as a reference or null. Undefined: not
 * known.
 * @typedef {(property: number) => Value | undefined} Own
 */

/** The path to the object itself, `SELF`. */
export const SELF = 0;

/** What is never a character stays as it is in every version. */
const unassigned = /(?!\p{Noncharacter_Code_Point})\p{Cn}/u;

/**
 * @param {Path | undefined} path undefined: that of the order of a relationship
 * @returns {number | undefined} the property of the object that the path reads, or SELF; undefined if it leads further
 */
export function ownProperty(path) {
  const { steps, leaf, property } = path ?? { steps: [], leaf: 2, property: 0 };
  if (leaf > 1 || steps.length + leaf > 1) return undefined;
  return leaf === 1 ? property : steps[0] ?? SELF;
}

/**
 * Whether this platform folds a text as the server does. A newer Unicode version may fold a character that the platform
 * does not know.
 * @param {Value} value
 * @param {number} [folding]
 */
export const isFoldable = (value, folding) => !folding || typeof value !== 'string' || !unassigned.test(value);

/** Whether a path reads only the object itself. @param {Path} path */
export const isOwnPath = ({ steps, leaf }) => (steps.length === 0 ? leaf < 2 : steps.length === 1 && leaf === 0);
