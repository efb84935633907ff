// /outline: what keys, mouse and menus do; who writes in one row with others; nothing typed is lost.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from '../../../Clients/js/node.js';
import { click, sees } from './hands.js';
import { root, Stage, live, skip, until } from './stage.js';

const [ALT, CONTROL, SHIFT] = [1, 2, 8];

/** The outline as a page shows it: `+` folded, `-` unfolded, `x` done, a row for each depth and title. */
const drawn = () => [...document.querySelectorAll('#rows .row:not(.away)')].map((row) => {
  const fold = { true: '-', false: '+' }[row.getAttribute('aria-expanded')] ?? ' ';
  const note = row.querySelector('.note');
  const indent = '. '.repeat(Number(row.getAttribute('aria-level')) - 1);
  const done = row.classList.contains('done') ? 'x' : '';
  const words = note.hidden || note.classList.contains('edited') ? '' : ` (${note.textContent})`;
  return `${indent}${fold}${done} ${window.titleOf(row)}${words}`;
});

/** Waits until a page shows these rows. */
const shows = (page, ...rows) =>
  page.until(`(expected) => JSON.stringify((${drawn})()) === expected`, JSON.stringify(rows)).catch(async (error) => {
    assert.deepEqual(await page.evaluate(drawn), rows);
    throw error;
  });

/** Waits until everything is stored, and shows what nestc has. */
async function stored(page, server) {
  await page.until(() => document.querySelector('#rows').dataset.waiting === '0');
  return (await server.nestc(['tree'])).trimEnd().split('\n').map((line) => line.replace(/ {2}#\d+$/, ''));
}

const row = (page, title, act) => page.until(`(title) => {
  const row = [...document.querySelectorAll('#rows .row')].find((each) => window.titleOf(each) === title);
  if (!row) return false;
  (${act})(row);
  return true;
}`, title);

/** Puts the keyboard into a row, and its caret at a place: 'start', 'end' or a number. */
async function edit(page, title, place = 'end') {
  await row(page, title, (each) => {
    const { left, top } = each.querySelector('.title').getBoundingClientRect();
    const at = { bubbles: true, cancelable: true, button: 0, buttons: 1, clientX: left + 1, clientY: top + 8 };
    each.querySelector('.title').dispatchEvent(new MouseEvent('mousedown', at));
    window.dispatchEvent(new MouseEvent('mouseup', at));
  });
  await page.until((value) => document.activeElement.id === 'editor' && document.activeElement.value === value, title);
  await page.evaluate((at) => {
    const { value } = document.activeElement;
    const index = { start: 0, end: value.length }[at] ?? at;
    document.activeElement.setSelectionRange(index, index);
  }, place);
}

const press = async (page, ...keys) => {
  for (const key of keys) await (Array.isArray(key) ? page.press(...key) : page.press(key));
};
const caret = () => document.activeElement.id === 'editor'
  && `${document.activeElement.value.slice(0, document.activeElement.selectionStart)}|${
    document.activeElement.value.slice(document.activeElement.selectionStart)}`;
const caretIs = (page, text) => page.until(`(expected) => (${caret})() === expected`, text).catch(async (error) => {
  assert.equal(await page.evaluate(caret), text);
  throw error;
});
const selected = (page, ...titles) => page.until((expected) => JSON.stringify(
  [...document.querySelectorAll('#rows [aria-selected=true]')].map(window.titleOf)) === expected,
    JSON.stringify(titles));

const paste = (page, text, type = 'text/plain') => page.evaluate((content, name) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData(name, content);
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
}, text, type);
const copy = (page) => page.evaluate(() => {
  const clipboardData = new DataTransfer();
  document.activeElement.dispatchEvent(new ClipboardEvent('copy', { clipboardData, bubbles: true, cancelable: true }));
  return Object.fromEntries(clipboardData.types.map((type) => [type, clipboardData.getData(type)]));
});
const mouse = (page, type, x, y, buttons = 1) =>
  page.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons, clickCount: 1 });
