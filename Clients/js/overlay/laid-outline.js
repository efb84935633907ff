/**
 * An outline while transactions are laid over it: walks down the lists of the shown objects, as the server does, and
 * says which rows that gives. If that depends on rows beyond the window, the rows stay as the server has them.
 * @module
 */

import { Reference } from '../wire/values.js';
import { unchanged } from './laid-view.js';
import { memoryOf, placeIn } from './memory.js';
import { OUTLINE_CHILDREN, OUTLINE_DEPTH } from './overlay-view.js';
import { RowValues } from './row-values.js';

/** @typedef {import('./shown-outline.js').OutlineNode} OutlineNode */
/** @typedef {import('./memory.js').RememberedRow} RememberedRow */
/** @typedef {import('./shown-rows.js').StateRow} StateRow */

export class LaidOutline {
  /** The changes of the numbers of admitted children. @type {Map<number, number>} */
  #childChanges = new Map();
  /** @type {StateRow[]} */
  #rows = [];
  /** The depth of the last row of which some rows below are beyond the window's end: nothing is known behind them. */
  #openDepth = -1;
  #isBroken = false;
  /** The number of rows that the transactions put beyond the window: before it and behind it. */
  #countBefore = 0;
  #countAfter = 0;
  /** The number of rows that are remembered and that the server's total counts. */
  #countedRows = 0;
  /** The objects with rows beyond the window's end that are still there. @type {Set<number>} */
  #openRows = new Set();

  /**
   * @param {number} view
   * @param {import('./overlay-view.js').ViewShape} shape of an outline
   * @param {import('./known-paths.js').KnownPaths} paths
   */
  constructor(view, shape, paths) {
    const { known } = paths;
    this.view = view;
    this.shape = shape;
    this.paths = paths;
    this.known = known;
    this.base = known.shown.views[view].state;
    this.tree = known.shown.outlines[view];
    this.values = new RowValues(shape, this.base.projection, paths);
    this.expansion = shape.request.outline.expansion;
    const { exceptions, states } = shape.request.outline;
    /** The states that were set in an outline by an attribute. @type {Map<number, boolean>} */
    this.states = states instanceof Map ? states : new Map(states);
    /** @type {Set<number>} */
    this.exceptions = exceptions instanceof Set ? exceptions : new Set(exceptions);
    this.result = unchanged(this.base, known.opaqueSteps + shape.doubts(paths));
  }

