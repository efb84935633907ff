// What a token may do decides what the page offers: no button leads to a refusal, none does nothing; a confined token
// sees nothing above its root; and a token that ends while somebody writes takes nothing away that was typed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Clients/js/node.js';
import { fill, model } from '../demo/store.js';
import { crawl } from './crawl.js';
import { Random, Stage, isDrawn, seed, skip, until } from './stage.js';

const PAGES = ['/outline', '/explore', '/explore/Item', '/history', '/server', '/wire'];

/** A server with the demo store and these tokens: `{ name: [options] }`. */
async function withTokens(wanted, options = {}) {
  const stage = await Stage.start({ options: ['--model', model], ...options });
  const { server } = stage;
  await fill(server);
  const secrets = {};
  const admin = await connect({ url: `nest://${server.address}` });
  const first = await (await admin.operations()).createToken({ name: 'root', role: 'admin', user: 'Root' });
  admin.close();
  stage.admin = await connect({ url: `nest://${server.address}`, token: first.text });
  stage.operations = await stage.admin.operations();
  for (const [name, given] of Object.entries(wanted)) {
    secrets[name] = await stage.operations.createToken({ name, user: name, ...given });
  }
  return { stage, secrets };
}

const revision = async (stage) => (await stage.admin.history({ limit: 1, onlyMine: false }))[0].revision;
const find = async (stage, title) => {
  const items = await stage.admin.entity('Item');
  return (await stage.admin.fetch(items.where`title == ${title}`)).rows[0];
};

/** The texts of the page, with those of titles and fields. */
const text = () => document.body.innerText + [...document.querySelectorAll('input, textarea')].map(({ value }) => value).join('\n');

test('what each role is offered', { skip }, async (context) => {
  const { stage, secrets } = await withTokens({ Reader: { role: 'read' } });
  try {
    const party = (await find(stage, 'Harvest party')).id;
    const confinement = { root: party, entity: 'Item', relationship: 'children' };
    for (const [name, role] of [['Guest', 'write'], ['Visitor', 'read']]) {
      secrets[name] = await stage.operations.createToken({ name, role, user: name, confinement });
    }

    const visits = {
      Reader: PAGES, Visitor: ['/outline', '/explore/Item', '/history'], Guest: ['/outline', '/explore', '/history', '/server'],
    };
    for (const [who, paths] of Object.entries(visits)) {
      await context.test(`${who} finds no dead button and no refused one`, async () => {
        const page = await stage.open('/outline', { name: who, token: secrets[who].text });
        const before = await revision(stage);
        let count = 0;
        for (const path of paths) {
          const dead = [];
          count += await crawl(page, () => stage.go(page, path), async (name, did) => {
            if (!did) dead.push(name);
            assert.deepEqual(page.refused.filter(({ code }) => code === 'NOT_PERMITTED'), [], `${who} at ${path}: ${name}`);
          });
          assert.deepEqual(dead, [], `${who} at ${path}: buttons that do nothing`);
        }
        assert.ok(count > 5, `${count} buttons and entries of menus`);
        if (who !== 'Guest') assert.equal(await revision(stage), before);
        await stage.check(assert, [page]);
        await page.close();
      });
    }

    await context.test('a reader selects titles, and changes none', async () => {
      const page = await stage.open('/outline', { name: 'Reader', token: secrets.Reader.text });
      const before = await revision(stage);
      await page.until(() => document.querySelectorAll('[role=row][data-id] .title').length > 3);
      const selectable = await page.evaluate(() => getComputedStyle(document.querySelector('[role=row][data-id] .title')).userSelect);
      assert.notEqual(selectable, 'none');
      await page.click(await page.middle('[role=row][data-id] .title'));
      await page.type('typed by a reader');
      for (const [key, modifiers] of [['Enter', 0], ['Tab', 0], ['Backspace', 10], ['Enter', 2], ['z', 2], ['ArrowDown', 10]]) {
        await page.press(key, modifiers);
      }
      assert.equal((await page.evaluate(text)).includes('typed by a reader'), false);
      assert.equal(await revision(stage), before);
      await stage.check(assert, [page]);
      await page.close();
    });

    await context.test('a confined token begins at its root, and sees no word of the rest', async () => {
      for (const who of ['Guest', 'Visitor']) {
        const page = await stage.open('/outline', { name: who, token: secrets[who].text });
        await page.until(() => document.querySelector('[role=treegrid]')?.textContent.includes('Soup'));
        for (const path of [...PAGES, '/outline/2', '/outline/1', '/explore/Item/2', '/explore/Gardener']) {
          await stage.go(page, path);
          const words = await page.evaluate(text);
          for (const secret of ['Spring in the garden', 'Rules of the house', 'Anna Lindqvist', 'Herb spiral', 'Rhubarb']) {
            assert.equal(words.includes(secret), false, `${who} sees “${secret}” at ${path}`);
          }
        }
        await page.close();
      }
    });
  } finally {
    stage.admin.close();
    await stage.close();
  }
});

/** Signs in, in the dialog that asks for it. */
async function signIn(page, token) {
  await page.until(() => document.querySelector('dialog[open] input[type=password]'));
  await page.evaluate(() => document.querySelector('dialog[open] input[type=password]').focus());
  await page.type(token);
  await page.press('Enter');
  await page.until(isDrawn);
}

test('a token that ends while the page is open', { skip }, async (context) => {
  const { stage, secrets } = await withTokens({ First: { role: 'write' }, Second: { role: 'write' } },
    { random: new Random(seed) });
  try {
    await context.test('a wrong one is refused in the dialog', async () => {
      const page = await stage.open('/outline', { name: 'Ann', token: 'nest_1_wrong', isReady: false });
      await page.until(() => document.querySelector('dialog[open] .fault')?.textContent);
      await signIn(page, secrets.Second.text);
      await page.until(() => document.querySelector('[role=treegrid]')?.textContent.includes('Harvest party'));
      await page.close();
    });

    await context.test('revoked: the page asks for another one, and what was typed meanwhile is kept', async () => {
      const page = await stage.open('/outline', { name: 'First', token: secrets.First.text, isProxied: true });
      await page.until(() => document.querySelectorAll('[role=row][data-id] .title').length > 3);
      await page.click(await page.middle('[role=row][data-id] .title'));
      await page.press('End');
      await page.type(' one');
      await until(async () => await find(stage, 'Spring in the garden one'));
      stage.block();
      await page.until(() => document.querySelector('#link').dataset.state !== 'ready');
      await page.type(' two');
      await stage.operations.revokeToken(secrets.First.number);
      stage.unblock();
      await signIn(page, secrets.Second.text);
      await until(async () => await find(stage, 'Spring in the garden one two'), () => page.evaluate(text));
      await page.close();
    });

    await context.test('expired: the page says so', async () => {
      const expires = new Date(Date.now() + 4_000);
      const brief = await stage.operations.createToken({ name: 'brief', role: 'write', expires });
      const page = await stage.open('/outline', { name: 'Brief', token: brief.text, isReady: false });
      await page.until(() => /expired/i.test(document.querySelector('dialog[open]')?.textContent ?? ''));
      await signIn(page, secrets.Second.text);
      await page.until(() => document.querySelector('[role=treegrid]')?.textContent.includes('Harvest party'));
      await page.close();
    });
  } finally {
    stage.admin.close();
    await stage.close();
  }
});
