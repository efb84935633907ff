// One walk through the page in Firefox, which has another engine: it loads, follows a list, writes and navigates.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Server, missing, until } from '../../../Clients/js/test/live/nestd.js';
import { Firefox, firefox } from './firefox.js';

test('the page in Firefox', { skip: missing || (firefox === null && 'firefox-esr is missing') }, async () => {
  const server = await Server.start('--web', 'WEB');
  const browser = await Firefox.start();
  try {
    await server.nestc(['add', 'Milk', 'Bread']);
    await browser.go(`http://${server.web}/outline`);
    const shows = (...titles) => browser.until((...wanted) => {
      const rows = [...document.querySelectorAll('[role=treegrid] [role=row]')];
      const seen = rows.map((row) => row.querySelector('.title').textContent.replace(/\u200b$/, ''));
      return JSON.stringify(seen) === JSON.stringify(wanted);
    }, ...titles);
    await shows('Milk', 'Bread');
    await server.nestc(['add', 'Butter']);
    await shows('Milk', 'Bread', 'Butter');
    await browser.click('[role=row][data-id] .title');
    await browser.until(() => document.activeElement.localName === 'textarea');
    await browser.press(['End', ...' and tea']);
    await browser.press(['Enter', ...'Eggs']);
    await until(async () => (await server.nestc(['ls'])).includes('Eggs'), () => server.nestc(['ls']));
    await browser.press('Tab');
    await until(async () => (await server.nestc(['export'])) === 'Milk and tea\n\tEggs\nBread\nButter\n',
      () => server.nestc(['export']));
    await server.restart();
    await browser.until(() => document.querySelector('#link').dataset.state === 'ready');
    await server.nestc(['add', 'Salt']);
    await browser.until(() => document.querySelector('[role=treegrid]').textContent.includes('Salt'));
    for (const name of ['explore', 'history', 'server', 'wire']) {
      await browser.evaluate((page) => document.querySelector(`#places a[href="/${page}"]`).click(), name);
      await browser.until((page) => document.querySelector('#main').className.includes(page)
        && document.querySelector('#main').childElementCount > 0, name);
    }
    // A browser reports each attempt to reach a server that is down.
    assert.deepEqual(browser.faults.filter((fault) => !/can’t establish a connection|interrupted/.test(fault)), []);
  } finally {
    await browser.close();
    await server.close();
  }
});
