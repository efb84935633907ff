// What rows say about each other, beside a naive tree; and folds over them, which show what the server will answer.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf, folded, indexOf, nextOf, parentOf, previousOf, topsOf } from '../outline/overlay.js';
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

test('rows fold at once with all that is below them, and what the server has folded changes nothing', () => {
  for (const seed of seeds(2_000)) {
    const random = numbers(seed);
    const model = randomModel(random);
    const before = model.state;
    const keys = new Set(before.rows.map(({ key }) => key).filter(() => random() < 0.2));
    const asked = new Set([...keys, 99]);
    const laid = folded(before, asked);
    for (const key of keys) model.folded.add(key);
    assert.deepEqual(laid, model.state, `seed ${seed}: ${[...keys]}`);
    assert.deepEqual(folded(model.state, asked), model.state, `seed ${seed}, again: ${[...keys]}`);
  }
});

test('a fold hides no more rows than are here', () => {
  const model = new Model();
  model.add(1, { parent: 0 });
  for (const key of [2, 3, 4]) model.add(key, { parent: 1 });
  const { rows } = model.state;
  const laid = folded({ rows: rows.slice(0, 3), start: 0, total: 4, under: 0 }, new Set([1]));
  assert.deepEqual(laid.rows.map(({ key, isExpanded }) => [key, isExpanded]), [[1, false]]);
  assert.equal(laid.total, 2);
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
