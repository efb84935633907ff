// What a person does with a mouse, in tests: finds things by their words, and presses them.

/** Presses the first button or link below a selector whose words begin with a text. Waits until it is there and on. */
export const click = (page, text, within = 'body') => page.until((words, place) => {
  const all = [...document.querySelectorAll(place)].flatMap((one) => [...one.querySelectorAll('button, a, summary')]);
  const found = all.find((one) => (one.getAttribute('aria-label') ?? one.textContent).trim().startsWith(words)
    && !one.disabled && one.checkVisibility());
  found?.click();
  return Boolean(found);
}, text, within);

/** Waits until a text stands below a selector. */
export const sees = (page, text, within = 'body') => page.until((words, place) =>
  [...document.querySelectorAll(place)].some((one) => one.innerText?.includes(words)), text, within)
  .catch(async (error) => {
    throw new Error(`“${text}” does not stand in ${within}, but:\n${await textOf(page, within)}\n${error.message}`);
  });

/** Waits until a text is gone. */
export const misses = (page, text, within = 'body') => page.until((words, place) =>
  ![...document.querySelectorAll(place)].some((one) => one.innerText?.includes(words)), text, within);

export const textOf = (page, selector) => page.evaluate((place) =>
  [...document.querySelectorAll(place)].map((one) => one.innerText).join('\n'), selector);

/** Writes into a field, or chooses an option, as if typed. */
export const write = (page, selector, value) => page.until((place, text) => {
  const field = document.querySelector(place);
  if (!field) return false;
  field.focus();
  field.value = text;
  for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }));
  return true;
}, selector, value);

/** The rows of a table as the page draws them: the texts of their cells, by column. */
export const rows = (page, selector = '.grid') => page.evaluate((place) =>
  [...document.querySelectorAll(`${place} .grid-body .grid-row`)].map((row) =>
    Object.fromEntries([...row.children].map((cell) => [cell.classList[1], cell.innerText.trim()]))), selector);
