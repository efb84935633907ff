// Pages follow a list while a server is killed and starts again: what they show is what nestc fetches.
// NEST_PICTURES: a directory for pictures of the pages.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, missing, root, until } from '../live/nestd.js';
import { Chromium, program } from './chromium.js';

const hostile = '<img src=x onerror="window.isHacked = true"><script>window.isHacked = true</script>';
const window_ = 100;

/** What a page shows. */
const shown = (page) => page.evaluate(() => [...document.querySelectorAll('#list li')].map((element) => ({
  id: Number(element.dataset.id), title: element.querySelector('.title').value,
  done: element.querySelector('input').checked,
})));

/** What the server has, as far as a page shows it. */
async function stored(server, limit = window_) {
  const rows = await server.json(['fetch', '--of', '1', '--properties', 'title,done', '--limit', `${limit}`]);
  return rows.map(({ id, title, done }) => ({ id, title, done }));
}

/** Waits until pages show what the server has. */
async function agree(server, pages, limit = window_) {
  const expected = JSON.stringify(await stored(server, limit));
  for (const page of pages) {
    await until(async () => JSON.stringify(await shown(page)) === expected,
      async () => `${JSON.stringify(await shown(page))}\ninstead of ${expected}\n${page.faults.join('\n')}`);
  }
}

const isLive = () => document.querySelector('#state').dataset.state === 'live';

test('the example quotes its own code', () => {
  const read = (name) => readFileSync(join(root, 'Examples/browser-list', name), 'utf8');
  const bare = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean).join('\n');
  const blocks = [...read('README.md').matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
  assert.ok(blocks.length > 0);
  for (const block of blocks) assert.ok(bare(read('list.js')).includes(bare(block)), block);
});

