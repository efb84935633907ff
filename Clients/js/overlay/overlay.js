/**
 * Lays pending transactions over the server's states of some views. A pure function: the same views and transactions
 * give the same rows, whatever was shown before.
 *
 * 1. The rows of all views say what is known of the objects.
 * 2. The transactions run on that, in their order (`KnownObjects`).
 * 3. For each view and each object that they change it is decided whether it is a row: yes, no, or not known.
 * 4. Rows that are in, and that changed their place, are placed by the order of the view.
 *
 * What is not known stays as the server has it. So the overlay may show too little, but nothing that is false. O(n + k
 * log k) for n rows of the views and k changed objects; a step in a list costs O(its rows), deletes and changes of
 * one-to-one relationships O(n) each.
 * `Sources/NestOverlay` is the same in Swift.
 * @module
 */

import { KnownObjects } from './known-objects.js';
import { KnownPaths } from './known-paths.js';
import { run } from './known-steps.js';
import { LaidOutline } from './laid-outline.js';
import { LaidView, unchanged } from './laid-view.js';
import { Refusal } from './refusal.js';
import { schemaOf } from './schema.js';
import { ShownRows } from './shown-rows.js';

/** @typedef {import('./laid-view.js').OverlaidView} OverlaidView */
/** @typedef {import('../wire/values.js').NestDate} Time */

/**
 * Returns the views with the transactions laid over them, in the order of `views`.
 * @param {readonly import('./overlay-view.js').OverlayView[]} views of the same revision
 * @param {readonly (readonly any[])[]} transactions the mutations of each, as a transaction sends them
 * @param {any} model
 * @param {Time | readonly Time[]} now the time that new objects get: of all transactions, or of each. Of each, so that
 *   what is shown of one does not change while others come
 * @returns {{ views: OverlaidView[], refused: number[] }} `refused`: the indexes of the transactions that the server
 *   must refuse, by what is known. They change nothing
 */
export function laid(views, transactions, model, now) {
  if (transactions.length === 0) return { views: views.map(({ state }) => unchanged(state, 0)), refused: [] };
  const shown = new ShownRows(views, schemaOf(model));
  const { known, refused } = executed(shown, transactions, now);
  const paths = new KnownPaths(known);
  const all = shown.shapes.map((shape, index) =>
    (shape ? laidOver(index, shape, paths) : unchanged(views[index].state, 1)));
  return { views: all, refused };
}

/** @param {number} index @param {any} shape @param {KnownPaths} paths */
const laidOver = (index, shape, paths) =>
  (shape.isOutline ? new LaidOutline(index, shape, paths) : new LaidView(index, shape, paths)).finish();

/** @param {ShownRows} shown @param {readonly (readonly any[])[]} transactions @param {any} now */
export function executed(shown, transactions, now) {
  /** @type {Set<number>} */
  const refused = new Set();
  for (;;) {
    const known = new KnownObjects(shown);
    const isRun = transactions.every((mutations, index) => {
      if (refused.has(index)) return true;
      known.now = Array.isArray(now) ? now[index] : now;
      return isAccepted(known, mutations, refused, index);
    });
    if (isRun) return { known, refused: [...refused].sort((a, b) => a - b) };
  }
}

/**
 * A refused transaction leaves what is known half changed: the others begin anew without it.
 * @param {KnownObjects} known
 * @param {readonly any[]} mutations
 * @param {Set<number>} refused
 * @param {number} index
 */
function isAccepted(known, mutations, refused, index) {
  try {
    run(known, mutations);
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refused.add(index);
    return false;
  }
}
