// One comparison of a predicate, prepared: its values folded, its pattern compiled.

import { CASE, DIACRITICS, fold, likePattern } from './text.js';
import { comparable, compare, isEqual } from './values.js';

/** @typedef {import('./values.js').Value} Value */
/** @typedef {import('./predicates.js').Comparison} Comparison */
/** @typedef {boolean | undefined} Truth Undefined: not known. */

/** @type {{ [operator: string]: (order: number) => boolean }} */
const orders = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** @type {{ [operator: string]: (text: string, wanted: string) => boolean }} */
const searches = {
  CONTAINS: (text, wanted) => text.includes(wanted),
  BEGINSWITH: (text, wanted) => text.startsWith(wanted),
  ENDSWITH: (text, wanted) => text.endsWith(wanted),
};

/**
 * Returns the test of a comparison for one value at the end of its path. Null equals null and nothing else; every other
 * comparison with null is false.
 * @param {Comparison} comparison Without faults.
 * @param {boolean} isDecimal The value is a decimal number, as text.
 * @returns {(value: Value, matches?: import('./truth.js').Matches) => Truth} `matches` decides MATCHES.
 */
export function test(comparison, isDecimal) {
  const { operator, folding } = comparison;
  if (operator === 'MATCHES') return matchesTest(comparison);
  const values = comparison.values.map((value) => comparable(value, folding, isDecimal));
  /** @param {Value} value */
  const own = (value) => comparable(value, folding, isDecimal);
  const [first, second] = values;
  switch (operator) {
    case '==': return (value) => isEqual(own(value), first);
    case '!=': return (value) => !isEqual(own(value), first);
    case 'IN': return (value) => {
      const wanted = own(value);
      return values.some((one) => isEqual(wanted, one));
    };
    case 'BETWEEN': return (value) => {
      const between = own(value);
      const [low, high] = [compare(between, first), compare(between, second)];
      return low !== undefined && high !== undefined && low >= 0 && high <= 0;
    };
    case 'LIKE': {
      const like = likePattern(first.by);
      return (value) => typeof value === 'string' && like(fold(value, folding));
    }
    case 'CONTAINS':
    case 'BEGINSWITH':
    case 'ENDSWITH': {
      const search = searches[operator];
      // No text contains the empty text.
      return (value) => typeof value === 'string' && first.by !== '' && search(fold(value, folding), first.by);
    }
    default: return (value) => {
      const order = compare(own(value), first);
      return order !== undefined && orders[operator](order);
    };
  }
}

/**
 * JavaScript has no RE2: without a function of the program, MATCHES is not decided. It is false of null.
 * @param {Comparison} comparison
 * @returns {(value: Value, matches?: import('./truth.js').Matches) => Truth}
 */
function matchesTest(comparison) {
  const { folding } = comparison;
  const options = { ignoresCase: (folding & CASE) !== 0, ignoresDiacritics: (folding & DIACRITICS) !== 0 };
  return (value, matches) => {
    if (typeof value !== 'string') return false;
    return matches?.(value, /** @type {string} */ (comparison.values[0]), options);
  };
}
