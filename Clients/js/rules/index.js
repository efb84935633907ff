// What the server does with values, for programs that answer locally too: the truth of predicates, the order of rows,
// the keys of sections, folded text, dates and decimals. Nothing of `nest-client` itself loads this module.

export { fold, compareText, likePattern } from './text.js';
export { comparable, compare, isEqual } from './values.js';
export { decimalKey } from './decimals.js';
export { dateText, readDate, periodText } from './dates.js';
export { decodePredicate, encodePredicate } from '../wire/predicate.js';
export { Filter, truth, valueAt } from './truth.js';
export { Order } from './order.js';
