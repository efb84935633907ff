// Own writes in the explorer: while the server does not answer they show at once, and say that they wait; what it
// refuses comes back to be corrected, and the keyboard stays where it is used.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { json } from '../models.js';
import { audit, noAxe } from './axe.js';
import { click, sees } from './hands.js';
import { clickButton, counted } from './sheet.js';
import { Stage, skip, until } from './stage.js';

const CONTROL = 2;
const SHIFT = 8;

/** A server with 5 things, and a page that shows them. */
async function withThings(context) {
  const directory = mkdtempSync(join(tmpdir(), 'nest-writes-'));
  const model = join(directory, 'model.json');
  writeFileSync(model, JSON.stringify(json));
  const stage = await Stage.start({ options: ['--model', model] });
  context.after(async () => {
    await stage.close();
    rmSync(directory, { recursive: true });
  });
  const lines = [1, 2, 3, 4, 5].map((count) =>
    JSON.stringify({ insert: 'Thing', values: { name: `Thing ${count}`, count } }));
  await stage.server.nestc(['tx', '-', '--quiet'], lines.join('\n'));
  const page = await stage.open('/explore/Thing?columns=name,count,whole&sort=name',
    { name: 'Ann', width: 1280, height: 800 });
  await counted(page, '5 objects');
  await page.evaluate(() => document.querySelector('.sheet-grid').focus());
  return { stage, page };
}

const stop = (stage) => stage.server.process.kill('SIGSTOP');
const go = (stage) => stage.server.process.kill('SIGCONT');

/** What the table shows, in the order of its rows: names and counts, with the words for what waits. */
const shown = (page) => page.evaluate(() => [...document.querySelectorAll('.runway [data-id]')]
  .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
  .map((row) => [row.children[1].textContent, row.children[2].textContent, row.dataset.pending ?? 'stored'].join()));

const stored = async (stage) => (await stage.server.json(['fetch', '--entity', 'Thing', '--sort', 'name',
  '--properties', 'name,count'])).map(({ name, count }) => `${name},${count ?? '–'},stored`);

/** Makes the cell in a row and a column the active one, both counted from 0, and writes into it. */
async function edit(page, row, column, text) {
  await page.evaluate(() => document.querySelector('.sheet-grid').focus());
  await page.press('Home', CONTROL);
  for (let left = row; left > 0; left -= 1) await page.press('ArrowDown');
  await page.press('Home');
  for (let left = column; left > 0; left -= 1) await page.press('ArrowRight');
  await page.press('F2');
  await page.until(() => document.activeElement.matches('.editing input'));
  await page.evaluate(() => document.activeElement.select());
  await page.type(text);
  await page.press('Enter');
}

