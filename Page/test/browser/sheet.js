// The table of the explorer, as a test reads it: rows in view, and the whole by scrolling through it.

/**
 * What is drawn: `{ line, id, cells }` of rows, `{ line, head }` of heads of sections; and how many lines there are.
 */
const part = () => {
  const sheet = document.querySelector('.sheet');
  const rows = [...sheet.querySelectorAll('.runway > [role=row]')].map((row) => {
    const cells = [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent);
    const line = Number(row.getAttribute('aria-rowindex')) - 2;
    return row.dataset.id ? { line, id: Number(row.dataset.id), cells } : { line, head: cells[0] };
  });
  return { count: Number(sheet.querySelector('[role=grid]').getAttribute('aria-rowcount')) - 1, rows };
};

/** Looks that show no other line, after which rows are not on their way, but have moved meanwhile. */
const IDLE_MAX = 200;

/** All lines in their order, read from the first to the last; null if they changed meanwhile. */
export async function wholeSheet(page) {
  const found = new Map();
  await page.evaluate(() => { document.querySelector('.sheet').scrollTop = 0; });
  let first = null;
  for (let idle = 0; idle < IDLE_MAX;) {
    const { count, rows } = await page.evaluate(part);
    first ??= count;
    if (first !== count) return null;
    const before = found.size;
    for (const row of rows) found.set(row.line, row);
    idle = found.size > before ? 0 : idle + 1;
    if (found.size >= count) return [...found.values()].sort((a, b) => a.line - b.line);
    // Rows may still be on their way: go on when what is drawn joins what was seen.
    if (rows.some(({ line }) => line >= before) || before === 0) {
      await page.evaluate((line) => { document.querySelector('.sheet').scrollTop = line * 34; },
        Math.max(0, contiguous(found) - 3));
    }
    await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve, 15)); }));
  }
  return null;
}

/** How many lines are known from the first one on. */
function contiguous(found) {
  let line = 0;
  while (found.has(line)) line += 1;
  return line;
}

/** Waits for this number of objects. */
export const counted = (page, text) =>
  page.until((expected) => document.querySelector('.result-status')?.textContent.startsWith(expected), text);

/** Writes a predicate and runs it. */
export async function run(page, text) {
  await page.evaluate(() => {
    const field = document.querySelector('.predicate textarea');
    field.focus();
    field.select();
    document.execCommand('delete');
  });
  if (text) await page.type(text);
  await page.press('Enter', 2);
}

/** Clicks the button with a text that is in view, in the dialog if one is open. */
export const clickButton = (page, text) => page.until((wanted) => {
  const where = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
  const button = [...where.querySelectorAll('button')].find((each) => each.textContent === wanted
    && each.checkVisibility());
  button?.click();
  return Boolean(button);
}, text);

/** Replaces what a field has, and leaves it with Enter. */
export async function fillIn(page, selector, text) {
  await page.until((wanted) => {
    const field = document.querySelector(wanted);
    field?.focus();
    field?.select();
    return Boolean(field);
  }, selector);
  await page.type(text);
  await page.press('Enter');
}
