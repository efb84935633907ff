/**
 * The server's rows of an outline as a tree, as far as the window shows it.
 * @module
 */

import { Reference } from '../wire/values.js';
import { ListSketch } from './list-sketch.js';
import { OUTLINE_CHILDREN, OUTLINE_DEPTH } from './overlay-view.js';

/** @typedef {import('./memory.js').RememberedRow} RememberedRow */
/** @typedef {import('./memory.js').RememberedNode} RememberedNode */
/** @typedef {import('./shown-rows.js').StateRow} StateRow */
/**
 * @typedef {object} OutlineNode
 * @property {StateRow} row
 * @property {number} owner the object whose child it is
 * @property {number} depth
 * @property {number} childCount the number of children that the predicate admits
 * @property {boolean} isExpanded
 * @property {number} end the index after the last row below it
 * @property {boolean} isWhole whether the window has all rows below it
 */

/** What was read of states. @type {WeakMap<object, Map<number, OutlineNode> | null>} */
const read = new WeakMap();

export class ShownOutline {
  /**
   * Returns null for rows that lack what the tree needs: parents, depths and numbers of children.
   * @param {any} state
   * @param {import('./overlay-view.js').ViewShape} shape of an outline
   * @param {ReadonlyMap<number, RememberedRow>} [remembered]
   */
  static of(state, shape, remembered = new Map()) {
    const { outline: { expansion } } = shape.request;
    const above = shape.toOne === undefined ? undefined : shape.slots.get(shape.toOne);
    if (expansion === 'asBefore' || above === undefined || !shape.source || state.sections.length !== 1) return null;
    if (expansion.attribute !== undefined && !shape.slots.has(expansion.attribute)) return null;
    let nodes = read.get(state);
    if (nodes === undefined) read.set(state, nodes = nodesOf(state.sections[0].rows, shape, above));
    return nodes && new ShownOutline(nodes, shape, remembered);
  }

  /**
   * @param {Map<number, OutlineNode>} nodes
   * @param {import('./overlay-view.js').ViewShape} shape
   * @param {ReadonlyMap<number, RememberedRow>} remembered
   */
  constructor(nodes, { startsAtFirst, endsAtLast, source }, remembered) {

    /** By object, in the order of the rows. */
    this.nodes = nodes;
    this.startsAtFirst = startsAtFirst;
    this.endsAtLast = endsAtLast;
    /**
     * The objects whose children the window shows, though they are no rows of it, and the depth of these: the nearest
     * to the first row first. The last one is the object of the source.
     * @type {{ owner: number, depth: number }[]}
     */
    this.spine = [];
    let least = Infinity;
    if (!startsAtFirst) {
      for (const { owner, depth } of nodes.values()) {
        if (depth >= least) continue;
        least = depth;
        this.spine.push({ owner, depth });
      }
    }
    if (least > 0) this.spine.push({ owner: /** @type {any} */ (source).object, depth: 0 });
    /** What is remembered of objects that are no rows any more, with what was below them. */
    this.remembered = remembered;
    if (remembered.size > 0) {
      const above = new Set(this.spine.map(({ owner }) => owner));
      // The rows show the children of these.
      this.remembered = new Map([...remembered].filter(([id]) => !above.has(id)));
    }
  }

  /**
   * What is remembered of an object that is no row.
   * @param {number} id
   * @returns {(RememberedRow & { node: RememberedNode }) | undefined}
   */
  memory(id) {
    const memory = this.nodes.has(id) ? undefined : this.remembered.get(id);
    return memory?.node && /** @type {any} */ (memory);
  }

  /** The children that are remembered of a row that is folded now. @param {number} id */
  rememberedChildren(id) {
    const node = this.nodes.get(id);
    return node && !node.isExpanded && node.childCount > 0 ? this.remembered.get(id)?.node?.children : undefined;
  }

  /**
   * The lists of the objects whose children the window shows, or would show, by their owners.
   * @param {boolean} isFiltered whether objects have children that are not shown
   * @returns {Map<number, ListSketch>}
   */
  sketches(isFiltered) {
    /** @type {Map<number, number[]>} */
    const children = new Map();
    let least = Infinity;
    for (const { row, owner, depth } of this.nodes.values()) {
      least = Math.min(least, depth);
      const list = children.get(owner);
      if (list) list.push(row.id);
      else children.set(owner, [row.id]);
    }
    /** @type {Map<number, ListSketch>} */
    const all = new Map();
    const add = (/** @type {number} */ owner, /** @type {boolean} */ starts, /** @type {boolean} */ ends) => {
      all.set(owner, new ListSketch(children.get(owner) ?? [], starts, ends, starts && ends && !isFiltered));
    };
    for (const { owner, depth } of this.spine) {
      add(owner, this.startsAtFirst && depth === 0, this.endsAtLast || least < depth);
    }
    for (const { row: { id }, childCount, isExpanded, end } of this.nodes.values()) {
      if (!isExpanded && childCount > 0) continue;
      const hasAll = (children.get(id)?.length ?? 0) === childCount;
      add(id, true, this.endsAtLast || end < this.nodes.size || hasAll);
    }
    for (const id of this.remembered.keys()) {
      const node = this.memory(id)?.node;
      const known = node?.isExpanded || node?.childCount === 0 ? node.children : this.rememberedChildren(id);
      // Those that are rows have another place now.
      const entries = known?.filter((child) => !this.nodes.has(child));
      if (entries) all.set(id, new ListSketch(entries, true, true, false));
    }
    return all;
  }
}

/**
 * @param {readonly StateRow[]} rows
 * @param {import('./overlay-view.js').ViewShape} shape
 * @param {number} above the slot of the rows' parents
 */
function nodesOf(rows, { slots, endsAtLast }, above) {
  const depthSlot = slots.get(OUTLINE_DEPTH);
  const childrenSlot = slots.get(OUTLINE_CHILDREN);
  if (depthSlot === undefined || childrenSlot === undefined) return null;
  /** @type {Map<number, OutlineNode>} */
  const nodes = new Map();
  /**
   * The last node of each depth, and how many children of it are shown.
   * @type {{ node: OutlineNode, shown: number }[]}
   */
  const open = [];
  const close = (/** @type {number} */ depth, /** @type {number} */ end) => {
    while (open.length > 0 && /** @type {any} */ (open.at(-1)).node.depth >= depth) {
      /** @type {any} */ (open.pop()).node.end = end;
    }
  };
  for (const row of rows) {
    const owner = row.values[above];
    const [depth, count] = [row.values[depthSlot], row.values[childrenSlot]];
    if (!(owner instanceof Reference) || !Number.isSafeInteger(depth) || !Number.isSafeInteger(count)) return null;
    close(depth, nodes.size);
    const parent = open.at(-1);
    if (parent) parent.shown += 1;
    const isExpanded = count >= 0;
    const childCount = isExpanded ? count : -1 - count;
    const node = { row, owner: owner.id, depth, childCount, isExpanded, end: 0, isWhole: true };
    open.push({ node, shown: 0 });
    nodes.set(row.id, node);
  }
  // What is still open reaches the window's end.
  let isWhole = true;
  for (const { node, shown } of open.reverse()) {
    node.end = nodes.size;
    isWhole = isWhole && (!node.isExpanded || shown === node.childCount);
    node.isWhole = endsAtLast || isWhole;
  }
  return nodes;
}
