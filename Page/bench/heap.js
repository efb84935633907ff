#!/usr/bin/env node
// Prints what the page keeps in memory while one scrolls through an outline and types, and others write in it.
//
// Page/bench/heap.js [ROWS] [MINUTES]      100,000 rows and 10 minutes, if left out
//
// NEST_BUILD: the directory of nestd and nestc; use a release build. NEST_SEED repeats a run.

import { connect } from '../../Clients/js/node.js';
import { jump, unfoldAll } from '../test/browser/list.js';
import { Random, Stage, seed, skip } from '../test/browser/stage.js';

const [rows = 100_000, minutes = 10] = process.argv.slice(2).map(Number);
const CHILDREN = 9;
const MINUTE = 60_000;
/** Turns of the wheel between two jumps, and pixels of each. */
const [TURNS, TURN] = [12, 240];

if (skip) throw new Error(skip);

/**
 * The size of what the page's code keeps, in bytes, and how many nodes and listeners there are; without the last frames,
 * which the page keeps for /wire: they grow until they are 2,000.
 */
async function kept(page) {
  const objectGroup = 'kept';
  const { result: { objectId: prototypeObjectId } } = await page.send('Runtime.evaluate', {
    expression: "import('/shell/tap.js').then(({ Ring }) => Ring.prototype)", awaitPromise: true, objectGroup,
  });
  const { objects: { objectId } } = await page.send('Runtime.queryObjects', { prototypeObjectId, objectGroup });
  await page.send('Runtime.callFunctionOn',
    { objectId, functionDeclaration: 'function () { for (const ring of this) ring.clear(); }' });
  await page.send('Runtime.releaseObjectGroup', { objectGroup });
  for (let turn = 0; turn < 3; turn += 1) await page.send('HeapProfiler.collectGarbage');
  const { usedSize } = await page.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await page.send('Memory.getDOMCounters');
  return `${(usedSize / 1e6).toFixed(2)} MB, ${nodes} nodes, ${jsEventListeners} listeners`;
}

/** Writes in random rows until `isOver()`, and returns how often. */
async function writeBesides(nest, items, random, isOver) {
  let count = 0;
  while (!isOver()) {
    const id = 2 + random.below(rows);
    await nest.transaction('write', (tx) => tx.update(items, id, { title: `written ${count}` }));
    count += 1;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  return count;
}

console.log(`${rows} rows, ${minutes} minutes, NEST_SEED=${seed}`);
const random = new Random(seed);
const stage = await Stage.start();
try {
  const text = Array.from({ length: rows }, (_, row) => `${row % (CHILDREN + 1) ? '\t' : ''}row ${row}\n`).join('');
  await stage.server.nestc(['import', '-', '--timeout', '600'], text);
  const nest = await connect({ url: `nest://${stage.server.address}`, user: 'Bo' });
  const page = await stage.open('/outline', { name: 'Ann' });
  await page.until(() => document.querySelector('[role=treegrid] [role=row]'));
  await unfoldAll(page, rows);
  const point = await page.middle('[role=treegrid]');
  const start = Date.now();
  const isOver = () => Date.now() - start > minutes * MINUTE;
  const writing = writeBesides(nest, await nest.entity('Item'), random.fork(), isOver);
  let typed = 0;
  for (let minute = 0; minute <= minutes; minute += 1) {
    while (Date.now() - start < minute * MINUTE) {
      await jump(page, random.below(1_000) / 1_000);
      for (let turn = 0; turn < TURNS; turn += 1) {
        await page.wheel({ x: point.x, y: 400 }, random.below(2) ? TURN : -TURN);
      }
      await page.until(() => document.querySelector('[role=row][data-id] .title'));
      await page.click(await page.middle('[role=row][data-id] .title'));
      await page.type('a');
      await page.press('Escape');
      typed += 1;
    }
    console.log(`after ${minute} min: ${await kept(page)}`);
  }
  console.log(`${await writing} writes of others, ${typed} rows typed in`);
  await nest.close();
} finally {
  await stage.close();
}
