// Presses every button that a page offers, one after the other, and says what each did: nothing at all is a dead button,
// and a refusal for want of rights is a button that should not be there.

/** Buttons that end what the test looks at, or open a dialog of the system. */
const SKIPPED = /sign out|change my name|skip to|open a file|choose|import|download|back ?up/i;

/** Notes what happens in the page from now on. */
const watch = () => {
  const { body } = document;
  const seen = { path: location.href, focus: document.activeElement, changes: 0, downloads: 0, copies: 0 };
  window.seen_?.observer.disconnect();
  seen.observer = new MutationObserver((records) => { seen.changes += records.length; });
  seen.observer.observe(body, { subtree: true, childList: true, attributes: true, characterData: true });
  window.seen_ = seen;
};

/** Whether anything has happened since `watch`. */
const happened = () => {
  const { seen_: seen } = window;
  return seen.changes > 0 || location.href !== seen.path || document.activeElement !== seen.focus;
};

/** Names of what people can press now, below the selectors. Names with numbers and titles count once. */
const offered = (selectors) => {
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && element.getBoundingClientRect().width > 0;
  const isOn = (element) => !element.disabled && element.getAttribute('aria-disabled') !== 'true'
    && !['aria-pressed', 'aria-selected', 'aria-checked', 'aria-current'].some((name) =>
      element.getAttribute(name) && element.getAttribute(name) !== 'false');
  const kinds = 'button, summary, [role=button], [role=menuitem], [role=menuitemcheckbox]';
  const all = [...document.querySelectorAll(selectors)].flatMap((place) => [...place.querySelectorAll(kinds)]);
  return all.map((element, index) => ({ element, index })).filter(({ element }) => isShown(element) && isOn(element))
    .map(({ element, index }) => ({
      index, name: (element.getAttribute('aria-label') ?? element.textContent).trim().replace(/“.*”/, '“”').replace(/\d+/g, 'N'),
    }));
};

const press = (selectors, index) => {
  const kinds = 'button, summary, [role=button], [role=menuitem], [role=menuitemcheckbox]';
  const all = [...document.querySelectorAll(selectors)].flatMap((place) => [...place.querySelectorAll(kinds)]);
  all[index]?.click();
  return Boolean(all[index]);
};

/** What a button did shows at once, or when the server has answered. */
const settle = () => new Promise((resolve) => { setTimeout(() => requestAnimationFrame(resolve), 60); });

/** Looks at a button that has done nothing so far, this often. */
const LOOKS_MAX = 100;

/** Whether something has happened since `watch`; waits for it. */
async function hasActed(page) {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    await page.evaluate(settle);
    if (await page.evaluate(happened)) return true;
  }
  return false;
}

/**
 * Presses what a page offers at an address, and the entries of the menus that open. `visit()` goes there anew. Calls
 * `pressed(name, didSomething)` after each.
 */
export async function crawl(page, visit, pressed) {
  await visit();
  const places = '#bar-tools, #main';
  const names = new Set();
  for (const { name, index } of await page.evaluate(offered, places)) {
    if (names.has(name) || SKIPPED.test(name)) continue;
    names.add(name);
    const act = async () => {
      await page.evaluate(watch);
      const isThere = await page.evaluate(press, places, index);
      return isThere && hasActed(page);
    };
    const did = await act();
    await pressed(name, did);
    const entries = await page.evaluate(offered, '[role=menu]');
    for (const entry of entries.filter((each) => !SKIPPED.test(each.name))) {
      await visit();
      await act();
      await page.evaluate(watch);
      await page.evaluate(press, '[role=menu]', entry.index);
      await pressed(`${name} > ${entry.name}`, await hasActed(page));
    }
    await visit();
  }
  return names.size;
}
