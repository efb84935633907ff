// Checks every publish of a list that shows own writes against the laws of optimistic writes.

import assert from 'node:assert/strict';
import { Row } from '../../client/shown.js';
import { applyDiff } from '../../wire/results.js';
import { shown } from '../rules/same.js';

/** The rows of a state as text, with their sections. */
export const textOf = (sections) => shown(sections.flatMap(({ key, rows }) =>
  rows.map((row) => [plain(key), row.id, [...row.values].map(plain), ...(row instanceof Row ? fold(row) : [])])));

/** What only rows of outlines have. */
const fold = ({ depth, children, isExpanded }) => (typeof isExpanded === 'boolean' ? [depth, children, isExpanded] : []);

/** -0 is 0 in the store, and a list may be of any class. */
const plain = (value) => {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value === 0 ? 0 : value;
  return { ...value };
};

export class Watcher {
  /** @param results of `local.results` */
  constructor(nest, local, results, faults) {
    Object.assign(this, { nest, local, results, faults });
    this.list = null;
    this.laid = null;
    this.revision = 0;
    this.rowEvents = 0;
    this.counts = {};
    const receive = results.receive.bind(results);
    results.receive = (event) => {
      this.guarded(() => this.check(event));
      receive(event);
    };
  }

  guarded(body) {
    try {
      body();
    } catch (error) {
      this.faults.push(error);
    }
  }

  /** The list inside of the library. */
  get inner() {
    this.list ??= this.nest.run((m) => [...m.followers].map(({ to }) => to).find((to) => to?.results === this.results));
    return this.list;
  }

  check({ change, state, revision }) {
    this.counts[change.type] = (this.counts[change.type] ?? 0) + 1;
    if (!state) return;
    const rows = state.sections.flatMap((section) => section.rows);
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'a row is shown twice');
    assert.ok(state.sections.length > 0 || rows.length === 0);
    assert.ok(revision >= this.revision, `revision ${revision} after ${this.revision}`);
    this.revision = revision;
    const before = this.laid;
    this.laid = state;
    if (change.type === 'diff') {
      this.rowEvents += 1;
      const { diff } = change;
      const applied = applyDiff({ ...before, revision: 0 }, { ...diff, from: 0, to: 1 }, false);
      assert.equal(textOf(applied.sections), textOf(state.sections), 'a diff leads to another state');
      assert.equal(rows.length, diff.total);
    } else if (change.type !== 'snapshot') {
      assert.equal(state.sections, before.sections, `${change.type} changes no rows`);
    } else this.rowEvents += 1;
    for (const write of this.local.pending) {
      const { tx, isShown } = write;
      const [only] = tx?.mutations ?? [];
      const isCommon = isShown && tx?.mutations.length === 1 && only.delete && only.delete.object > 1;
      if (isCommon && !this.inner?.isFrozen) {
        const isShown = rows.some(({ id }) => id === only.delete.object);
        assert.ok(!isShown, `a row under a pending delete: ${only.delete.object}`);
      }
    }
    const list = this.inner;
    if (list && !list.isFrozen && this.local.pending.length === 0) {
      assert.equal(textOf(state.sections), textOf(this.server.sections), 'nothing is pending, but it is shown');
      assert.equal(results(state), results(this.server));
    }
  }


  /** The server's state without the values that the program did not ask for. */
  get server() {
    const { state, asked: { wire, projection } } = this.inner;
    const slots = projection.map((one) => wire.projection.indexOf(one));
    const narrow = ({ id, values }) => ({ id, values: slots.map((slot) => values[slot]) });
    return { ...state, sections: state.sections.map((section) => ({ ...section, rows: section.rows.map(narrow) })) };
  }
}

const results = ({ position }) => (position ? `${position.total} ${position.start.row}` : 'whole');
