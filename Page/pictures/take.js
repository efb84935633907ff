#!/usr/bin/env node
// Takes the pictures of the page that the documents show: each page, light and dark, on a desk and on a phone.
//
// Page/pictures/take.js [DIRECTORY]      writes PNG files into docs/picture/page
//
// NEST_BUILD: the directory of nestd and nestc (default: .build/debug). It needs Chromium.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '../../Clients/js/node.js';
import { Stage, root, skip } from '../test/browser/stage.js';
import { fill, model } from '../test/demo/store.js';
import { withPalette } from './palette.js';

/** What one sees of each page: its address, and what somebody does there first. */
const PAGES = {
  outline: ['/outline', write],
  explore: ['/explore/Planting?where=sown+%21%3D+nil&section=bed.name&sort=plant&totals=count,sum(cost)'
    + '&columns=plant,family,sown,rows,cost,harvested'],
  object: ['/explore/Gardener/37'],
  history: ['/history', openEntry],
  server: ['/server'],
  wire: ['/outline', follow],
};
const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 720 } };

/** How long a page may draw and animate before its picture, in milliseconds; /server needs a few seconds of figures. */
const SETTLING_MS = { outline: 900, server: 6_000 };

/** Clicks the innermost element that has a text; it need not be there yet. */
async function clickText(page, selector, text) {
  const point = await page.until((wanted, words) => {
    const found = [...document.querySelectorAll(wanted)].filter((element) => element.textContent.includes(words)).at(-1);
    const { left, top, height } = found?.getBoundingClientRect() ?? {};
    return found && height > 0 ? { x: left + 10, y: top + Math.min(height / 2, 12) } : null;
  }, selector, text);
  await page.click(point);
}

/** Puts the caret into a row. */
async function write(page) {
  await clickText(page, '[role=row] .title', 'Screws');
  await page.press('End');
  if (!await page.evaluate(() => document.querySelector('#main').textContent.includes('80 mm'))) await page.type(' mm');
}

/** Opens a transaction, to see what they changed. */
function openEntry(page) {
  return clickText(page, '[role=row] *', 'answer about the boards');
}

/** Lets the page follow a list, so that there are frames to see. */
async function follow(page) {
  await page.evaluate(() => document.querySelector('#places a[href="/outline"]').click());
  await page.until(() => document.querySelectorAll('[role=row][data-id]').length > 10);
  await page.evaluate(() => document.querySelector('#places a[href="/wire"]').click());
}

/** Somebody who writes all the time, so that the server's figures move. */
async function traffic(server) {
  const nest = await connect({ url: `nest://${server.address}`, user: 'Dieter', clientName: 'weather station' });
  const plantings = await nest.entity('Planting');
  const { rows: [first] } = await nest.fetch(plantings);
  let isOn = true;
  const done = (async () => {
    for (let turn = 1; isOn; turn += 1) {
      await nest.transaction('count the rows', (tx) => tx.update(plantings, first, { rows: 3 + turn % 2 }));
      await pause(20 + 60 * Math.abs(Math.sin(turn / 9)));
    }
  })();
  return async () => {
    isOn = false;
    await done;
    nest.close();
  };
}

if (skip) throw new Error(skip);
const directory = process.argv[2] ?? join(root, 'docs/picture/page');
mkdirSync(directory, { recursive: true });
const stage = await Stage.start({ options: ['--model', model] });
let bytes = 0;
try {
  await fill(stage.server);
  // Others, who are somewhere in the outline.
  for (const [name, title] of [['Bruno', 'Beds'], ['Çiğdem', 'Harvest party']]) {
    const page = await stage.open('/outline', { name });
    await clickText(page, '[role=row] .title', title);
  }
  for (const [name, [path, act]] of Object.entries(PAGES)) {
    const stop = name === 'server' ? await traffic(stage.server) : null;
    for (const [size, dimensions] of Object.entries(SIZES)) {
      const page = await stage.open(path, { name: 'Anna', ...dimensions });
      await pause(600);
      await act?.(page);
      for (const scheme of ['light', 'dark']) {
        await page.prefer({ 'prefers-color-scheme': scheme });
        await pause(scheme === 'light' ? SETTLING_MS[name] ?? 600 : 300);
        const picture = withPalette(await page.screenshot());
        writeFileSync(join(directory, `${name}-${size}-${scheme}.png`), picture);
        bytes += picture.length;
      }
      await page.close();
    }
    await stop?.();
  }
} finally {
  await stage.close();
}
console.log(`${directory}: ${bytes} bytes`);
