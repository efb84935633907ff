// /history: what others do comes as it happens; older transactions as one scrolls; previews, undo and reverts with
// conflicts by name; what roles may do.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../../Clients/js/node.js';
import { click, misses, rows, sees, textOf, write } from './hands.js';
import { Stage, skip } from './stage.js';

const CONTROL = 2;
const SHIFT = 8;
const list = '.transactions';
const names = async (page) => (await rows(page, list)).map(({ name }) => name);
/** Waits until the first lines have these texts. */
const begins = (page, ...expected) => page.until((wanted) => {
  const lines = [...document.querySelectorAll('.transactions .grid-body .name')].map((one) => one.innerText.trim());
  return wanted.every((text, index) => lines[index]?.includes(text));
}, expected);
const open = (page, name) => page.until((text) => {
  const row = [...document.querySelectorAll('.transactions .grid-body .grid-row')]
    .find((one) => one.querySelector('.name').innerText.includes(text));
  row?.click();
  return Boolean(row);
}, name);

/** All transactions, newest first. */
async function whole(nest) {
  const all = [];
  for (let before = 0; ;) {
    const page = await nest.history({ before, limit: 1_000, onlyMine: false });
    if (page.length === 0) return all;
    all.push(...page);
    before = page.at(-1).revision;
  }
}

test('history', { skip }, async (context) => {
  const stage = await Stage.start();
  const { server } = stage;
  try {
    const ann = await connect({ url: `nest://${server.address}`, user: 'Ann' });
    const bo = await connect({ url: `nest://${server.address}`, user: 'Bo' });
    const items = await ann.entity('Item');
    let milk;
    const receipt = await ann.transaction('add Milk', (tx) => {
      milk = tx.insert(items, { title: 'Milk' }, { of: 1 });
    });
    const id = receipt.id(milk);
    const page = await stage.open('/history', { name: 'Cy' });

    await context.test('a transaction comes as it happens, with its author, kind and objects', async () => {
      await begins(page, 'add Milk');
      await bo.transaction('two more', (tx) => {
        tx.insert(items, { title: 'Eggs' }, { of: 1 });
        tx.insert(items, { title: 'Bread' }, { of: 1 });
      });
      await bo.undo();
      await begins(page, 'undo of 2', 'two more', 'add Milk');
      await page.until(() => [...document.querySelectorAll('.transactions .grid-body .objects')]
        .map((cell) => cell.innerText).join() === '2,2,1');
      assert.deepEqual((await rows(page, list)).map(({ who, revision }) => [who.split('\n').at(-1), revision]),
        [['~Bo', '3'], ['~Bo', '2'], ['~Ann', '1']]);
    });

    await context.test('transactions of one undo entry are one line', async () => {
      for (const title of ['M', 'Mi', 'Oat milk']) {
        await ann.transaction('edit Milk', (tx) => tx.update(items, id, { title }),
          { coalescing: { key: 'title', milliseconds: 60_000 } });
      }
      await begins(page, 'edit Milk', 'undo of 2');
      await sees(page, '3 transactions', list);
      assert.equal((await names(page)).length, 4);
    });

    await context.test('one that is opened says what it changed, and what taking it back would do', async () => {
      await ann.transaction('done and noted', (tx) => tx.update(items, id, { done: true, note: 'two litres' }));
      await bo.transaction('one litre', (tx) => tx.update(items, id, { note: 'one litre' }));
      await begins(page, 'one litre', 'done and noted');
      await open(page, 'done and noted');
      await page.until(() => location.pathname === '/history/7');
      await sees(page, 'It changed 1 object', '.detail');
      await sees(page, 'note, done', '.changes');
      await sees(page, 'note of “Oat milk” stays: changed by ~Bo in revision 8', '.detail');
      await sees(page, 'done yes → no', '.preview');
      await page.evaluate(() => document.querySelector('.detail input[value=force]').click());
      await sees(page, 'note of “Oat milk” is overwritten', '.preview');
      await page.evaluate(() => document.querySelector('.detail input[value=strict]').click());
      await sees(page, 'edited since', '.preview');
      assert.equal(await page.evaluate(() => document.querySelector('.detail .actions button').disabled), true);
      await page.evaluate(() => document.querySelector('.detail input[value=keep]').click());
    });

    await context.test('the preview follows what others do meanwhile', async () => {
      await bo.transaction('not done', (tx) => tx.update(items, id, { done: false }));
      await sees(page, 'Nothing would change', '.preview');
      await bo.transaction('done again', (tx) => tx.update(items, id, { done: true }));
      await sees(page, 'done yes → no', '.preview');
    });

    await context.test('a revert of another session lists what it overwrote', async () => {
      await page.evaluate(() => document.querySelector('.detail input[value=force]').click());
      await sees(page, 'is overwritten', '.preview');
      await click(page, 'Take it back', '.detail');
      await sees(page, 'Took back “done and noted” as revision 11', 'dialog');
      await sees(page, 'note of “Oat milk” is overwritten: changed by ~Bo in revision 8', 'dialog');
      await page.press('Escape');
      const { values } = await ann.object(id);
      assert.deepEqual([values.done, values.note], [false, null]);
      await begins(page, 'revert of 7');
      await page.press('Escape');
      await page.until(() => location.pathname === '/history' && !document.querySelector('.detail'));
    });

    await context.test('undo and redo have names, and keys', async () => {
      await sees(page, 'Undo done and noted', '.head');
      await page.evaluate(() => document.querySelector('.transactions .grid-row[tabindex="0"]').focus());
      await page.press('z', CONTROL);
      await sees(page, 'Redo done and noted', '.head');
      assert.equal((await ann.object(id)).values.note, 'one litre');
      await click(page, 'Preview', '.head');
      await click(page, 'Redo', '.menu');
      await page.until(() => location.pathname === '/history/redo');
      await sees(page, 'note “one litre” → nothing', '.preview');
      await page.press('z', CONTROL | SHIFT);
      await sees(page, 'Undo done and noted', '.head');
      assert.equal((await ann.object(id)).values.note, null);
      await sees(page, 'There is nothing to redo', '.detail');
      await click(page, 'Close the transaction');
    });

    await context.test('mine only, by the keyboard', async () => {
      await page.evaluate(() => document.querySelectorAll('.filter input')[1].click());
      await page.until(() => document.querySelectorAll('.transactions .grid-body .grid-row').length === 3);
      assert.ok((await rows(page, list)).every(({ who }) => who.endsWith('you (~Cy)')));
      await page.evaluate(() => document.querySelector('.transactions .grid-row[tabindex="0"]').focus());
      await page.press('ArrowDown');
      await page.press('Enter');
      await page.until(() => location.pathname === '/history/12');
      await click(page, 'Close the transaction');
      await page.until(() => document.activeElement.innerText.includes('undo of 11'));
      await page.evaluate(() => document.querySelectorAll('.filter input')[0].click());
      await begins(page, 'redo of 12');
    });

    await context.test('older transactions come as one scrolls, and the place stays when new ones come', async () => {
      for (let start = 0; start < 500; start += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, index) => bo.transaction(`write ${start + index}`,
          (tx) => tx.update(items, id, { extra: `"${start + index}"` }))));
      }
      await begins(page, 'write 4');
      const drawn = await page.evaluate(() => document.querySelectorAll('.transactions .grid-body .grid-row').length);
      assert.ok(drawn < 60, `${drawn} rows are drawn`);
      await page.until(() => {
        const grid = document.querySelector('.transactions');
        grid.scrollTop = grid.scrollHeight;
        return [...document.querySelectorAll('.transactions .name')].some((one) => one.innerText === 'add Milk');
      });
      const counted = (count) => page.until((expected) =>
        document.querySelector('[role=grid]').getAttribute('aria-rowcount') === String(expected), count);
      const entries = await whole(ann);
      const lines = new Set(entries.map(({ entry, revision }) => entry ?? revision)).size;
      assert.ok(lines > 500);
      await counted(lines + 1);
      const place = () => {
        const grid = document.querySelector('.transactions').getBoundingClientRect();
        const row = [...document.querySelectorAll('.transactions .grid-body .grid-row')]
          .find((one) => one.querySelector('.name').innerText === 'add Milk');
        return Math.round(row.getBoundingClientRect().top - grid.top);
      };
      const before = await page.evaluate(place);
      await ann.transaction('above', (tx) => tx.update(items, id, { extra: null }));
      await counted(lines + 2);
      assert.equal(await page.evaluate(place), before);
    });

    await context.test('a deep link opens a transaction that is not in the list; an unknown one is named', async () => {
      const deep = await stage.open('/history/1', { name: 'Cy', width: 390, height: 800, mobile: true });
      await sees(deep, 'It changed 1 object', '.detail');
      await sees(deep, 'has been edited since', '.preview');
      await stage.go(deep, '/history/99999');
      await sees(deep, 'There is no transaction 99,999', '#notices');
      await deep.until(() => location.pathname === '/history');
    });
    ann.close();
    bo.close();
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});

