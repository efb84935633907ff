// How changes show in the table of the explorer: a row glides from where it was, what others have changed lights up, and
// what one has typed oneself does not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted } from './sheet.js';
import { Stage, skip } from './stage.js';

const ROW = 34;

/**
 * Runs in the page: writes texts as one who types does, each `[column, row, text]` into a column of the row that shows
 * another text, all before one frame; or waits until a cell shows a text. Returns the movements with which the next frame
 * begins: the texts of cells that are lit, and how far rows begin from their places.
 */
const moves = async (writes, awaited = null) => {
  const rows = () => [...document.querySelectorAll('.runway [data-id]')];
  for (const [column, row, text] of writes) {
    const cell = rows().find((each) => each.children[1].textContent === row).children[column];
    cell.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
    const field = cell.querySelector('input');
    field.value = text;
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
    while (cell.textContent !== text) await null;
  }
  while (awaited !== null && !rows().some(({ textContent }) => textContent.includes(awaited))) {
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  const lit = [];
  const away = {};
  for (const { effect } of document.getAnimations()) {
    const row = effect.target.closest('.runway [data-id]');
    const [first] = effect.getKeyframes();
    if (row && effect.target.matches('.cell') && first.backgroundColor) lit.push(effect.target.textContent);
    if (row === effect.target && first.transform) away[row.children[1].textContent] = first.transform;
  }
  return { lit, away };
};

const still = () => document.getAnimations().every(({ playState }) => playState !== 'running')
  && !document.querySelector('.runway [data-pending]');

test('rows glide from where they were, and cells light up that others have changed', { skip }, async (context) => {
  const stage = await Stage.start();
  context.after(() => stage.close());
  await stage.server.nestc(['import', '-'], 'a\nb\nc\nd\ne\n');
  const page = await stage.open('/explore/Item?columns=title,note&sort=title&where=parent+!%3D+nil', { name: 'Ann' });
  await counted(page, '5 objects');
  await page.until(still);

  // One's own value is where one has typed it.
  assert.deepEqual(await page.evaluate(moves, [[2, 'b', 'mine']]), { lit: [], away: {} });
  await page.until(still);

  // One's own row glides from its place, and those between make room.
  assert.deepEqual(await page.evaluate(moves, [[1, 'b', 'dd']]), { lit: [], away: {
    dd: `translateY(-${2 * ROW}px)`, c: `translateY(${ROW}px)`, d: `translateY(${ROW}px)`,
  } });
  await page.until(still);
  assert.equal(await page.evaluate(() => [...document.querySelectorAll('.runway [data-id]')]
    .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
    .map((row) => row.children[1].textContent).join(' ')), 'a c d dd e');

  // Two changes before one frame are one movement.
  assert.deepEqual((await page.evaluate(moves, [[1, 'a', 'cc'], [1, 'cc', 'ee']])).away.ee,
    `translateY(-${4 * ROW}px)`);
  await page.until(still);

  // Others' values light up.
  const id = await page.evaluate(() => [...document.querySelectorAll('.runway [data-id]')]
    .find((row) => row.children[1].textContent === 'c').dataset.id);
  const theirs = page.evaluate(moves, [], 'theirs');
  await stage.server.nestc(['set', id, 'note=theirs']);
  assert.deepEqual((await theirs).lit, ['theirs']);
  await stage.check(assert);
});
