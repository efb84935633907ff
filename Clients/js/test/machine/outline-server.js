// A naive outline and the server of one, without I/O: every answer is recomputed from the whole tree, and differences
// are made by comparing ids. It is as slow as it is simple.
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';

export const PROJECTION = [1, 65534, 65535];

/** Objects with a title, whether they are done, and ordered children; 1 is the root. */
export class Tree {
  constructor() {
    this.objects = new Map([[1, { title: 'root', done: false, parent: null, children: [] }]]);
    this.next = 2;
  }

  at(id) {
    return this.objects.get(id);
  }

  insert(parent, index, title, done = false) {
    const id = this.next++;
    this.objects.set(id, { title, done, parent, children: [] });
    this.at(parent).children.splice(index, 0, id);
    return id;
  }

  delete(id) {
    const { parent, children } = this.at(id);
    for (const child of [...children]) this.delete(child);
    this.objects.delete(id);
    const siblings = this.at(parent)?.children;
    siblings?.splice(siblings.indexOf(id), 1);
  }

  /** False if it would be below itself. */
  move(id, parent, index) {
    for (let at = parent; at !== null; at = this.at(at).parent) if (at === id) return false;
    const siblings = this.at(this.at(id).parent).children;
    siblings.splice(siblings.indexOf(id), 1);
    this.at(parent).children.splice(index, 0, id);
    this.at(id).parent = parent;
    return true;
  }
}

/** Whether an object is unfolded, as the specification says it. */
export function isExpanded(tree, { expansion, exceptions }, id) {
  const usual = typeof expansion === 'object' ? tree.at(id).done : expansion === 'all';
  return usual !== exceptions.has(id);
}

/** All rows of an outline, by naive recursion. `hides`: whether an object is hidden by the predicate. */
export function rowsOf(tree, { root, folds, hides = () => false }) {
  const rows = [];
  const admitted = (id) => tree.at(id).children.filter((child) => !hides(child));
  const walk = (id, depth) => {
    for (const child of admitted(id)) {
      const open = isExpanded(tree, folds, child);
      const count = admitted(child).length;
      rows.push({ id: child, values: [tree.at(child).title, open ? count : -1 - count, depth] });
      if (open) walk(child, depth + 1);
    }
  };
  if (tree.objects.has(root)) walk(root, 0);
  return rows;
}

/** The rows that a window shows, and its position; null if its anchor is no row. `place`: where the anchor was. */
export function windowOf(rows, window, place = null) {
  let first = window.offset;
  let last = window.offset + window.limit;
  let anchor = null;
  if (window.anchor) {
    let index = rows.findIndex(({ id }) => id === window.anchor);
    if (index < 0 && place === null) return null;
    if (index < 0) index = Math.min(place, rows.length - 1);
    anchor = rows[index]?.id ?? null;
    first = Math.max(index - window.before, 0);
    last = index + window.after + 1;
  }
  const shown = rows.slice(first, last);
  const row = Math.min(first, rows.length);
  return {
    rows: shown,
    position: { total: rows.length, sectionTotal: 1, start: { row, section: 0, rowInSection: row }, anchor },
  };
}

export const digestOf = (rows) => digest([{ ...sectionKey(''), rows }]);

/** The difference between two windows: as few moves as possible. */
export function differenceOf(old, now) {
  const [before, after] = [old, now].map((rows) => new Map(rows.map(({ id }, index) => [id, index])));
  const kept = now.filter(({ id }) => before.has(id)).map(({ id }) => id);
  const stays = new Set(longest(kept.map((id) => before.get(id))).map((index) => old[index].id));
  const updates = [];
  for (const { id, values } of now) {
    if (!before.has(id)) continue;
    const changed = values.map((value, slot) => ({ property: PROJECTION[slot], value }))
      .filter((_, slot) => old[before.get(id)].values[slot] !== values[slot]);
    if (changed.length > 0) updates.push({ at: [0, after.get(id)], values: changed });
  }
  return {
    deletedRows: old.flatMap(({ id }, index) =>
      (after.has(id) ? [] : [{ at: [0, index], id, reason: 'unmatched' }])),
    moves: kept.filter((id) => !stays.has(id)).map((id) => ({ from: [0, before.get(id)], to: [0, after.get(id)] })),
    insertedRows: now.flatMap((row, index) => (before.has(row.id) ? [] : [{ at: [0, index], ...row }])),
    updates,
  };
}

/** Applies runs to the ids before: what an animation would show in the end. */
export function played(before, after, runs) {
  const all = new Array(after.length).fill(null);
  const isLeaving = new Set();
  for (const { kind, from, to, count } of runs) {
    for (let index = 0; index < count; index += 1) {
      if (from !== null) isLeaving.add(from + index);
      if (kind === 'moved') all[to + index] = before[from + index];
      if (kind === 'inserted') all[to + index] = after[to + index];
    }
  }
  const stays = before.filter((_, index) => !isLeaving.has(index));
  return all.map((id) => id ?? stays.shift());
}

/** A longest increasing part, in quadratic time. */
function longest(numbers) {
  const best = numbers.map(() => 1);
  const from = numbers.map(() => -1);
  let end = -1;
  for (let i = 0; i < numbers.length; i += 1) {
    for (let j = 0; j < i; j += 1) {
      if (numbers[j] < numbers[i] && best[j] + 1 > best[i]) [best[i], from[i]] = [best[j] + 1, j];
    }
    if (end < 0 || best[i] > best[end]) end = i;
  }
  const chosen = [];
  for (; end >= 0; end = from[end]) chosen.unshift(numbers[end]);
  return chosen;
}

