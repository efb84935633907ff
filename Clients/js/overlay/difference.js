/**
 * The difference between two states of a list, in the form of a DIFF (protocol.md, section 11).
 * @module
 */

import { comparable, isEqual } from '../rules/values.js';

/** @typedef {{ id: number, values: readonly any[] }} StateRow */
/** @typedef {{ key: any, hash: any, rows: readonly StateRow[] }} StateSection */
/** @typedef {{ projection: readonly number[], sections: readonly StateSection[], position: any }} State */
/** @typedef {[section: number, row: number]} At */

/**
 * Returns what `applyDiff` of wire/results.js makes the new state of, from the old one; without revisions and digest.
 * The states have the same projection, and no object twice. As few rows as possible move. O(n + k log k) for n rows, of
 * which k are between the first and the last change of their sections.
 * @param {State} old
 * @param {State} next
 * @param {(id: number) => string} [reasonOf] why a row has left: `deleted`, `unmatched` or `outOfWindow`
 */
export function difference(old, next, reasonOf = () => 'unmatched') {
  const kept = keptSections(old.sections, next.sections);
  const before = new Before(old.sections);
  /** The part of each new section that may have other rows. @type {[from: number, end: number][]} */
  const ranges = next.sections.map(({ rows }) => [0, rows.length]);
  const keptOld = new Set(kept.values());
  old.sections.forEach(({ rows }, index) => {
    if (!keptOld.has(index)) before.note(index, 0, rows.length);
  });
  for (const [index, from] of kept) {
    const [rows, olds] = [next.sections[index].rows, old.sections[from].rows];
    const [first, last] = sameEnds(olds, rows);
    ranges[index] = [first, rows.length - last];
    before.note(from, first, olds.length - last);
  }

  /** @type {{ from: At, to: At }[]} */
  const moves = [];
  /** @type {{ at: At, id: number, values: readonly any[] }[]} */
  const insertedRows = [];
  /** @type {{ at: At, values: { property: number, value: any }[] }[]} */
  const updates = [];
  /** @param {number} index @param {number} at @param {StateRow} was @param {StateRow} row */
  const compare = (index, at, was, row) => {
    if (was === row) return;
    const values = changedValues(was, row, next.projection);
    if (values.length > 0) updates.push({ at: [index, at], values });
  };
  next.sections.forEach(({ rows }, index) => {
    const from = kept.get(index);
    const olds = from === undefined ? [] : old.sections[from].rows;
    if (rows === olds) return;
    const [first, end] = ranges[index];
    const shift = olds.length - rows.length;
    for (let at = 0; at < first; at += 1) compare(index, at, olds[at], rows[at]);
    const places = rows.slice(first, end).map(({ id }) => before.take(id));
    const staying = before.staying(places, from);
    places.forEach((place, offset) => {
      const at = first + offset;
      const row = rows[at];
      if (place < 0) insertedRows.push({ at: [index, at], id: row.id, values: row.values });
      else {
        if (staying[offset] === 0) moves.push({ from: before.at(place), to: [index, at] });
        compare(index, at, before.row(place), row);
      }
    });
    for (let at = end; at < rows.length; at += 1) compare(index, at, olds[at + shift], rows[at]);
  });
  return {
    total: next.sections.reduce((sum, { rows }) => sum + rows.length, 0),
    deletedRows: before.left().map((place) => {
      const { id } = before.row(place);
      return { at: before.at(place), id, reason: reasonOf(id) };
    }),
    deletedSections: old.sections.map((_, index) => index).filter((index) => !keptOld.has(index)),
    insertedSections: next.sections.map(({ key, hash }, at) => ({ at, key, hash })).filter(({ at }) => !kept.has(at)),
    moves, insertedRows, updates,
    position: next.position,
  };
}

/** The rows of the old state that may have left or moved. A place is the number of a row in the whole state. */
class Before {
  /** @param {readonly StateSection[]} sections */
  constructor(sections) {
    this.sections = sections;
    let count = 0;
    /** The place of the first row of each section. @type {number[]} */
    this.starts = sections.map(({ rows }) => (count += rows.length) - rows.length);
    /** @type {Map<number, number>} */
    this.places = new Map();
    /** Which places are in the new state, too. */
    this.isTaken = new Uint8Array(count);
  }

  /** @param {number} section @param {number} from @param {number} end */
  note(section, from, end) {
    const { rows } = this.sections[section];
    for (let at = from; at < end; at += 1) this.places.set(rows[at].id, this.starts[section] + at);
  }