  /** @returns {import('./laid-view.js').OverlaidView} */
  finish() {
    const { known, result, tree, shape: { source } } = this;
    if (!tree || !source) {
      if (known.changes.size > 0) result.doubts += 1;
      return result;
    }
    if (known.isGone(source.object)) {
      this.#publish([], (position) => begun({ ...position, total: 0 }, 0));
      return result;
    }
    if (known.doubtfulOutlines.has(this.view)) result.doubts += 1;
    this.#countChildren(tree.nodes);
    for (const { owner, depth } of tree.spine) this.#walk(owner, depth);
    // With a row all go that are below it, also those beyond the window's end.
    for (const { row, isWhole } of tree.nodes.values()) {
      if (isWhole || this.#openRows.has(row.id)) continue;
      result.doubts += 1;
      break;
    }
    if (this.#isBroken) {
      result.doubts += 1;
      this.#publish(this.#oldRows(tree.nodes), (position) => position);
    } else {
      const change = this.#rows.length + this.#countBefore + this.#countAfter - tree.nodes.size - this.#countedRows;
      this.#publish(this.#rows, (position) => this.#moved(position, change));
    }
    return result;
  }

  /** @param {any} position @param {number} change of the number of rows */
  #moved(position, change) {
    if (change === 0 && this.#countBefore === 0) return position;
    return begun({ ...position, total: position.total + change }, position.start.row + this.#countBefore);
  }

  // MARK: Which objects are children of which

  /**
   * Whether an object is a row if its parent is unfolded.
   * @param {number} id
   * @returns {boolean | undefined} undefined if that is not known
   */
  #isAdmitted(id) {
    const { known, shape } = this;
    if (known.isGone(id)) return false;
    const wasRow = this.tree?.nodes.has(id) ?? false;
    if (!wasRow) {
      const entity = known.entity(id);
      if (!entity) return undefined;
      if (!known.schema.isKind(entity.number, shape.entity.number)) return false;
    }
    const isTrue = shape.predicate.isTrue(id, this.paths, wasRow, this.tree?.memory(id)?.truths);
    return isTrue && known.changes.get(id)?.mayBeGone ? undefined : isTrue;
  }

  /**
   * Finds out whose number of children has changed, and counts the objects of which that is not known.
   * @param {Map<number, OutlineNode>} nodes
   */
  #countChildren(nodes) {
    const { known, result, shape: { toOne } } = this;
    if (toOne === undefined) return;
    const spine = new Set(this.tree?.spine.map(({ owner }) => owner));
    for (const [id, change] of known.changes) {
      const old = nodes.get(id) ?? this.tree?.memory(id)?.node;
      if (!old && !known.isFresh(id)) {
        // It may be below a folded row, or beyond the window.
        if (this.#mayConcern(id, change, toOne)) result.doubts += 1;
        continue;
      }
      const isAdmitted = this.#isAdmitted(id);
      const above = known.value(toOne, id);
      if (isAdmitted === undefined || (isAdmitted && above === undefined)) {
        result.undecided.add(id);
        result.doubts += 1;
        continue;
      }
      const owner = isAdmitted && above instanceof Reference ? above.id : undefined;
      if (owner === old?.owner) continue;
      if (old?.owner !== undefined) this.#count(old.owner, -1);
      if (owner === undefined) continue;
      this.#count(owner, 1);
      if (!nodes.has(owner) && !known.isFresh(owner) && !spine.has(owner)) result.doubts += 1;
    }
  }

  /** @param {number} owner @param {number} change */
  #count(owner, change) {
    this.#childChanges.set(owner, (this.#childChanges.get(owner) ?? 0) + change);
  }