test('pages of a live list', { skip: missing || (program === null && 'chromium is missing') }, async (context) => {
  const server = await Server.start('--web', 'WEB', '--web-root', root);
  const browser = await Chromium.start();
  const picture = async (page, name) => {
    if (!process.env.NEST_PICTURES) return;
    mkdirSync(process.env.NEST_PICTURES, { recursive: true });
    writeFileSync(join(process.env.NEST_PICTURES, `${name}.png`), await page.screenshot());
  };
  try {
    const address = (name) => `http://${server.web}/Examples/browser-list/?as=${name}`;
    const ann = await browser.open(address('Ann'));
    await ann.until(isLive);
    assert.equal(await ann.evaluate(() => document.querySelector('#empty').hidden), false);
    await server.nestc(['add', 'Milk', 'Bread', hostile]);
    // A phone in the dark.
    const bo = await browser.open(address('Bo'), { width: 360, height: 740, mobile: true, scheme: 'dark' });
    await agree(server, [ann, bo]);

    await context.test('what one person does, the other sees', async () => {
      await ann.evaluate(() => document.querySelector('#title').focus());
      await ann.type('Butter');
      await ann.press('Enter');
      await bo.until(() => document.querySelectorAll('#list li').length === 4);
      await bo.evaluate(() => document.querySelector('#list input[type=checkbox]').click());
      await ann.until(() => document.querySelector('#list input[type=checkbox]').checked);
      await bo.evaluate(() => document.querySelectorAll('#list .title')[1].select());
      await bo.type('Rye bread');
      await bo.press('Enter');
      await ann.until(() => document.querySelectorAll('#list .title')[1].value === 'Rye bread');
      await ann.evaluate(() => document.querySelectorAll('#list .title')[1].focus());
      await ann.press('ArrowUp', 1);
      await bo.until(() => document.querySelector('#list .title').value === 'Rye bread');
      await agree(server, [ann, bo]);
      const focused = await ann.evaluate(() => document.activeElement.value);
      assert.equal(focused, 'Rye bread', 'a moved entry keeps the focus');
    });

    await context.test('each change has its author, and each person an undo', async () => {
      const chips = (page) => page.evaluate(() => {
        const elements = [...document.querySelectorAll('#list li:has(.person)')];
        return Object.fromEntries(elements.map((element) => [
          element.querySelector('.title').value, element.querySelector('.person').textContent]));
      });
      assert.deepEqual(await chips(ann), { 'Rye bread': 'You', Milk: 'Bo', [hostile]: 'Someone', Butter: 'You' });
      assert.deepEqual(await chips(bo), { 'Rye bread': 'Ann', Milk: 'You', Butter: 'Ann' });
      await ann.until(() => document.querySelectorAll('#activity li').length >= 5);
      await picture(ann, 'light');
      await picture(bo, 'phone-dark');
      await ann.until(() => document.querySelector('#undo').textContent.includes('move “Rye bread”'));
      await ann.evaluate(() => document.querySelector('#undo').click());
      await bo.until(() => document.querySelector('#list .title').value === 'Milk');
      await bo.until(() => document.querySelector('#undo').textContent.includes('edit “Rye bread”'));
      await bo.evaluate(() => document.querySelector('#undo').click());
      await ann.until(() => document.querySelectorAll('#list .title')[1].value === 'Bread');
      await agree(server, [ann, bo]);
    });

    await context.test('text is only text', async () => {
      for (const page of [ann, bo]) {
        assert.equal(await page.evaluate(() => window.isHacked ?? false), false);
        const made = await page.evaluate(() => document.querySelectorAll('main img, main script, section img').length);
        assert.equal(made, 0);
      }
    });

    await context.test('a refusal is shown', async () => {
      await ann.evaluate((title) => { document.querySelector('#title').value = title; }, 'x'.repeat(70_000));
      await ann.evaluate(() => document.querySelector('#add').requestSubmit());
      await ann.until(() => document.querySelector('#message').textContent !== '');
    });

    await context.test('pages survive kill -9, and send once what was typed meanwhile', async () => {
      for (let round = 1; round <= 3; round += 1) {
        await server.kill();
        await ann.until(() => document.querySelector('#state').dataset.state !== 'live');
        await ann.evaluate((title) => { document.querySelector('#title').value = title; }, `typed while away ${round}`);
        await ann.evaluate(() => document.querySelector('#add').requestSubmit());
        if (round === 1) await picture(ann, 'offline');
        await server.start();
        const [{ id }] = await stored(server);
        await server.nestc(['mv', `${id}`, '--last']);
        await server.nestc(['add', `after restart ${round}`]);
        await until(async () => (await stored(server)).some(({ title }) => title === `typed while away ${round}`));
        for (const page of [ann, bo]) await page.until(isLive);
        await agree(server, [ann, bo]);
        const titles = (await stored(server)).map(({ title }) => title);
        assert.equal(titles.filter((title) => title === `typed while away ${round}`).length, 1);
      }
    });

    await context.test('a long list shows a part, and more of it on demand', async () => {
      await server.nestc(['import', '-'], Array.from({ length: 250 }, (_, index) => `item ${index}\n`).join(''));
      await agree(server, [ann, bo]);
      await ann.evaluate(() => document.querySelector('#more').click());
      await agree(server, [ann], 2 * window_);
      await agree(server, [bo]);
    });

    await context.test('the pages fit, have names for everything, and broke no rule', async () => {
      for (const page of [ann, bo]) {
        const fits = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
        assert.ok(fits, 'no horizontal scrolling');
        const { nodes } = await page.send('Accessibility.getFullAXTree');
        const nameless = nodes.filter(({ ignored, role, name }) => !ignored
          && ['button', 'textbox', 'checkbox', 'link'].includes(role?.value) && !name?.value);
        assert.deepEqual(nameless.map(({ role }) => role.value), []);
        // A browser reports each attempt to reach a server that is down.
        assert.deepEqual(page.faults.filter((fault) => !fault.startsWith('WebSocket connection to')), []);
      }
    });
  } finally {
    await browser.close();
    await server.close();
  }
});
