/**
 * The lists of a client with its pending writes laid over them, each with those that its state does not have.
 * @module
 */

import { laid } from './overlay.js';
import { unchanged } from './laid-view.js';

/** @typedef {import('./laid-view.js').OverlaidView} OverlaidView */
/** @typedef {import('./pending.js').PendingWrite & { tx: any, now: any }} ShownWrite */

/**
 * Lists with the same writes are laid together: what one of them shows is known of the others.
 * @template {{ head: number, state: any, view: import('./overlay-view.js').OverlayView }} L
 * @template {ShownWrite} W
 * @param {Iterable<L>} lists
 * @param {import('./pending.js').Pending<W>} pending
 * @param {() => any} model
 * @param {(error: any) => void} report a mistake of the overlay must not keep what the server says from the program
 * @returns {Map<L, { found: OverlaidView, writes: readonly W[] }>}
 */
export function laidLists(lists, pending, model, report) {
  /** @type {Map<string, { lists: L[], writes: W[] }>} */
  const groups = new Map();
  for (const list of lists) {
    const writes = pending.over(list.head).filter(({ tx }) => tx !== null);
    const key = writes.map((write) => pending.writes.indexOf(write)).join();
    const group = groups.get(key);
    if (group) group.lists.push(list);
    else groups.set(key, { lists: [list], writes });
  }
  const all = new Map();
  /** @type {Set<W>} */
  const foreseen = new Set();
  /** @type {Set<W>} */
  const possible = new Set();
  for (const { lists: some, writes } of groups.values()) {
    const { views, refused } = laidOver(some, writes, model, report);
    some.forEach((list, index) => all.set(list, { found: views[index], writes }));
    writes.forEach((write, index) => (refused.includes(index) ? foreseen : possible).add(write));
  }
  pending.foresaw([...foreseen].filter((write) => !possible.has(write)));
  return all;
}

/**
 * @param {readonly any[]} lists
 * @param {readonly ShownWrite[]} writes
 * @param {() => any} model
 * @param {(error: any) => void} report
 * @returns {{ views: OverlaidView[], refused: number[] }}
 */
function laidOver(lists, writes, model, report) {
  if (writes.length === 0) return { views: lists.map(({ state }) => unchanged(state, 0)), refused: [] };
  try {
    const [transactions, times] = [writes.map(({ tx }) => tx.mutations), writes.map(({ now }) => now)];
    return laid(lists.map(({ view }) => view), transactions, model(), times);
  } catch (error) {
    report(error);
    return { views: lists.map(({ state }) => unchanged(state, 1)), refused: [] };
  }
}