  /** @param {number} id @returns {number} its place; -1 if it is none of these rows */
  take(id) {
    const place = this.places.get(id) ?? -1;
    if (place >= 0) this.isTaken[place] = 1;
    return place;
  }

  /** @returns {number[]} the places of the rows that the new state does not have, ascending */
  left() {
    return [...this.places.values()].filter((place) => this.isTaken[place] === 0).sort((a, b) => a - b);
  }

  /** @param {number} place @returns {At} */
  at(place) {
    let section = this.starts.length - 1;
    // An empty section starts where the next one does.
    while (this.starts[section] > place || this.sections[section].rows.length === 0) section -= 1;
    return [section, place - this.starts[section]];
  }

  /** @param {number} place */
  row(place) {
    const [section, at] = this.at(place);
    return this.sections[section].rows[at];
  }

  /**
   * Which rows stay where they are in their section, while others come, leave and move around them.
   * @param {readonly number[]} places of the rows of a new section
   * @param {number | undefined} section the old index
   * @returns {Uint8Array} 1 for those that stay
   */
  staying(places, section) {
    const staying = new Uint8Array(places.length);
    if (section === undefined) return staying;
    const first = this.starts[section];
    const end = first + this.sections[section].rows.length;
    /** @type {number[]} */
    const candidates = [];
    places.forEach((place, index) => {
      if (place >= first && place < end) candidates.push(index);
    });
    for (const at of longestIncreasing(candidates.map((index) => places[index]))) staying[candidates[at]] = 1;
    return staying;
  }
}

/** @param {ReturnType<typeof difference>} of @returns {boolean} whether rows, values and sections are the same */
export const isNothing = ({ deletedRows, deletedSections, insertedSections, moves, insertedRows, updates }) =>
  [deletedRows, deletedSections, insertedSections, moves, insertedRows, updates].every(({ length }) => length === 0);

/** @param {any} key of a section */
function textOf(key) {
  const { kind, by } = comparable(key);
  return `${kind} ${by}`;
}

/**
 * The sections that stay, by their new indexes: those with the same key, if their order is the same.
 * @param {readonly StateSection[]} old
 * @param {readonly StateSection[]} next
 * @returns {Map<number, number>} old indexes by new ones
 */
function keptSections(old, next) {
  if (old.length === 1 && next.length === 1 && old[0].key === next[0].key) return new Map([[0, 0]]);
  const indexes = new Map(old.map(({ key }, index) => [textOf(key), index]));
  const pairs = next.flatMap(({ key }, index) => {
    const from = indexes.get(textOf(key));
    return from === undefined ? [] : [[index, from]];
  });
  const staying = longestIncreasing(pairs.map(([, from]) => from));
  return new Map(staying.map((at) => /** @type {[number, number]} */ (pairs[at])));
}

/**
 * How many rows at the beginning and at the end are of the same objects.
 * @param {readonly StateRow[]} olds
 * @param {readonly StateRow[]} rows
 * @returns {[first: number, last: number]}
 */
function sameEnds(olds, rows) {
  const count = Math.min(olds.length, rows.length);
  if (olds === rows) return [count, 0];
  let first = 0;
  while (first < count && olds[first].id === rows[first].id) first += 1;
  let last = 0;
  while (last < count - first && olds[olds.length - 1 - last].id === rows[rows.length - 1 - last].id) last += 1;
  return [first, last];
}

/**
 * @param {StateRow} old
 * @param {StateRow} row
 * @param {readonly number[]} projection
 */
function changedValues(old, row, projection) {
  return projection.flatMap((property, slot) => {
    const [before, value] = [old.values[slot], row.values[slot]];
    return before === value || isEqual(comparable(before), comparable(value)) ? [] : [{ property, value }];
  });
}

/**
 * The indexes of a longest strictly increasing subsequence. O(n log n) (Fredman, 1975), as in
 * LongestIncreasingSubsequence.swift, which chooses the same among several.
 * @param {readonly number[]} values
 * @returns {number[]}
 */
export function longestIncreasing(values) {
  // For each length, the index of the least value that ends such a subsequence.
  /** @type {number[]} */
  const ends = [];
  const previous = new Array(values.length).fill(-1);
  values.forEach((value, index) => {
    let high = ends.length;
    // Most rows come in their old order.
    let low = high > 0 && values[ends[high - 1]] < value ? high : 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ends[middle]] < value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous[index] = ends[low - 1];
    ends[low] = index;
  });
  const found = [];
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index]) found.push(index);
  return found.reverse();
}
