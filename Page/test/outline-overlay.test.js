// Steps over rows: what shows before the server has made a change is what shows afterwards.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, indexOf, laid, nextOf, parentOf, previousOf, topsOf } from '../outline/overlay.js';
import { numbers, seeds } from './seeds.js';

/** A naive tree: the children of each key, and the keys that are folded. */
class Model {
  children = new Map([[0, []]]);
  parents = new Map();
  folded = new Set();
  values = new Map();

  add(key, { parent, after = null, before = null, isFirst = false }) {
    const list = this.children.get(parent);
    const at = after !== null ? list.indexOf(after) + 1 : before !== null ? list.indexOf(before)
      : isFirst ? 0 : list.length;
    list.splice(at, 0, key);
    this.parents.set(key, parent);
    if (!this.children.has(key)) this.children.set(key, []);
  }

  take(key) {
    const list = this.children.get(this.parents.get(key));
    list.splice(list.indexOf(key), 1);
  }

  below(key) {
    return [key, ...this.children.get(key).flatMap((child) => this.below(child))];
  }

  rows(parent = 0, depth = 0) {
    return this.children.get(parent).flatMap((key) => {
      const isExpanded = !this.folded.has(key);
      const row = { key, depth, parent, children: this.children.get(key).length, isExpanded,
        title: this.values.get(key) ?? '' };
      return [row, ...(isExpanded ? this.rows(key, depth + 1) : [])];
    });
  }

  get state() {
    const rows = this.rows();
    return { rows, start: 0, total: rows.length, under: 0 };
  }
}

function randomModel(random) {
  const model = new Model();
  const keys = [];
  for (let key = 1; key <= 3 + random() * 12; key += 1) {
    const parent = random() < 0.4 ? 0 : keys[Math.floor(random() * keys.length)] ?? 0;
    model.add(key, { parent });
    keys.push(key);
  }
  for (const key of keys) if (random() < 0.2) model.folded.add(key);
  return model;
}

/** A place that shows: its parent is unfolded and in the rows. */
function randomPlace(random, model, hidden) {
  const shown = model.rows().filter(({ key, isExpanded }) => isExpanded && !hidden.has(key));
  const parent = [0, ...shown.map(({ key }) => key)][Math.floor(random() * (shown.length + 1))];
  const list = model.children.get(parent).filter((key) => !hidden.has(key));
  if (list.length === 0 || random() < 0.2) return { parent };
  const beside = list[Math.floor(random() * list.length)];
  return random() < 0.5 ? { parent, after: beside } : { parent, before: beside };
}

const steps = {
  insert(random, model) {
    const place = randomPlace(random, model, new Set());
    const step = { kind: 'insert', key: -1, place, values: { title: 'new' } };
    model.add(-1, place);
    model.values.set(-1, 'new');
    return step;
  },
  move(random, model, rows) {
    const { key } = rows[Math.floor(random() * rows.length)];
    const place = randomPlace(random, model, new Set(model.below(key)));
    model.take(key);
    model.add(key, place);
    return { kind: 'move', keys: [key], place };
  },
  remove(random, model, rows) {
    const { key } = rows[Math.floor(random() * rows.length)];
    model.take(key);
    return { kind: 'remove', keys: [key] };
  },
  fold(random, model, rows) {
    const { key } = rows[Math.floor(random() * rows.length)];
    model.folded.add(key);
    return { kind: 'fold', key, isExpanded: false };
  },
  set(random, model, rows) {
    const { key } = rows[Math.floor(random() * rows.length)];
    model.values.set(key, 'set');
    return { kind: 'set', key, values: { title: 'set' } };
  },
};

const plain = ({ rows, total }) => ({
  total, rows: rows.map(({ key, depth, parent, children, isExpanded, title }) => ({ key, depth, parent, children,
    isExpanded, title })),
});

test('a step over the rows before is the rows after, and over the rows after it changes nothing', () => {
  for (const seed of seeds(4_000)) {
    const random = numbers(seed);
    const model = randomModel(random);
    const before = model.state;
    const kinds = Object.keys(steps);
    const kind = kinds[Math.floor(random() * kinds.length)];
    const step = steps[kind](random, model, before.rows);
    const expected = plain(model.state);
    assert.deepEqual(plain(laid(before, [step])), expected, `seed ${seed}: ${JSON.stringify(step)}`);
    assert.deepEqual(plain(laid(model.state, [step])), expected, `seed ${seed}, again: ${JSON.stringify(step)}`);
  }
});

test('steps whose rows are not here change nothing', () => {
  const { state } = randomModel(numbers(1));
  const gone = [{ kind: 'move', keys: [99], place: { parent: 0 } }, { kind: 'remove', keys: [99] },
    { kind: 'set', key: 99, values: { title: 'x' } }, { kind: 'fold', key: 99, isExpanded: false },
    { kind: 'insert', key: -1, place: { parent: 98, after: 97 }, values: { title: 'x' } }];
  assert.deepEqual(plain(laid(state, gone)), plain(state));
});

test('several rows move together, in their order', () => {
  const model = new Model();
  for (const key of [1, 2, 3, 4]) model.add(key, { parent: 0 });
  const moved = laid(model.state, [{ kind: 'move', keys: [1, 2], place: { parent: 0, after: 3 } }]);
  assert.deepEqual(moved.rows.map(({ key }) => key), [3, 1, 2, 4]);
  const before = laid(model.state, [{ kind: 'move', keys: [3, 4], place: { parent: 0, before: 1 } }]);
  assert.deepEqual(before.rows.map(({ key }) => key), [3, 4, 1, 2]);
});

test('a window does not show a row at an end that it does not have', () => {
  const model = new Model();
  for (const key of [1, 2, 3, 4]) model.add(key, { parent: 0 });
  const window = { rows: model.rows().slice(1, 3), start: 1, total: 4, under: 0 };
  const last = laid(window, [{ kind: 'insert', key: -1, place: { parent: 0 }, values: {} }]);
  assert.equal(last.rows.length, 2);
});

test('neighbours, parents and ends agree with the naive tree', () => {
  for (const seed of seeds(500)) {
    const model = randomModel(numbers(seed));
    const rows = model.rows();
    for (const [index, row] of rows.entries()) {
      const siblings = model.children.get(row.parent);
      const at = siblings.indexOf(row.key);
      assert.equal(rows[parentOf(rows, index)]?.key ?? 0, row.parent, `seed ${seed}`);
      assert.equal(rows[previousOf(rows, index)]?.key, siblings[at - 1], `seed ${seed}`);
      assert.equal(rows[nextOf(rows, index)]?.key, siblings[at + 1], `seed ${seed}`);
      const shown = new Set(rows.map(({ key }) => key));
      assert.equal(endOf(rows, index) - index, model.below(row.key).filter((key) => shown.has(key)).length,
        `seed ${seed}`);
    }
  }
});

test('of selected rows those count that are below no other', () => {
  const model = new Model();
  model.add(1, { parent: 0 });
  model.add(2, { parent: 1 });
  model.add(3, { parent: 0 });
  assert.deepEqual(topsOf(model.rows(), [3, 1, 2]).map(({ key }) => key), [1, 3]);
  assert.equal(indexOf(model.rows(), 3), 2);
});
