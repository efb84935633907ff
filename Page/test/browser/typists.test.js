// People write in one outline at the same time, behind a proxy that delays, stalls and breaks their connections. In every
// frame each page shows each row once, and only rows that exist at the revision that it shows; when all are quiet, the
// whole outline of each page is what nestc prints. NEST_SEED repeats a run, NEST_STEPS makes it longer.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'node:test';
import { checkFrames, sampler } from './frames.js';
import { unfoldAll } from './list.js';
import { Lives } from './lives.js';
import { Random, Stage, live, seed, skip } from './stage.js';
import { Typist } from './typist.js';
import { agree } from './whole.js';

const ROWS = 36;
const NAMES = ['Ann', 'Bo', 'Cem', 'Dora', 'Eli'];

/** An outline that is longer than the view of those who write in it. */
const beginning = () => Array.from({ length: ROWS }, (_, row) => `${'\t'.repeat(row % 4 % 3)}row ${row}\n`).join('');

/** Lets people write for so many steps each, and then compares. */
async function write(context, people, steps) {
  const random = new Random(seed + people);
  const stage = await Stage.start({ random: random.fork() });
  const lives = await Lives.follow(stage.server);
  const typists = [];
  try {
    await stage.server.nestc(['import', '-'], beginning());
    for (const name of NAMES.slice(0, people)) {
      const page = await stage.open('/outline', { name, isProxied: true, height: 480, script: sampler });
      await page.until(() => document.querySelectorAll('[role=treegrid] [role=row]').length > 0);
      await unfoldAll(page, ROWS);
      typists.push(new Typist(page, random.fork()));
    }
    const trouble = random.fork();
    let shown = 0;
    let compared = 0;
    for (const rounds = 2; compared < rounds; compared += 1) {
      stage.proxy.wild = true;
      stage.proxy.breakAll();
      let isWriting = true;
      const breaking = (async () => {
        for (; isWriting; await pause(trouble.between(300, 1500))) if (trouble.chance(0.3)) stage.proxy.breakAll();
      })();
      await Promise.all(typists.map(async (typist) => {
        for (let step = 0; step < steps / rounds; step += 1) await typist.step();
      })).finally(() => { isWriting = false; });
      await breaking;
      stage.proxy.calm();
      for (const { page } of typists) {
        await live(page);
        // Out of where one has zoomed into: the whole outline is compared.
        await page.evaluate(() => document.querySelector('#brand').click());
        await page.until(() => /^\/(outline\/?)?$/.test(location.pathname));
        shown = await agree(stage.server, page);
        const { count } = await checkFrames(page, lives);
        assert.ok(count > 0, 'frames are sampled');
      }
    }
    await stage.check(assert);
    const counts = {};
    for (const typist of typists) {
      for (const [kind, count] of Object.entries(typist.counts)) counts[kind] = (counts[kind] ?? 0) + count;
    }
    const [newest] = await stage.server.json(['history', '--all', '--limit', '1']);
    assert.ok(newest.revision > 1, 'something was written');
    context.diagnostic(JSON.stringify({ shown, revisions: newest.revision, ...stage.proxy.counts, ...counts }));
  } catch (error) {
    for (const { page, log } of typists) {
      await stage.picture(page, `typist-${page.name}`).catch(() => {});
      console.error(`${page.name}: ${log.join(' ')}\n${page.faults.slice(-5).join('\n')}`);
    }
    error.message = `NEST_SEED=${seed}: ${error.message}`;
    throw error;
  } finally {
    await lives.close();
    await stage.close();
  }
}

for (const [people, steps] of [[2, 24], [5, 8]]) {
  test(`${people} people write in one outline: NEST_SEED=${seed}`, { skip }, (context) =>
    write(context, people, Number(process.env.NEST_STEPS ?? steps)));
}
