// /server: numbers that move, connections to sort and end, tokens, a backup that is whole, a check; and what roles see.

import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '../../../Clients/js/node.js';
import { Server } from '../../../Clients/js/test/live/nestd.js';
import { click, misses, rows, sees, textOf, write } from './hands.js';
import { Stage, skip, until } from './stage.js';

const connections = '.connections';
const numbersOf = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.tile')]
  .filter((tile) => tile.checkVisibility() && tile.querySelector('strong'))
  .map((tile) => [tile.querySelector('h2').textContent, tile.querySelector('strong').textContent])));

test('server', { skip }, async (context) => {
  const stage = await Stage.start();
  const { server } = stage;
  try {
    const ann = await connect({ url: `nest://${server.address}`, user: 'Ann', clientName: 'a test' });
    const items = await ann.entity('Item');
    const list = ann.results(items.properties('title'));
    for await (const { type } of list) if (type === 'snapshot') break;
    ann.results(items.properties('done'));
    await ann.transaction('add Milk', (tx) => tx.insert(items, { title: 'Milk' }, { of: 1 }));
    const page = await stage.open('/server', { name: 'Cy' });

    await context.test('numbers move with what happens', async () => {
      await page.until(() => document.querySelectorAll('.tile .line[d^=M]').length > 3);
      let count = 0;
      await until(async () => {
        count += 1;
        await ann.transaction('write', (tx) => tx.update(items, 1, { note: String(count) }));
        const { Commits: commits } = await numbersOf(page);
        return Number(commits) > 0;
      });
      const numbers = await numbersOf(page);
      assert.ok(Number(numbers.Connections) >= 2, numbers.Connections);
      assert.match(numbers.Sent, /^[\d.]+ K?B$/);
      assert.match(numbers.Memory, /^[\d.]+ MB$/);
      await page.until(() => /99 % within\s+[\d.]+ (µs|ms|s)/.test(document.querySelector('.times').innerText));
      await click(page, 'All numbers');
      await sees(page, 'objects_changed', 'details');
    });

    await context.test('connections say who and what, sort by each column, and one can be ended', async () => {
      await page.until(() => document.querySelectorAll('.connections .grid-body .grid-row').length === 2);
      const [first, second] = await rows(page, connections);
      assert.deepEqual([first.who.split('\n').at(-1), first.client, first.subscriptions], ['~Ann', 'a test', '2']);
      assert.match(second.who, /~Cy\s+this window/);
      assert.equal(second.actions, '', 'this window cannot end itself');
      await click(page, 'Subscriptions', connections);
      await click(page, 'Subscriptions', connections);
      assert.deepEqual((await rows(page, connections)).map(({ subscriptions }) => subscriptions), ['0', '2']);
      assert.equal(await page.evaluate(() =>
        document.querySelector('.connections .subscriptions').getAttribute('aria-sort')), 'ascending');
      const lost = new Promise((resolve) => { ann.onState(({ phase }) => phase !== 'ready' && resolve()); });
      await click(page, 'Kick', connections);
      await sees(page, 'End the connection of ~Ann?', 'dialog');
      await click(page, 'Leave it', 'dialog');
      assert.equal(ann.state.phase, 'ready');
      await click(page, 'Kick', connections);
      await click(page, 'Kick', 'dialog');
      await lost;
      await sees(page, 'The connection of ~Ann has ended', '#notices');
    });

    await context.test('a row opens by the keyboard', async () => {
      await page.evaluate(() => document.querySelector('.connections .grid-body .grid-row').focus());
      await page.press('Enter');
      await sees(page, 'Waiting for it', 'dialog');
      await page.press('Escape');
    });

    await context.test('a check says what it does, and that nothing is wrong', async () => {
      await click(page, 'Check', '#main');
      await sees(page, 'No problem in 2 objects');
    });

    await context.test('a backup is the whole store', async () => {
      const folder = join(server.directory, 'downloads');
      await page.browser.send('Browser.setDownloadBehavior',
        { behavior: 'allow', downloadPath: folder, browserContextId: page.context });
      // A dialog of the system cannot be used here: without it the page offers a download.
      await page.evaluate(() => { window.showSaveFilePicker = undefined; });
      await click(page, 'Back up', '#main');
      await sees(page, 'The backup is complete');
      const file = await until(() => {
        try {
          return readdirSync(folder).find((name) => /^nest-.*\.sqlite$/.test(name));
        } catch {
          return undefined;
        }
      });
      const size = await until(() => statSync(join(folder, file)).size);
      assert.ok(size > 4_096);
      const expected = await server.nestc(['export', '--format', 'opml']);
      const copy = await Server.start();
      try {
        await copy.kill();
        copy.options.push('--store', join(folder, file));
        await copy.start();
        assert.equal(await copy.nestc(['export', '--format', 'opml']), expected);
      } finally {
        await copy.close();
      }
    });

    await context.test('a cluster: who leads, who lags, and what can be done about it', async () => {
      await page.evaluate(async () => {
        const { Cluster } = await import('/page/server/cluster.js');
        const node = (name, role, position, clients) =>
          ({ id: name, name, address: `${name}:7000`, version: '1', role, position, clients, drained: false });
        const status = {
          store: 'default', node: 'b', role: 'follower', epoch: 7, position: 90, head: 92, lag: 400_000, base: 0,
          log: 'PostgreSQL at db1', logFault: null, snapshot: { position: 50, made: 0, bytes: 2_000_000 },
          nodes: [node('a', 'leader', 92, 2), node('b', 'follower', 90, 2), node('c', 'stopped', null, null)],
          verifications: [], drained: false,
        };
        window.calls = [];
        const app = { can: () => true, notice: () => {}, attempt: (body) => body() };
        const operations = {
          cluster: async (mark = 0) => (mark === 0 ? status
            : { ...status, verifications: [{ node: 'a', digest: 'x' }, { node: 'b', digest: 'x' }] }),
          moveLeader: async (name) => { window.calls.push(`lead ${name}`); },
          drain: async (drains) => { window.calls.push(`drain ${drains}`); },
          verifyCluster: async () => 93,
        };
        const cluster = new Cluster(app, operations);
        document.querySelector('.server .page').append(cluster.element);
        cluster.element.id = 'cluster';
        await cluster.read();
      });
      const cells = await page.evaluate(() => [...document.querySelectorAll('#cluster tbody tr')].map((row) =>
        [...row.children].slice(0, 5).map((cell) => cell.textContent).join('|')));
      assert.deepEqual(cells, [
        'a|a:7000|leader|nothing|2', 'b (here)|b:7000|follower|2 records|2', 'c|c:7000|stopped|not known|–',
      ]);
      await sees(page, 'level with the log 400 ms ago', '#cluster');
      await click(page, 'Let b lead', '#cluster');
      await click(page, 'Move the lead', 'dialog');
      await click(page, 'Drain b', '#cluster');
      await click(page, 'Cancel', 'dialog');
      await click(page, 'Drain b', '#cluster');
      await click(page, 'Drain', 'dialog');
      await page.until(() => window.calls.join() === 'lead b,drain true');
      await click(page, 'Compare the stores', '#cluster');
      await sees(page, 'The stores of 2 nodes are equal', '#cluster');
      await page.evaluate(() => document.querySelector('#cluster').remove());
    });

    await context.test('tokens are created, listed and revoked', async () => {
      await click(page, 'Create a token');
      await sees(page, 'Create the first token', 'dialog');
      await write(page, 'dialog [name=name]', 'root');
      await page.press('Enter');
      await click(page, 'I have copied it', 'dialog');
      await sees(page, '1 token');
      await click(page, 'Create a token');
      await write(page, 'dialog [name=name]', 'laptop');
      await write(page, 'dialog [name=user]', 'Ann');
      await write(page, 'dialog [name=role]', 'read');
      await write(page, 'dialog [name=expiry]', '30');
      await write(page, 'dialog [name=root]', '2');
      await page.press('Enter');
      const text = await page.until(() => document.querySelector('dialog [aria-label="The token"]')?.value);
      await click(page, 'I have copied it', 'dialog');
      await sees(page, '2 tokens');
      assert.match(await textOf(page, '[data-token="2"]'), /laptop 2\s+Ann\s+read\s+object 2 and below\s+20\d\d-/);
      const guest = await connect({ url: `nest://${server.address}`, token: text });
      assert.deepEqual([guest.server.role, guest.server.confinement.root], ['read', 2]);
      const ended = new Promise((resolve) => { guest.onState(({ error }) => error && resolve(error.code)); });
      await click(page, 'Revoke the token laptop', '#main');
      await click(page, 'Revoke', 'dialog');
      assert.equal(await ended, 'UNAUTHENTICATED');
      await sees(page, '1 token');
      // The server refuses to lose its last administrator, and the page says why.
      await click(page, 'Revoke the token root', '#main');
      await click(page, 'Revoke', 'dialog');
      await page.until(() => document.querySelector('.notice[data-kind=fault]'));
      await sees(page, '1 token');
    });

    await context.test('a refused token keeps what was typed', async () => {
      await click(page, 'Create a token');
      await write(page, 'dialog [name=name]', 'nowhere');
      await write(page, 'dialog [name=root]', '424242');
      await page.press('Enter');
      await page.until(() => document.querySelector('dialog .fault').textContent !== '');
      assert.equal(await page.evaluate(() => document.querySelector('dialog [name=name]').value), 'nowhere');
      await page.press('Escape');
    });
    ann.close();
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});

test('server for a reader', { skip }, async () => {
  const stage = await Stage.start();
  try {
    const open = await connect({ url: `nest://${stage.server.address}` });
    const { text } = await (await open.operations()).createToken({ name: 'root', role: 'admin' });
    open.close();
    const admin = await connect({ url: `nest://${stage.server.address}`, token: text });
    const { text: token } = await (await admin.operations()).createToken({ name: 'reader', role: 'read' });
    admin.close();
    const page = await stage.open('/server',
      { name: 'reader', token, width: 390, height: 800, mobile: true, scheme: 'dark' });
    await sees(page, 'are for administrators');
    await page.until(() => document.querySelectorAll('.tile .line[d^=M]').length > 3);
    await misses(page, 'Tokens', 'h2');
    assert.equal(await page.evaluate(() => document.querySelectorAll('#main button').length), 0);
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});
