// The shell of the page: its bar, keys, the link when the server goes away or is another one, and signing in.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '../../../Clients/js/node.js';
import { click, misses, sees, textOf, write } from './hands.js';
import { Stage, live, skip } from './stage.js';

const SHIFT = 8;
const state = () => document.querySelector('#link').dataset.state;
const session = () => JSON.parse(sessionStorage.getItem('nest-session')).session;

test('the bar, addresses and the keyboard', { skip }, async (context) => {
  const stage = await Stage.start();
  try {
    const page = await stage.open('/history');

    await context.test('pages, titles and addresses go together, and back goes back', async () => {
      assert.equal(await page.evaluate(() => document.title), 'History · nest');
      await click(page, 'Wire', '#places');
      await page.until(() => location.pathname === '/wire' && document.title === 'Wire · nest');
      await page.until(() => document.activeElement === document.querySelector('#main'));
      assert.equal(await page.evaluate(() => document.querySelector('#places [aria-current]').textContent), 'Wire');
      await page.evaluate(() => history.back());
      await page.until(() => location.pathname === '/history' && document.title === 'History · nest');
    });

    await context.test('an address that is none says so', async () => {
      await page.evaluate(() => {
        history.pushState(null, '', '/nothing');
        dispatchEvent(new PopStateEvent('popstate'));
      });
      await sees(page, 'There is no such page');
      await click(page, 'History', '#places');
      await sees(page, 'Nothing has been changed yet');
    });

    await context.test('F6 goes through the parts of the window, and the skip link to the content', async () => {
      const part = () => {
        const one = document.activeElement.closest('#bar, #main [data-region], #main');
        return one === null ? null : one.id || one.className;
      };
      await page.evaluate(() => document.querySelector('#brand').focus());
      await page.press('F6');
      assert.equal(await page.evaluate(part), 'head');
      await page.press('F6', SHIFT);
      assert.equal(await page.evaluate(part), 'bar');
      await page.evaluate(() => document.querySelector('.skip').focus());
      await page.press('Enter');
      assert.equal(await page.evaluate(part), 'main');
      assert.equal(await page.evaluate(() => location.hash), '');
    });

    await context.test('? shows the keys, and Escape gives the focus back', async () => {
      await page.evaluate(() => document.querySelector('#brand').focus());
      await page.press('?');
      await sees(page, 'Undo', 'dialog');
      await sees(page, 'F6', 'dialog');
      await page.press('Escape');
      await page.until(() => !document.querySelector('dialog') && document.activeElement.id === 'brand');
    });

    await context.test('a name that one gives oneself is what others see, as a claim', async () => {
      await click(page, 'live', '#bar');
      await click(page, 'Change my name', 'dialog');
      await write(page, 'dialog input', 'Ann');
      await page.press('Enter');
      await page.until(() => !document.querySelector('dialog'));
      await live(page);
      await click(page, 'live', '#bar');
      await sees(page, '~Ann', 'dialog');
      await page.press('Escape');
      const [client] = await stage.server.json(['clients']);
      assert.deepEqual([client.user, client.userClaimed], ['Ann', true]);
    });

    await context.test('a window that is loaded again keeps its session; one beside it has another', async () => {
      const before = await page.evaluate(session);
      await stage.go(page, '/history');
      assert.equal(await page.evaluate(session), before);
      // A window that is opened from another one begins with a copy of what that one has stored.
      await page.evaluate(() => {
        window.second = open('/history');
      });
      await page.until((own) => {
        const stored = window.second.sessionStorage.getItem('nest-session');
        return stored !== null && JSON.parse(stored).session !== own;
      }, before);
      await page.evaluate(() => window.second.close());
      assert.equal(await page.evaluate(session), before);
    });
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});

/** Lets the WebSockets of a page fail until `window.isReachable`. */
const unreachable = `
  window.isReachable = false;
  window.WebSocket = class extends WebSocket {
    constructor(url, ...rest) {
      super(window.isReachable ? url : url.replace('/nest', '/nowhere'), ...rest);
    }
  };`;

test('the link', { skip }, async (context) => {
  const stage = await Stage.start();
  const { server } = stage;
  try {
    await server.nestc(['add', 'Milk']);
    const page = await stage.open('/history', { name: 'Ann' });
    await sees(page, 'add item "Milk"');

    await context.test('a lost server is named with its next attempt; "try now" does not wait for it', async () => {
      await server.kill();
      await page.until(() => /next attempt in \d+ s/.test(document.querySelector('#link').textContent));
      assert.equal(await page.evaluate(state), 'reconnecting');
      await sees(page, 'add item "Milk"');
      await click(page, 'offline', '#bar');
      await sees(page, 'Not connected', 'dialog');
      await server.start();
      await click(page, 'Try now', 'dialog');
      await live(page);
      await server.nestc(['add', 'Bread']);
      await sees(page, 'add item "Bread"');
    });

    await context.test('another store is announced, and shown', async () => {
      await server.kill();
      for (const end of ['', '-wal', '-shm']) rmSync(join(server.directory, `store.sqlite${end}`), { force: true });
      await server.start();
      await page.evaluate(() => dispatchEvent(new Event('online')));
      await sees(page, 'The server has another store now', '#notices');
      await server.nestc(['add', 'Eggs']);
      await sees(page, 'add item "Eggs"');
      await misses(page, 'add item "Milk"');
    });

    await context.test('another model is announced', async () => {
      const { entities, ...rest } = JSON.parse(await server.nestc(['model', 'show', '--json']));
      entities[0].attributes.push({ name: 'colour', type: 'string', optional: true });
      const file = join(server.directory, 'model.json');
      writeFileSync(file, JSON.stringify({ ...rest, entities }));
      await server.kill();
      server.options.push('--model', file);
      await server.start();
      await page.evaluate(() => dispatchEvent(new Event('online')));
      await sees(page, 'The server has another model now', '#notices');
      await sees(page, 'add item "Eggs"');
    });

    await context.test('a page that begins without a server says so, and goes on when there is one', async () => {
      const late = await stage.open('/history', { name: 'Bo', script: unreachable, isReady: false });
      await sees(late, 'The server does not answer');
      await late.until(() => /next attempt in \d+ s/.test(document.querySelector('#link').textContent));
      await late.evaluate(() => { window.isReachable = true; });
      await click(late, 'Try now', '#main');
      await live(late);
      await sees(late, 'add item "Eggs"');
    });
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});

test('signing in', { skip }, async (context) => {
  const stage = await Stage.start();
  const { server } = stage;
  try {
    const first = await stage.open('/server', { name: 'Root' });

    await context.test('the first token is the window’s own: it goes on with it', async () => {
      await sees(first, 'every client is an administrator');
      await click(first, 'Create a token');
      await write(first, 'dialog [name=name]', 'root');
      await first.press('Enter');
      await sees(first, 'This window goes on with it', 'dialog');
      await click(first, 'I have copied it', 'dialog');
      await sees(first, '1 token');
      await live(first);
      // A dialog goes a moment after its button was pressed; one that asks for a token would stay.
      await first.until(() => !document.querySelector('dialog'));
    });
    const text = await first.evaluate(() => sessionStorage.getItem('nest-token'));
    const admin = await connect({ url: `nest://${server.address}`, token: text });
    const operations = await admin.operations();
    const items = await admin.entity('Item');

    await context.test('without a token, or with a wrong one, the page asks', async () => {
      const page = await stage.open('/history', { name: 'Ann', isReady: false });
      await sees(page, 'This server requires a token', 'dialog');
      await page.press('Escape');
      await page.until(() => !document.querySelector('dialog'));
      await click(page, 'Sign in', '#main');
      await write(page, 'dialog [name=token]', 'nest_1_short');
      await page.press('Enter');
      assert.equal(await page.evaluate(() => document.querySelector('dialog input').validity.patternMismatch), true);
      await write(page, 'dialog [name=token]', `nest_1_${'0'.repeat(64)}`);
      await page.press('Enter');
      await sees(page, 'refuses this token', 'dialog');
      const { text: own } = await operations.createToken({ name: 'ann', role: 'write', user: 'Ann' });
      await write(page, 'dialog [name=token]', own);
      await page.press('Enter');
      await live(page);
      await stage.go(page, '/history');
      await live(page);
      // It is not in the storage that outlives the window, nor in the address.
      assert.equal(await page.evaluate(() => localStorage.getItem('nest-token')), null);
      assert.ok(!(await page.evaluate(() => location.href)).includes('nest_'));
      await click(page, 'live', '#bar');
      await sees(page, 'read and write', 'dialog');
      await click(page, 'Sign out', 'dialog');
      await sees(page, 'This server requires a token', 'dialog');
      assert.equal(await page.evaluate(() => sessionStorage.getItem('nest-token')), null);
    });

    await context.test('a token that is revoked or expires while the page is open leaves what it shows', async () => {
      const { text: own, number } = await operations.createToken({ name: 'bo', role: 'write', user: 'Bo' });
      await admin.transaction('add Milk', (tx) => tx.update(items, 1, { note: 'Milk' }));
      const page = await stage.open('/history', { name: 'Bo', token: own });
      await sees(page, 'add Milk', '.transactions');
      await operations.revokeToken(number);
      await sees(page, 'revoked', 'dialog');
      await sees(page, 'add Milk', '.transactions');
      const expires = new Date(Date.now() + 2_000);
      const { text: short } = await operations.createToken({ name: 'bo', role: 'read', user: 'Bo', expires });
      await write(page, 'dialog [name=token]', short);
      await page.press('Enter');
      await sees(page, 'has expired', 'dialog');
      const { text: last } = await operations.createToken({ name: 'bo', role: 'read', user: 'Bo' });
      await write(page, 'dialog [name=token]', last);
      await page.press('Enter');
      await live(page);
      await sees(page, 'add Milk', '.transactions');
    });

    await context.test('a confined token is not offered the server', async () => {
      let guest;
      const receipt = await admin.transaction('add Guest', (tx) => {
        guest = tx.insert(items, { title: 'Guest' }, { of: 1 });
      });
      const confinement = { root: receipt.id(guest), entity: 'Item', relationship: 'children' };
      const { text: own } = await operations.createToken({ name: 'guest', role: 'write', confinement });
      const page = await stage.open('/wire', { name: 'Guest', token: own });
      assert.equal(await textOf(page, '#places a'), ['Outline', 'Explore', 'History', 'Wire'].join('\n'));
      await stage.go(page, '/server');
      await sees(page, 'This page is not for your token');
    });
    admin.close();
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});
