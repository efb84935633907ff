// The scroll bar as a map of an outline of any length.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SPACER_MAX, Viewport } from '../outline/viewport.js';
import { numbers, seeds } from './seeds.js';

function viewport(total, height = 700) {
  return Object.assign(new Viewport(), { total, height, rowHeight: 34, room: 100 });
}

const heights = (random) => {
  const known = new Map();
  return (index) => {
    if (!known.has(index)) known.set(index, 34 + (random() < 0.3 ? Math.floor(random() * 200) : 0));
    return known.get(index);
  };
};

test('a short outline does not scroll', () => {
  const view = viewport(5);
  assert.equal(view.spacerHeight, 700);
  view.moveBy(50);
  view.settle(() => 34);
  assert.deepEqual([view.index, view.offset, view.scrollTop()], [0, 0, 0]);
});

test('the element that makes the bar never passes its bound, and the bar reaches both ends of a million rows', () => {
  const view = viewport(1_000_000);
  assert.equal(view.spacerHeight, SPACER_MAX);
  assert.ok(view.isStretched);
  view.jump(SPACER_MAX - 700);
  view.settle(() => 34);
  assert.ok(view.isAtEnd);
  const last = view.total - view.index;
  assert.equal(Math.round(view.offset + last * 34), 600);
  assert.equal(view.scrollTop(), SPACER_MAX - 700);
  view.jump(0);
  view.settle(() => 34);
  assert.deepEqual([view.index, view.offset], [0, 0]);
});

test('where the bar is put is what it shows afterwards', () => {
  for (const seed of seeds(500)) {
    const random = numbers(seed);
    const view = viewport(Math.floor(100 + random() * 3_000_000));
    const range = view.spacerHeight - view.height;
    const top = 2 + random() * (range - 4);
    view.jump(top);
    view.settle(() => 34);
    // Rows at the end are drawn at their place, so the last screen differs.
    if (view.isAtEnd) continue;
    assert.ok(Math.abs(view.scrollTop() - top) < 1, `seed ${seed}: ${view.scrollTop()} instead of ${top}`);
  }
});

test('small steps move by pixels, whatever heights rows have, and come to both ends', () => {
  for (const seed of seeds(100)) {
    const random = numbers(seed);
    const view = viewport(20 + Math.floor(random() * 200));
    const heightAt = heights(random);
    const place = () => {
      let top = view.offset;
      for (let index = 0; index < view.index; index += 1) top -= heightAt(index);
      return top;
    };
    view.settle(heightAt);
    for (let turn = 0; turn < 60; turn += 1) {
      const before = place();
      const by = Math.floor((random() - 0.3) * 300);
      view.moveBy(by);
      view.settle(heightAt);
      const isAtEdge = view.isAtEnd || (view.index === 0 && view.offset === 0);
      assert.ok(isAtEdge || Math.abs(before - by - place()) < 1e-6, `seed ${seed}`);
      assert.ok(view.offset <= 0 && view.offset > -heightAt(view.index), `seed ${seed}`);
    }
    view.moveBy(1e6);
    view.settle(heightAt);
    assert.ok(view.isAtEnd);
    let bottom = view.offset;
    for (let index = view.index; index < view.total; index += 1) bottom += heightAt(index);
    assert.equal(Math.round(bottom), 600, `seed ${seed}`);
    view.moveBy(-1e6);
    view.settle(heightAt);
    assert.deepEqual([view.index, view.offset], [0, 0]);
  }
});

test('a hand that moves the bar by small steps reaches the ends with the content', () => {
  for (const seed of seeds(50)) {
    const random = numbers(seed);
    const view = viewport(300);
    const heightAt = heights(random);
    let top = 0;
    const range = view.spacerHeight - view.height;
    while (top < range) {
      const next = Math.min(range, top + 90);
      if (!view.follow(top, next)) view.jump(next);
      view.settle(heightAt);
      top = next;
    }
    assert.ok(view.isAtEnd, `seed ${seed}`);
  }
});

test('an outline that has become shorter shows its end', () => {
  const view = viewport(1_000);
  view.jump(view.spacerHeight - view.height);
  view.settle(() => 34);
  view.total = 30;
  view.settle(() => 34);
  assert.ok(view.isAtEnd);
  assert.ok(view.index < 30 && view.index >= 0);
  view.total = 0;
  view.settle(() => 34);
  assert.deepEqual([view.index, view.offset], [0, 0]);
});
