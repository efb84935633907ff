/**
 * States of outlines as a program sees them.
 * @module
 */

import { ListState, Shape, shapeOf } from './shown.js';

/** @typedef {import('./outline-request.js').OutlineRequest} OutlineRequest */

/** The rows of outlines with these names. */
export class OutlineShape extends Shape {
  /** @param {import('./requests.js').Names} names */
  constructor(names) {
    super(names);
    this.OutlineRow = class extends this.Row {
      // Declared, because an attribute may have one of these names too: `get` has its value.
      depth = 0;
      children = 0;
      isExpanded = false;

      get hasChildren() {
        return this.children > 0;
      }

      toJSON() {
        const { depth, children, isExpanded } = this;
        return { ...super.toJSON(), depth, children, isExpanded };
      }
    };
    Object.defineProperty(this.OutlineRow.prototype, 'hasChildren', { enumerable: true });
    Object.freeze(this.OutlineRow.prototype);
  }

  /** @param {{ id: number, values: any[] }} arrived */
  make({ id, values }) {
    const [children, depth] = values.slice(-2);
    const row = new this.OutlineRow(id, Object.freeze(values.slice(0, -2)));
    row.depth = depth;
    row.isExpanded = children >= 0;
    row.children = children >= 0 ? children : -1 - children;
    return row;
  }
}

/** The state of an outline. It never changes. */
export class OutlineState extends ListState {
  /** How many rows are before the first of `rows`. */
  get start() {
    return this.position?.start.row ?? 0;
  }

  /** The object above the outline. */
  get under() {
    return this.request.source.object;
  }

  /** The index in `rows` of an object; -1 if it is not shown. @param {any} object its id, or a row */
  indexOf(object) {
    const id = typeof object === 'object' ? object?.id : object;
    return this.rows.findIndex((row) => row.id === id);
  }

  /** The index of the parent of a row; -1 for a row of depth 0, or if it is before the window. @param {number} index */
  parentIndex(index) {
    const { rows } = this;
    const depth = rows[index]?.depth ?? 0;
    let at = index - 1;
    while (at >= 0 && rows[at].depth >= depth) at -= 1;
    return depth > 0 ? at : -1;
  }

  /** The index after the last row below a row, as far as the window shows them. @param {number} index */
  subtreeEnd(index) {
    const { rows } = this;
    let at = index + 1;
    while (at < rows.length && rows[at].depth > rows[index].depth) at += 1;
    return at;
  }
}

/** @type {Map<string, any>} */
const shapes = new Map();

/** @param {any} arrived a state of wire/results.js @param {OutlineRequest} request */
export const shownOutline = (arrived, request) =>
  new OutlineState(arrived, shapeOf(request.namesOf(arrived.projection.slice(0, -2)), OutlineShape, shapes), request);

/** @param {OutlineRequest} request */
export const emptyOutline = (request) =>
  new OutlineState({ revision: 0, sections: [], position: null }, new OutlineShape([]), request);

/**
 * Adjacent rows that leave, come or move together, such as a sub-tree: what an animation shows as one block. No row is
 * in two runs. First come those that leave, by their old place; then those that move and that come, by their new one.
 * @param {any} diff
 * @returns {{ kind: 'removed' | 'moved' | 'inserted', from: number | null, to: number | null, count: number }[]}
 */
export function runsOf({ deletedRows, moves, insertedRows }) {
  const runs = (/** @type {any} */ kind, /** @type {[number | null, number | null][]} */ rows) => {
    /** @type {any[]} */
    const all = [];
    for (const [from, to] of rows) {
      const last = all.at(-1);
      const isNext = last && (from === null || from === last.from + last.count)
        && (to === null || to === last.to + last.count);
      if (isNext) last.count += 1;
      else all.push({ kind, from, to, count: 1 });
    }
    return all;
  };
  const row = (/** @type {any} */ { at }) => at[1];
  const ascending = (/** @type {number} */ a, /** @type {number} */ b) => a - b;
  return [
    ...runs('removed', deletedRows.map(row).sort(ascending).map((/** @type {number} */ at) => [at, null])),
    ...runs('moved', moves.map((/** @type {any} */ { from, to }) => [from[1], to[1]])
      .sort((/** @type {any} */ a, /** @type {any} */ b) => a[1] - b[1])),
    ...runs('inserted', insertedRows.map(row).sort(ascending).map((/** @type {number} */ at) => [null, at])),
  ];
}