/** The middle of a part of a row, when no row glides any more. */
const centre = (page, title, part) => page.until(async (text, selector) => {
  // Rows begin to glide with a frame.
  await new Promise(requestAnimationFrame);
  if (document.getAnimations().length > 0) return null;
  const found = [...document.querySelectorAll('#rows .row')].find((each) => window.titleOf(each) === text);
  const { left, top, width, height } = found.querySelector(selector).getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}, title, part);

const GROCERIES = 'Shopping\n\tDairy\n\t\tMilk\n\t\tButter\n\tBread\nTravel\n\tHotel\n';
const START = ['- Shopping', '. - Dairy', '. .   Milk', '. .   Butter', '.   Bread', '- Travel', '.   Hotel'];

/** Runs a test in an outline with the groceries, which is empty again afterwards. */
const inOutline = (context, stage, name, body) => context.test(name, async () => {
  await stage.server.nestc(['import', '-'], GROCERIES);
  const page = await stage.open('/outline', { name: 'Ann' });
  await shows(page, ...START);
  try {
    await body(page, stage.server);
    await stage.check(assert, [page]);
  } catch (error) {
    await stage.picture(page, `failed ${name}`);
    throw error;
  } finally {
    await page.close();
    stage.pages.splice(0);
    const { rows } = await stage.client.fetch(stage.items.children(1).properties('title'));
    if (rows.length > 0) await stage.client.transaction('clear', (tx) => rows.forEach((each) => tx.delete(each)));
  }
});

