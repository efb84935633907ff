// States of results, and how snapshots and diffs change them. A state is never changed: a new one shares with it the
// rows and sections that are the same.
import { NestError } from './errors.js';
import { malformed } from './bytes.js';
import { Digest } from './hash.js';

/** Why a diff does not apply: the client must drop the state and subscribe again. */
export class DiffMismatch extends NestError {
  constructor(reason, message) {
    super('PROTOCOL', message);
    /** 'revision', 'coordinates', 'property', 'total' or 'digest' */
    this.reason = reason;
  }
}

/** The digest of a state's sections, as 16 hexadecimal digits. O(n). */
export function digest(sections) {
  const sum = new Digest();
  for (const { hash, rows } of sections) for (let i = 0; i < rows.length; i++) sum.add(hash, rows[i].id);
  return sum.toString();
}

/** Puts the frames of a snapshot together. */
export class SnapshotAssembler {
  /** @param head the fields of SNAPSHOT @param projection of the view or request */
  constructor(head, projection) {
    this.head = head;
    this.projection = projection;
    this.sections = [];
    this.counts = [];
    this.next = 0;
    this.rowsLeft = head.position.total - head.position.start.row;
    this.hasRows = false;
    this.addSections(head.sections);
  }

  addSections(sections) {
    if (this.hasRows) throw malformed('a late section');
    if (this.sections.length + sections.length > this.head.sectionCount) throw malformed('there are too many sections');
    for (const { key, hash, rowCount } of sections) {
      this.rowsLeft -= rowCount;
      if (this.rowsLeft < 0) throw malformed('there are too many rows');
      this.sections.push({ key, hash, rows: [] });
      this.counts.push(rowCount);
    }
  }

  addRows(rows) {
    this.hasRows ||= rows.length > 0;
    let from = 0;
    while (from < rows.length) {
      const section = this.sections[this.next];
      if (!section) throw malformed('there are too many rows');
      const missing = this.counts[this.next] - section.rows.length;
      if (missing === 0) {
        this.next++;
        continue;
      }
      if (section.rows.length === 0 && from === 0 && rows.length <= missing) section.rows = rows;
      else for (let i = from; i < rows.length && i < from + missing; i++) section.rows.push(rows[i]);
      from += missing;
    }
  }

  /**
   * The state, when the last frame has come.
   * @param checks whether to compare the digest, in O(n)
   * @throws NestError MALFORMED if rows or sections are missing; DiffMismatch if the digest differs
   */
  finish(checks = true) {
    const { head, sections } = this;
    if (sections.length !== head.sectionCount || sections.some(({ rows }, i) => rows.length !== this.counts[i])) {
      throw malformed('a snapshot is not complete');
    }
    if (checks) checkDigest(sections, head.digest);
    return { revision: head.revision, projection: this.projection, sections, position: head.position };
  }
}

function checkDigest(sections, expected) {
  if (digest(sections) !== expected) throw new DiffMismatch('digest', `the digest of the rows is not ${expected}`);
}

const compare = (a, b) => a[0] - b[0] || a[1] - b[1];
const wrong = (what, [section, row] = []) =>
  new DiffMismatch('coordinates', row === undefined ? what : `${what} at ${section}, ${row}`);

/**
 * The state after a diff (protocol.md, section 11). `checks`: whether to compare the digest, in O(n). Everything is
 * checked first; throws DiffMismatch.
 */
