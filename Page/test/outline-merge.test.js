// Two edits of one text: merged, or a conflict that keeps mine.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeOf, merge, placeAfter } from '../outline/merge.js';
import { numbers, seeds } from './seeds.js';

const apply = (text, { start, end, text: added }) => text.slice(0, start) + added + text.slice(end);

test('a change is the least replacement that makes one text the other', () => {
  assert.deepEqual(changeOf('abcd', 'abXcd'), { start: 2, end: 2, text: 'X' });
  assert.deepEqual(changeOf('abcd', 'ad'), { start: 1, end: 3, text: '' });
  assert.deepEqual(changeOf('same', 'same'), { start: 4, end: 4, text: '' });
});

test('between equal characters the change is where the caret is', () => {
  assert.deepEqual(changeOf('aaaa', 'aaaaa', 2), { start: 1, end: 1, text: 'a' });
  assert.deepEqual(changeOf('aaaa', 'aaaaa', 5), { start: 4, end: 4, text: 'a' });
});

test('a change never cuts a character in two', () => {
  const change = changeOf('x😀y', 'x😁y');
  assert.equal(change.text, '😁');
  assert.equal(apply('x😀y', change), 'x😁y');
});

test('edits at different places both stay, and the caret stays at its text', () => {
  assert.deepEqual(merge('Bread', 'Bread!', 'Brown Bread', [6, 6]),
    { text: 'Brown Bread!', selection: [12, 12], isConflict: false });
  assert.deepEqual(merge('Bread', 'My Bread', 'Bread rolls', [3, 3]),
    { text: 'My Bread rolls', selection: [3, 3], isConflict: false });
});

test('of two insertions at one place theirs is first, and mine keeps the caret', () => {
  assert.deepEqual(merge('ab', 'aXb', 'aYb', [2, 2]), { text: 'aYXb', selection: [3, 3], isConflict: false });
});

test('an edit of the same characters is a conflict: mine stays', () => {
  assert.deepEqual(merge('Milk', 'Silk', 'Mild milk', [1, 1]).isConflict, false);
  const { text, isConflict } = merge('one two three', 'one 2 three', 'one deux three', [5, 5]);
  assert.equal(text, 'one 2 three');
  assert.equal(isConflict, true);
});

test('an untouched text takes theirs, with the selection at the same characters', () => {
  assert.deepEqual(merge('Milk', 'Milk', 'Oat Milk', [1, 4]), { text: 'Oat Milk', selection: [5, 8],
    isConflict: false });
});

test('random edits: nothing that somebody inserted is lost, and both sides agree', () => {
  for (const seed of seeds(2_000)) {
    const random = numbers(seed);
    const letter = (from) => String.fromCharCode(from + Math.floor(random() * 26));
    const base = Array.from({ length: Math.floor(random() * 12) }, () => 'ab'[Math.floor(random() * 2)]).join('');
    const edit = (from) => {
      const start = Math.floor(random() * (base.length + 1));
      const end = random() < 0.6 ? start : Math.min(base.length, start + Math.floor(random() * 3));
      const added = Array.from({ length: Math.floor(random() * 3) }, () => letter(from)).join('');
      return { change: { start, end, text: added }, text: base.slice(0, start) + added + base.slice(end) };
    };
    const mine = edit(65);
    const theirs = edit(0x3b1);
    const caret = mine.change.start + mine.change.text.length;
    const merged = merge(base, mine.text, theirs.text, [caret, caret]);
    if (merged.isConflict) {
      assert.equal(merged.text, mine.text, `seed ${seed}`);
      continue;
    }
    for (const part of mine.change.text + theirs.change.text) assert.ok(merged.text.includes(part),
      `seed ${seed}: ${part}`);
    const kept = [base, mine, theirs].map((each) => (each.text ?? each).length);
    assert.equal(merged.text.length, mine.text === theirs.text ? kept[1] : kept[1] + kept[2] - kept[0], `seed ${seed}`);
    // What I have just written is still before the caret.
    if (mine.change.text !== '' && base !== mine.text) {
      assert.ok(merged.text.slice(0, merged.selection[1]).endsWith(mine.change.text),
        `seed ${seed}: ${JSON.stringify(merged)}`);
    }
  }
});

test('a place after a change is at the same character, or at the end of what came', () => {
  for (const seed of seeds(500)) {
    const random = numbers(seed);
    const text = Array.from({ length: 10 }, (_, index) => String.fromCharCode(97 + index)).join('');
    const start = Math.floor(random() * 11);
    const end = start + Math.floor(random() * (11 - start));
    const change = { start, end, text: 'XYZ'.slice(0, Math.floor(random() * 4)) };
    const after = apply(text, change);
    for (let place = 0; place <= 10; place += 1) {
      const moved = placeAfter(place, change);
      assert.ok(moved >= 0 && moved <= after.length, `seed ${seed}`);
      if (place < 10 && (place < start || place >= end)) {
        assert.equal(after[place === start ? moved + (place === end ? change.text.length : 0) : moved], text[place],
          `seed ${seed} at ${place}`);
      }
    }
  }
});
