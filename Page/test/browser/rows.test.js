// An outline of very many rows: the page scrolls to its end with few elements and without growing. NEST_ROWS is the
// number of rows: 1,000,000 takes a debug server minutes to store.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jump, rowCount, unfoldAll } from './list.js';
import { Stage, skip, until } from './stage.js';

const ROWS = Number(process.env.NEST_ROWS ?? 50_000);
/** Rows in the document at any time. */
const DRAWN_MAX = 150;
/** Pixels of the tallest element: browsers end elements at 33 million, some of them earlier. */
const HEIGHT_MAX = 8_000_000;
/** Growth of the heap from the first pass over the list to the last one, in bytes. */
const GROWTH_MAX = 4 << 20;
const CHILDREN = 9;

/** Lines of an outline of two levels. */
function* lines(count) {
  for (let row = 0; row < count; row += 1) yield `${row % (CHILDREN + 1) ? '\t' : ''}row ${row}\n`;
}

/** What the list shows in the middle of its view; null while that is not there yet. */
const middle = () => {
  const grid = document.querySelector('[role=treegrid]');
  const { left, top, width, bottom } = grid.getBoundingClientRect();
  const [above, below] = [Math.max(0, top), Math.min(innerHeight, bottom)];
  const row = document.elementFromPoint(left + width / 2, (above + below) / 2)?.closest('[role=row][data-id]');
  return row ? window.titleOf(row) : null;
};

const measure = () => ({
  drawn: document.querySelectorAll('[role=treegrid] [role=row]').length,
  tallest: Math.max(...[...document.querySelectorAll('#main, #main *')].map(({ scrollHeight }) => scrollHeight)),
});

/** The size of what the page's code keeps, in bytes. */
async function heap(page) {
  for (let turn = 0; turn < 3; turn += 1) await page.send('HeapProfiler.collectGarbage');
  return (await page.send('Runtime.getHeapUsage')).usedSize;
}

test(`an outline of ${ROWS} rows`, { skip }, async (context) => {
  const stage = await Stage.start();
  try {
    const text = [...lines(ROWS)].join('');
    await stage.server.nestc(['import', '-', '--timeout', '600'], text);
    const page = await stage.open('/outline', { name: 'Ann', width: 1000, height: 800 });
    await page.until(() => document.querySelector('[role=row][data-id]'));
    await unfoldAll(page, ROWS);

    const at = async (ratio) => {
      await jump(page, ratio);
      const title = await until(() => page.evaluate(middle), () => `nothing is shown at ${ratio}`);
      const { drawn, tallest } = await page.evaluate(measure);
      assert.ok(drawn > 0 && drawn <= DRAWN_MAX, `${drawn} rows in the document`);
      assert.ok(tallest <= HEIGHT_MAX, `an element of ${tallest} pixels`);
      return Number(title.split(' ')[1]);
    };

    await context.test('the middle of the view is where the thumb is', async () => {
      const seen = [];
      for (const ratio of [0, 0.25, 0.5, 0.75, 1]) {
        const row = await at(ratio);
        seen.push(row);
        assert.ok(Math.abs(row - ratio * ROWS) < Math.max(60, 0.01 * ROWS), `row ${row} at ${ratio} of ${ROWS}`);
      }
      context.diagnostic(`rows in the middle: ${seen}`);
    });

    await context.test('the last row can be reached, by End and by the wheel', async () => {
      const last = `row ${ROWS - 1}`;
      await at(0.999);
      const point = await page.middle('[role=treegrid]');
      const isLast = (title) => document.querySelector('[role=treegrid]').textContent.includes(title);
      await until(async () => {
        await page.wheel({ x: point.x, y: 400 }, 1000);
        return page.evaluate(isLast, last);
      }, () => `${last} is not reached by the wheel`);
      await at(0);
      await page.click(await page.middle('[role=row][data-id] .title'));
      await page.press('Escape');
      await page.press('End');
      await page.until(isLast, last);
    });

    await context.test('scrolling to and fro keeps the heap as it is', async () => {
      const places = [0.1, 0.9, 0.3, 0.7, 0.5];
      for (const ratio of places) await at(ratio);
      const before = await heap(page);
      for (let pass = 0; pass < 6; pass += 1) for (const ratio of places) await at((ratio + pass * 0.013) % 1);
      const after = await heap(page);
      context.diagnostic(`heap: ${before} bytes, then ${after}`);
      assert.ok(after - before < GROWTH_MAX, `the heap grew by ${after - before} bytes`);
    });

    await context.test('what others write above shifts nothing', async () => {
      const row = await at(0.5);
      const total = await rowCount(page);
      await stage.server.nestc(['add', 'above', '--first']);
      await until(async () => await rowCount(page) === total + 1);
      assert.equal(Number((await until(() => page.evaluate(middle))).split(' ')[1]), row);
    });
    await stage.check(assert);
  } finally {
    await stage.close();
  }
});