/** A server of outlines for a `World` (server.js): it answers what the machine sends, and follows its tree. */
export class OutlineServer {
  constructor(world, tree) {
    this.world = world;
    this.tree = tree;
    this.revision = 1;
    this.view = null;
    this.nextView = 0x80000010;
    /** Answers that are withheld, until `answerAll`. */
    this.held = [];
    this.subscribes = 0;
  }

  /** The predicate of these tests: titles that end with its byte are hidden. */
  static hides(tree, predicate) {
    return predicate ? (id) => tree.at(id).title.endsWith(String(predicate[0] % 10)) : () => false;
  }

  /** Takes what was sent. */
  take() {
    this.held.push(...this.world.takeSent());
  }

  /** Answers the oldest message that waits; false: there is none. */
  answer() {
    this.take();
    const message = this.held.shift();
    if (!message) return false;
    const { name, id, fields } = message;
    if (name === 'subscribe') this.subscribe(id, fields);
    else if (name === 'resubscribe') this.resubscribe(id, fields);
    else if (name === 'setExpanded') this.setExpanded(id, fields);
    else if (name === 'unsubscribe') {
      if (this.view?.id === fields.view) this.view = null;
      this.world.reply('done', {}, id);
    }
    return true;
  }

  answerAll() {
    while (this.answer());
  }

  lost() {
    this.held = [];
    this.world.takeSent();
    this.view = null;
  }

  viewOf(request, folds, resume) {
    const view = {
      root: request.source.object, folds, window: request.window, place: null,
      hides: OutlineServer.hides(this.tree, request.predicate),
    };
    if (!this.tree.objects.has(view.root)) return null;
    return this.look(view, resume) && view;
  }

  /** What a view shows now. The window follows its anchor, or the row in its place. */
  look(view, mayMiss) {
    const rows = rowsOf(this.tree, view);
    const place = view.place ?? (mayMiss ? 0 : null);
    const found = windowOf(rows, view.window, place);
    if (!found) return false;
    Object.assign(view, { rows: found.rows, position: found.position });
    const { anchor } = found.position;
    if (view.window.anchor) {
      view.place = Math.max(rows.findIndex(({ id }) => id === anchor), 0);
      view.window = { ...view.window, anchor: anchor ?? view.window.anchor };
    }
    return true;
  }

  static folds(outline) {
    return { expansion: outline.expansion, exceptions: new Set(outline.exceptions) };
  }

  subscribed(id, first) {
    this.view.id = this.nextView++;
    this.world.reply('subscribed', {
      view: this.view.id, first, revision: this.revision, reason: '', projection: PROJECTION,
    }, id);
  }

  subscribe(id, { request, resume }) {
    this.subscribes += 1;
    const view = this.viewOf(request, OutlineServer.folds(request.outline), resume !== null);
    if (!view) return this.world.error('NOT_FOUND', id);
    this.view = view;
    this.subscribed(id, 'snapshot');
    const { rows, position } = view;
    this.world.reply('snapshot', {
      reason: 'first', revision: this.revision, digest: digestOf(rows), sectionCount: 1, position,
      sections: [{ key: '', rowCount: rows.length }],
    }, view.id, rows.length > 0 ? 1 : 0);
    if (rows.length > 0) this.world.reply('snapshotRows', { rows }, view.id);
  }

  resubscribe(id, { view: old, request }) {
    if (this.view?.id !== old) return this.world.error('NOT_FOUND', id);
    const before = this.view;
    const folds = request.outline.expansion === 'asBefore' ? before.folds : OutlineServer.folds(request.outline);
    const view = this.viewOf(request, folds, false);
    if (!view) return this.world.error('NOT_FOUND', id);
    this.view = view;
    this.subscribed(id, 'difference');
    this.differ(before.rows, this.revision);
  }

  setExpanded(id, { view, states }) {
    if (this.view?.id !== view) return this.world.error('NOT_FOUND', id);
    const { folds } = this.view;
    for (const { object, isExpanded: state } of states) {
      if (!this.tree.objects.has(object)) continue;
      if (isExpanded(this.tree, folds, object) === state) continue;
      if (!folds.exceptions.delete(object)) folds.exceptions.add(object);
    }
    this.follow(true);
    this.world.reply('done', {}, id);
  }

  /** A transaction has changed the tree. */
  commit() {
    this.revision += 1;
    if (this.view) this.follow(false);
  }

  follow(isStep) {
    const { rows, position } = this.view;
    this.look(this.view, true);
    const isSame = JSON.stringify([rows, position.anchor]) === JSON.stringify([this.view.rows, this.view.position.anchor]);
    if (!isSame) this.differ(rows, isStep ? this.revision : this.revision - 1);
    else if (JSON.stringify(position) !== JSON.stringify(this.view.position)) {
      this.world.reply('totals', { revision: this.revision, position: this.view.position }, this.view.id);
    }
    if (!isStep) this.world.reply('progress', { revision: this.revision });
  }

  differ(before, from) {
    const { id, rows, position } = this.view;
    this.world.reply('diff', {
      from, to: this.revision, total: rows.length, digest: digestOf(rows), deletedSections: [], insertedSections: [],
      ...differenceOf(before, rows), position,
    }, id);
  }
}
