/**
 * One view while transactions are laid over it: decides which objects are rows, and places them.
 * @module
 */

import { firstColumn } from '../wire/model.js';
import { memoryOf, placeIn } from './memory.js';
import { isSameSection, WHOLE } from './order.js';
import { isOwnPath, ownProperty } from './own.js';
import { isSamePlace } from './row-terms.js';
import { RowValues } from './row-values.js';

/** @typedef {import('./memory.js').RememberedRow} RememberedRow */
/** @typedef {import('./shown-rows.js').StateRow} StateRow */
/** @typedef {import('../rules/order.js').RowKey} RowKey */
/**
 * A row and its section, of which `key`, `hash` and `totals` count. `base`: the server's row, by whose values the rows
 * that stay are in order.
 * @typedef {{ row: StateRow, section: any, base?: StateRow }} Placed
 * @typedef {Placed & { key: RowKey }} Arrival
 */

/**
 * A view with pending transactions laid over it.
 * @typedef {object} OverlaidView
 * @property {any} state what is as in the state of the server is the same object
 * @property {Set<number>} pending the rows that a pending transaction changes
 * @property {Set<number>} undecided the objects of which it is not known what the transactions make of them in this
 *   view. Those that are rows of the server's state are shown as the server has them, with the values that are known;
 *   the others are not shown
 * @property {number} doubts the number of reasons for which any row may differ, such as a step on objects that no view
 *   shows
 */

/** @param {any} state @param {number} doubts @returns {OverlaidView} */
export const unchanged = (state, doubts) => ({ state, pending: new Set(), undecided: new Set(), doubts });

export class LaidView {
  /** The rows that stay, in the server's order, and those that come or move. @type {Placed[]} */
  #rows = [];
  /** @type {Arrival[]} */
  #arrivals = [];
  /** The changes of the number of rows: in all, and before the window. */
  #totalChange = 0;
  #countBefore = 0;

  /**
   * @param {number} index
   * @param {import('./overlay-view.js').ViewShape} shape
   * @param {import('./known-paths.js').KnownPaths} paths
   */
  constructor(index, shape, paths) {
    const { known, schema } = paths;
    this.index = index;
    this.shape = shape;
    this.paths = paths;
    this.known = known;
    this.schema = schema;
    this.base = known.shown.views[index].state;
    this.affected = new Set(known.changes.keys());
    const { source, sourceText, relationship } = shape;
    if (source && sourceText !== null && relationship) {
      for (const id of known.pairs.get(sourceText)?.keys() ?? []) this.affected.add(id);
      if (known.exact.has(sourceText) || known.isGone(source.object)) {
        for (const { rows } of this.base.sections) for (const { id } of rows) this.affected.add(id);
      }
      for (const exact of known.exact.values()) {
        if (exact.relationship === relationship.inverse) this.affected.add(exact.object);
      }
    }
    /** @type {readonly any[]} */
    this.columns = shape.request.columns ?? [];
    this.values = new RowValues(shape, this.base.projection, paths);
    this.result = unchanged(this.base, known.opaqueSteps + this.#shapeDoubts());
  }

  /** @returns {OverlaidView} */
  finish() {
    this.#decideRows();
    this.#decideOthers();
    const { shape } = this;
    let rows = this.#rows;
    if (shape.list) rows = this.#listed(rows);
    else if (!shape.terms) rows = this.#merged(rows, ({ id }) => ({ parts: [], id }), (a, b) => a.id - b.id);
    else if (this.#arrivals.length > 0) {
      const { order } = shape.terms;
      // Rows that should move stay if the others' keys are not known.
      rows = this.#rowsHaveKeys()
        ? this.#merged(rows, (row) => /** @type {RowKey} */ (this.#keyOfRow(row)), (a, b) => order.compare(a, b))
        : this.#inOldOrder(rows);
    }
    this.#publish(rows);
    return this.result;
  }

  /** The number of reasons for which any row may differ. */
  #shapeDoubts() {
    const { shape, paths } = this;
    let doubts = shape.doubts(paths);
    for (const { path } of shape.terms?.all ?? []) {
      if (!isOwnPath(path) && paths.isAffectedFrom(path, shape.entity)) doubts += 1;
    }
    return doubts;
  }

