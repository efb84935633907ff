// Own writes in the outline while the server does not answer: rows that one makes, moves and deletes show at once, and say
// that they wait; the caret is in the new row, and what is typed there is its text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit, noAxe } from './axe.js';
import { sees } from './hands.js';
import { Lives } from './lives.js';
import { Stage, skip, until } from './stage.js';
import { checkWatched, watcher } from './watch.js';

const [CONTROL, SHIFT] = [2, 8];
/** How long bytes are on their way to and from a server that is far away: longer than a person here writes. */
const DELAY_MS = 1_500;
const TREE = 'Shopping\n\tBread\n\tMilk\n\tSoap\nTravel\n';
const START = ['Shopping', '.Bread', '.Milk', '.Soap', 'Travel'];

/** The rows that a page shows, with their depth, and `*` for those that wait. */
const shown = () => [...document.querySelectorAll('#rows .row:not(.away)')].map((row) =>
  `${'.'.repeat(Number(row.getAttribute('aria-level')) - 1)}${window.titleOf(row)}${row.dataset.pending ? '*' : ''}`);

async function shows(page, ...rows) {
  let now = null;
  await until(async () => JSON.stringify(now = await page.evaluate(shown)) === JSON.stringify(rows),
    () => JSON.stringify({ now, rows }));
}

/** Rows begin to glide with a frame: waits until they are at their places. */
const still = (page) => page.until(async () => {
  await new Promise(requestAnimationFrame);
  return document.getAnimations().every(({ playState }) => playState !== 'running');
});

/** The field with the keyboard, and where its caret is. */
const caret = () => document.activeElement.id === 'editor'
  && [document.activeElement.value, document.activeElement.selectionStart];

/** The caret to the end of a row, when no row glides any more. */
async function edit(page, title) {
  await still(page);
  await page.click(await page.evaluate((text) => {
    const row = [...document.querySelectorAll('#rows .row')].find((each) => window.titleOf(each) === text);
    const { left, top, height } = row.querySelector('.title').getBoundingClientRect();
    return { x: left + 4, y: top + height / 2 };
  }, title));
  await page.press('End');
}

async function begin(context) {
  const stage = await Stage.start();
  context.after(() => stage.close());
  await stage.server.nestc(['import', '-'], TREE);
  const page = await stage.open('/outline', { name: 'Ann', width: 900, height: 600 });
  await shows(page, ...START);
  return { stage, page };
}

const stop = (stage) => stage.server.process.kill('SIGSTOP');
const go = (stage) => stage.server.process.kill('SIGCONT');
const stored = async (page, stage) => {
  await page.until(() => document.querySelector('#rows').dataset.waiting === '0');
  return (await stage.server.nestc(['tree'])).trimEnd().split('\n')
    .map((line) => line.replace(/ {2}#\d+$/, '').replace(/^( {2})*/, (indent) => '.'.repeat(indent.length / 2)));
};

test('rows that one makes, indents, moves and deletes show at once, and wait for the server', { skip }, async (context) => {
  const { stage, page } = await begin(context);
  stop(stage);
  await edit(page, 'Bread');
  await page.press('Enter');
  await page.type('Rolls');
  assert.deepEqual(await page.evaluate(shown), ['Shopping', '.Bread', '.Rolls*', '.Milk', '.Soap', 'Travel']);
  // Bread has no rows below it: it unfolds for the one that is put there.
  await page.press('Tab');
  assert.deepEqual(await page.evaluate(shown), ['Shopping', '.Bread', '..Rolls*', '.Milk', '.Soap', 'Travel']);
  assert.deepEqual(await page.evaluate(caret), ['Rolls', 5]);
  await page.press('Enter');
  await page.type('Rye');
  await edit(page, 'Soap');
  await page.press('ArrowUp', CONTROL | SHIFT);
  await edit(page, 'Travel');
  await page.press('Backspace', CONTROL | SHIFT);
  const rows = ['Shopping', '.Bread', '..Rolls', '..Rye', '.Soap', '.Milk'];
  assert.deepEqual((await page.evaluate(shown)).map((row) => row.replace('*', '')), rows);
  assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('#rows .row:not([data-id])')]
    .map(window.titleOf)), ['Rolls', 'Rye']);
  await sees(page, 'on its way to the server', '#rows');
  await still(page);
  await stage.picture(page, 'outline-pending');
  if (!noAxe) assert.deepEqual(await audit(page), []);
  assert.equal(await page.evaluate(() => document.querySelector('#bar-tools button').title), 'Undo: delete “Travel”');
  go(stage);
  await shows(page, ...rows);
  assert.deepEqual(await stored(page, stage), rows);
  await stage.check(assert);
});

test('a text is split and joined at once while what was typed before is on its way', { skip }, async (context) => {
  const { stage, page } = await begin(context);
  await edit(page, 'Bread');
  stop(stage);
  await page.type(' and rolls');
  await page.until(() => document.querySelector('#rows [data-pending]') !== null);
  for (let left = 6; left > 0; left -= 1) await page.press('ArrowLeft');
  await page.press('Enter');
  assert.deepEqual(await page.evaluate(caret), [' rolls', 0]);
  assert.deepEqual((await page.evaluate(shown)).slice(0, 4), ['Shopping', '.Bread and*', '. rolls*', '.Milk']);
  // And the same text again, before the first has its answer.
  await page.press('Backspace');
  await page.until(() => document.activeElement.value === 'Bread and rolls');
  assert.deepEqual(await page.evaluate(caret), ['Bread and rolls', 9]);
  await page.press('ArrowLeft');
  await page.press('Enter');
  await page.type('a');
  go(stage);
  const rows = ['Shopping', '.Bread an', '.ad rolls', '.Milk', '.Soap', 'Travel'];
  await shows(page, ...rows);
  assert.deepEqual(await stored(page, stage), rows);
  await stage.check(assert);
});

