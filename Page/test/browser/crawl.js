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

/**
 * Defines `pressable(selectors)` in the page: what people can press now below the selectors, as `[name, element]`. Names
 * with numbers and titles count once.
 */
const finder = () => {
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && element.getBoundingClientRect().width > 0;
  const states = ['aria-pressed', 'aria-selected', 'aria-checked', 'aria-current'];
  const isOn = (element) => !element.disabled && element.getAttribute('aria-disabled') !== 'true'
    && !states.some((name) => (element.getAttribute(name) ?? 'false') !== 'false');
  const nameOf = (element) => (element.getAttribute('aria-label') ?? element.textContent).trim().replace(/“.*”/, '“”')
    .replace(/\d+/g, 'N');
  const kinds = 'button, summary, [role=button], [role=menuitem], [role=menuitemcheckbox]';
  window.pressable = (selectors) => [...document.querySelectorAll(selectors)]
    .flatMap((place) => [...place.querySelectorAll(kinds)]).filter((element) => isShown(element) && isOn(element))
    .map((element) => [nameOf(element), element]);
};

const offered = (selectors) => [...new Set(window.pressable(selectors).map(([name]) => name))];

const press = (selectors, name) => {
  const [, element] = window.pressable(selectors).find(([each]) => each === name) ?? [];
  element?.click();
  return Boolean(element);
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
 * `pressed(name, didSomething)` after each. Returns how many buttons and entries there were.
 */
export async function crawl(page, visit, pressed) {
  const arrive = async () => {
    await visit();
    await page.evaluate(finder);
  };
  /** Presses a button as soon as it is there. One that does not come again belongs to what has changed meanwhile. */
  const act = async (places, name) => {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      await page.evaluate(watch);
      if (await page.evaluate(press, places, name)) return hasActed(page);
      await page.evaluate(settle);
    }
    return true;
  };
  await arrive();
  const places = '#bar-tools, #main';
  const names = (await page.evaluate(offered, places)).filter((name) => !SKIPPED.test(name));
  let count = names.length;
  for (const name of names) {
    await pressed(name, await act(places, name));
    const entries = (await page.evaluate(offered, '[role=menu]')).filter((entry) => !SKIPPED.test(entry));
    count += entries.length;
    for (const entry of entries) {
      await arrive();
      await act(places, name);
      await pressed(`${name} > ${entry}`, await act('[role=menu]', entry));
    }
    await arrive();
  }
  return count;
}