  // MARK: Which objects are rows

  #decideRows() {
    const isColumnAffected = this.values.mayChangeOthers;
    for (const section of this.base.sections) {
      for (const row of section.rows) {
        const isAffected = this.affected.has(row.id);
        if (!isAffected && !isColumnAffected) {
          this.#rows.push({ row, section, base: row });
          continue;
        }
        const verdict = isAffected ? this.#verdict(row.id, true) : true;
        if (verdict === false) this.#totalChange -= 1;
        else {
          if (verdict === undefined) this.result.undecided.add(row.id);
          this.#keep(row, section, verdict === true);
        }
      }
    }
  }

  /**
   * Keeps a row of the server's state, with what is known of its values and place.
   * @param {StateRow} row
   * @param {any} section
   * @param {boolean} isPlaced
   */
  #keep(row, section, isPlaced) {
    if (this.affected.has(row.id)) this.result.pending.add(row.id);
    const made = this.#overlaid(row);
    const isAffected = isPlaced && this.#isMoved(row.id);
    // Without all terms it stays where it was.
    if (!isAffected || this.#isPlaceChanged(row) === false) {
      this.#rows.push({ row: made, section, base: row });
      return;
    }
    const place = this.#placeOf(row.id);
    if (place) this.#arrivals.push({ row: made, ...place });
    else {
      this.result.undecided.add(row.id);
      this.#rows.push({ row: made, section, base: row });
    }
  }

  /** Whether the terms of a row have other values than before. @param {StateRow} row @returns {boolean | undefined} */
  #isPlaceChanged(row) {
    for (const term of this.shape.terms?.all ?? []) {
      const property = ownProperty(term.path);
      const slot = property === undefined ? undefined : this.shape.slots.get(property);
      const value = property === undefined || slot === undefined ? undefined : this.known.value(property, row.id);
      if (slot === undefined || value === undefined) {
        if (this.paths.isAffected(term.path, row.id)) return undefined;
        continue;
      }
      const isSame = isSamePlace(term, value, row.values[slot]);
      if (!isSame) return isSame === false ? true : undefined;
    }
    return false;
  }

  /** Decides the objects that are not rows of the server's state. */
  #decideOthers() {
    for (const id of [...this.affected].sort((a, b) => a - b)) {
      if (this.known.shown.isRow(id, this.index)) continue;
      let verdict = this.#verdict(id, false);
      const memory = this.#memory(id);
      if (verdict === undefined) {
        this.result.undecided.add(id);
        if (memory) verdict = this.#verdict(id, false, memory);
      }
      if (verdict) this.#arrive(id, memory);
    }
  }

  /** What is remembered of an object that is no row. @param {number} id */
  #memory(id) {
    return this.known.shown.views[this.index].remembered?.get(id);
  }

  /** @param {number} id @param {RememberedRow | undefined} memory */
  #arrive(id, memory) {
    const { terms } = this.shape;
    const { pending, undecided } = this.result;
    pending.add(id);
    let row = this.values.newRow(id);
    if (!row) {
      undecided.add(id);
      row = memory && this.values.newRow(id, memory);
      if (!row) return;
    }
    if (!terms) {
      if (memory?.place) undecided.add(id);
      this.#arrivals.push({ row, section: this.#onlySection, key: { parts: [], id } });
      return;
    }
    const place = this.#rowsHaveKeys() ? this.#placeOf(id) : undefined;
    if (place) {
      this.#arrivals.push({ row, ...place });
      return;
    }
    undecided.add(id);
    if (memory?.place && !this.#isMoved(id)) this.#putBack(row, memory.place);
  }

  /** Whether the transactions may have changed a term of an object. @param {number} id */
  #isMoved(id) {
    return this.shape.terms?.all.some(({ path }) => this.paths.isAffected(path, id)) ?? false;
  }

  /**
   * Puts a row, of which not all terms are known, beside those that it was beside.
   * @param {StateRow} row
   * @param {import('./memory.js').RememberedPlace} place
   */
  #putBack(row, { left, right, section }) {
    if (!section) return;
    const indexOf = (/** @type {number | undefined} */ id) => this.#rows.findIndex((one) => one.row.id === id);
    const after = indexOf(left);
    const index = after >= 0 ? after + 1 : indexOf(right);
    if (index < 0 && this.#rows.length > 0) return;
    if (this.#wasOutside(row.id)) this.#totalChange += 1;
    this.#rows.splice(Math.max(index, 0), 0, { row, section, base: row });
  }

  /**
   * What to remember of objects that are no rows any more, instead of `finish`: of those that the transactions took
   * out.
   * @param {readonly number[]} ids
   * @returns {Map<number, RememberedRow>}
   */
  remembered(ids) {
    const { state, undecided } = this.finish();
    const shown = new Set(state.sections.flatMap((/** @type {any} */ { rows }) =>
      rows.map((/** @type {StateRow} */ { id }) => id)));
    const all = new Map();
    for (const id of ids) {
      const before = this.#memory(id);
      if (shown.has(id) || (!before && undecided.has(id))) continue;
      const memory = memoryOf(id, id, this.index, this.paths, this.#oldPlace(id) ?? before?.place, undefined);
      if (memory) all.set(id, memory);
    }
    return all;
  }

  /** The place of a row that the transactions did not move. @param {number} id */
  #oldPlace(id) {
    const { list, terms } = this.shape;
    if (list) return placeIn(this.known, id, this.index, list.object);
    if (!terms || this.#isMoved(id)) return undefined;
    for (const section of this.base.sections) {
      const index = section.rows.findIndex((/** @type {StateRow} */ one) => one.id === id);
      if (index < 0) continue;
      return { left: section.rows[index - 1]?.id, right: section.rows[index + 1]?.id, section: { ...section, rows: [] } };
    }
    return undefined;
  }

  /**
   * Whether an object is a row.
   * @param {number} id
   * @param {boolean} wasIn
   * @param {RememberedRow} [memory] decides what is not known otherwise
   * @returns {boolean | undefined} undefined if that is not known
   */
  #verdict(id, wasIn, memory) {
    const { known, shape } = this;
    if (known.isGone(id)) return false;
    const change = known.changes.get(id);
    /** @type {(boolean | undefined)[]} */
    const conditions = [];
    if (!wasIn) {
      const entity = known.entity(id);
      conditions.push(entity && this.schema.isKind(entity.number, shape.entity.number));
    }
    if (shape.source) {
      const isAsBefore = wasIn && shape.toOne !== undefined && !change?.values.has(shape.toOne);
      conditions.push(isAsBefore
        || ((shape.relationship ? known.isMember(id, shape.source, shape.relationship) : undefined) ?? memory?.isMember));
    }
    conditions.push(shape.predicate.isTrue(id, this.paths, wasIn, memory?.truths));
    if (conditions.includes(false)) return false;
    return conditions.includes(undefined) || change?.mayBeGone ? undefined : true;
  }

  // MARK: Values

  /** A row with the values that the transactions gave it. @param {StateRow} row @returns {StateRow} */
  #overlaid(row) {
    const { row: made, isKnown } = this.values.overlaid(row);
    if (!isKnown) this.result.undecided.add(row.id);
    return made;
  }

  // MARK: Order

  get #onlySection() {
    return this.base.sections[0] ?? WHOLE;
  }

  /** @param {number} id @returns {{ key: RowKey, section: any } | undefined} undefined if it is not known */
  #placeOf(id) {
    const { terms, request } = this.shape;
    if (!terms) return undefined;
    const values = terms.all.map(({ path }) => this.paths.value(path, id));
    const key = terms.key(values, id);
    if (!key) return undefined;
    if (!request.section) return { key, section: this.#onlySection };
    const section = terms.all.length > 0 ? terms.section(request.section.function, values[0] ?? null) : undefined;
    return section && { key, section };
  }

  /** @type {boolean | undefined} */
  #haveKeys;

  /** Whether the keys of the server's rows are known, so that others can be placed among them. */
  #rowsHaveKeys() {
    this.#haveKeys ??= this.shape.terms?.all.every(({ path }) => this.#slotOf(path) !== undefined)
      && this.base.sections.every((/** @type {any} */ { rows }) =>
        rows.every((/** @type {StateRow} */ row) => this.#keyOfRow(row) !== undefined));
    return this.#haveKeys ?? false;
  }

  /** Where the rows have the value of a path. @param {any} path @returns {number | undefined} */
  #slotOf(path) {
    const property = ownProperty(path);
    if (property !== undefined && this.shape.slots.has(property)) return this.shape.slots.get(property);
    if (property !== undefined) return undefined;
    const text = JSON.stringify(path);
    const column = this.columns.findIndex((one) => JSON.stringify(one) === text);
    return column < 0 ? undefined : this.shape.slots.get(firstColumn + column);
  }

  /** @type {(number | undefined)[] | undefined} */
  #termSlots;
  /** @param {StateRow} row @returns {RowKey | undefined} */
  #keyOfRow(row) {
    const { terms } = this.shape;
    if (!terms) return undefined;
    let key = terms.keys.get(row);
    if (key === undefined) {
      this.#termSlots ??= terms.all.map(({ path }) => this.#slotOf(path));
      const values = this.#termSlots.map((slot) => (slot === undefined ? null : row.values[slot]));
      key = terms.key(values, row.id) ?? null;
      terms.keys.set(row, key);
    }
    return key ?? undefined;
  }

  /**
   * Merges the arrivals with the rows that stay. One that comes to lie beyond an end of the window, where others may
   * be, is not shown.
   * @param {Placed[]} rows
   * @param {(row: StateRow) => RowKey} keyOf
   * @param {(a: RowKey, b: RowKey) => number} compare
   */
  #merged(rows, keyOf, compare) {
    if (this.#arrivals.length === 0) return rows;
    const { shape } = this;
    /** @type {Placed[]} */
    const merged = [];
    let next = 0;
    for (const { row, section, key } of [...this.#arrivals].sort((a, b) => compare(a.key, b.key))) {
      for (; next < rows.length; next += 1) {
        if (compare(keyOf(rows[next].base ?? rows[next].row), key) >= 0) break;
        merged.push(rows[next]);
      }
      const isBeforeAll = next === 0 && !shape.startsAtFirst;
      const isAfterAll = next === rows.length && !shape.endsAtLast;
      const isNew = !this.known.shown.isRow(row.id, this.index);
      const counts = isNew && this.#wasOutside(row.id);
      if (counts) this.#totalChange += 1;
      if (isBeforeAll || isAfterAll) {
        this.result.pending.delete(row.id);
        // A row that moves before the window is one more before it, too.
        if (isBeforeAll && !isAfterAll && (counts || !isNew)) this.#countBefore += 1;
      } else merged.push({ row, section });
    }
    for (; next < rows.length; next += 1) merged.push(rows[next]);
    return merged;
  }

  /**
   * Whether an object that no row shows was certainly not in the result. A window may not show it.
   * @param {number} id
   */
  #wasOutside(id) {
    return (this.shape.startsAtFirst && this.shape.endsAtLast) || this.known.isFresh(id);
  }

  /** Puts the rows in the order of the list. @param {Placed[]} rows @returns {Placed[]} */
  #listed(rows) {
    const { list } = this.shape;
    const sketch = list ? this.known.lists.get(this.index, list.object) : undefined;
    if (!sketch) return rows;
    const { pending, undecided } = this.result;
    const shown = new Map(rows.map((placed) => [placed.row.id, placed]));
    const entries = new Set(sketch.entries);
    for (const { row, section } of this.#arrivals) {
      const { id } = row;
      const isBefore = sketch.before.has(id);
      const counts = this.#wasOutside(id);
      if (counts && (isBefore || sketch.after.has(id) || (entries.has(id) && !sketch.uncertain.has(id)))) {
        this.#totalChange += 1;
      }
      if (isBefore || sketch.after.has(id)) {
        pending.delete(id);
        if (isBefore && counts) this.#countBefore += 1;
      } else if (entries.has(id) && !sketch.uncertain.has(id)) {
        shown.set(id, { row, section });
      } else undecided.add(id);
    }
    /** @type {Placed[]} */
    const ordered = [];
    for (const id of sketch.entries) {
      const placed = shown.get(id);
      if (!placed) continue;
      shown.delete(id);
      if (sketch.uncertain.has(id)) undecided.add(id);
      ordered.push(placed);
    }
    // Rows that were moved beyond the window's ends; others that the list does not mention stay last.
    for (const placed of rows) {
      const { id } = placed.row;
      if (!shown.has(id)) continue;
      const isBefore = sketch.before.has(id);
      if (isBefore || sketch.after.has(id)) {
        if (isBefore) this.#countBefore += 1;
        pending.delete(id);
      } else {
        undecided.add(id);
        ordered.push(placed);
      }
    }
    return ordered;
  }

  /** The rows of the server's state in its order. @param {Placed[]} rows @returns {Placed[]} */
  #inOldOrder(rows) {
    const kept = new Map(rows.map((placed) => [placed.row.id, placed]));
    for (const arrival of this.#arrivals) {
      this.result.undecided.add(arrival.row.id);
      kept.set(arrival.row.id, arrival);
    }
    return this.base.sections.flatMap((/** @type {any} */ section) =>
      section.rows.flatMap((/** @type {StateRow} */ { id }) => {
        const placed = kept.get(id);
        return placed ? [{ row: placed.row, section }] : [];
      }));
  }

  /** @param {Placed[]} rows */
  #publish(rows) {
    const { base, shape, result } = this;
    /** @type {any[]} */
    let sections = [];
    /** @type {any} the section of the row before */
    let last;
    for (const { row, section } of rows) {
      if (section !== last && !(last && isSameSection(section, last))) {
        sections.push({ ...this.#known(section), rows: [] });
      }
      last = section;
      sections.at(-1).rows.push(row);
    }
    if (!shape.request.section && sections.length === 0) sections = [{ ...this.#onlySection, rows: [] }];
    // What is as before is the same object.
    const kept = sections.map((section, index) => {
      const old = base.sections[index];
      const isKept = old?.hash === section.hash && old.rows.length === section.rows.length
        && section.rows.every((/** @type {StateRow} */ row, /** @type {number} */ at) => row === old.rows[at]);
      return isKept ? old : section;
    });
    const isSame = kept.length === base.sections.length
      && kept.every((section, index) => section === base.sections[index]);
    sections = isSame ? base.sections : kept;
    let { position } = base;
    if (position && (this.#totalChange !== 0 || this.#countBefore !== 0)) {
      const start = { ...position.start, row: position.start.row + this.#countBefore };
      if (!shape.request.section && this.#countBefore !== 0) start.rowInSection = start.row;
      position = { ...position, total: position.total + this.#totalChange, start };
    }
    if (!isSame || position !== base.position) result.state = { ...base, sections, position };
  }

  /** A section with the totals that the server's state has for it. @param {any} section */
  #known(section) {
    const known = this.base.sections.find((/** @type {any} */ one) => one === section || isSameSection(one, section));
    if (known) return known;
    const { totals } = this.base;
    return totals ? { ...section, totals: nothingOf(totals) } : section;
  }
}

/** Totals that are not known. @param {Record<string, any>} totals */
const nothingOf = (totals) =>
  Object.freeze(Object.keys(totals).reduce((all, name) => Object.assign(all, { [name]: null }), Object.create(null)));
