// The whole outline that a page shows, read by scrolling from its first row to its last, beside what nestc prints.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { jump } from './list.js';

/** How often a page is read until it is what the server has. Each time takes as long as to scroll through it. */
const LOOKS_MAX = 40;

/** What a page shows now, and where the list is scrolled to: `{ count, top, isAtEnd, rows }`. */
const part = () => {
  const grid = document.querySelector('[role=treegrid]');
  const number = (row, name) => Number(row.getAttribute(`aria-${name}`));
  // The row with the keyboard stays in the page, wherever the list is scrolled to.
  const rows = [...grid.querySelectorAll('[role=row][data-id]:not(.away)')].map((row) => ({
    index: number(row, 'rowindex'), id: Number(row.dataset.id), level: number(row, 'level'),
    place: `${number(row, 'posinset')}/${number(row, 'setsize')}`, expanded: row.getAttribute('aria-expanded'),
    title: window.titleOf(row), done: row.classList.contains('done'),
  }));
  return { count: Number(grid.getAttribute('aria-rowcount')), rows };
};

/** Scrolls on by most of what the list shows. */
const on = () => {
  const element = window.scroller();
  element.scrollTop += element.clientHeight * 0.7;
};

/** All rows of a page's outline, in order. A list that changes meanwhile gives null. */
export async function whole(page) {
  await jump(page, 0);
  const found = new Map();
  let first = null;
  for (let idle = 0; idle < 100;) {
    const { count, rows } = await page.evaluate(part);
    first ??= count;
    if (count !== first) return null;
    const before = found.size;
    for (const row of rows) found.set(row.index, row);
    if (found.size >= count) return [...found.values()].sort((a, b) => a.index - b.index);
    const lowest = Math.min(Infinity, ...rows.map(({ index }) => index));
    const highest = Math.max(0, ...rows.map(({ index }) => index));
    // Rows may still be on their way: go on when what is shown joins what was seen.
    const isComplete = rows.length > 0 && Array.from({ length: highest - lowest + 1 }, (_, at) => lowest + at)
      .every((index) => found.has(index));
    if (isComplete) await page.evaluate(on);
    idle = found.size > before ? 0 : idle + 1;
    await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve, 10)); }));
  }
  return null;
}

/** What nestc prints as the tree below an object, without what a page has folded. */
async function stored(server, under, folded) {
  const rows = await server.json(['tree', `${under}`]);
  const above = rows.length > 0 && rows[0].id === under ? 1 : 0;
  const shown = [];
  let hidden = Infinity;
  const sizes = new Map();
  const path = [];
  for (const row of rows.slice(above)) {
    const depth = row.depth - above;
    path.length = depth;
    const parent = path.at(-1) ?? under;
    path.push(row.id);
    sizes.set(parent, (sizes.get(parent) ?? 0) + 1);
    if (depth > hidden) continue;
    hidden = folded.has(row.id) ? depth : Infinity;
    shown.push({ id: row.id, level: depth + 1, title: row.title, done: row.done, parent, position: sizes.get(parent) });
  }
  return shown.map(({ parent, position, ...row }) => ({ ...row, place: `${position}/${sizes.get(parent)}` }));
}

/** Waits until the whole outline of a page is what the server has. Returns its number of rows. */
export async function agree(server, page) {
  let shown = null;
  let expected = null;
  const isEqual = async () => {
    const seen = await whole(page);
    if (!seen) return false;
    const [, under = '1'] = /^\/outline\/(\d+)/.exec(await page.evaluate(() => location.pathname)) ?? [];
    const folded = new Set(seen.filter(({ expanded }) => expanded === 'false').map(({ id }) => id));
    expected = await stored(server, Number(under), folded);
    // A row does not know its place among rows that the page does not have.
    shown = seen.map(({ id, level, title, done, place }, index) =>
      ({ id, level, title, done, place: place.endsWith('/-1') ? expected[index]?.place : place }));
    return JSON.stringify(shown) === JSON.stringify(expected);
  };
  for (let look = 1; !await isEqual(); look += 1) {
    if (look < LOOKS_MAX) await pause(100);
    else {
      const words = await page.evaluate(() => JSON.stringify([document.querySelector('#notices').innerText, location.pathname,
        document.body.dataset.waiting, document.querySelector('#link').dataset.state]));
      assert.deepEqual(shown, expected, `${page.name}'s page does not become what the server has. It says: ${words}`);
      assert.fail(`${page.name}'s page never stays as it is`);
    }
  }
  return shown.length;
}