test('history of tokens', { skip }, async (context) => {
  const stage = await Stage.start();
  try {
    const open_ = await connect({ url: `nest://${stage.server.address}` });
    const { text } = await (await open_.operations()).createToken({ name: 'root', role: 'admin' });
    open_.close();
    const admin = await connect({ url: `nest://${stage.server.address}`, token: text });
    const operations = await admin.operations();
    const items = await admin.entity('Item');
    let home;
    const receipt = await admin.transaction('add Home', (tx) => {
      home = tx.insert(items, { title: 'Home' }, { of: 1 });
    });

    await context.test('a reader looks, and is offered nothing that it may not do', async () => {
      const token = (await operations.createToken({ name: 'reader', role: 'read' })).text;
      const page = await stage.open('/history', { name: 'reader', token });
      await begins(page, 'add Home');
      await open(page, 'add Home');
      await sees(page, '1 object is deleted', '.preview');
      await sees(page, 'Your token may look, but not undo', '.detail');
      assert.doesNotMatch(await textOf(page, '#main button'), /Undo|Redo|Take it back/);
    });

    await context.test('a confined token sees its own, and undoes that', async () => {
      const confinement = { root: receipt.id(home), entity: 'Item', relationship: 'children' };
      const token = (await operations.createToken({ name: 'guest', role: 'write', confinement })).text;
      const page = await stage.open('/history', { name: 'guest', token });
      await sees(page, 'Nothing has been changed yet');
      await page.evaluate(() => { window.session = JSON.parse(sessionStorage.getItem('nest-session')).session; });
      const session = await page.evaluate(() => window.session);
      const guest = await connect({ url: `nest://${stage.server.address}`, token, session });
      await guest.transaction('add Chair', (tx) => tx.insert(items, { title: 'Chair' }, { of: receipt.id(home) }));
      await admin.transaction('elsewhere', (tx) => tx.insert(items, { title: 'Other' }, { of: 1 }));
      await begins(page, 'add Chair');
      await click(page, 'Undo add Chair', '.head');
      await begins(page, 'undo of', 'add Chair');
      await misses(page, 'elsewhere');
      assert.equal((await names(page)).length, 2);
      guest.close();
    });
    admin.close();
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});
