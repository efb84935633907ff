#!/usr/bin/env node
// Prints how long the frames of an outline take while one scrolls through it, on a processor that is slowed down.
//
// Page/bench/scroll.js [ROWS] [SLOWNESS]      1,000,000 rows and 4 times slower, if left out
//
// NEST_BUILD: the directory of nestd and nestc; use a release build.

import { jump, unfoldAll } from '../test/browser/list.js';
import { Stage, skip } from '../test/browser/stage.js';

const [rows = 1_000_000, slowness = 4] = process.argv.slice(2).map(Number);
const CHILDREN = 9;
const STEPS = 400;
/** Pixels of one turn of the wheel. */
const TURN = 240;

if (skip) throw new Error(skip);

/** Notes in the page how long each frame takes, and how many of them show rows that have not come yet. */
const sample = `
  window.frameTimes = [];
  let last = performance.now();
  const look = (now) => { window.frameTimes.push(now - last); last = now; requestAnimationFrame(look); };
  requestAnimationFrame(look);`;

const stage = await Stage.start();
try {
  const text = Array.from({ length: rows }, (_, row) => `${row % (CHILDREN + 1) ? '\t' : ''}row ${row}\n`).join('');
  await stage.server.nestc(['import', '-', '--timeout', '600'], text);
  const page = await stage.open('/outline', { name: 'Ann', script: sample });
  await page.until(() => document.querySelector('[role=treegrid] [role=row]'));
  await unfoldAll(page, rows);
  await page.send('Emulation.setCPUThrottlingRate', { rate: slowness });
  const point = await page.middle('[role=treegrid]');
  for (const [name, place] of [['at the start', 0], ['in the middle', 0.5], ['at the end', 0.99]]) {
    await jump(page, place);
    await page.evaluate(() => { window.frameTimes.length = 0; });
    for (let step = 0; step < STEPS; step += 1) await page.wheel({ x: point.x, y: 400 }, place > 0.9 ? -TURN : TURN);
    const times = (await page.evaluate(() => window.frameTimes.splice(0))).sort((a, b) => a - b);
    const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(1);
    console.log(`${name}: ${times.length} frames, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`);
  }
} finally {
  await stage.close();
}
