// The driver itself: it must notice what goes wrong in a page, because the other tests only ask it.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { Chromium, program } from './chromium.js';

const viewport = '<meta name=viewport content="width=device-width">';
const page = (body, policy = '') => [200, `<!doctype html><title>a page</title>${viewport}<body>${body}`, policy];
const pages = {
  '/': page('<input><script>window.keys = ""; onkeydown = (event) => window.keys += event.key;</script>'),
  '/writing': page(`<textarea rows=6></textarea><div id=bar tabindex=0>drag</div><script>
    window.events = [];
    const bar = document.querySelector("#bar");
    const names = ["pointerdown", "pointermove", "pointerup", "wheel"];
    for (const name of names) addEventListener(name, ({ buttons }) => window.events.push(name + buttons));
    const field = document.querySelector("textarea");
    for (const name of ["compositionstart", "compositionend", "paste"]) {
      field.addEventListener(name, () => window.events.push(name));
    }
  </script>`),
  '/faults': page(`<script>
    console.error("printed", 7);
    console.log("only a line");
    setTimeout(() => { throw new Error("thrown"); });
    fetch("/missing");
  </script>`),
  '/policy': page('<script>window.ran = true</script>', "default-src 'self'"),
};

test('the driver of Chromium', { skip: program === null && 'chromium is missing' }, async (context) => {
  const server = createServer((request, response) => {
    const [status, body, policy] = pages[request.url] ?? [404, 'there is no such page', ''];
    response.writeHead(status, { 'content-type': 'text/html', ...(policy && { 'content-security-policy': policy }) });
    response.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${server.address().port}`;
  const browser = await Chromium.start();
  try {
    await drive(context, browser, address);
  } finally {
    await browser.close();
    server.close();
  }
  assert.equal(existsSync(browser.profile), false, 'the profile is removed');
});

async function drive(context, browser, address) {
  await context.test('evaluates functions and promises, with arguments and errors', async () => {
    const tab = await browser.open(address);
    assert.equal(await tab.evaluate((a, b) => document.title + a + b.c, 1, { c: 'ü' }), 'a page1ü');
    assert.equal(await tab.evaluate(async () => (await fetch('/')).status), 200);
    await assert.rejects(tab.evaluate(() => { throw new RangeError('too far'); }), /RangeError: too far/);
    await assert.rejects(tab.evaluate(() => Promise.reject(new Error('later'))), /later/);
    await assert.rejects(tab.send('Page.noSuchMethod'), /noSuchMethod/);
    await tab.close();
  });

  await context.test('collects errors, and not lines', async () => {
    const tab = await browser.open(`${address}/faults`);
    for (let turn = 0; turn < 500 && tab.faults.length < 3; turn += 1) {
      await tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 10)));
    }
    assert.deepEqual(tab.lines, ['only a line']);
    for (const part of ['printed 7', 'thrown', '404']) {
      assert.ok(tab.faults.some((fault) => fault.includes(part)), `${part} in ${tab.faults}`);
    }
    await tab.close();
  });

  await context.test('collects violations of the content security policy', async () => {
    const tab = await browser.open(`${address}/policy`);
    assert.equal(await tab.evaluate(() => window.ran ?? null), null);
    assert.match(tab.faults.join(), /Content Security Policy/i);
    await tab.close();
  });

  await context.test('types, presses keys, resizes and takes pictures', async () => {
    const tab = await browser.open(address, { width: 390, height: 700, mobile: true, scheme: 'dark' });
    await tab.evaluate(() => document.querySelector('input').focus());
    await tab.type('Milk ü');
    await tab.press('Enter');
    await tab.press('a');
    const typed = await tab.evaluate(() => [document.querySelector('input').value, window.keys]);
    assert.deepEqual(typed, ['Milk üa', 'Entera']);
    assert.equal(await tab.evaluate(() => innerWidth), 390);
    assert.equal(await tab.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches), true);
    const picture = await tab.screenshot();
    assert.equal(picture.toString('latin1', 1, 4), 'PNG');
    assert.equal(picture.readUInt32BE(16), 780, 'two pixels for each of a phone');
    await tab.close();
  });

  await context.test('composes, pastes, copies, drags and turns the wheel', async () => {
    const tab = await browser.open(`${address}/writing`);
    const seen = () => tab.evaluate(() => window.events.splice(0));
    await tab.evaluate(() => document.querySelector('textarea').focus());
    await tab.compose('ni');
    assert.equal(await tab.evaluate(() => document.querySelector('textarea').value), 'ni');
    await tab.compose('你');
    await tab.type('你好');
    assert.deepEqual(await seen(), ['compositionstart', 'compositionend']);
    await tab.paste(' a\n\tb');
    assert.deepEqual(await seen(), ['paste']);
    assert.equal(await tab.evaluate(() => document.querySelector('textarea').value), '你好 a\n\tb');
    await tab.evaluate(() => document.querySelector('textarea').select());
    assert.equal(await tab.copied(), '你好 a\n\tb');
    await tab.press('End');
    await tab.press('Enter', 8);
    await tab.press('Z', 8);
    assert.equal(await tab.evaluate(() => document.querySelector('textarea').value), '你好 a\n\tb\nZ');
    const bar = await tab.middle('#bar');
    await seen();
    await tab.drag(bar, { x: bar.x + 5, y: bar.y }, { x: bar.x + 9, y: bar.y + 3 });
    assert.deepEqual(await seen(), ['pointermove0', 'pointerdown1', 'pointermove1', 'pointermove1', 'pointerup0']);
    await tab.wheel(bar, 10);
    await tab.until(() => window.events.includes('wheel0'));
    await tab.close();
  });

  await context.test('keeps people apart, runs code first, and notes what is asked for', async () => {
    const script = 'window.early = document.readyState; if (location.protocol === "http:") localStorage.who ??= "Ann";';
    const ann = await browser.open(address, { apart: true, script });
    const bo = await browser.open(address, { apart: true });
    assert.deepEqual(await ann.evaluate(() => [window.early, localStorage.who]), ['loading', 'Ann']);
    assert.equal(await bo.evaluate(() => localStorage.who ?? null), null);
    await bo.evaluate(() => fetch('/asked'));
    await bo.evaluate(() => { new WebSocket(`ws://${location.host}/socket`); });
    const asked = [`${address}/`, `${address}/asked`, `${address.replace('http', 'ws')}/socket`];
    for (let turn = 0; turn < 500 && bo.requests.length < 3; turn += 1) await bo.evaluate(() => 1);
    assert.deepEqual(bo.requests.filter((url) => !url.endsWith('.ico')), asked);
    for (const tab of [ann, bo]) await tab.close();
  });

  await context.test('takes the network away and gives it back', async () => {
    const tab = await browser.open(address);
    const reached = () => fetch('/?' + Math.random()).then(() => true, () => false);
    await tab.offline(true);
    assert.equal(await tab.evaluate(reached), false);
    assert.equal(await tab.evaluate(() => navigator.onLine), false);
    await tab.offline(false);
    assert.equal(await tab.evaluate(reached), true);
    await tab.close();
  });

  await context.test('reports a browser that is gone', async () => {
    const other = await Chromium.start();
    process.kill(-other.process.pid, 'SIGKILL');
    await assert.rejects(other.send('Browser.getVersion'), /ended/);
    await other.ended;
    assert.equal(existsSync(other.profile), false);
  });
}
