// Every page in every state, light and dark, for people who do not see it or do not use a mouse: the audit of axe-core,
// names for everything, and the accessibility tree of the outline beside what nestc prints.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fill, model } from '../demo/store.js';
import { accessibility, audit, nameless, noAxe } from './axe.js';
import { Stage, skip, until } from './stage.js';

/** Clicks the first row that is there. */
async function clickRow(page) {
  await page.until(() => document.querySelector('[role=row][data-id] .title'));
  await page.click(await page.middle('[role=row][data-id] .title'));
}

/** States of the pages: where, and what one does there. */
const STATES = {
  'the outline': ['/outline'],
  'the outline, a row being written': ['/outline', async (page) => {
    await clickRow(page);
    await page.until(() => document.activeElement.localName === 'textarea');
  }],
  'the outline, rows selected': ['/outline', async (page) => {
    await clickRow(page);
    for (const key of ['Escape', 'ArrowDown']) await page.press(key, key === 'Escape' ? 0 : 8);
  }],
  'the outline, keys': ['/outline', async (page) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.press('?', 8);
    await page.until(() => document.querySelector('dialog[open]'));
  }],
  'the outline, search': ['/outline', async (page) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.press('/');
    await page.type('soup');
  }],
  'the outline, a menu': ['/outline', async (page) => {
    await page.evaluate(() => [...document.querySelectorAll('[aria-haspopup=menu]')]
      .find((button) => button.checkVisibility({ visibilityProperty: true, opacityProperty: true }))?.click());
    await page.until(() => document.querySelector('[role=menu]'));
  }],
  'an outline without rows': ['/outline/24'],
  entities: ['/explore'],
  'objects': ['/explore/Planting'],
  'a wrong predicate': ['/explore/Planting?where=plant+%3D%3D'],
  'no objects': ['/explore/Planting?where=rows+%3E+1000'],
  'an object': ['/explore/Gardener/37'],
  history: ['/history'],
  server: ['/server'],
  wire: ['/wire'],
  'who one is': ['/history', async (page) => {
    await page.evaluate(() => document.querySelector('#link').click());
    await page.until(() => document.querySelector('dialog[open]'));
  }],
};

test('the audit of every page and state', { skip: skip || noAxe }, async (context) => {
  const stage = await Stage.start({ options: ['--model', model] });
  try {
    await fill(stage.server);
    for (const [scheme, width] of [['light', 1280], ['dark', 390]]) {
      const page = await stage.open('/outline', { name: 'Ann', scheme, width, mobile: width < 500, height: 800 });
      await page.prefer({ 'prefers-color-scheme': scheme, 'prefers-reduced-motion': 'reduce' });
      for (const [name, [path, act]] of Object.entries(STATES)) {
        await context.test(`${name}, ${scheme}`, async () => {
          await stage.go(page, path);
          await act?.(page);
          assert.deepEqual(await audit(page), []);
          // Chromium has a row that is being removed in its tree for a moment longer, without a name.
          let unnamed;
          await until(async () => (unnamed = nameless(await accessibility(page))).length === 0).catch(() => {});
          assert.deepEqual(unnamed, []);
          await stage.picture(page, `axe-${name.replace(/\W+/g, '-')}-${scheme}`);
        });
      }
      await stage.check(assert, [page]);
      await page.close();
    }
    await context.test('without its server', async () => {
      const page = await stage.open('/outline', { name: 'Ann' });
      await stage.server.kill();
      await page.until(() => document.querySelector('#link').dataset.state !== 'ready');
      assert.deepEqual(await audit(page), []);
    });
  } finally {
    await stage.close();
  }
});

/** How the parts of a page look, without what changes from moment to moment. */
const look = () => [...document.querySelectorAll('#main *')].filter((element) => element.classList.length > 0).slice(0, 400)
  .map((element) => {
    const { display, position, textAlign, alignItems, padding, fontSize } = getComputedStyle(element);
    return `${element.localName}.${element.className}: ${[display, position, textAlign, alignItems, padding, fontSize]}`;
  }).filter((line, index, all) => all.indexOf(line) === index).sort();

