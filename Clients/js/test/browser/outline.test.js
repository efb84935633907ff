// Pages follow an outline that each folds for itself, while a server is killed and starts again. NEST_PICTURES: a
// directory for pictures of the pages.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, missing, root, until } from '../live/nestd.js';
import { Chromium, program } from './chromium.js';

const hostile = '<img src=x onerror="window.isHacked = true"><script>window.isHacked = true</script>';

/** What a page shows: `+` folded, `-` unfolded, a row for each depth and title. */
const shown = (page) => page.evaluate(() => [...document.querySelectorAll('#outline [role=row]')].map((row) => {
  const state = { true: '-', false: '+' }[row.getAttribute('aria-expanded')] ?? ' ';
  return `${state.padStart(Number(row.getAttribute('aria-level')))} ${row.querySelector('.title').textContent}`;
}));

const drawn = (page, rows) => page.until((expected) =>
  JSON.stringify([...document.querySelectorAll('#outline [role=row]')].map((row) => {
    const state = { true: '-', false: '+' }[row.getAttribute('aria-expanded')] ?? ' ';
    return `${state.padStart(Number(row.getAttribute('aria-level')))} ${row.querySelector('.title').textContent}`;
  })) === expected, JSON.stringify(rows)).catch(async (error) => {
  throw new Error(`${JSON.stringify(await shown(page), null, 1)}\ninstead of\n${JSON.stringify(rows, null, 1)}\n${error}`);
});

const current = () => document.querySelector('#outline [aria-selected=true] .title')?.textContent ?? null;
const hasFocus = () => document.activeElement.id === 'outline';
const isLive = () => document.querySelector('#state').dataset.state === 'live';
const click = (selector) => document.querySelector(selector).click();

/** Clicks the triangle of a row. */
const toggle = (page, title) => page.evaluate((name) => {
  const rows = [...document.querySelectorAll('#outline [role=row]')];
  rows.find((row) => row.querySelector('.title').textContent === name).querySelector('.fold').click();
}, title);

const read = (name) => readFileSync(join(root, 'Examples/browser-outline', name), 'utf8');

