// Buttons of the bar with a drawing instead of a text.

import { button, icon } from './dom.js';

export const UNDO = 'M6 3L3 6l3 3M3.5 6H10a3 3 0 0 1 0 6H7';
export const REDO = 'M10 3l3 3-3 3M12.5 6H6a3 3 0 0 0 0 6h3';

/** A button with a drawing. A click leaves the keyboard where it is. */
export function tool(label, path, act, properties = {}) {
  const made = button('', act, { 'aria-label': label, title: label, className: 'tool', ...properties });
  made.append(icon(path));
  made.addEventListener('mousedown', (event) => event.preventDefault());
  return made;
}

/** Shows in a button of undo or redo what it takes back or does again; null: nothing. */
export function showNext(made, label, name) {
  const words = name === null ? label : `${label}: ${name}`;
  if (made.title === words && made.disabled === (name === null)) return;
  made.disabled = name === null;
  made.title = words;
  made.setAttribute('aria-label', words);
}
