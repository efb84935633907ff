// The list of an outline, as a test scrolls it.

/**
 * Defines in a page: `scroller()`, the element that scrolls the outline, and `titleOf(row)`, what a row shows as its
 * title. Under the field that edits it, a title ends with a character of no width; an empty one has a blank.
 */
export const listScript = `window.titleOf = (row) => {
  const title = row?.querySelector('.title');
  return !title || title.querySelector('.none') ? '' : title.textContent.replace(/\\u200b$/, '');
};
window.scroller = () => {
  let element = document.querySelector('[role=treegrid] [role=row]') ?? document.querySelector('[role=treegrid]');
  while (element && !(element.scrollHeight > element.clientHeight + 1
    && /auto|scroll/.test(getComputedStyle(element).overflowY))) element = element.parentElement;
  return element ?? document.scrollingElement;
};`;

/** Scrolls to a part of the whole, from 0 to 1; rows of there may still be on their way. */
export const jump = (page, ratio) => page.evaluate((part) => {
  const element = window.scroller();
  element.scrollTop = part * (element.scrollHeight - element.clientHeight);
  // The page hears of it before the next frame.
  return new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(() => resolve(null))); });
}, ratio);

/** How many rows the list has, shown or not. */
export const rowCount = (page) => page.evaluate(() =>
  Number(document.querySelector('[role=treegrid]').getAttribute('aria-rowcount')));

/** Unfolds the whole outline, by the button or the menu that the page has for it. */
export async function unfoldAll(page, rows) {
  const press = () => {
    const name = (element) => element.getAttribute('aria-label') ?? element.textContent;
    const find = () => [...document.querySelectorAll('button, [role=menuitem]')]
      .find((element) => /unfold (all|everything)|expand all/i.test(name(element)));
    if (!find()) [...document.querySelectorAll('#bar-tools [aria-haspopup=menu], #main [aria-haspopup=menu]')].at(0)?.click();
    find()?.click();
    return Boolean(find());
  };
  await page.evaluate(press);
  await page.until((count) =>
    Number(document.querySelector('[role=treegrid]').getAttribute('aria-rowcount')) === count, rows);
}