test('outline', { skip }, async (context) => {
  const stage = await Stage.start();
  stage.client = await connect({ url: `nest://${stage.server.address}`, user: 'Bo' });
  stage.items = await stage.client.entity('Item');
  const { client, items } = stage;
  const outlined = (name, body) => inOutline(context, stage, name, body);
  const idOf = async (title) => (await client.fetch(items.where`title == ${title}`.properties('title'))).rows[0]?.id;
  const rename = async (title, to) => {
    const id = await idOf(title);
    await client.transaction(`rename ${title}`, (tx) => tx.update(items, id, { title: to }));
  };
  try {
    await outlined('Enter makes rows, splits, and goes out of an empty last row', async (page, server) => {
      await edit(page, 'Bread');
      await press(page, 'Enter');
      await page.type('Eggs and ham');
      await press(page, ...Array(8).fill('ArrowLeft'), 'Enter');
      await caretIs(page, '| and ham');
      await press(page, 'End', 'Enter');
      await caretIs(page, '|');
      await press(page, 'Enter');
      await page.type('Post');
      await shows(page, ...START.slice(0, 5), '.   Eggs', '.    and ham', '  Post', ...START.slice(5));
      assert.deepEqual(await stored(page, server), ['Shopping', '  Dairy', '    Milk', '    Butter', '  Bread',
        '  Eggs',
        '   and ham', 'Post', 'Travel', '  Hotel']);
    });

    await outlined('Enter at the start of a text puts an empty row above it', async (page) => {
      await edit(page, 'Bread', 'start');
      await press(page, 'Enter');
      await caretIs(page, '|Bread');
      await shows(page, ...START.slice(0, 4), '.   ', '.   Bread', ...START.slice(5));
    });

    await outlined('Backspace and Delete join rows, with what is below them', async (page, server) => {
      await edit(page, 'Bread', 'start');
      await press(page, 'Backspace');
      await caretIs(page, 'Butter|Bread');
      await edit(page, 'Shopping');
      await press(page, 'Delete');
      await caretIs(page, 'Shopping|Dairy');
      await shows(page, '- ShoppingDairy', '.   Milk', '.   ButterBread', ...START.slice(5));
      assert.deepEqual(await stored(page, server), ['ShoppingDairy', '  Milk', '  ButterBread', 'Travel', '  Hotel']);
      await press(page, ['z', CONTROL], ['z', CONTROL]);
      await shows(page, ...START);
    });

    await outlined('Tab, Shift+Tab and Ctrl+Shift+arrows move a row, and the caret stays', async (page, server) => {
      await edit(page, 'Bread', 2);
      await press(page, 'Tab');
      await shows(page, ...START.slice(0, 4), '. .   Bread', ...START.slice(5));
      await press(page, ['Tab', SHIFT], ['Tab', SHIFT]);
      await shows(page, ...START.slice(0, 4), '  Bread', ...START.slice(5));
      await press(page, ['ArrowUp', CONTROL | SHIFT]);
      await shows(page, '  Bread', ...START.slice(0, 4), ...START.slice(5));
      await press(page, ['ArrowDown', CONTROL | SHIFT], ['ArrowDown', CONTROL | SHIFT]);
      await caretIs(page, 'Br|ead');
      await shows(page, ...START.slice(0, 4), ...START.slice(5), '  Bread');
      assert.deepEqual(await stored(page, server), ['Shopping', '  Dairy', '    Milk', '    Butter', 'Travel',
        '  Hotel', 'Bread']);
      // At the top level there is nothing to go out of.
      await press(page, ['Tab', SHIFT]);
      await caretIs(page, 'Br|ead');
    });

    await outlined('arrows go from row to row in the same column, and past the ends of a text', async (page) => {
      await edit(page, 'Shopping');
      await press(page, 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp');
      const column = await page.evaluate(() => document.activeElement.selectionStart);
      assert.equal(await page.evaluate(() => document.activeElement.value), 'Milk');
      assert.ok(column > 0 && column < 4, `${column}`);
      await edit(page, 'Dairy', 'start');
      await press(page, 'ArrowLeft');
      await caretIs(page, 'Shopping|');
      await press(page, 'ArrowRight');
      await caretIs(page, '|Dairy');
    });

    await outlined('a note is written below its title, and Escape and arrows lead out', async (page, server) => {
      await edit(page, 'Milk');
      await press(page, ['Enter', SHIFT]);
      await page.type('two litres');
      await press(page, 'Enter');
      await page.type('or three');
      await press(page, 'ArrowUp', 'ArrowUp');
      await page.until(() => document.activeElement.value === 'Milk');
      await shows(page, ...START.slice(0, 2), '. .   Milk (two litres\nor three)', ...START.slice(3));
      await press(page, 'Escape');
      await selected(page, 'Milk');
      assert.match(await server.nestc(['export', '--format', 'md']), /- Milk\n {6}two litres\n {6}or three/);
    });

    await outlined('done, fold and delete by keys; undo and redo by name', async (page) => {
      await edit(page, 'Milk');
      await press(page, ['Enter', CONTROL]);
      await shows(page, ...START.slice(0, 2), '. .  x Milk', ...START.slice(3));
      await edit(page, 'Dairy');
      await press(page, ['ArrowUp', CONTROL]);
      await shows(page, '- Shopping', '. + Dairy', ...START.slice(4));
      await press(page, ['Backspace', CONTROL | SHIFT]);
      await shows(page, '- Shopping', ...START.slice(4));
      await page.until(() => document.querySelector('[aria-label="Undo: delete “Dairy”"]'));
      await press(page, ['z', CONTROL]);
      await shows(page, '- Shopping', '. + Dairy', ...START.slice(4));
      await page.until(() => document.querySelector('[aria-label="Redo: delete “Dairy”"]'));
      await click(page, 'Redo', '#bar-tools');
      await shows(page, '- Shopping', ...START.slice(4));
    });

    await outlined('what is typed is one undo entry, and undo takes back what is not yet sent', async (page) => {
      await edit(page, 'Bread');
      for (const letter of ' rolls') await page.type(letter);
      await press(page, ['z', CONTROL]);
      await shows(page, ...START);
      await caretIs(page, 'Bread|');
    });

    await outlined('several rows are selected, moved, ticked off and deleted together', async (page, server) => {
      await edit(page, 'Milk');
      await press(page, 'Escape', ['ArrowDown', SHIFT]);
      await selected(page, 'Milk', 'Butter');
      await press(page, ' ');
      await shows(page, ...START.slice(0, 2), '. .  x Milk', '. .  x Butter', ...START.slice(4));
      await press(page, ['Tab', SHIFT]);
      await shows(page, '- Shopping', '.   Dairy', '.  x Milk', '.  x Butter', ...START.slice(4));
      await press(page, ['ArrowDown', CONTROL | SHIFT]);
      await shows(page, '- Shopping', '.   Dairy', '.   Bread', '.  x Milk', '.  x Butter', ...START.slice(5));
      await press(page, 'Delete');
      await shows(page, '- Shopping', '.   Dairy', '.   Bread', ...START.slice(5));
      assert.deepEqual(await stored(page, server), ['Shopping', '  Dairy', '  Bread', 'Travel', '  Hotel']);
      await page.until(() => document.activeElement.id === 'rows');
    });

    await outlined('zoom by keys, by the bullet and by the address, and out again', async (page) => {
      await edit(page, 'Dairy');
      await press(page, ['ArrowRight', ALT]);
      await shows(page, '  Milk', '  Butter');
      await sees(page, 'Dairy', '.path h1');
      await page.until(() => /^\/outline\/\d+$/.test(location.pathname));
      const address = await page.evaluate(() => location.pathname);
      await press(page, ['ArrowLeft', ALT]);
      await shows(page, '- Dairy', '.   Milk', '.   Butter', '  Bread');
      await press(page, ['ArrowLeft', ALT]);
      await shows(page, ...START);
      await caretIs(page, 'Shopping|');
      await row(page, 'Dairy', (each) => each.querySelector('.bullet').click());
      await shows(page, '  Milk', '  Butter');
      await page.evaluate(() => history.back());
      await shows(page, ...START);
      await stage.go(page, address);
      await shows(page, '  Milk', '  Butter');
      // What it was zoomed into is deleted.
      await client.transaction('delete', async (tx) => tx.delete(await idOf('Dairy')));
      await shows(page, '- Shopping', '.   Bread', ...START.slice(5));
      await stage.go(page, '/outline/999999');
      await page.until(() => location.pathname === '/outline');
      await shows(page, '- Shopping', '.   Bread', ...START.slice(5));
    });

    await outlined('keys lead out again before a slow server has said what is above', async () => {
      // Each frame OBJECT comes late.
      const slow = await stage.open('/outline', { name: 'Ann', script: `
        window.WebSocket = class extends WebSocket {
          set onmessage(act) {
            super.onmessage = ({ data }) => {
              const view = new DataView(data);
              const hasPreface = view.getUint32(0) === 0x4e455354;
              if (hasPreface) act({ data: data.slice(0, 8) });
              for (let at = hasPreface ? 8 : 0, end; at < data.byteLength; at = end) {
                end = at + 12 + view.getUint32(at);
                const event = { data: data.slice(at, end) };
                if (view.getUint8(at + 4) === 0x1b) setTimeout(act, 2_000, event);
                else act(event);
              }
            };
          }
        };` });
      await shows(slow, ...START);
      await edit(slow, 'Dairy');
      await press(slow, ['ArrowRight', ALT]);
      await shows(slow, '  Milk', '  Butter');
      await press(slow, ['ArrowLeft', ALT]);
      await shows(slow, '- Dairy', '.   Milk', '.   Butter', '  Bread');
      await press(slow, ['ArrowLeft', ALT]);
      await shows(slow, ...START);
      await caretIs(slow, 'Shopping|');
      await stage.check(assert, [slow]);
      await slow.close();
    });

    await outlined('rows are dragged by their bullets to a depth, and Escape cancels', async (page, server) => {
      const drag = async (title, [dx, to], end) => {
        const [x, y] = await centre(page, title, '.bullet');
        const [, target] = await centre(page, to, '.title');
        await mouse(page, 'mousePressed', x, y);
        await mouse(page, 'mouseMoved', x + 9, y - 9);
        await mouse(page, 'mouseMoved', x + dx, target + 6);
        await page.until(() => document.querySelector('.drop:not([hidden])') !== null);
        await end(x + dx, target + 6);
      };
      const drop = (x, y) => mouse(page, 'mouseReleased', x, y, 0);
      await drag('Hotel', [0, 'Dairy'], async (x, y) => {
        await press(page, 'Escape');
        await page.until(() => document.querySelector('.drop[hidden]') !== null);
        await drop(x, y);
      });
      await shows(page, ...START);
      await drag('Hotel', [24, 'Dairy'], drop);
      await shows(page, '- Shopping', '. - Dairy', '. .   Hotel', '. .   Milk', '. .   Butter', '.   Bread',
        '  Travel');
      await drag('Bread', [-24, 'Travel'], drop);
      await shows(page, '- Shopping', '. - Dairy', '. .   Hotel', '. .   Milk', '. .   Butter', '  Travel', '  Bread');
      assert.deepEqual(await stored(page, server), ['Shopping', '  Dairy', '    Hotel', '    Milk', '    Butter',
        'Travel', 'Bread']);
      assert.equal(await page.evaluate(() => location.pathname), '/outline');
    });

    await outlined('rows are copied as text, Markdown and OPML, and pasted from each', async (page, server) => {
      await edit(page, 'Dairy');
      await press(page, 'Escape');
      const copied = await copy(page);
      assert.equal(copied['text/plain'], 'Dairy\n\tMilk\n\tButter');
      assert.equal(copied['text/markdown'], '- Dairy\n  - Milk\n  - Butter\n');
      assert.match(copied['text/x-opml'], /<outline text="Dairy">\s*<outline text="Milk"\/>/);
      await edit(page, 'Hotel');
      await press(page, 'Enter');
      await paste(page, '- [x] one\n  a note\n  - two\n- three');
      await shows(page, ...START, '. +x one (a note)', '.   three');
      await selected(page, 'three');
      await paste(page, copied['text/x-opml'], 'text/x-opml');
      await shows(page, ...START, '. +x one (a note)', '.   three', '. + Dairy');
      await edit(page, 'Bread');
      await paste(page, 'plain words');
      await caretIs(page, 'Bread|');
      // A single line is the browser's own business: synthetic events have no default action.
      await paste(page, Array.from({ length: 1_200 }, (_, index) => `row ${index}`).join('\n'));
      await page.until(() => Number(document.querySelector('#rows').getAttribute('aria-rowcount')) === 1_210);
      await sees(page, '1,200 rows stored', '#notices');
      assert.equal((await server.nestc(['tree'])).split('\n').filter((line) => line.includes('row ')).length, 1_200);
    });

    await outlined('search finds rows in the sub-tree, folded or not, and shows where they are', async (page) => {
      await edit(page, 'Shopping');
      await press(page, ['ArrowUp', CONTROL], 'Escape', '/');
      await page.until(() => document.activeElement.type === 'search');
      await page.type('BUTTÉR');
      await sees(page, 'Shopping › Dairy', 'dialog');
      await press(page, 'Enter');
      await selected(page, 'Butter');
      await shows(page, ...START);
    });

    await outlined('“Move to…” is the twin of dragging', async (page, server) => {
      await row(page, 'Hotel', (each) => each.querySelector('.more').click());
      await click(page, 'Move to…', '.menu');
      await page.until(() => document.activeElement.type === 'search');
      await page.type('dai');
      await sees(page, 'Dairy', 'dialog');
      await press(page, 'Enter');
      await shows(page, '- Shopping', '. - Dairy', '. .   Milk', '. .   Butter', '. .   Hotel', '.   Bread',
        '  Travel');
      assert.deepEqual((await stored(page, server)).slice(0, 5), ['Shopping', '  Dairy', '    Milk', '    Butter',
        '    Hotel']);
    });

    await outlined('others write in the same row: texts merge around the caret', async (page, server) => {
      await edit(page, 'Bread', 'start');
      await page.type('Rye ');
      await stored(page, server);
      await rename('Rye Bread', 'Rye Bread, two loaves');
      await caretIs(page, 'Rye |Bread, two loaves');
      await page.type('and oat ');
      assert.ok((await stored(page, server)).includes('  Rye and oat Bread, two loaves'));
    });

    await outlined('others change what I write: mine stays, and theirs is offered', async (page, server) => {
      await edit(page, 'Bread');
      await page.evaluate(() => document.activeElement.dispatchEvent(new CompositionEvent('compositionstart')));
      await page.evaluate(() => {
        document.activeElement.setSelectionRange(0, 5);
        document.execCommand('insertText', false, 'Pasta');
      });
      await rename('Bread', 'Rolls');
      await page.until(() => document.querySelector('#rows').dataset.revision !== '0');
      // Nothing happens to the text while an input method composes.
      await until(async () => (await waitingIn(page)) !== null);
      await caretIs(page, 'Pasta|');
      await page.evaluate(() => document.activeElement.dispatchEvent(new CompositionEvent('compositionend')));
      await sees(page, 'Others wrote: “Rolls”', '#rows');
      assert.ok((await stored(page, server)).includes('  Pasta'));
      await click(page, 'Take theirs', '#rows');
      await page.until(() => document.querySelector('#editor').value === 'Rolls');
      assert.ok((await stored(page, server)).includes('  Rolls'));
    });

    await outlined('a text that the server refuses stays, with its reason', async (page, server) => {
      await edit(page, 'Bread');
      await page.evaluate(() => {
        document.activeElement.setRangeText('ö'.repeat(40_000), 0, 5, 'end');
        document.activeElement.dispatchEvent(new Event('input'));
      });
      await sees(page, 'Not saved:', '#rows');
      await sees(page, '1 change is not saved', '.status');
      assert.equal(await page.evaluate(() => document.activeElement.value.length), 40_000);
      assert.ok((await waitingIn(page)) > 0);
      await page.evaluate(() => {
        document.activeElement.setRangeText('Cake', 0, 40_000, 'end');
        document.activeElement.dispatchEvent(new Event('input'));
      });
      assert.ok((await stored(page, server)).includes('  Cake'));
    });

    await outlined('a row that others delete while I write in it is offered as a new one', async (page, server) => {
      await edit(page, 'Bread');
      await page.evaluate(() => document.activeElement.dispatchEvent(new CompositionEvent('compositionstart')));
      await page.type(' rolls');
      await client.transaction('delete', async (tx) => tx.delete(await idOf('Bread')));
      await page.until(() => document.activeElement.id === 'rows' || document.activeElement === document.body);
      await sees(page, 'Bread rolls', '#notices');
      await click(page, 'Add it as a new row', '#notices');
      await shows(page, ...START.slice(0, 4), ...START.slice(5), '  Bread rolls');
      await stored(page, server);
    });

    await outlined('a row that others delete is out of the page, also when the keyboard is elsewhere', async (page) => {
      const bread = await idOf('Bread');
      await edit(page, 'Bread');
      await page.evaluate(() => document.activeElement.blur());
      await client.transaction('delete', (tx) => tx.delete(bread));
      await shows(page, ...START.slice(0, 4), ...START.slice(5));
      assert.equal(await page.evaluate((id) => document.querySelectorAll(`[data-id="${id}"]`).length, bread), 0);
    });

    await outlined('what is typed without a connection is kept, sent, and survives a reload', async (page, server) => {
      await edit(page, 'Bread');
      await server.kill();
      await page.until(() => document.querySelector('#link').dataset.state !== 'ready');
      await page.type(' rolls');
      await press(page, 'Enter');
      await page.type('Jam');
      await shows(page, ...START.slice(0, 4), '.   Bread rolls', '.   Jam', ...START.slice(5));
      await sees(page, 'wait for the connection', '.status');
      await server.start();
      await live(page);
      assert.deepEqual((await stored(page, server)).slice(4, 6), ['  Bread rolls', '  Jam']);
      await shows(page, ...START.slice(0, 4), '.   Bread rolls', '.   Jam', ...START.slice(5));
      // Again, and the page is loaded anew before the server is back.
      await edit(page, 'Jam');
      await server.kill();
      await page.until(() => document.querySelector('#link').dataset.state !== 'ready');
      await page.type(' and honey');
      await press(page, 'Enter');
      await page.type('Tea');
      await page.until(() => Object.keys(localStorage).filter((name) => name.startsWith('nest-draft')).length >= 2);
      await server.start();
      await page.go(await page.evaluate(() => location.href));
      await live(page);
      await sees(page, 'Not saved last time: “Tea”', '#notices');
      await click(page, 'Add it as a row', '#notices');
      await page.until((text) => document.body.textContent.includes(text), 'Jam and honey');
      const all = await stored(page, server);
      assert.ok(all.includes('  Jam and honey') && all.includes('Tea'), all.join('\n'));
    });

    await outlined('who changed what lights up, and is said', async (page) => {
      await rename('Milk', 'Oat milk');
      await sees(page, '~Bo', '#rows .lit');
      await page.until(() => document.querySelector('#live').textContent === '~Bo changed “Oat milk”');
      await page.until(() => document.querySelector('#rows .lit') === null);
    });

    await outlined('who else is here shows in the bar, at the row and in its text', async (page) => {
      const other = await stage.open('/outline', { name: 'Cy Lee' });
      await shows(other, ...START);
      await edit(other, 'Milk', 2);
      await page.until(() => document.querySelector('#people button')?.title === '~Cy Lee is here');
      await sees(page, '~Cy Lee', '.layer .caret');
      await page.until(() => {
        const shown = [...document.querySelectorAll('#rows .row')].find((each) => window.titleOf(each) === 'Milk');
        return shown.querySelector('.here [title="~Cy Lee"]') !== null;
      });
      // The click, and then the caret at its place.
      await page.until(() => {
        const shown = [...document.querySelectorAll('#rows .row')].find((each) => window.titleOf(each) === 'Milk');
        const { left } = shown.querySelector('.title').getBoundingClientRect();
        return document.querySelector('.layer .caret').getBoundingClientRect().left > left + 4;
      });
      // The caret is where the row will be, also if it moves in the text while the row glides.
      const GLIDE = 30;
      const place = () => page.evaluate(() => document.querySelector('.layer .caret').getBoundingClientRect().toJSON());
      const before = await place();
      await page.evaluate((by) => {
        const shown = [...document.querySelectorAll('#rows .row')].find((each) => window.titleOf(each) === 'Milk');
        shown.animate({ transform: [`translateY(${by}px)`, `translateY(${by}px)`] }, { duration: 60_000, id: 'glide' });
      }, GLIDE);
      await other.press('Home');
      await until(async () => (await place()).left < before.left);
      assert.equal((await place()).top, before.top);
      await page.evaluate(() => document.getAnimations().find(({ id }) => id === 'glide').cancel());
      // The mark goes on with the other one, and goes when the window is closed.
      await edit(other, 'Bread');
      await page.until(() => document.querySelectorAll('#rows .here .person').length === 1
        && window.titleOf(document.querySelector('#rows .here .person').closest('.row')) === 'Bread');
      await other.close();
      await page.until(() => document.querySelector('#people').hidden && !document.querySelector('.layer .caret'));
    });

    await outlined('the accessibility tree has the rows as a treegrid', async (page) => {
      await edit(page, 'Milk');
      const { nodes } = await page.send('Accessibility.getFullAXTree');
      const visible = nodes.filter(({ ignored }) => !ignored);
      const grid = visible.find(({ role }) => role.value === 'treegrid');
      assert.equal(grid.name.value, 'Outline');
      const all = visible.filter(({ role }) => role.value === 'row');
      assert.equal(all.length, START.length);
      const property = (node, name) => node.properties?.find((one) => one.name === name)?.value.value;
      assert.deepEqual(all.map((node) => property(node, 'level')), [1, 2, 3, 3, 2, 1, 2]);
      assert.deepEqual(all.map((node) => property(node, 'expanded')), [true, true, undefined, undefined, undefined,
        true, undefined]);
      assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('#rows .row')].map((each) =>
        ['aria-rowindex', 'aria-posinset', 'aria-setsize'].map((name) => each.getAttribute(name)).join())),
      ['1,1,2', '2,1,2', '3,1,2', '4,2,2', '5,2,2', '6,2,2', '7,1,1']);
      // The field belongs to the cell of its row.
      assert.equal(await page.evaluate(() => window.titleOf(document.querySelector('[aria-owns=editor]').closest('.row'))),
        'Milk');
    });

    await context.test('rows that are hostile are text, and open nothing', async () => {
      const hostile = ['<img src=x onerror="trap()">', 'javascript:trap()', '\u202egnp.exe',
        '"><script>trap()</script>'];
      const id = await client.transaction('hostile', (tx) => {
        for (const title of hostile) tx.insert(items, { title, note: title }, { of: 1 });
      });
      assert.ok(id.isChanged);
      const page = await stage.open('/outline', { name: hostile[0] });
      await page.until((count) => document.querySelectorAll('#rows .row').length === count, hostile.length);
      assert.equal(await page.evaluate(() => document.querySelectorAll('#rows img, #rows script').length), 0);
      assert.ok(await page.evaluate(() =>
        [...document.querySelectorAll('#rows a')].every(({ protocol }) => protocol === 'http:')));
      await edit(page, hostile[0]);
      await page.type(' more');
      await stored(page, stage.server);
      await stage.check(assert, [page]);
      await page.close();
      stage.pages.splice(0);
    });
  } finally {
    client.close();
    await stage.close();
  }
});

