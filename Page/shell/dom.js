// Elements. The page makes each of them here, and never from text that could be code.

/**
 * Makes an element: `make('button', { type: 'button', onclick: go }, 'Go')`. Names with a hyphen, and `role`, `for` and
 * `list`, are attributes; `data` has the values of `dataset`; a function is a listener; others are properties. Children
 * that are null or false are left out.
 */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key === 'data') Object.assign(element.dataset, value);
    else if (key.includes('-') || ATTRIBUTES.has(key)) element.setAttribute(key, String(value));
    else if (typeof value === 'function') element.addEventListener(key.replace(/^on/, ''), value);
    else element[key] = value;
  }
  element.append(...there(children));
  return element;
}

const there = (children) =>
  children.flat(Infinity).filter((child) => child !== null && child !== false && child !== undefined && child !== '');

/** Replaces what is in an element; children that are null, false or empty are left out. */
export function fill(element, ...children) {
  element.replaceChildren(...there(children));
}

const ATTRIBUTES = new Set(['role', 'for', 'list', 'form']);

/** A button with a text, and what it does. */
export const button = (text, onclick, properties = {}) =>
  make('button', { type: 'button', onclick, ...properties }, text);

/** A drawing of one path in a square of 16, for a button; its name for people is the button's. */
export function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

/** The directory of the page that is open. */
let opened = null;

/**
 * Loads the style sheet of a page's module: `await style(import.meta.url, './page.css')`, each time the page is opened.
 * The sheets of other pages' directories are off meanwhile: a page needs no names that no other page has. Resolves also
 * if it cannot be loaded: a page without it can be read.
 */
export function style(module, path) {
  const { href } = new URL(path, module);
  opened = new URL('.', href).href;
  const links = [...document.head.querySelectorAll('link[data-page]')];
  const choose = ({ sheet, dataset }) => { if (sheet) sheet.disabled = dataset.page !== opened; };
  links.forEach(choose);
  if (links.some((link) => link.href === href)) return Promise.resolve();
  return new Promise((resolve) => {
    const loaded = () => {
      choose(link);
      resolve();
    };
    const link = make('link', { rel: 'stylesheet', href, data: { page: opened }, onload: loaded, onerror: resolve });
    document.head.append(link);
  });
}

let names = 0;

/** A new id for an element, such as what `aria-labelledby` names. */
export const newID = (prefix = 'id') => `${prefix}-${(names += 1)}`;

const FIELDS = 'textarea, select, input:not([type=checkbox], [type=radio], [type=button])';

/** Whether the keyboard writes into this element. */
export const isField = (element) => element instanceof HTMLElement
  && (element.isContentEditable || element.matches(FIELDS));

/** Whether people have asked for little motion. */
export const calm = matchMedia('(prefers-reduced-motion: reduce)');

/** Whether the command key of this machine is ⌘. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Whether an event has the command key of this machine. */
export const hasCommand = (event) => (isMac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey);