test('what one writes shows at once, says that it waits, and is stored when the server answers', { skip },
  async (context) => {
    const { stage, page } = await withThings(context);
    await clickButton(page, 'New…');
    await page.until(() => document.activeElement.matches('dialog textarea, dialog select'));
    await clickButton(page, 'Cancel');
    stop(stage);
    await edit(page, 1, 2, '77');
    assert.deepEqual(await shown(page), ['Thing 1,1,stored', 'Thing 2,77,sent', 'Thing 3,3,stored', 'Thing 4,4,stored',
      'Thing 5,5,stored']);
    // The row goes where its new name belongs.
    await edit(page, 0, 1, 'Thing 9');
    assert.deepEqual((await shown(page)).at(-1), 'Thing 9,1,sent');
    await page.until(() =>
      document.querySelector('.result-more').textContent === '2 changes of yours are not stored yet');
    assert.match(await page.evaluate(() => document.querySelector('[data-pending] .id').textContent),
      /on its way to the server$/);
    await stage.picture(page, 'explore-pending');
    if (!noAxe) assert.deepEqual(await audit(page), []);
    assert.equal(await page.evaluate(() => document.querySelector('#bar-tools button').title), 'Undo: set name');
    await page.press('z', CONTROL);
    await page.until(() => document.querySelector('.runway').textContent.includes('Thing 1')
      && !document.querySelector('.runway').textContent.includes('Thing 9'));
    assert.deepEqual((await shown(page)).slice(0, 2), ['Thing 1,1,stored', 'Thing 2,77,sent']);
    assert.equal(await page.evaluate(() => document.querySelector('#bar-tools button').title), 'Undo: set count');
    await clickButton(page, 'New…');
    await page.until(() => document.activeElement.matches('dialog textarea, dialog select'));
    await page.evaluate(() => document.querySelector('dialog textarea').focus());
    await page.type('Thing 3b');
    await clickButton(page, 'Insert');
    await page.until(() => document.querySelectorAll('.runway [data-id]').length === 6);
    assert.equal((await shown(page))[3].startsWith('Thing 3b,–,'), true, (await shown(page)).join(' '));
    assert.equal(await page.evaluate(() => document.querySelector('.result-status span').textContent), '6 objects');
    go(stage);
    await page.until(() => document.querySelector('.object h2')?.textContent === 'Thing 3b');
    await page.until(() => document.querySelector('.result-more').textContent === '');
    assert.deepEqual(await shown(page), await stored(stage));
    assert.deepEqual((await shown(page))[1], 'Thing 2,77,stored');
    // Deleted, and brought back.
    await page.until(() => document.querySelector('.object header .danger'));
    stop(stage);
    await clickButton(page, 'Delete…');
    await clickButton(page, 'Delete');
    await page.until(() => document.querySelectorAll('.runway [data-id]').length === 5);
    await sees(page, 'Thing 3b was deleted', '#notices');
    await click(page, 'Undo', '#notices');
    await page.until(() => document.querySelectorAll('.runway [data-id]').length === 6);
    go(stage);
    await page.until(() => document.querySelector('.result-more').textContent === '');
    assert.deepEqual(await shown(page), await stored(stage));
    await page.evaluate(() => document.querySelector('.sheet-grid').focus());
    await page.press('z', CONTROL);
    await until(async () => !(await stored(stage)).some((row) => row.startsWith('Thing 3b')));
    await page.press('Z', CONTROL | SHIFT);
    await until(async () => (await stored(stage)).some((row) => row.startsWith('Thing 3b')));
    await until(async () => JSON.stringify(await shown(page)) === JSON.stringify(await stored(stage)));
    await stage.check(assert);
  });

test('what the server refuses comes back into its cell, and is corrected there', { skip }, async (context) => {
  const { stage, page } = await withThings(context);
  const fault = () => page.until(() => document.querySelector('.cell-fault:not([hidden])')?.textContent);
  await edit(page, 2, 1, '');
  assert.equal(await fault(), 'Thing.name must not be empty');
  assert.deepEqual(await page.evaluate(() => [document.activeElement.matches('.editing input'),
    document.activeElement.value, document.activeElement.getAttribute('aria-invalid')]), [true, '', 'true']);
  assert.equal((await stored(stage))[2], 'Thing 3,3,stored');
  await stage.picture(page, 'explore-refused');
  await page.type('Thing 3 again');
  await page.press('Enter');
  await page.until(() => !document.querySelector('.editing') && !document.querySelector('[data-pending]'));
  assert.equal((await stored(stage))[2], 'Thing 3 again,3,stored');
  // Escape leaves what the server has.
  await edit(page, 2, 1, '');
  await fault();
  await page.press('Escape');
  await page.until(() => !document.querySelector('.editing'));
  assert.deepEqual(await shown(page), await stored(stage));
  assert.equal(await page.evaluate(() => document.querySelector('#notices').textContent), '');

  // While the keyboard is used elsewhere, it stays there.
  stop(stage);
  await edit(page, 0, 1, '');
  await page.evaluate(() => document.querySelector('.predicate textarea').focus());
  await page.type('coun');
  go(stage);
  await fault();
  assert.deepEqual(await page.evaluate(() => [document.activeElement.localName, document.activeElement.value]),
    ['textarea', 'coun']);
  // Another cell is edited then: a message leads back.
  await edit(page, 4, 2, '55');
  await sees(page, 'name of #1 was refused: Thing.name must not be empty', '#notices');
  await click(page, 'Correct it', '#notices');
  await page.until(() => document.activeElement.matches('.editing input') && document.activeElement.value === '');
  await page.type('Thing 1 again');
  await page.press('Enter');
  await until(async () => (await stored(stage))[0] === 'Thing 1 again,1,stored');
  await until(async () => JSON.stringify(await shown(page)) === JSON.stringify(await stored(stage)));
  assert.equal((await shown(page))[4], 'Thing 5,55,stored');
  await stage.check(assert);
});
