// Where the rows of a window are, beside a list of all lines: sections of any sizes, windows anywhere, sheets of any
// length.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Random } from '../../Clients/js/test/live/random.js';
import { lineCount, linesOf, rowAt, RUNWAY_MAX, scale } from '../explore/layout.js';

const seed = Number(process.env.NEST_SEED ?? 11);

/** All lines of a result with sections of these sizes: a head, then its rows. */
const allLines = (sizes) => sizes.flatMap((size, section) =>
  [{ section }, ...Array.from({ length: size }, (_, index) => ({ section, index }))]);

/** The state of a window of a result, as the client has it. */
function windowOf(sizes, offset, limit) {
  const rows = sizes.flatMap((size, section) => Array.from({ length: size }, (_, index) => ({ section, index })))
    .map((row, id) => ({ ...row, id }));
  const shown = rows.slice(offset, offset + limit);
  const sections = [];
  for (const row of shown) {
    if (sections.at(-1)?.number !== row.section) sections.push({ number: row.section, rows: [] });
    sections.at(-1).rows.push(row);
  }
  const [first] = shown;
  return {
    total: rows.length, sections,
    position: {
      total: rows.length, sectionTotal: sizes.length,
      start: { row: offset, section: first?.section ?? sizes.length, rowInSection: first?.index ?? 0 },
    },
  };
}

test(`rows and heads have the lines that they have in the whole (seed ${seed})`, () => {
  const random = new Random(seed);
  for (let turn = 0; turn < 300; turn += 1) {
    const sizes = Array.from({ length: random.between(1, 12) }, () => random.between(1, random.chance(0.2) ? 40 : 4));
    const whole = allLines(sizes);
    const state = windowOf(sizes, random.below(sizes.reduce((a, b) => a + b, 0)), random.between(1, 20));
    assert.equal(lineCount(state, true), whole.length);
    for (const { line, row, index } of linesOf(state, true)) {
      const expected = whole[line];
      if (row) assert.deepEqual([row.section, row.index], [expected.section, expected.index]);
      else assert.deepEqual(expected, { section: index });
    }
    const flat = windowOf([state.total], state.position.start.row, 5);
    assert.deepEqual(linesOf(flat, false).map(({ line, row }) => line - row.id), flat.sections[0].rows.map(() => 0));
  }
});

test(`each line is found by a few guesses, however rows are divided (seed ${seed})`, () => {
  const random = new Random(seed);
  for (let turn = 0; turn < 100; turn += 1) {
    const sizes = Array.from({ length: random.between(1, 300) },
      (_, index) => (random.chance(0.1) ? random.between(1, 500) : index % 50 === 0 ? 900 : 1));
    let state = windowOf(sizes, 0, 60);
    const line = random.below(lineCount(state, true));
    let guesses = 0;
    const isKnown = () => linesOf(state, true).some((one) => Math.abs(one.line - line) < 30);
    for (; !isKnown(); guesses += 1) {
      assert.ok(guesses < 40, `line ${line} of ${sizes.length} sections`);
      state = windowOf(sizes, Math.max(0, rowAt(line, state, true, guesses) - 20), 60);
    }
  }
  assert.equal(rowAt(777, windowOf([1_000], 0, 5), false), 777);
  assert.equal(rowAt(2_000, windowOf([1_000], 0, 5), false), 1_000);
});

test('what scrolls is never higher than a browser can show, and both ends are reached', () => {
  for (const lines of [0, 10, 235_000, 1_000_000, 50_000_000]) {
    const { real, runway, factor, isStretched, most } = scale(lines, 34, 800);
    assert.ok(runway <= RUNWAY_MAX);
    assert.equal(isStretched, real > RUNWAY_MAX);
    if (most > 0) assert.ok(Math.abs((runway - 800) * factor - most) < 0.01, 'the end of the bar is the last line');
    else assert.equal(factor, 1);
  }
});
