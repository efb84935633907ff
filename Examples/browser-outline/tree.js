// The rows of an outline on the page: a treegrid. The element has the focus, and names its current row: so a row that
// others delete or that is scrolled away takes no focus with it. It knows nothing of nest.

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

const calm = matchMedia('(prefers-reduced-motion: reduce)');
/** Rows from the edge of what is loaded at which more are asked for. */
const EDGE = 30;

/**
 * Shows the states of an outline, and reports what the user does: `setExpanded(row, isExpanded)`, `zoom(row)`, `up()`,
 * `done(row)`, `rename(row, title)`, `remove(row)`, `move(row, key)`, and `scroll(window)`, which asks for other rows.
 */
export class Tree {
  #current = null;
  #state = null;
  /** The elements of rows, by their ids; an element stays as long as its row. */
  #elements = new Map();
  #height = 0;
  /** The first row number of the window that was asked for last. */
  #asked = null;
  /** The index of the current row in the whole. */
  #place = 0;
  /** The row that is the current one as soon as it is here: its index, or `{ id }`; null: none is waited for. */
  #wanted = null;
  /** The id of the row that is the current one when the outline is below another object. */
  arriving = null;

  constructor(element, actions) {
    this.element = element;
    this.actions = actions;
    this.rows = make('div', { className: 'rows' });
    this.rows.setAttribute('role', 'rowgroup');
    element.append(this.rows);
    element.addEventListener('keydown', (event) => this.#pressed(event));
    element.addEventListener('click', (event) => this.#clicked(event));
    element.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#scrolled()).observe(element);
  }

  /** The id of the row that keys are for; null: none was chosen. */
  get current() {
    return this.#current;
  }

  set current(id) {
    this.#current = id;
    if (this.#state) this.#choose(null, null);
  }

  #row() {
    return this.#state.rows[this.#state.indexOf(this.#current)];
  }

  // MARK: What it shows

  /**
   * Shows a state. `runs`: what a difference has changed; null: the rows are others. `gone`: the ids of rows that are
   * not in the outline any more; a row that is scrolled away is. null: that is not known.
   */
  show(state, runs, gone) {
    const old = this.#state;
    const { element } = this;
    this.#height ||= this.#measure();
    const height = this.#height;
    const scroll = element.scrollTop;
    const tops = new Map(old?.rows.map(({ id }, index) => [id, (old.start + index) * height - scroll]));
    const held = this.#heldRow(old, tops);
    this.#state = state;
    const isElsewhere = old && state.under !== old.under;
    if (isElsewhere || gone === null) this.#asked = null;
    if (isElsewhere) {
      this.#current = state.indexOf(this.arriving) >= 0 ? this.arriving : null;
      this.#wanted = this.arriving = null;
    }

    const hasFocus = element.contains(document.activeElement);
    const ids = new Set(state.rows.map(({ id }) => id));
    for (const [id, row] of this.#elements) {
      if (ids.has(id)) continue;
      row.remove();
      this.#elements.delete(id);
    }
    element.setAttribute('aria-rowcount', state.total);
    this.rows.style.height = `${state.total * height}px`;
    let next = this.rows.firstElementChild;
    state.rows.forEach((row, index) => {
      const shown = this.#elements.get(row.id) ?? this.#make(row.id);
      this.#fill(shown, row, state.start + index);
      if (shown === next) next = next.nextElementSibling;
      // Moved, it would lose the focus, which it has while it is renamed.
      else if (!shown.contains(document.activeElement)) this.rows.insertBefore(shown, next);
    });
    if (hasFocus && !element.contains(document.activeElement)) element.focus({ preventScroll: true });
    const hasArrived = this.#choose(isElsewhere ? null : old, gone);
    // What one looks at stays where it is on the screen, whatever others do above it.
    const at = held === null ? -1 : state.indexOf(held);
    if (isElsewhere) element.scrollTop = this.#place * height - element.clientHeight / 3;
    else if (hasArrived) this.#reveal();
    else if (at >= 0) element.scrollTop = (state.start + at) * height - tops.get(held);
    if (runs && !calm.matches) this.#animate(runs, tops);
    this.#scrolled();
  }

  #measure() {
    const probe = this.rows.appendChild(make('div', { className: 'row' }, 'x'));
    const height = probe.getBoundingClientRect().height;
    probe.remove();
    return height;
  }

  /** The current row, if it is in view; otherwise the first that is. At the top, nothing is held. */
  #heldRow(old, tops) {
    if (this.element.scrollTop === 0) return null;
    const isInView = (id) => tops.get(id) >= 0 && tops.get(id) < this.element.clientHeight;
    if (isInView(this.#current)) return this.#current;
    return old?.rows.find(({ id }) => isInView(id))?.id ?? null;
  }

  /**
   * If the current row has gone, another one is: what it was folded into, or the row after it, or the one before.
   * Returns whether a row that was waited for is here.
   */
  #choose(old, gone) {
    const { rows, start, total } = this.#state;
    const isThere = (row) => this.#state.indexOf(row) >= 0;
    // Others may have deleted the last rows meanwhile.
    const at = this.#wanted?.id ? this.#state.indexOf(this.#wanted) : Math.min(this.#wanted, total - 1) - start;
    const wanted = this.#wanted === null ? null : rows[at];
    if (wanted) [this.#current, this.#wanted] = [wanted.id, null];
    if (old && !gone && this.#current !== null && !isThere(this.#current)) {
      // What is in its place, if that is among these rows.
      this.#current = rows[Math.min(this.#place, total - 1) - start]?.id ?? this.#current;
    } else if (old && gone?.has(this.#current)) {
      const index = old.indexOf(this.#current);
      let parent = old.parentIndex(index);
      while (parent >= 0 && !isThere(old.rows[parent])) parent = old.parentIndex(parent);
      const above = rows[this.#state.indexOf(old.rows[parent] ?? 0)];
      const next = old.rows.slice(index).find(isThere) ?? old.rows.slice(0, index).reverse().find(isThere);
      this.#current = (above && !above.isExpanded ? above : next)?.id ?? null;
    }
    if (this.#current === null && rows.length > 0) this.#current = rows[0].id;
    this.#mark();
    return Boolean(wanted);
  }

  #mark() {
    const index = this.#state.indexOf(this.#current);
    if (index >= 0) this.#place = this.#state.start + index;
    for (const [id, row] of this.#elements) row.setAttribute('aria-selected', id === this.#current);
    if (index >= 0) this.element.setAttribute('aria-activedescendant', `row-${this.#current}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  #make(id) {
    const fold = make('span', { className: 'fold' });
    fold.setAttribute('aria-hidden', 'true');
    const cell = make('div', { className: 'cell' }, fold, make('span', { className: 'title' }));
    cell.setAttribute('role', 'gridcell');
    const row = make('div', { className: 'row', id: `row-${id}` }, cell);
    row.setAttribute('role', 'row');
    row.dataset.id = id;
    this.#elements.set(id, row);
    return row;
  }

  #fill(element, row, place) {
    element.setAttribute('aria-level', row.depth + 1);
    element.setAttribute('aria-rowindex', place + 1);
    if (row.hasChildren) element.setAttribute('aria-expanded', row.isExpanded);
    else element.removeAttribute('aria-expanded');
    element.style.transform = `translateY(${place * this.#height}px)`;
    element.style.setProperty('--depth', Math.min(row.depth, 40));
    element.classList.toggle('done', row.done);
    const title = element.querySelector('.title');
    title.textContent = row.title || 'Untitled';
    title.title = row.title;
  }

  /** Rows glide to where they are now; those that come together appear together. */
  #animate(runs, tops) {
    const { start, rows } = this.#state;
    const scroll = this.element.scrollTop;
    const arrived = new Set();
    for (const { kind, to, count } of runs) {
      for (let index = 0; index < count && kind !== 'removed'; index += 1) {
        if (kind === 'inserted') arrived.add(rows[to + index].id);
        // A sub-tree that moves passes above the others.
        else this.#elements.get(rows[to + index].id).animate({ zIndex: [1, 1] }, 200);
      }
    }
    rows.forEach(({ id }, index) => {
      const top = (start + index) * this.#height;
      const shift = tops.get(id) - (top - scroll);
      const element = this.#elements.get(id);
      if (arrived.has(id)) element.animate({ opacity: [0, 1] }, 200);
      else if (Math.abs(shift) > 1) {
        element.animate({ transform: [`translateY(${top + shift}px)`, `translateY(${top}px)`] },
          { duration: 180, easing: 'ease-out' });
      }
    });
  }

  // MARK: Scrolling

  /** Asks for other rows when those that are there end. */
  #scrolled() {
    const { element } = this;
    const state = this.#state;
    if (!state || state.revision === 0 || !this.#height) return;
    const first = Math.floor(element.scrollTop / this.#height);
    const count = Math.ceil(element.clientHeight / this.#height);
    const end = state.start + state.rows.length;
    const isMissing = (first < state.start + EDGE && state.start > 0)
      || (first + count > end - EDGE && end < state.total);
    if (!isMissing) {
      this.#asked = null;
      return;
    }
    if (this.#asked !== null && Math.abs(this.#asked - first) < EDGE / 2) return;
    this.#asked = first;
    // Around a row the window follows what is looked at. A jump has no row to follow yet.
    const held = state.rows[first - state.start + Math.floor(count / 2)];
    this.#ask(held ? { around: held } : { middle: first + Math.floor(count / 2) });
  }

  #ask(window) {
    // Refused, because the row has gone or there is no connection: the next change asks again.
    this.actions.scroll(window).catch(() => { this.#asked = null; });
  }

  #reveal() {
    const { element } = this;
    const top = this.#place * this.#height;
    const last = element.clientHeight - this.#height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + last) element.scrollTop = top - last;
  }

  // MARK: The current row

  /**
   * Does something with the current row, as its key does: `zoom`, `done`, `rename`, `remove`, or the key of an arrow,
   * which moves it. A row that is out of sight is only brought back.
   */
  act(what) {
    const row = this.#state && this.#row();
    const middle = (this.#place + 0.5) * this.#height - this.element.scrollTop;
    if (!row || middle < 0 || middle > this.element.clientHeight) {
      if (this.#state?.total > 0) this.#go(this.#place);
    } else if (what === 'rename') this.#rename(row);
    else if (what.startsWith('Arrow')) this.actions.move(row, what);
    else this.actions[what](row);
  }

  /** A field in the place of the title. Enter saves, and so does what takes the focus away; Escape does not. */
  #rename(row) {
    const shown = this.#elements.get(row.id);
    if (shown.classList.contains('editing')) return;
    const field = make('input', { className: 'edit', value: row.title, ariaLabel: 'Title', enterKeyHint: 'done' });
    let isOver = false;
    const end = (saves) => {
      if (isOver) return;
      isOver = true;
      const title = field.value.trim();
      const hadFocus = document.activeElement === field;
      shown.classList.remove('editing');
      field.remove();
      if (hadFocus) this.element.focus({ preventScroll: true });
      if (saves && title !== '' && title !== row.title) this.actions.rename(row, title);
    };
    field.addEventListener('blur', () => end(true));
    field.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.isComposing || !['Enter', 'Escape'].includes(event.key)) return;
      event.preventDefault();
      end(event.key === 'Enter');
    });
    shown.classList.add('editing');
    shown.querySelector('.cell').append(field);
    field.select();
  }

  // MARK: Keys and clicks

  #go(place) {
    const { start, rows, total } = this.#state;
    const at = Math.max(0, Math.min(place, total - 1));
    const row = rows[at - start];
    if (row) this.#current = row.id;
    this.#mark();
    this.#place = at;
    this.#wanted = row ? null : at;
    this.#reveal();
  }

  #pressed(event) {
    const { key, altKey, ctrlKey, metaKey } = event;
    if (event.isComposing || ctrlKey || metaKey || !this.#state) return;
    const { rows, start, total } = this.#state;
    const row = this.#row();
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height) - 1);
    const keys = {
      ArrowDown: () => this.#go(this.#place + 1), ArrowUp: () => this.#go(this.#place - 1),
      PageDown: () => this.#go(this.#place + page), PageUp: () => this.#go(this.#place - page),
      Home: () => this.#go(0), End: () => this.#go(total - 1),
      ArrowRight: () => {
        if (row?.isExpanded && row.hasChildren) this.#go(this.#place + 1);
        else if (row?.hasChildren) this.actions.setExpanded(row, true);
      },
      ArrowLeft: () => {
        const parent = row ? this.#state.parentIndex(rows.indexOf(row)) : -1;
        if (row?.isExpanded && row.hasChildren) this.actions.setExpanded(row, false);
        else if (parent >= 0) this.#go(start + parent);
        else if (row?.depth > 0) {
          this.#wanted = { id: row.parent.id };
          this.#ask({ around: row.parent.id });
        }
      },
      Enter: () => this.act('zoom'), F2: () => this.act('rename'), ' ': () => this.act('done'),
      Delete: () => this.act('remove'), Backspace: () => this.actions.up(),
    };
    if (altKey && /^Arrow/.test(key)) this.act(key);
    else if (!altKey && Object.hasOwn(keys, key)) keys[key]();
    else return;
    event.preventDefault();
  }

  #clicked({ target, detail }) {
    if (target.closest('input')) return;
    const id = Number(target.closest('.row')?.dataset.id);
    const row = this.#state?.rows[this.#state.indexOf(id)];
    if (!row) return;
    this.#wanted = null;
    this.current = row.id;
    if (target.closest('.fold') && row.hasChildren) this.actions.setExpanded(row, !row.isExpanded);
    else if (detail === 2) this.actions.zoom(row);
  }
}