/** How many changes of a page have no answer, or were refused. */
const waitingIn = (page) => page.evaluate(() => Number(document.querySelector('#rows').dataset.waiting));

test('an outline of another model, of a model that has none, and of one without a root', { skip }, async (context) => {
  const model = (name, entities) => {
    const path = join(process.env.TMPDIR ?? '/tmp', `nest-outline-${process.pid}-${name}.json`);
    writeFileSync(path, JSON.stringify({ format: 'nest-model', entities }));
    return path;
  };
  const folder = (more) => ({
    name: 'Folder', attributes: [{ name: 'name', type: 'string' }],
    relationships: [{ name: 'parent', destination: 'Folder', inverse: 'folders' },
      { name: 'folders', destination: 'Folder', inverse: 'parent', toMany: true, ordered: true,
        deleteRule: 'cascade' }],
    ...more,
  });

  await context.test('with a root', async () => {
    const stage = await Stage.start({ options: ['--model', model('root',
      [folder({ root: { relationship: 'parent' } })])] });
    try {
      const page = await stage.open('/outline');
      await click(page, 'Write the first row', '#main');
      await page.type('Docs');
      await page.press('Enter');
      await page.type('Letters');
      await page.press('Tab');
      await shows(page, '- Docs', '.   Letters');
      await page.until(() => document.querySelector('#rows').dataset.waiting === '0');
      assert.equal(await stage.server.nestc(['export', '--entity', 'Folder', '--format', 'text']), 'Docs\n\tLetters\n');
      await stage.check(assert);
    } finally {
      await stage.close();
    }
  });

  await context.test('without a root', async () => {
    const stage = await Stage.start({ options: ['--model', model('tops', [folder({})])] });
    try {
      await stage.server.nestc(['insert', 'Folder', 'name=Docs']);
      const page = await stage.open('/outline');
      await click(page, 'Docs', '#main');
      await click(page, 'Write the first row', '#main');
      await page.type('Letters');
      await shows(page, '  Letters');
      await page.until(() => document.querySelector('#rows').dataset.waiting === '0');
      await stage.check(assert);
    } finally {
      await stage.close();
    }
  });

  await context.test('without an outline', async () => {
    const stage = await Stage.start({ options: ['--model', join(root, 'Examples/phone-book/model.json')] });
    try {
      const page = await stage.open('/outline');
      await sees(page, 'Nothing in this store is an outline', '#main');
      await click(page, 'Explore what is here', '#main');
      await page.until(() => location.pathname.startsWith('/explore'));
      await stage.check(assert);
    } finally {
      await stage.close();
    }
  });
});