  /**
   * Whether a change of an object that is no row may change the outline.
   * @param {number} id
   * @param {import('./known-objects.js').Change} change
   * @param {number} toOne
   */
  #mayConcern(id, change, toOne) {
    const { known, shape, expansion } = this;
    const entity = known.entity(id);
    if (entity && !known.schema.areRelated(entity.number, shape.entity.number)) return false;
    if (change.isGone || change.mayBeGone || change.values.has(toOne)) return true;
    if (expansion.attribute !== undefined && change.values.has(expansion.attribute)) return true;
    return shape.predicate.comparisons.some((comparison) => this.paths.isComparisonAffected(comparison, id));
  }

  /**
   * Whether a row is unfolded.
   * @param {number} id
   * @returns {boolean | undefined} undefined if that is not known
   */
  #isExpanded(id) {
    const memory = this.tree?.memory(id);
    const node = this.tree?.nodes.get(id) ?? (memory && { ...memory.node, values: memory.values });
    const { expansion: { attribute }, known } = this;
    const isException = () => this.exceptions.has(id);
    // A row without children has nothing to hide: the state that it is to have shows at once.
    if (attribute === undefined) {
      return node && node.childCount > 0 ? node.isExpanded : (this.expansion === 'all') !== isException();
    }
    if (!node) {
      const state = this.states.get(id);
      if (state !== undefined) return state;
      const value = known.value(attribute, id);
      return value === undefined ? undefined : (value === true) !== isException();
    }
    const was = 'values' in node ? node.values.get(attribute)
      : node.row.values[/** @type {number} */ (this.shape.slots.get(attribute))];
    const values = known.changes.get(id)?.values;
    if (!values?.has(attribute)) return node.isExpanded;
    const value = values.get(attribute);
    if (value === undefined) return undefined;
    return (value === true) === (was === true) ? node.isExpanded : !node.isExpanded;
  }

  // MARK: Walking down

  /**
   * Adds the rows below an object. A stack, because an outline may be deeper than the engine's.
   * @param {number} owner
   * @param {number} depth
   */
  #walk(owner, depth) {
    const stack = [{ entries: this.#entries(owner, depth), at: 0, depth }];
    for (;;) {
      const last = stack.at(-1);
      if (!last) return;
      if (last.at === last.entries.length) {
        stack.pop();
        continue;
      }
      const id = last.entries[last.at];
      last.at += 1;
      if (!this.#add(id, last.depth)) continue;
      const below = last.depth + 1;
      stack.push({ entries: this.#entries(id, below), at: 0, depth: below });
    }
  }

  /**
   * The children of an object in their order; counts those that are beyond the window.
   * @param {number} owner
   * @param {number} depth
   * @returns {readonly number[]}
   */
  #entries(owner, depth) {
    const sketch = this.known.lists.get(this.view, owner);
    if (!sketch) return [];
    if (sketch.uncertain.size > 0) {
      for (const id of sketch.uncertain) this.result.undecided.add(id);
      this.result.doubts += 1;
    }
    for (const id of sketch.before) {
      if (this.tree?.nodes.get(id)?.isWhole === false) this.result.doubts += 1;
      this.#countBefore += this.#countRows(id, depth);
    }
    for (const id of sketch.after) this.#countAfter += this.#countRows(id, depth);
    return sketch.entries;
  }

  /** The number of rows that an object and all below it have. @param {number} id @param {number} depth */
  #countRows(id, depth) {
    const kept = [this.#rows, this.#countBefore, this.#countAfter, this.#openDepth, this.#isBroken];
    const pending = new Set(this.result.pending);
    this.#rows = [];
    [this.#countBefore, this.#countAfter] = [0, 0];
    if (this.#add(id, depth)) this.#walk(id, depth + 1);
    const count = this.#rows.length + this.#countBefore + this.#countAfter;
    [this.#rows, this.#countBefore, this.#countAfter, this.#openDepth, this.#isBroken] = /** @type {any} */ (kept);
    this.result.pending = pending;
    return count;
  }

  /**
   * Adds the row of an object.
   * @param {number} id
   * @param {number} depth
   * @returns {boolean} whether rows below it follow
   */
  #add(id, depth) {
    const { result } = this;
    const node = this.tree?.nodes.get(id);
    const memory = this.tree?.memory(id);
    const old = node ?? memory?.node;
    const isAdmitted = this.#isAdmitted(id);
    if (isAdmitted === false) return false;
    if (!node && !(isAdmitted && (memory || this.known.isFresh(id)))) {
      // It comes from elsewhere: it is not known how many rows are below it.
      result.undecided.add(id);
      result.doubts += 1;
      return false;
    }
    const expanded = this.#isExpanded(id);
    let isExpanded = expanded ?? old?.isExpanded ?? false;
    if (old && isExpanded && !old.isExpanded && old.childCount > 0) {
      // The rows below it are not known, or only those that it had.
      isExpanded = this.tree?.rememberedChildren(id) !== undefined;
      result.doubts += 1;
    }
    if (memory) {
      result.undecided.add(id);
      if (memory.root === id) result.doubts += 1;
    }
    if (expanded === undefined) result.doubts += 1;
    if (node && !node.isWhole && node.isExpanded && !isExpanded) result.doubts += 1;
    const row = this.#row(id, depth, isExpanded);
    if (!row) {
      result.undecided.add(id);
      result.doubts += 1;
      return false;
    }
    if (depth <= this.#openDepth) this.#isBroken = true;
    if (memory && this.#isCounted(memory.root)) this.#countedRows += 1;
    if (node && !node.isWhole) {
      this.#openRows.add(id);
      if (isExpanded) this.#openDepth = depth;
    }
    this.#rows.push(row);
    return isExpanded;
  }

  /**
   * Whether the server's total counts rows that are remembered: they are beyond the window.
   * @param {number} root
   */
  #isCounted(root) {
    const owner = this.tree?.memory(root)?.node.owner;
    if (owner === undefined) return false;
    return this.tree?.nodes.get(owner)?.isExpanded ?? this.tree?.spine.some((one) => one.owner === owner) ?? false;
  }

  /**
   * @param {number} id
   * @param {number} depth
   * @param {boolean} isExpanded
   * @returns {StateRow | undefined}
   */
  #row(id, depth, isExpanded) {
    const node = this.tree?.nodes.get(id);
    const memory = this.tree?.memory(id);
    const isChanged = this.known.changes.has(id);
    if (isChanged) this.result.pending.add(id);
    let row = node?.row ?? this.values.newRow(id, memory);
    if (!row) return undefined;
    if (node && (isChanged || this.values.mayChangeOthers)) {
      const { row: made, isKnown } = this.values.overlaid(row);
      row = made;
      if (!isKnown) this.result.undecided.add(id);
    }
    const count = ((node ?? memory?.node)?.childCount ?? 0) + (this.#childChanges.get(id) ?? 0);
    row = withValue(row, this.shape.slots.get(OUTLINE_DEPTH), depth);
    return withValue(row, this.shape.slots.get(OUTLINE_CHILDREN), isExpanded ? count : -1 - count);
  }

  /** The server's rows at their places, without those that are deleted. @param {Map<number, OutlineNode>} nodes */
  #oldRows(nodes) {
    this.result.pending = new Set();
    const rows = [];
    for (const [id, { row }] of nodes) {
      if (this.known.isGone(id)) continue;
      if (this.known.changes.has(id)) this.result.pending.add(id);
      rows.push(this.values.overlaid(row).row);
    }
    return rows;
  }

  // MARK: What is remembered

  /**
   * What to remember of objects that are no rows any more, or are folded, with the rows below them, instead of `finish`:
   * of those that the transactions took out or folded.
   * @param {readonly number[]} ids ascending
   * @param {(id: number) => boolean} isHidden whether an object is no row now
   * @param {(state: any) => Map<number, boolean>} foldedRows
   * @returns {Map<number, RememberedRow>}
   */
  remembered(ids, isHidden, foldedRows) {
    const { state, undecided } = this.finish();
    const all = new Map();
    const { tree } = this;
    if (!tree) return all;
    const isFolded = foldedRows(state);
    for (const root of ids) {
      const isExplained = isHidden(root) ? !isFolded.has(root) : isFolded.get(root) === true;
      const isKnown = tree.memory(root) !== undefined || tree.rememberedChildren(root) !== undefined;
      if (!isExplained || (!isKnown && undecided.has(root))) continue;
      const stack = [root];
      for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
        const memory = all.has(id) ? undefined : this.#remembered(id, root);
        if (!memory) continue;
        all.set(id, memory);
        for (const child of memory.node?.children ?? []) if (!isFolded.has(child) && isHidden(child)) stack.push(child);
      }
    }
    return all;
  }

  /** @param {number} id @param {number} root @returns {RememberedRow | undefined} undefined for what was no row */
  #remembered(id, root) {
    const { known, view, tree, shape: { toOne } } = this;
    const old = tree?.nodes.get(id) ?? tree?.memory(id)?.node;
    if (toOne === undefined || !(old || known.isFresh(id))) return undefined;
    const above = known.value(toOne, id);
    const owner = above instanceof Reference ? above.id : undefined;
    const count = old?.childCount ?? 0;
    const place = owner === undefined ? undefined : placeIn(known, id, view, owner);
    const node = {
      owner: this.#isAdmitted(id) === false ? undefined : owner,
      childCount: count + (this.#childChanges.get(id) ?? 0),
      isExpanded: (this.#isExpanded(id) ?? false) && ((old?.isExpanded ?? true) || count === 0),
      children: [...known.lists.get(view, id)?.entries ?? []],
    };
    return memoryOf(id, root, view, this.paths, place ?? known.shown.views[view].remembered?.get(id)?.place, node);
  }

  /** @param {readonly StateRow[]} rows @param {(position: any) => any} move */
  #publish(rows, move) {
    const [section] = this.base.sections;
    const isSame = rows.length === section.rows.length && rows.every((row, at) => row === section.rows[at]);
    const position = this.base.position && move(this.base.position);
    if (isSame && position === this.base.position) return;
    const sections = isSame ? this.base.sections : [{ ...section, rows }];
    this.result.state = { ...this.base, sections, position };
  }
}

/** The window of a result without sections begins at a row. @param {any} position @param {number} row */
const begun = (position, row) => ({ ...position, start: { ...position.start, row, rowInSection: row } });

/** @param {StateRow} row @param {number | undefined} slot @param {number} value @returns {StateRow} */
function withValue(row, slot, value) {
  if (slot === undefined || row.values[slot] === value) return row;
  const values = [...row.values];
  values[slot] = value;
  return { id: row.id, values };
}
