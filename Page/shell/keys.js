// Keys of all pages: help (?), and F6 between the regions of the window.

import { ask } from './dialog.js';
import { isField, isMac, make } from './dom.js';

/** Keys that every page has: [keys, what they do]. */
const EVERYWHERE = [
  ['F6', 'To the next part of the window; with Shift, to the one before'],
  ['?', 'These keys'],
  ['Escape', 'Close a menu, a dialog or a message'],
];

/** Parts of the window that F6 goes through, in their order. A page marks its own with `data-region`. */
const REGIONS = '#bar, main:not(:has([data-region])), main [data-region], #notices:not(:empty)';
const FOCUSABLE = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, summary, [tabindex="0"]';

/** The names of keys on this machine: ⌘ and ⌥ of a Mac for Ctrl and Alt. */
export const keyText = (keys) => (isMac ? keys.replaceAll('Ctrl', '⌘').replaceAll('Alt', '⌥') : keys);

/**
 * Shows the keys of a page. `groups`: `{ title, keys: [[keys, what]] }`.
 */
export function showKeys(groups) {
  const all = [...groups, { title: 'Everywhere', keys: EVERYWHERE }];
  return ask({
    title: 'Keys', wide: groups.length > 1,
    body: [make('div', { className: 'keys' }, all.map(({ title, keys }) => make('section', {}, make('h3', {}, title),
      make('dl', {}, keys.map(([key, what]) => [
        make('dt', {}, keyText(key).split(' ').map((part) => make('kbd', {}, part))), make('dd', {}, what),
      ])))))],
  });
}

/** Watches the keys of the window. `groups()`: the keys of the open page. */
export function watchKeys(groups) {
  /** Where the focus was in each part, so that F6 comes back to it. */
  const last = new WeakMap();
  addEventListener('focusin', ({ target }) => {
    // It is seen, or it would not have the focus: asking the browser would cost a layout each time.
    const region = target.closest?.(REGIONS);
    if (region) last.set(region, target);
  });
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (event.key === '?' && !isField(event.target)) {
      event.preventDefault();
      showKeys(groups());
    } else if (event.key === 'F6') {
      event.preventDefault();
      toRegion(event.shiftKey ? -1 : 1, last);
    }
  });
}

const visible = (element) => element.checkVisibility?.() ?? element.offsetParent !== null;
const regions = () => [...document.querySelectorAll(REGIONS)].filter(visible);
const regionOf = (element) => regions().find((one) => one.contains(element)) ?? null;

function toRegion(by, last) {
  const all = regions();
  const now = all.indexOf(regionOf(document.activeElement));
  for (let step = 1; step <= all.length; step += 1) {
    const region = all.at((now + by * step + all.length * 2) % all.length);
    const before = last.get(region);
    const target = before?.isConnected && region.contains(before) && visible(before) ? before
      : [...region.querySelectorAll(FOCUSABLE)].find(visible) ?? (region.matches('[tabindex]') ? region : null);
    if (!target) continue;
    target.focus();
    return;
  }
}
