/**
 * Whose work a diff contains. OWN names the revisions of this connection's writes before the diffs arrive, AUTHORS the
 * users of all. Revisions from before the first subscription are known from receipts.
 * @module
 */

import { OWN_REVISIONS_MAX } from './limits.js';

/** @typedef {import('./machine.js').Machine} Machine */

/**
 * Remembers what every subscription has not reached yet.
 * @template {{ revision: number }} Item
 * @param {Machine} m
 * @param {Item[]} held ascending
 * @param {Item[]} more ascending
 * @returns {Item[]}
 */
function remember(m, held, more) {
  if (m.subscriptions.size === 0) return [];
  let oldest = Infinity;
  // A subscription without a state may start before all revisions.
  for (const sub of m.subscriptions) oldest = Math.min(oldest, sub.head?.revision ?? 0);
  const all = held.filter((item) => item.revision > oldest);
  for (const item of more) {
    if (item.revision > Math.max(oldest, all.at(-1)?.revision ?? 0)) all.push(item);
  }
  return all.slice(-OWN_REVISIONS_MAX);
}

/** @param {Machine} m @param {number[]} revisions of this connection's writes */
export function noteOwn(m, revisions) {
  m.own = remember(m, m.own, revisions.map((revision) => ({ revision })));
}

/** @param {Machine} m @param {{ revision: number, sessionNumber: number, user: string }[]} authors */
export function noteAuthors(m, authors) {
  m.authors = remember(m, m.authors, authors.map((author) => Object.freeze(author)));
}

/**
 * What is known about the revisions of a diff.
 * @param {Machine} m
 * @param {number} after
 * @param {number} through
 * @returns {{ own: readonly number[], authors: readonly object[] }}
 */
export function ownChanges(m, after, through) {
  const isInside = (/** @type {{ revision: number }} */ { revision }) => revision > after && revision <= through;
  return {
    own: Object.freeze(m.own.filter(isInside).map(({ revision }) => revision)),
    authors: Object.freeze(m.authors.filter(isInside)),
  };
}