test('a folded row is joined when its children are known; one writes on meanwhile', { skip }, async (context) => {
  const { stage, page } = await begin(context);
  await edit(page, 'Travel');
  await page.press('Tab');
  // Milk gets a row below it, and hides it.
  await edit(page, 'Soap');
  await page.press('Tab');
  await shows(page, 'Shopping', '.Bread', '.Milk', '..Soap', '.Travel');
  await edit(page, 'Milk');
  await page.press('ArrowUp', CONTROL);
  await shows(page, 'Shopping', '.Bread', '.Milk', '.Travel');
  await stored(page, stage);
  stop(stage);
  await page.press('Home');
  await page.press('Backspace');
  await page.type('Oat ');
  assert.deepEqual((await page.evaluate(shown)).slice(1), ['.Bread', '.Oat Milk', '.Travel']);
  assert.equal(await page.evaluate(() => document.activeElement.ariaBusy), 'true');
  go(stage);
  await shows(page, 'Shopping', '.BreadOat Milk', '.Travel');
  assert.deepEqual(await page.evaluate(caret), ['BreadOat Milk', 9]);
  assert.equal(await page.evaluate(() => document.activeElement.ariaBusy), null);
  assert.deepEqual(await stored(page, stage), ['Shopping', '.BreadOat Milk', '..Soap', '.Travel']);
  // One who goes elsewhere stays there.
  await edit(page, 'BreadOat Milk');
  await page.press('ArrowUp', CONTROL);
  await edit(page, 'BreadOat Milk');
  await stored(page, stage);
  stop(stage);
  await page.press('Home');
  await page.press('Backspace');
  await edit(page, 'Travel');
  go(stage);
  await shows(page, 'ShoppingBreadOat Milk', '.Soap', '.Travel');
  assert.deepEqual(await page.evaluate(caret), ['Travel', 6]);
  await stage.check(assert);
});

test('what others have written meanwhile is in the text that is split', { skip }, async (context) => {
  const { stage, page } = await begin(context);
  const [bread] = (await stage.server.json(['tree', '1'])).filter(({ title }) => title === 'Bread');
  await edit(page, 'Bread');
  await page.press('ArrowLeft');
  stop(stage);
  const renamed = stage.server.nestc(['set', `${bread.id}`, 'title=Rye Bread']);
  await page.press('Enter');
  assert.deepEqual((await page.evaluate(shown)).slice(1, 3), ['.Brea*', '.d*']);
  go(stage);
  await renamed;
  const text = (await stored(page, stage)).slice(1, 3);
  assert.equal(text[1], '.d');
  assert.ok(['.Rye Brea', '.Rye Bread', '.Brea'].includes(text[0]), text[0]);
  await shows(page, ...await stored(page, stage));
  await stage.check(assert);
});

test('splits that wait for one that others refuse are made behind it, and nothing moves', { skip }, async (context) => {
  const stage = await Stage.start({ isFar: true });
  const lives = await Lives.follow(stage.server);
  context.after(async () => {
    await lives.close();
    await stage.close();
  });
  await stage.server.nestc(['import', '-'], TREE);
  const page = await stage.open('/outline', { name: 'Ann', width: 900, height: 600, isProxied: true, script: watcher });
  await shows(page, ...START);
  const [bread] = (await stage.server.json(['tree', '1'])).filter(({ title }) => title === 'Bread');
  await edit(page, 'Bread');
  await page.press('ArrowLeft');
  stage.proxy.delay = DELAY_MS;
  // The page learns of this when it has split the text.
  await stage.server.nestc(['set', `${bread.id}`, 'title=Rye Bread']);
  await page.press('Enter');
  await page.type('x');
  await page.press('End');
  await page.type('ab');
  await page.press('ArrowLeft');
  await page.press('Enter');
  await page.press('Tab');
  assert.deepEqual((await page.evaluate(shown)).slice(1, 4), ['.Brea*', '.xda*', '..b*']);
  assert.deepEqual(await page.evaluate(caret), ['b', 0]);
  const rows = ['Shopping', '.Rye Brea', '.xda', '..b', '.Milk', '.Soap', 'Travel'];
  await shows(page, ...rows);
  assert.deepEqual(await stored(page, stage), rows);
  assert.deepEqual(await page.evaluate(caret), ['b', 0]);
  const [newest] = await stage.server.json(['history', '--all', '--limit', '1']);
  await lives.reach(newest.revision);
  await checkWatched(page, (id) => lives.births(id));
  await stage.check(assert);
});

test('rows that are refused go again, with the reason', { skip }, async (context) => {
  const { stage, page } = await begin(context);
  await edit(page, 'Bread');
  await page.paste(`Cake\n${'ö'.repeat(40_000)}`);
  await page.until(() => document.querySelector('#notices').textContent !== '');
  await shows(page, ...START);
  assert.deepEqual(await stored(page, stage), START);
  await stage.check(assert);
});
