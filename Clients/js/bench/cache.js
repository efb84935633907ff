#!/usr/bin/env node
// How long a page in Chromium takes until a list shows its rows from IndexedDB:
//
//     node Clients/js/bench/cache.js [--rows 1000] [--loads 30] [--json] [--limit]
//
// It needs nestd (NEST_BUILD, or the debug build of this copy) and Chromium. Each load is a new document without a
// server. The times are from the beginning of `connect`, when the database is open, to the first state, and until a
// program has read a value of each row; and, for comparison, until a connected page without a cache has them. --limit:
// exit status 1 if the median is above 50 ms.

import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Chromium, program } from '../test/browser/chromium.js';
import { missing, root, Server } from '../test/live/nestd.js';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000' }, loads: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false }, limit: { type: 'boolean', default: false },
  },
});
const [rows, loads] = [options.rows, options.loads].map(Number);
const limit = 50;

if (missing || program === null) {
  console.error(missing || 'there is no Chromium');
  process.exit(2);
}

const page = `
import { connect } from '/nest-client/index.js';
import { IndexedDBCache } from '/nest-client/cache.js';

window.measure = async (hasCache, isOffline) => {
  const before = performance.now();
  const cache = hasCache ? await IndexedDBCache.open({ name: 'bench' }) : undefined;
  const start = performance.now();
  const nest = await connect({ cache, ...(isOffline && { url: 'ws://127.0.0.1:1/nest' }) });
  const items = await nest.entity('Item');
  const list = nest.results(items.children(1).properties('title', 'note', 'done'));
  await new Promise((resolve) => {
    const end = list.subscribe(({ type }) => {
      if (type !== 'snapshot') return;
      end();
      resolve();
    });
  });
  const first = performance.now();
  let length = 0;
  for (const row of list.state.rows) length += row.title.length;
  const read = performance.now();
  if (!isOffline && cache) await cache.flush();
  nest.close();
  return { open: start - before, first: first - start, read: read - start, count: list.state.count, length };
};
window.isReady = true;
`;

const site = mkdtempSync(join(tmpdir(), 'nest-bench-'));
const html = '<!doctype html><title>bench</title><script type="module" src="page.js"></script>';
writeFileSync(join(site, 'index.html'), html);
writeFileSync(join(site, 'page.js'), page);
cpSync(join(root, 'Clients/js'), join(site, 'nest-client'), { recursive: true });
const server = await Server.start('--web', 'WEB', '--web-root', site);
const browser = await Chromium.start();
const address = `http://${server.web}/`;
const percentile = (times, part) => times[Math.min(times.length - 1, Math.floor(times.length * part))];
let isSlow = false;
try {
  for (let from = 0; from < rows; from += 500) {
    const length = Math.min(500, rows - from);
    const titles = Array.from({ length }, (_, index) => `an item of the list ${from + index}`);
    await server.nestc(['add', ...titles]);
  }
  const tab = await browser.open(address);
  const load = async (...given) => {
    await tab.go(address);
    await tab.until(() => window.isReady);
    const found = await tab.evaluate((...all) => window.measure(...all), ...given);
    if (found.count !== rows) throw new Error(`${found.count} rows instead of ${rows}`);
    return found;
  };
  await load(true, false);
  for (const [what, ...given] of [['from the cache', true, true], ['from the server', false, false]]) {
    const found = [];
    for (let count = 0; count < loads; count += 1) found.push(await load(...given));
    const line = { what, rows, loads };
    for (const name of ['open', 'first', 'read']) {
      const times = found.map((each) => each[name]).sort((a, b) => a - b);
      line[name] = { p50: percentile(times, 0.5), p90: percentile(times, 0.9) };
    }
    isSlow ||= given[0] && line.read.p50 > limit;
    const text = ({ p50, p90 }) => `${p50.toFixed(1)} (${p90.toFixed(1)})`;
    const times = ['open', 'first', 'read'].map((name) => `${name} ${text(line[name])}`).join(', ');
    console.log(options.json ? JSON.stringify(line) : `${what}: ${rows} rows, ms p50 (p90): ${times}`);
  }
} finally {
  await browser.close();
  await server.close();
  rmSync(site, { recursive: true });
}
process.exit(options.limit && isSlow ? 1 : 0);
