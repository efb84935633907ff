// What others write into titles, notes, names and addresses is text for the page: nothing of it runs, leaves the origin,
// breaks a rule of the content security policy, or hides what stands beside it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Clients/js/node.js';
import { trapModel } from '../../../Clients/js/test/live/nestd.js';
import { Stage, skip } from './stage.js';

const HOSTILE = [
  '<img src=x onerror="trap()">', '<script>trap()</script>', '"><svg onload=trap()>', "javascript:trap()",
  '[link](javascript:trap())', 'http://evil.example/<script>trap()</script>', 'https://evil.example/pixel.png',
  '![](https://evil.example/pixel.png)', 'data:text/html,<script>trap()</script>', '<style>*{display:none}</style>',
  '<iframe srcdoc="<script>parent.trap()</script>">', '{{constructor.constructor("trap()")()}}', '${trap()}',
  '<a href="javascript:trap()">click</a>', '#<img/src=x/onerror=trap()>', '&lt;img src=x onerror=trap()&gt;', '</textarea><script>trap()</script>',
];
/** Right-to-left overrides and isolates without their end, controls, joiners, and characters of any width. */
const STRANGE = [
  '\u202Eevil\u202E', '\u2066\u2067\u2068open', '\u200F\u061C', 'a\u0001b\u0002c\u0007\u001B[31m', 'line\u2028two\u2029three',
  '\uFEFF\u200B\u200D', 'Z\u0351\u036B\u0343\u036A'.repeat(50), '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}', '\uFFFE\uFFFF', '\u00A0', '',
  'اُكتب هنا', 'x'.repeat(65_000), '漢'.repeat(20_000), 'word '.repeat(10_000),
];

const PAGES = ['/outline', '/explore', '/explore/Item', '/history', '/server', '/wire'];

/** Addresses that no link has. */
const RUBBISH = [
  '/outline/0', '/outline/-1', '/outline/1e9', '/outline/99999999999999999999999', '/outline/2/../../..', '/outline/%3Cscript%3Etrap()%3C%2Fscript%3E',
  '/outline/1/2/3/4/5', '/outline/%E0%A4%A', '/outline?q=%3Cimg%20src%3Dx%20onerror%3Dtrap()%3E#%3Cscript%3E', '/outline/NaN', '/outline/4611686018427387904',
  '/explore/%3Cimg%20src%3Dx%20onerror%3Dtrap()%3E', '/explore/constructor', '/explore/__proto__', '/explore/Item/toString',
  '/explore/Item/999999', '/explore/Item/-5', '/explore/Item?where=%3Cscript%3Etrap()%3C%2Fscript%3E&sort=constructor&columns=__proto__',
  '/explore/Item?where=title%20%3D%3D%20%22%3Cimg%20src%3Dx%20onerror%3Dtrap()%3E%22', '/explore/Item/2/x/y',
  '/history/1', '/history/zzz?mine=%3Cscript%3E', '/server/tokens/<script>', '/wire?filter=(((', '/nothing', '/constructor', '/__proto__', '/page/../../../etc/passwd',
];

/** What a page must not have, whatever its data is. */
const traces = () => ({
  scripts: [...document.scripts].filter(({ src }) => new URL(src, location.href).origin !== location.origin).length,
  inline: [...document.scripts].filter(({ src }) => !src).length,
  frames: document.querySelectorAll('iframe, object, embed, base, form[action]:not([action=""])').length,
  links: [...document.querySelectorAll('a[href]')].map(({ protocol }) => protocol)
    .filter((protocol) => !['http:', 'https:', 'mailto:', 'blob:'].includes(protocol)),
  opened: [...document.querySelectorAll('a[target]')].filter(({ target, rel }) => target !== '_self' && !/noopener|noreferrer/.test(rel)).length,
  images: [...document.images].filter(({ src }) => new URL(src, location.href).origin !== location.origin).length,
  handlers: document.querySelectorAll('[onerror], [onload], [onclick]').length,
});
const CLEAN = { scripts: 0, inline: 0, frames: 0, links: [], opened: 0, images: 0, handlers: 0 };

/** The first characters of a text, none of them in halves. */
const brief = (text) => [...text].slice(0, 50).join('');

const noWider = () => document.documentElement.scrollWidth <= innerWidth;