/** The commands that README.md shows, as words, without comments. */
const commands = () => /^```sh\n(.*?)^```/ms.exec(read('README.md'))[1].split('\n')
  .map((line) => line.replace(/#.*/, '').trim().split(/\s+/)).filter(([name]) => name);

/** A file of an outliner, from lines that tabs indent. */
function opml(text) {
  const escaped = (title) => title.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  const lines = text.split('\n').filter(Boolean).map((line) => [/^\t*/.exec(line)[0].length, line.trim()]);
  const body = lines.map(([depth, title], index) => {
    const next = lines[index + 1]?.[0] ?? 0;
    return `<outline text="${escaped(title)}">${'</outline>'.repeat(Math.max(0, depth - next + 1))}`;
  });
  return `<?xml version="1.0"?><opml version="2.0"><body>${body.join('')}</body></opml>`;
}

test('the example quotes its own code', () => {
  const bare = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean).join('\n');
  const blocks = [...read('README.md').matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
  assert.ok(blocks.length > 0);
  for (const block of blocks) assert.ok(bare(read('outline.js')).includes(bare(block)), block);
});

test('pages of a live outline', { skip: missing || (program === null && 'chromium is missing') }, async (context) => {
  // As README.md says, but on free ports, in a directory of its own.
  const [[nestd, ...options], [nestc, verb, file]] = commands();
  assert.deepEqual([nestd, nestc, options.slice(0, 4)], ['nestd', 'nestc', ['--port', '7000', '--store', 'outline.sqlite']]);
  const places = { '127.0.0.1:7080': 'WEB', '.': root };
  const server = await Server.start(...options.slice(4).map((word) => places[word] ?? word));
  const browser = await Chromium.start();
  const picture = async (page, name) => {
    if (!process.env.NEST_PICTURES) return;
    mkdirSync(process.env.NEST_PICTURES, { recursive: true });
    await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 400); }));
    writeFileSync(join(process.env.NEST_PICTURES, `${name}.png`), await page.screenshot());
  };
  try {
    const text = ['Shopping', '\tDairy', '\t\tMilk', '\t\tButter', '\tBread', 'Travel', '\tTickets',
      '\t\tTrain to Lisbon', '\tHotel', hostile, '\tsafe', ''].join('\n');
    writeFileSync(join(server.directory, file), opml(text));
    await server.nestc([verb, join(server.directory, file)]);
    const address = `http://${server.web}/Examples/browser-outline/`;
    const ann = await browser.open(address);
    // A phone in the dark.
    const bo = await browser.open(address, { width: 360, height: 740, mobile: true, scheme: 'dark' });
    for (const page of [ann, bo]) await drawn(page, ['+ Shopping', '+ Travel', `+ ${hostile}`]);
    const press = async (page, ...keys) => {
      for (const key of keys) await page.press(key);
    };

    await context.test('each page folds for itself, by click and by key', async () => {
      await toggle(bo, 'Travel');
      await drawn(bo, ['+ Shopping', '- Travel', ' + Tickets', '   Hotel', `+ ${hostile}`]);
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'ArrowRight');
      await drawn(ann, ['- Shopping', ' + Dairy', '   Bread', '+ Travel', `+ ${hostile}`]);
      await press(ann, 'ArrowRight', 'ArrowRight');
      await drawn(ann, ['- Shopping', ' - Dairy', '    Milk', '    Butter', '   Bread', '+ Travel', `+ ${hostile}`]);
      await press(ann, 'ArrowRight', 'ArrowDown');
      assert.equal(await ann.evaluate(current), 'Butter');
      await picture(ann, 'outline-light');
      await picture(bo, 'outline-phone-dark');
      await press(ann, 'ArrowLeft', 'ArrowLeft');
      await drawn(ann, ['- Shopping', ' + Dairy', '   Bread', '+ Travel', `+ ${hostile}`]);
      assert.deepEqual([await ann.evaluate(current), await ann.evaluate(hasFocus)], ['Dairy', true]);
    });

    await context.test('a sub-tree that one moves is moved for the other, with its folds', async () => {
      await toggle(bo, 'Shopping');
      await drawn(bo, ['- Shopping', ' + Dairy', '   Bread', '- Travel', ' + Tickets', '   Hotel', `+ ${hostile}`]);
      await toggle(bo, 'Dairy');
      await press(ann, 'Home');
      await ann.press('ArrowDown', 1);
      await drawn(ann, ['+ Travel', '- Shopping', ' + Dairy', '   Bread', `+ ${hostile}`]);
      await ann.press('ArrowRight', 1);
      await drawn(ann, ['- Travel', ' + Tickets', '   Hotel', ' - Shopping', '  + Dairy', '    Bread', `+ ${hostile}`]);
      assert.equal(await ann.evaluate(current), 'Shopping');
      await drawn(bo, ['- Travel', ' + Tickets', '   Hotel', ' - Shopping', '  - Dairy', '     Milk', '     Butter',
        '    Bread', `+ ${hostile}`]);
      await ann.press('ArrowLeft', 1);
      await drawn(ann, ['- Travel', ' + Tickets', '   Hotel', '- Shopping', ' + Dairy', '   Bread', `+ ${hostile}`]);
    });

    await context.test('the focus stays when the current row is deleted, or folded away', async () => {
      await press(ann, 'End', 'ArrowUp');
      assert.equal(await ann.evaluate(current), 'Bread');
      const [{ id }] = await server.json(['fetch', '--entity', 'Item', '--where', 'title == "Bread"']);
      await server.nestc(['rm', `${id}`]);
      await drawn(ann, ['- Travel', ' + Tickets', '   Hotel', '- Shopping', ' + Dairy', `+ ${hostile}`]);
      assert.deepEqual([await ann.evaluate(current), await ann.evaluate(hasFocus)], [hostile, true]);
      await press(ann, 'ArrowUp');
      await toggle(ann, 'Dairy');
      await ann.until(() => document.querySelector('#outline').textContent.includes('Butter'));
      await press(ann, 'ArrowRight', 'ArrowDown');
      assert.equal(await ann.evaluate(current), 'Butter');
      await ann.evaluate(click, '#fold');
      await drawn(ann, ['+ Travel', '+ Shopping', `+ ${hostile}`]);
      assert.equal(await ann.evaluate(current), 'Shopping');
    });

    await context.test('one zooms in and out, hides what is done, and finds both again after a reload', async () => {
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'Enter');
      await drawn(ann, ['+ Dairy']);
      const steps = () => [...document.querySelectorAll('#path a')].map((step) => step.textContent);
      await ann.until(() => document.querySelectorAll('#path a').length === 2);
      assert.deepEqual(await ann.evaluate(steps), ['Home', 'Shopping']);
      await press(ann, 'ArrowRight');
      await drawn(ann, ['- Dairy', '   Milk', '   Butter']);
      // Until the new page is there, the old one shows the same rows.
      await ann.evaluate(() => { window.isOld = true; location.reload(); });
      await ann.until(() => !window.isOld);
      await drawn(ann, ['- Dairy', '   Milk', '   Butter']);
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'ArrowDown', ' ');
      await ann.until(() => document.querySelectorAll('#outline .done').length === 1);
      await ann.evaluate(click, '#hide');
      await drawn(ann, ['- Dairy', '   Butter']);
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'Backspace');
      await drawn(ann, ['+ Travel', '+ Shopping', `+ ${hostile}`]);
      assert.equal(await ann.evaluate(current), 'Shopping');
      await ann.evaluate(click, '#hide');
    });

    await context.test('one renames, and takes back what one did; the buttons do what the keys do', async () => {
      const undoable = (page, name) => page.until((text) =>
        document.querySelector('#undo').textContent === (text ? `Undo: ${text}` : 'Undo'), name);
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'F2');
      assert.equal(await ann.evaluate(() => document.activeElement.value), 'Shopping');
      await ann.type('Groceries');
      await press(ann, 'Enter');
      for (const page of [ann, bo]) await page.until(() => document.querySelector('#outline').textContent.includes('Groceries'));
      assert.equal(await ann.evaluate(hasFocus), true);
      await undoable(ann, 'rename “Groceries”');
      await press(ann, 'F2');
      await ann.type('not kept');
      await press(ann, 'Escape');
      assert.deepEqual([await ann.evaluate(current), await ann.evaluate(hasFocus)], ['Groceries', true]);
      await ann.press('z', 2);
      for (const page of [ann, bo]) await page.until(() => document.querySelector('#outline').textContent.includes('Shopping'));
      // On a phone there are no keys.
      await bo.evaluate(() => [...document.querySelectorAll('#outline .title')].at(-1).click());
      assert.equal(await bo.evaluate(current), hostile);
      await bo.evaluate(click, '[data-act=done]');
      await bo.until(() => [...document.querySelectorAll('#outline [role=row]')].at(-1).classList.contains('done'));
      await undoable(bo, `tick off “${hostile}”`);
      await bo.evaluate(click, '#undo');
      await bo.until(() => ![...document.querySelectorAll('#outline [role=row]')].at(-1).classList.contains('done'));
      await bo.evaluate(click, '[data-act=rename]');
      await bo.until(() => document.activeElement.matches('.edit'));
      // What others do meanwhile takes neither the field nor what one types.
      await server.nestc(['add', 'meanwhile', '--first']);
      await bo.until(() => document.querySelector('#outline').textContent.includes('meanwhile'));
      await bo.type('typed');
      assert.equal(await bo.evaluate(() => document.querySelector('.edit').value), 'typed');
      await press(bo, 'Escape');
      assert.equal(await bo.evaluate(hasFocus), true);
      const [{ id }] = await server.json(['fetch', '--entity', 'Item', '--where', 'title == "meanwhile"']);
      await server.nestc(['rm', `${id}`]);
      for (const page of [ann, bo]) await page.until(() => !document.querySelector('#outline').textContent.includes('meanwhile'));
    });

    await context.test('what was zoomed into is deleted: the page shows everything, and says why', async () => {
      await server.nestc(['import', '-'], 'Plans\n\tSummer\n');
      const [{ id }] = await server.json(['fetch', '--entity', 'Item', '--where', 'title == "Plans"']);
      const guest = await browser.open(`${address}#${id}`);
      await drawn(guest, ['  Summer']);
      await server.nestc(['rm', `${id}`]);
      const saysWhy = () => document.querySelector('#message').textContent.includes('deleted');
      await guest.until(saysWhy);
      await guest.until(() => document.querySelector('#outline').textContent.includes('Shopping'));
      // An address of old.
      await guest.go('about:blank');
      await guest.go(`${address}#${id}`);
      await guest.until(saysWhy);
      await guest.until(() => document.querySelector('#outline').textContent.includes('Shopping'));
      assert.deepEqual(guest.faults, []);
      await guest.close();
    });

    await context.test('pages survive kill -9 with their folds', async () => {
      await toggle(ann, 'Shopping');
      await drawn(ann, ['+ Travel', '- Shopping', ' - Dairy', '    Milk', '    Butter', `+ ${hostile}`]);
      const before = await shown(bo);
      for (let round = 1; round <= 2; round += 1) {
        await server.kill();
        await ann.until(() => document.querySelector('#state').dataset.state !== 'live');
        await ann.evaluate((title) => { document.querySelector('#title').value = title; }, `away ${round}`);
        await ann.evaluate(() => document.querySelector('#add').requestSubmit());
        await server.start();
        for (const page of [ann, bo]) await page.until(isLive);
        await ann.until((title) => document.querySelector('#outline').textContent.includes(title), `away ${round}`);
      }
      await drawn(ann, ['+ Travel', '- Shopping', ' - Dairy', '    Milk', '    Butter', '  away 2', '  away 1', `+ ${hostile}`]);
      const rows = await until(async () => {
        const now = await shown(bo);
        return now.length === before.length + 2 && now;
      });
      assert.deepEqual(rows.filter((row) => !row.includes('away')), before);
    });

    await context.test('far down in a folder one adds, moves, goes to the parent, zooms in and back', async () => {
      const lines = Array.from({ length: 400 }, (_, index) => `\tchild ${index}\n`);
      await server.nestc(['import', '-'], `Folder\n${lines.join('')}`);
      const guest = await browser.open(address);
      const has = (title) => guest.until((text) => document.querySelector('#outline').textContent.includes(text), title);
      const isCurrent = (title) => guest.until((text) => {
        const row = document.querySelector('#outline [aria-selected=true]');
        const { top, bottom } = document.querySelector('#outline').getBoundingClientRect();
        const { top: above, bottom: below } = row?.getBoundingClientRect() ?? {};
        return row?.querySelector('.title').textContent === text && above >= top - 1 && below <= bottom + 1;
      }, title);
      await has('Folder');
      await guest.evaluate(() => document.querySelector('#outline').focus());
      await press(guest, 'End');
      await isCurrent('Folder');
      await press(guest, 'ArrowRight');
      await has('child 0');
      await press(guest, 'End');
      await isCurrent('child 399');
      // Its parent is far above the rows that the page has.
      assert.equal(await guest.evaluate(() => document.querySelector('#outline').textContent.includes('Folder')), false);
      await guest.evaluate(() => {
        document.querySelector('#title').value = 'added far down';
        document.querySelector('#add').requestSubmit();
      });
      await has('added far down');
      await guest.press('ArrowUp', 1);
      await guest.until(() => /child 399.*child 398.*added/.test(document.querySelector('#outline').textContent));
      const found = (where) => server.json(['fetch', '--entity', 'Item', '--where', where]);
      const [folder] = await found('title == "Folder"');
      assert.equal((await found('parent.title == "Folder"')).length, 401);
      await press(guest, 'ArrowUp');
      await isCurrent('child 397');
      await press(guest, 'Enter');
      await guest.until(() => document.querySelectorAll('#path a').length === 3);
      await guest.until(() => document.querySelectorAll('#outline [role=row]').length === 0);
      await press(guest, 'Backspace');
      await guest.until(() => document.querySelector('#path [aria-current]').textContent === 'Folder');
      await isCurrent('child 397');
      await press(guest, 'Backspace');
      await isCurrent('Folder');
      await press(guest, 'End');
      await isCurrent('added far down');
      await press(guest, 'ArrowLeft');
      await isCurrent('Folder');
      await press(guest, 'End', 'ArrowUp');
      await isCurrent('child 398');
      // What is deleted while the page has no connection.
      await guest.offline(true);
      await server.restart();
      await guest.until(() => document.querySelector('#state').dataset.state === 'disconnected');
      const [{ id }] = await found('title == "child 398"');
      await server.nestc(['rm', `${id}`]);
      await guest.offline(false);
      await isCurrent('added far down');
      await guest.close();
      await server.nestc(['rm', `${folder.id}`]);
      for (const page of [ann, bo]) await page.until(() => !document.querySelector('#outline').textContent.includes('Folder'));
    });

    await context.test('sixty levels down a phone still shows the titles', async () => {
      await server.nestc(['import', '-'], Array.from({ length: 60 }, (_, level) => `${'\t'.repeat(level)}deep ${level}\n`).join(''));
      const phone = await browser.open(address, { width: 360, height: 740, mobile: true });
      await phone.until(() => document.querySelector('#outline').textContent.includes('deep 0'));
      await phone.evaluate(click, '#unfold');
      await phone.until(() => document.querySelector('#outline').textContent.includes('deep 59'));
      const widths = await phone.evaluate(() => [...document.querySelectorAll('#outline .title')].map((title) =>
        Math.min(title.getBoundingClientRect().right, innerWidth) - title.getBoundingClientRect().left));
      assert.ok(Math.min(...widths) > 30, `${widths}`);
      await picture(phone, 'outline-deep');
      await phone.close();
      const [{ id }] = await server.json(['fetch', '--entity', 'Item', '--where', 'title == "deep 0"']);
      await server.nestc(['rm', `${id}`]);
    });

    await context.test('a long outline scrolls to its end, and back, with few rows on the page', async () => {
      const many = Array.from({ length: 3000 }, (_, index) => `${index % 3 ? '\t' : ''}item ${index}\n`).join('');
      await server.nestc(['import', '-'], many);
      await ann.evaluate(click, '#unfold');
      const total = () => Number(document.querySelector('#outline').getAttribute('aria-rowcount'));
      await ann.until(() => Number(document.querySelector('#outline').getAttribute('aria-rowcount')) > 3000);
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'End');
      await ann.until(() => document.querySelector('#outline').textContent.includes('item 2999'));
      await press(ann, 'End');
      assert.equal(await ann.evaluate(current), 'item 2999');
      assert.ok(await ann.evaluate(() => document.querySelectorAll('#outline [role=row]').length) <= 150);
      // In the middle: what others write above shifts nothing.
      await ann.evaluate(() => { document.querySelector('#outline').scrollTop *= 0.5; });
      const top = () => {
        const outline = document.querySelector('#outline');
        const { top: edge, left } = outline.getBoundingClientRect();
        return document.elementFromPoint(left + 30, edge + 40)?.closest('[role=row]')?.textContent ?? null;
      };
      await until(async () => await ann.evaluate(top) !== null);
      await ann.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 300); }));
      const [seen, count] = [await ann.evaluate(top), await ann.evaluate(total)];
      await server.nestc(['add', 'above', '--first']);
      await until(async () => await ann.evaluate(total) === count + 1);
      await ann.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 100); }));
      assert.equal(await ann.evaluate(top), seen);
      await ann.evaluate(() => document.querySelector('#outline').focus());
      await press(ann, 'Home');
      await ann.until(() => document.querySelector('#outline').textContent.includes('above'));
      await press(ann, 'Home');
      assert.equal(await ann.evaluate(current), 'above');
      await picture(ann, 'outline-long');
    });

    await context.test('the pages fit, have names for everything, and broke no rule', async () => {
      for (const page of [ann, bo]) {
        assert.equal(await page.evaluate(() => window.isHacked ?? false), false);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'no horizontal scrolling');
        const { nodes } = await page.send('Accessibility.getFullAXTree');
        const kinds = ['button', 'textbox', 'checkbox', 'link', 'treegrid', 'row'];
        const named = nodes.filter(({ ignored, role }) => !ignored && kinds.includes(role?.value));
        assert.ok(named.some(({ role }) => role.value === 'row'));
        assert.deepEqual(named.filter(({ name }) => !name?.value).map(({ role }) => role.value), []);
        assert.deepEqual(page.faults.filter((fault) => !fault.startsWith('WebSocket connection to')), []);
      }
    });
  } finally {
    await browser.close();
    await server.close();
  }
});
