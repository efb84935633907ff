// The entries on the page. The element of each entry stays, so that a caret, a focus and an animation survive the
// changes of others.

/** Makes an element: `make('button', { type: 'button', textContent: 'Undo' })`. */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** A person's name in a colour of its own. */
export function personChip(name) {
  const chip = make('span', { className: 'person', textContent: name, title: name });
  let hue = 7;
  for (const letter of name) hue = (hue * 31 + letter.codePointAt(0)) % 360;
  chip.style.setProperty('--hue', hue);
  return chip;
}

const calm = matchMedia('(prefers-reduced-motion: reduce)');

/** Shows rows `{id, title, done}` in a list, and reports what the user does: `done(row)`, `edit(row, title)`,
 * `remove(row)` and `move(row, steps)`. */
export class Rows {
  constructor(list, actions) {
    this.list = list;
    this.actions = actions;
    this.items = new Map();
  }

  /** Shows these rows. `authors`: the name of the person who changed an entry just now, by its id. */
  show(rows, authors = new Map()) {
    const before = new Map([...this.items].map(([id, { element }]) => [id, element.getBoundingClientRect().top]));
    const focused = document.activeElement;
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, { element }] of this.items) {
      if (ids.has(id)) continue;
      element.remove();
      this.items.delete(id);
    }
    let place = this.list.firstElementChild;
    for (const row of rows) {
      const item = this.items.get(row.id) ?? this.#item(row.id);
      this.#fill(item, row, authors.get(row.id));
      if (item.element === place) place = place.nextElementSibling;
      else this.list.insertBefore(item.element, place);
    }
    // A moved element has lost the focus.
    if (focused !== document.activeElement && this.list.contains(focused)) focused.focus();
    for (const { id } of rows) this.#animate(this.items.get(id).element, before.get(id), before.size > 0);
  }

  #item(id) {
    const check = make('input', { type: 'checkbox' });
    const title = make('input', { className: 'title', autocomplete: 'off', enterKeyHint: 'done' });
    const remove = make('button', { className: 'remove', type: 'button', textContent: '×' });
    const element = make('li', {}, check, title, remove);
    const item = { element, check, title, remove, row: null, chip: null };
    element.dataset.id = id;
    check.addEventListener('change', () => this.actions.done(item.row, check.checked));
    remove.addEventListener('click', () => this.actions.remove(item.row));
    title.addEventListener('change', () => {
      if (title.value !== item.row.title) this.actions.edit(item.row, title.value);
    });
    title.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      const steps = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (event.key === 'Enter') title.blur();
      else if (event.key === 'Escape') title.value = item.row.title;
      else if (event.altKey && steps) this.actions.move(item.row, steps);
      else return;
      event.preventDefault();
    });
    this.items.set(id, item);
    return item;
  }

  #fill(item, row, author) {
    // What the user types now is theirs: another person's edit of the same entry shows when they leave it.
    const isTyping = document.activeElement === item.title && item.row !== null && item.title.value !== item.row.title;
    item.row = row;
    item.check.checked = row.done;
    item.check.setAttribute('aria-label', `${row.title} is done`);
    if (!isTyping && item.title.value !== row.title) item.title.value = row.title;
    item.title.setAttribute('aria-label', 'Entry');
    item.remove.setAttribute('aria-label', `Delete ${row.title}`);
    item.element.classList.toggle('done', row.done);
    if (author === undefined) return;
    item.chip?.remove();
    item.chip = personChip(author);
    item.element.insertBefore(item.chip, item.remove);
    if (!calm.matches) item.element.animate({ backgroundColor: ['var(--new)', 'var(--card)'] }, 1600);
  }

  /** Lets a row glide from where it was, and a new one appear. */
  #animate(element, top, isUpdate) {
    if (calm.matches || !isUpdate) return;
    if (top === undefined) {
      element.animate({ opacity: [0, 1] }, 200);
    } else {
      const distance = top - element.getBoundingClientRect().top;
      if (Math.abs(distance) > 1) {
        element.animate({ transform: [`translateY(${distance}px)`, 'none'] }, { duration: 180, easing: 'ease-out' });
      }
    }
  }
}
