// The pages of the client's README in Chromium: its html block is index.html, its page block list.js, and a copy of the
// client is beside them. Another block has the program of a page with a cache.

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, missing, root } from '../live/nestd.js';
import { Chromium, program } from './chromium.js';

const client = join(root, 'Clients/js');
const readme = readFileSync(join(client, 'README.md'), 'utf8');

/** The code of the first block of a kind. */
const block = (kind) => new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'ms').exec(readme)?.[1];

test('the pages of README.md', { skip: missing || (program === null && 'chromium is missing') }, async () => {
  const site = mkdtempSync(join(tmpdir(), 'nest-site-'));
  writeFileSync(join(site, 'index.html'), block('html'));
  writeFileSync(join(site, 'list.js'), block('js page'));
  writeFileSync(join(site, 'cached.html'), block('html').replace('list.js', 'cached.js'));
  writeFileSync(join(site, 'cached.js'), block('js cached page'));
  const isShipped = (path) => !/\/(test|bench)$/.test(path);
  cpSync(client, join(site, 'nest-client'), { recursive: true, filter: isShipped });
  const server = await Server.start('--web', 'WEB', '--web-root', site);
  const browser = await Chromium.start();
  try {
    await server.nestc(['add', 'Milk', '<b>Bread</b>']);
    const page = await browser.open(`http://${server.web}/`);
    await page.until(() => document.querySelectorAll('li').length === 2);
    await server.nestc(['mv', '3', '--first']);
    await page.until(() => document.querySelector('li').textContent === '<b>Bread</b>');
    await server.restart();
    await server.nestc(['add', 'Butter']);
    await page.until(() => document.querySelectorAll('li')[2]?.textContent === 'Butter');

    const titles = (state) => (document.body.dataset.state === state
      ? [...document.querySelectorAll('li')].map((line) => line.textContent).join(' ') : null);
    const current = '<b>Bread</b> Milk Butter';
    await page.go(`http://${server.web}/cached.html`);
    assert.equal(await page.until(titles, 'current'), current);
    await page.go(`http://${server.web}/cached.html`);
    await server.nestc(['add', 'Eggs']);
    await page.until((expected) => document.body.dataset.state === 'current'
      && document.querySelectorAll('li').length === expected, 4);
    // The page is served, and then the server is gone.
    const source = 'window.WebSocket = class { constructor() { throw new Error("there is no network"); } };';
    await page.send('Page.addScriptToEvaluateOnNewDocument', { source });
    await page.go(`http://${server.web}/cached.html`);
    assert.equal(await page.until(titles, 'from the last run'), `${current} Eggs`);
    assert.deepEqual(page.faults.filter((fault) => !fault.startsWith('WebSocket connection to')), []);
  } finally {
    await browser.close();
    await server.close();
    rmSync(site, { recursive: true });
  }
});
