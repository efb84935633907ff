// Dialogs and menus. Both keep the focus, end with Escape, and give it back.

import { button, make, newID } from './dom.js';

/**
 * Asks in a dialog. `body`: elements; `actions`: the buttons, `[value, text, kind]`, where kind is '', 'primary' or
 * 'danger'. Resolves with the value of a button; null if the dialog was left. `ready(dialog)`: it is open now.
 * `submit()`: does what the primary button says while the dialog is open; if it throws, the dialog says why and stays.
 */
export function ask({ title, body = [], actions = [['', 'Close', 'primary']], ready, submit, wide = false }) {
  return new Promise((resolve) => {
    const heading = make('h2', { id: newID('dialog') }, title);
    const content = make('div', { className: 'body' }, body);
    const hasField = content.querySelector('input, select, textarea') !== null;
    let answer = null;
    const end = (value) => {
      answer = value;
      dialog.close();
    };
    // Enter in a field is the primary button, whatever stands before it.
    const buttons = actions.map(([value, text, kind = '']) => make('button', {
      value, className: kind, type: kind === 'primary' ? 'submit' : 'button',
      autofocus: kind === 'primary' && !hasField, onclick: kind === 'primary' ? undefined : () => end(value),
    }, text));
    const words = make('p', { className: 'fault', role: 'alert' });
    const form = make('form', { method: 'dialog' }, heading, content, words,
      make('div', { className: 'actions' }, buttons));
    const dialog = make('dialog', { 'aria-labelledby': heading.id, className: wide ? 'wide' : '' }, form);
    form.addEventListener('submit', async (event) => {
      answer = event.submitter?.value ?? null;
      if (!submit) return;
      event.preventDefault();
      words.textContent = '';
      for (const each of buttons) each.disabled = true;
      try {
        await submit();
        dialog.close();
      } catch (error) {
        words.textContent = error.message;
        answer = null;
      }
      for (const each of buttons) each.disabled = false;
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    ready?.(dialog);
  });
}

/** Asks for a line of text. Resolves with it, or with null. `isRequired`: whether it may not be empty. */
export async function askText({ title, label, value = '', action = 'Save', hint, isRequired = true }) {
  const field = make('input', { value, required: isRequired, autocomplete: 'off' });
  const answer = await ask({
    title, body: [make('label', {}, label, field), hint && make('p', { className: 'soft' }, hint)],
    actions: [['cancel', 'Cancel'], ['ok', action, 'primary']], ready: () => {
      field.focus();
      field.select();
    },
  });
  return answer === 'ok' ? field.value : null;
}

/**
 * Opens a menu at an element or a point `{x, y}`. `entries`: `{ text, key, act, isOff, isChecked }`; null for a line.
 * Arrows, Home, End and the first letter move; Enter acts.
 */
export function menu(at, entries, { label = 'Actions' } = {}) {
  const from = document.activeElement;
  const items = entries.map((entry) => (entry === null ? make('hr') : make('button', {
    type: 'button', role: entry.isChecked === undefined ? 'menuitem' : 'menuitemcheckbox', tabIndex: -1,
    'aria-checked': entry.isChecked, 'aria-disabled': entry.isOff ? 'true' : undefined,
    onclick: () => {
      if (entry.isOff) return;
      close();
      entry.act();
    },
  }, make('span', {}, entry.text), entry.key && make('kbd', {}, entry.key))));
  const list = make('div', { className: 'menu', role: 'menu', 'aria-label': label, popover: 'auto' }, items);
  const buttons = items.filter((item) => item.localName === 'button');
  const close = () => {
    list.remove();
    if (from instanceof HTMLElement && (document.activeElement === document.body || !document.activeElement)) {
      from.focus({ preventScroll: true });
    }
  };
  const step = (by) => {
    const index = buttons.indexOf(document.activeElement);
    buttons.at((index + by + buttons.length) % buttons.length)?.focus();
  };
  list.addEventListener('keydown', (event) => {
    const moves = { ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => buttons[0]?.focus(),
      End: () => buttons.at(-1)?.focus(), Escape: close, Tab: close };
    event.stopPropagation();
    if (moves[event.key]) moves[event.key]();
    else if (event.key.length === 1) {
      const start = buttons.indexOf(document.activeElement) + 1;
      const order = [...buttons.slice(start), ...buttons.slice(0, start)];
      order.find((item) => item.textContent.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
    } else return;
    event.preventDefault();
  });
  list.addEventListener('toggle', (event) => event.newState === 'closed' && close());
  // Inside of the dialog or the region that has opened it: content of a page is in landmarks.
  (from?.closest('dialog') ?? document.getElementById('main')).append(list);
  list.showPopover();
  const { left, bottom, top } = at instanceof Element ? at.getBoundingClientRect()
    : { left: at.x, bottom: at.y, top: at.y };
  const room = list.getBoundingClientRect();
  list.style.left = `${Math.max(8, Math.min(left, innerWidth - room.width - 8))}px`;
  list.style.top = `${bottom + room.height > innerHeight - 8 ? Math.max(8, top - room.height) : bottom + 2}px`;
  buttons[0]?.focus();
}

/** A button that opens a menu; `entries` are made when it opens. */
export const menuButton = (text, entries, properties = {}) => {
  const opener = button(text, () => menu(opener, entries(), { label: properties['aria-label'] ?? String(text) }),
    { 'aria-haspopup': 'menu', ...properties });
  return opener;
};