export function applyDiff(state, diff, checks = true) {
  const { from, to } = diff;
  if (from > state.revision || !(state.revision < to || from === to && to === state.revision)) {
    throw new DiffMismatch('revision', `a diff from ${from} to ${to} does not fit revision ${state.revision}`);
  }
  const slots = new Map(state.projection.map((property, slot) => [property, slot]));
  const old = state.sections;

  // What leaves, in old coordinates.
  const leaving = [
    ...diff.deletedRows.map(({ at, id }) => ({ at, id, moved: null })),
    ...diff.moves.map((move) => ({ at: move.from, id: null, moved: move })),
  ].sort((a, b) => compare(a.at, b.at));
  const held = new Map();
  const counts = old.map(({ rows }) => rows.length);
  leaving.forEach(({ at, id, moved }, i) => {
    const row = old[at[0]]?.rows[at[1]];
    if (!row) throw wrong('no row', at);
    if (i > 0 && compare(leaving[i - 1].at, at) === 0) throw wrong('a row leaves twice', at);
    if (moved) held.set(moved, row);
    else if (row.id !== id) throw wrong(`the row is not ${id}`, at);
    counts[at[0]]--;
  });
  let previous = counts.length;
  for (const index of [...diff.deletedSections].reverse()) {
    if (index >= previous) throw wrong(`no section ${index} to delete`);
    if (counts[index] !== 0) throw wrong(`rows in section ${index}`);
    previous = index;
  }

  // The sections of the new state, still with the old rows, and what leaves each.
  const leavers = groupBySection(leaving);
  let parts = old.map((section, i) => ({ section, gone: leavers.get(i), come: undefined, count: counts[i] }));
  const dead = new Set(diff.deletedSections);
  if (dead.size > 0) parts = parts.filter((_, i) => !dead.has(i));
  if (diff.insertedSections.length > 0) parts = withSections(parts, diff.insertedSections);

  // What arrives, in new coordinates.
  const arriving = [
    ...diff.insertedRows.map(({ at, id, values }) => ({ at, row: { id, values } })),
    ...diff.moves.map((move) => ({ at: move.to, row: held.get(move) })),
  ].sort((a, b) => compare(a.at, b.at));
  arriving.forEach(({ at, row }, i) => {
    const part = parts[at[0]];
    const isTwice = i > 0 && compare(arriving[i - 1].at, at) === 0;
    if (!(at[1] <= part?.count) || isTwice) throw wrong('no place', at);
    if (row.values.length !== state.projection.length) throw wrong('other values', at);
    part.count++;
  });
  for (const [index, come] of groupBySection(arriving)) parts[index].come = come;
  for (const { at, values } of diff.updates) {
    if (!(at[1] < parts[at[0]]?.count)) throw wrong('no row', at);
    for (const { property } of values) {
      if (!slots.has(property)) throw new DiffMismatch('property', `the view has no property ${property}`);
    }
  }
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  if (total !== diff.total) throw new DiffMismatch('total', `${total} rows instead of ${diff.total}`);

  const sections = parts.map(({ section, gone, come }) => (
    gone || come ? { ...section, rows: replaced(section.rows, gone ?? [], come ?? []) } : section));
  const changed = new Set();
  for (const { at: [index, place], values } of diff.updates) {
    if (!changed.has(index) && sections[index].rows === parts[index].section.rows) {
      sections[index] = { ...sections[index], rows: sections[index].rows.slice() };
    }
    changed.add(index);
    const rows = sections[index].rows;
    const row = { id: rows[place].id, values: rows[place].values.slice() };
    for (const { property, value } of values) row.values[slots.get(property)] = value;
    rows[place] = row;
  }
  if (checks) checkDigest(sections, diff.digest);
  // A diff that answers RESUBSCRIBE may end the window.
  const position = diff.position || from === to ? diff.position : state.position;
  return { ...state, revision: to, sections, position };
}

function groupBySection(items) {
  const groups = new Map();
  for (const item of items) {
    const group = groups.get(item.at[0]);
    if (group) group.push(item);
    else groups.set(item.at[0], [item]);
  }
  return groups;
}

function withSections(parts, inserted) {
  const all = [];
  let next = 0;
  let previous = -1;
  for (const { at, key, hash } of inserted) {
    if (at <= previous) throw wrong('sections out of order');
    while (all.length < at && next < parts.length) all.push(parts[next++]);
    if (all.length !== at) throw wrong(`no place for section ${at}`);
    all.push({ section: { key, hash, rows: [] }, gone: undefined, come: undefined, count: 0 });
    previous = at;
  }
  while (next < parts.length) all.push(parts[next++]);
  return all;
}

// The rows without those that go (old coordinates), and with those that come (new ones); both ascending.
function replaced(rows, gone, come) {
  const kept = withoutRows(rows, gone);
  if (come.length === 0) return kept;
  const all = [];
  let next = 0;
  for (const { at, row } of come) {
    while (all.length < at[1]) all.push(kept[next++]);
    all.push(row);
  }
  while (next < kept.length) all.push(kept[next++]);
  return all;
}

function withoutRows(rows, gone) {
  if (gone.length === 0) return rows;
  const kept = [];
  let next = 0;
  for (const { at } of gone) {
    while (next < at[1]) kept.push(rows[next++]);
    next = at[1] + 1;
  }
  while (next < rows.length) kept.push(rows[next++]);
  return kept;
}
