/**
 * What was last known of objects that own writes, which the server has confirmed, took out of views, while later
 * pending writes still change them: these may put them back. Without it such a row would vanish when the first of the
 * two is confirmed, and return with the second.
 *
 * The values are those of the last state that had the row, with the confirmed writes. Others may have changed them
 * since, or deleted the object: so it is undecided wherever it is shown.
 *
 * It begins when the row goes because of an own write. It ends when the view has the row again, when no pending write
 * changes the object any more, or when a confirmed write should have brought it back and has not. An object that others
 * take out of a view is not remembered.
 * @module
 */

import { KnownPaths } from './known-paths.js';
import { LaidOutline } from './laid-outline.js';
import { LaidView } from './laid-view.js';
import { OUTLINE_CHILDREN } from './overlay-view.js';
import { executed } from './overlay.js';
import { schemaOf } from './schema.js';
import { ShownRows } from './shown-rows.js';

/** @typedef {import('./overlay-view.js').OverlayView} OverlayView */
/** @typedef {import('./memory.js').RememberedRow} RememberedRow */
/** @typedef {{ tx: { mutations: readonly any[] }, now: any }} Laid */

/** @type {ReadonlyMap<number, any>} */
export const NOTHING = new Map();

/**
 * What is remembered of each view, by object, when its state is another one.
 * @param {readonly OverlayView[]} old the views before, which show the same revision
 * @param {readonly OverlayView[]} next the same views now
 * @param {readonly Laid[]} confirmed the writes that the server has done between the two, in its order
 * @param {readonly Laid[]} pending those that are laid over the new states
 * @param {() => any} model
 * @returns {ReadonlyMap<number, RememberedRow>[]}
 */
export function remembered(old, next, confirmed, pending, model) {
  const nothing = next.map(() => NOTHING);
  if (confirmed.length === 0 && old.every((view) => !view.remembered?.size)) return nothing;
  const changed = new Set(pending.flatMap(({ tx }) => tx.mutations.flatMap(changedObjects)));
  if (changed.size === 0) return nothing;
  const rows = next.map(({ state }) => foldedRows(state));
  const isMissing = (/** @type {number} */ id, /** @type {number} */ view) => rows[view].get(id) ?? true;
  if (confirmed.length === 0) {
    return old.map((view, at) => new Map([...view.remembered ?? NOTHING].filter(([id, { root }]) =>
      changed.has(root) && isMissing(root, at) && (id === root || !rows[at].has(id)))));
  }
  const shown = new ShownRows(old, schemaOf(model()));
  const made = new Set(confirmed.flatMap(({ tx }) => tx.mutations.flatMap((one) => one.insertAs?.object ?? [])));
  const isKnown = (/** @type {number} */ id) => made.has(id) || shown.contains(id) || shown.memory(id) !== undefined;
  if (![...changed].some((id) => isKnown(id) && rows.some((_, view) => isMissing(id, view)))) return nothing;
  const { known } = executed(shown, confirmed.map(({ tx }) => tx.mutations), confirmed.map(({ now }) => now));
  const paths = new KnownPaths(known);
  return next.map((_, view) => {
    const shape = shown.shapes[view];
    if (!shape) return NOTHING;
    const missing = [...changed].filter((id) => isMissing(id, view)).sort((a, b) => a - b);
    if (!shape.isOutline) return new LaidView(view, shape, paths).remembered(missing);
    const laid = new LaidOutline(view, shape, paths);
    return laid.remembered(missing, (id) => !rows[view].has(id), foldedRows);
  });
}

/** The rows, and whether they are folded rows of an outline with objects below. @param {any} state */
function foldedRows({ projection, sections }) {
  const slot = projection.indexOf(OUTLINE_CHILDREN);
  /** @type {Map<number, boolean>} */
  const all = new Map();
  for (const { rows } of sections) for (const { id, values } of rows) all.set(id, slot >= 0 && values[slot] < -1);
  return all;
}

/** The objects that a step may make rows of views, or change as such. @param {any} mutation @returns {number[]} */
function changedObjects({ update, move, relate, unrelate, setRelated }) {
  const pair = relate ?? unrelate;
  const all = pair ? [pair.owner, pair.object]
    : setRelated ? [setRelated.owner, ...setRelated.objects] : [(update ?? move)?.object];
  return all.filter((id) => id > 0);
}