test('the styles of one page do not change another one', { skip }, async () => {
  const stage = await Stage.start({ options: ['--model', model] });
  try {
    await fill(stage.server);
    const places = ['/history', '/server', '/wire', '/explore/Planting', '/outline'];
    const visited = await stage.open('/outline', { name: 'Ann' });
    for (const path of places) await stage.follow(visited, path);
    for (const path of places.slice(0, 4)) {
      const fresh = await stage.open(path, { name: 'Ann' });
      await stage.follow(visited, path);
      const parts = async (page) => new Map((await page.evaluate(look)).map((line) => line.split(': ')));
      let [expected, seen] = [];
      const different = async () => {
        [expected, seen] = [await parts(fresh), await parts(visited)];
        return [...expected].filter(([name, style]) => seen.has(name) && seen.get(name) !== style)
          .map(([name, style]) => `${path} ${name}: ${seen.get(name)} instead of ${style}`);
      };
      // What both pages show is drawn step by step.
      await until(async () => (await different()).length === 0, different).catch(async (error) => {
        throw new Error((await different()).join('\n'), { cause: error });
      });
      assert.ok(expected.size > 5 && [...expected.keys()].some((name) => seen.has(name)), `${path} has parts`);
      await fresh.close();
      await stage.follow(visited, '/outline');
    }
  } finally {
    await stage.close();
  }
});

test('asking for a token is readable', { skip: skip || noAxe }, async () => {
  const stage = await Stage.start();
  try {
    await stage.server.nestc(['token', 'create', 'me', '--role', 'admin']);
    for (const scheme of ['light', 'dark']) {
      const page = await stage.open('/outline', { scheme, isReady: false });
      await page.until(() => document.querySelector('dialog[open] input'));
      assert.deepEqual(await audit(page), [], scheme);
    }
  } finally {
    await stage.close();
  }
});

test('the tree that assistive technology reads is the outline', { skip }, async () => {
  const stage = await Stage.start();
  try {
    await stage.server.nestc(['import', '-'], 'Shopping\n\tDairy\n\t\tMilk\n\tBread\nTravel\n\tHotel\nIdeas\n');
    const page = await stage.open('/outline', { name: 'Ann' });
    // A first visit unfolds level by level.
    await page.until(() => document.querySelectorAll('[role=treegrid] [role=row]').length === 7);
    const tree = async () => (await accessibility(page)).filter(({ role }) => role === 'row');
    const drawn = await page.evaluate(() => [...document.querySelectorAll('[role=treegrid] [role=row]')].map((row) => ({
      title: window.titleOf(row), level: Number(row.getAttribute('aria-level')),
      place: [row.getAttribute('aria-posinset'), row.getAttribute('aria-setsize')].join('/'),
      expanded: row.getAttribute('aria-expanded'),
    })));
    const rows = await tree();
    assert.equal(rows.length, drawn.length, 'each row is in the tree');
    rows.forEach((row, index) => {
      const { title, level, expanded } = drawn[index];
      assert.ok(row.name.includes(title), `“${row.name}” names “${title}”`);
      assert.equal(row.level, level, title);
      assert.equal(row.expanded === undefined ? null : String(row.expanded), expanded, title);
    });
    const tops = drawn.filter(({ level }) => level === 1);
    assert.deepEqual(tops.map(({ title, place }) => `${title} ${place}`), ['Shopping 1/3', 'Travel 2/3', 'Ideas 3/3']);
    const isFocused = () => {
      const { activeElement: active } = document;
      return document.querySelector('[role=treegrid]').contains(active) || active.matches('#main textarea');
    };
    // The whole outline by the keyboard: into the list, and down; the focus is never lost.
    await clickRow(page);
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Escape', 'ArrowDown', 'ArrowUp', 'Enter']) {
      await page.press(key);
      const focus = await page.evaluate(() => document.activeElement.outerHTML.slice(0, 80));
      assert.ok(await page.evaluate(isFocused), `after ${key} the focus is ${focus}`);
    }
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});