test('hostile data and addresses', { skip }, async (context) => {
  const stage = await Stage.start();
  const nest = await connect({ url: `nest://${stage.server.address}`, user: HOSTILE[0], clientName: HOSTILE[2] });
  try {
    const items = await nest.entity('Item');
    const ids = [];
    for (const title of [...HOSTILE, ...STRANGE]) {
      const note = title.length < 1000 ? title : null;
      let made;
      const receipt = await nest.transaction(brief(title), (tx) => {
        made = tx.insert(items, { title, note, extra: JSON.stringify({ [brief(title)]: brief(title) }) });
      });
      ids.push(receipt.id(made));
      await nest.transaction(null, (tx) => tx.insert(items, { title: 'beside it' }, { of: ids.at(-1) }));
    }

    await context.test('every page shows it as text', async () => {
      for (const [width, scheme] of [[1280, 'light'], [390, 'dark']]) {
        const page = await stage.open('/outline', { name: HOSTILE[1], width, scheme });
        for (const path of PAGES) {
          await stage.go(page, path);
          assert.deepEqual(await page.evaluate(traces), CLEAN, path);
          assert.ok(await page.evaluate(noWider), `${path} scrolls to the side at ${width}`);
        }
        await stage.check(assert, [page]);
        await page.close();
      }
    });

    await context.test('every hostile object, in the outline and the explorer', async () => {
      const page = await stage.open('/outline', { name: 'Ann' });
      for (const id of ids) {
        for (const path of [`/outline/${id}`, `/explore/Item/${id}`]) {
          await stage.follow(page, path);
          assert.deepEqual(await page.evaluate(traces), CLEAN, path);
          assert.ok(await page.evaluate(noWider), `${path} scrolls to the side`);
        }
      }
      await stage.check(assert, [page]);
      await page.close();
    });

    await context.test('a title turns no text beside it around', async () => {
      const page = await stage.open('/outline', { name: 'Ann' });
      await page.until(() => document.querySelectorAll('[role=row][data-id] .title').length > 5);
      const loose = await page.evaluate(() => [...document.querySelectorAll('[role=row][data-id] .title')]
        .map((title) => getComputedStyle(title)).filter(({ unicodeBidi, display }) =>
          !/isolate|plaintext/.test(unicodeBidi) && !/block|flex|grid/.test(display)).length);
      assert.equal(loose, 0);
      await page.close();
    });

    await context.test('addresses that mean nothing', async () => {
      const page = await stage.open('/outline', { name: 'Ann' });
      for (const path of RUBBISH) {
        await page.go(`http://${page.host}${path}`);
        const isPage = await page.evaluate(() => Boolean(document.querySelector('#main')));
        if (!isPage) continue;
        await page.until(() => document.querySelector('#link').dataset.state === 'ready'
          && document.querySelector('#main').textContent.trim() !== '');
        assert.deepEqual(await page.evaluate(traces), CLEAN, path);
        assert.equal(await page.evaluate(() => Object.prototype.hasOwnProperty.call(Object.prototype, 'where')), false);
      }
      // The browser itself reports 404 (no such page) and 400 (not a path).
      page.faults = page.faults.filter((fault) => !/status of 40[04]/.test(fault));
      await stage.check(assert, [page]);
      await page.close();
    });

    await context.test('the policy allows no code from text', async () => {
      const page = await stage.open('/outline', { name: 'Ann' });
      const tries = await page.evaluate(() => {
        const attempt = (body) => { try { body(); return 'done'; } catch (error) { return error.name; } };
        return [
          attempt(() => { document.createElement('div').innerHTML = '<img src=x onerror=trap()>'; }),
          attempt(() => { document.write('<script>trap()</script>'); }),
          attempt(() => { document.createElement('script').text = 'trap()'; }),
          attempt(() => { document.createElement('img').setAttribute('onerror', 'trap()'); }),
        ];
      });
      assert.deepEqual(tries, Array(4).fill('TypeError'));
      await page.evaluate(() => {
        const script = document.createElement('script');
        script.append('trap()');
        document.body.append(script);
        return new Promise((resolve) => { setTimeout(resolve, 100); });
      });
      assert.equal(await page.evaluate(() => window.isHacked), false);
      assert.ok(page.faults.some((fault) => /Content Security Policy|TrustedScript/i.test(fault)), `the trial is not seen: ${page.faults}`);
      await page.close();
    });
  } finally {
    nest.close();
    await stage.close();
  }
});

test('a model whose names are traps', { skip }, async () => {
  const stage = await Stage.start({ options: ['--model', trapModel] });
  try {
    const nest = await connect({ url: `nest://${stage.server.address}` });
    const things = await nest.entity('Thing');
    await nest.transaction(HOSTILE[0], (tx) => {
      const thing = tx.insert(things, { title: HOSTILE[1], constructor: new Uint8Array([0, 255]) });
      tx.insert(things, { title: 'inside' }, { of: thing });
    });
    nest.close();
    for (const path of ['/outline', '/explore', '/explore/Thing', '/explore/Thing/2', '/explore/Tag', '/history']) {
      const page = await stage.open(path, { name: 'Ann' });
      assert.deepEqual(await page.evaluate(traces), CLEAN, path);
      await stage.check(assert, [page]);
      await page.close();
    }
  } finally {
    await stage.close();
  }
});

test('a token in the address is ignored', { skip }, async () => {
  const stage = await Stage.start();
  try {
    const token = JSON.parse(await stage.server.nestc(['token', 'create', 'me', '--role', 'admin', '--json']));
    const text = token.secret;
    assert.match(text, /^\S{20,}$/);
    for (const path of [`/outline?token=${text}`, `/outline#token=${text}`, `/outline#${text}`]) {
      const page = await stage.open(path, { isReady: false });
      await page.until(() => document.querySelector('dialog[open] input[type=password]'));
      assert.equal(await page.evaluate(() => document.querySelector('dialog[open] input[type=password]').value), '');
      assert.equal(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])).then(
        (kept) => kept.includes(text)), false, path);
      await page.close();
    }
  } finally {
    await stage.close();
  }
});
