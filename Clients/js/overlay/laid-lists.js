/**
 * The lists of a client with its pending writes laid over them, each with those that its state does not have.
 * @module
 */

import { laid } from './overlay.js';
import { unchanged } from './laid-view.js';
import { remembered } from './remembered.js';

/** @typedef {import('./laid-view.js').OverlaidView} OverlaidView */
/** @typedef {import('./overlay-view.js').OverlayView} OverlayView */
/** @typedef {import('./pending.js').PendingWrite & { tx: any, now: any }} ShownWrite */

/**
 * Lists of one revision are laid together: what one of them shows is known of the others. What a list of another revision
 * shows may be older or newer, so that it is not.
 * @template {{ head: number, state: any, view: import('./overlay-view.js').OverlayView }} L
 * @template {ShownWrite} W
 * @param {Iterable<L>} lists
 * @param {import('./pending.js').Pending<W>} pending
 * @param {() => any} model
 * @param {(error: any) => void} report a mistake of the overlay must not keep what the server says from the program
 * @returns {Map<L, { found: OverlaidView, writes: readonly W[] }>}
 */
export function laidLists(lists, pending, model, report) {
  /** @type {Map<number, { lists: L[], writes: W[] }>} */
  const groups = new Map();
  const every = [...lists];
  const bases = remember(every, pending, model, report);
  for (const list of every) {
    const group = groups.get(list.head);
    if (group) group.lists.push(list);
    else groups.set(list.head, { lists: [list], writes: pending.over(list.head).filter(({ tx }) => tx !== null) });
  }
  const all = new Map();
  /** @type {Set<W>} */
  const foreseen = new Set();
  /** @type {Set<W>} */
  const possible = new Set();
  for (const { lists: some, writes } of groups.values()) {
    const { views, refused } = laidOver(some.map((list) => bases.get(list)), some, writes, model, report);
    some.forEach((list, index) => all.set(list, { found: views[index], writes }));
    writes.forEach((write, index) => (refused.includes(index) ? foreseen : possible).add(write));
  }
  pending.reachedNow = [];
  pending.foresaw([...foreseen].filter((write) => !possible.has(write)));
  return all;
}

/** What a list was laid over last. @type {WeakMap<object, { head: number, view: OverlayView }>} */
const lasts = new WeakMap();

/**
 * Keeps what was known of rows that confirmed writes took out, and that pending ones may put back.
 * @param {readonly any[]} lists
 * @param {import('./pending.js').Pending<any>} pending
 * @param {() => any} model
 * @param {(error: any) => void} report
 * @returns {Map<any, OverlayView>} the views with what is remembered
 */
function remember(lists, pending, model, report) {
  /** @type {Map<string, { list: any, last: { head: number, view: OverlayView }, view: OverlayView }[]>} */
  const steps = new Map();
  const views = new Map();
  for (const list of lists) {
    const { head, view } = list;
    const last = lasts.get(list);
    views.set(list, view);
    if (!last || !isAsRemembered(last.view.request, view.request)) continue;
    const key = `${last.head} ${head}`;
    const step = steps.get(key);
    if (step) step.push({ list, last, view });
    else steps.set(key, [{ list, last, view }]);
  }
  for (const all of steps.values()) {
    const [{ list: { head }, last }] = all;
    const laidOnes = (/** @type {any[]} */ writes) => writes.filter(({ tx }) => tx !== null);
    try {
      const found = remembered(all.map((one) => one.last.view), all.map(({ view }) => view),
        laidOnes(pending.confirmed(last.head, head)), laidOnes(pending.over(head)), model);
      all.forEach(({ list, view }, at) => found[at].size > 0 && views.set(list, { ...view, remembered: found[at] }));
    } catch (error) {
      report(error);
    }
  }
  for (const [list, view] of views) lasts.set(list, { head: list.head, view });
  return views;
}

/** What may differ between requests of which what is remembered means the same: the folds. */
const FOLDS = ['outline'];

/**
 * Whether what is remembered of the rows of one request means the same of another.
 * @param {any} one
 * @param {any} two
 */
function isAsRemembered(one, two) {
  if (one === two) return true;
  const text = (/** @type {any} */ request) => JSON.stringify(request, (name, value) =>
    (FOLDS.includes(name) ? Boolean(value) : typeof value === 'bigint' ? String(value) : value));
  return text(one) === text(two);
}

/**
 * @param {readonly any[]} laidViews
 * @param {readonly any[]} lists
 * @param {readonly ShownWrite[]} writes
 * @param {() => any} model
 * @param {(error: any) => void} report
 * @returns {{ views: OverlaidView[], refused: number[] }}
 */
function laidOver(laidViews, lists, writes, model, report) {
  if (writes.length === 0) return { views: lists.map(({ state }) => unchanged(state, 0)), refused: [] };
  try {
    const [transactions, times] = [writes.map(({ tx }) => tx.mutations), writes.map(({ now }) => now)];
    return laid(laidViews, transactions, model(), times);
  } catch (error) {
    report(error);
    return { views: lists.map(({ state }) => unchanged(state, 1)), refused: [] };
  }
}
