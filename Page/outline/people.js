// Who else is here: their marks beside rows, their carets in texts, ticks at the edge for those out of view, and their
// initials in the bar.

import { button, fill, make } from '../shell/dom.js';
import { badge, colourOf, personText } from '../shell/people.js';

/** People that are shown in the bar; more are a number. */
const BAR_MAX = 6;

/** The place of a character in the text of an element: a rectangle. */
function rectangleAt(element, place) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let before = 0;
  let last = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (place <= before + node.length && node.length > 0) {
      const range = document.createRange();
      const at = Math.min(place - before, node.length);
      range.setStart(node, Math.min(at, node.length - 1));
      range.setEnd(node, Math.min(at + 1, node.length));
      const rectangle = range.getBoundingClientRect();
      const { left, right, top, height } = rectangle;
      return { left: at === node.length ? right : left, top, height };
    }
    before += node.length;
    last = node;
  }
  const box = (last?.parentElement ?? element).getBoundingClientRect();
  return { left: last ? box.right : box.left, top: box.top, height: box.height };
}

/** What decides the colour of a person, as in /history. */
const whoOf = ({ name, session, connection }) => name ?? (session || connection);

export class People {
  #page;
  #presence = null;
  #isClosed = false;
  #shown = '';
  /** Whether nothing is shown of others. */
  #wasAlone = true;
  /** Elements over the rows: carets and ticks. */
  #carets = new Map();
  /** The others, each with `key` (of a row, or null), `name` to show, `label`, `colour` and `value`. */
  others = [];

  constructor(page) {
    this.#page = page;
    this.bar = document.getElementById('people');
    this.ticks = make('div', { className: 'ticks', 'aria-hidden': 'true' });
    page.rows.element.after(this.ticks);
    this.#begin();
  }

  async #begin() {
    const { nest, source, tree } = this.#page;
    // All who see the same top are in one scope, wherever they have zoomed to.
    const scope = source.home ?? tree.outline.state.under;
    try {
      const presence = await nest.presence?.(scope);
      if (!presence) return;
      if (this.#isClosed) return void presence.close();
      this.#presence = presence;
      presence.subscribe(() => this.#changed());
      this.#changed();
      this.say();
    } catch (error) {
      // A server without presence is as good, but lonely.
      if (error.code !== 'UNSUPPORTED') this.#page.app.fault(error);
    }
  }

  close() {
    this.#isClosed = true;
    this.#presence?.close();
    this.bar.hidden = true;
    fill(this.bar);
  }

  /** Says where one is oneself. */
  say() {
    const { editor, selection, source, writes, tree } = this.#page;
    const key = editor.key ?? selection.key;
    const id = key === null || writes.inserted.has(key) ? null : key;
    if (id === null) return this.#presence?.set({ object: tree.outline.state.under });
    if (editor.key === null) return this.#presence?.set({ object: id });
    const [start, end] = editor.selection;
    const isBackward = editor.element.selectionDirection === 'backward';
    return this.#presence?.set({
      object: id, property: source.entity.description.property(source[editor.field]).number,
      anchor: isBackward ? end : start, head: isBackward ? start : end,
    });
  }

  #changed() {
    const { state, isLive } = this.#presence;
    this.others = !isLive ? [] : state.filter(({ isSelf }) => !isSelf).map((person) => ({
      connection: person.connection, value: person.value, label: person.name ?? '?',
      name: personText({ user: person.name, userClaimed: person.claimed, sessionNumber: person.session || null }),
      colour: colourOf(whoOf(person)), who: whoOf(person),
      key: person.value?.object ?? null,
    }));
    this.#showBar();
    this.show();
  }

  #showBar() {
    const shown = JSON.stringify(this.others.map(({ connection, name, key }) => [connection, name, key]));
    if (shown === this.#shown) return;
    this.#shown = shown;
    const first = this.others.slice(0, BAR_MAX);
    this.bar.hidden = this.others.length === 0;
    fill(this.bar, first.map((person) => {
      const words = `${person.name} is here`;
      return make('button', {
        type: 'button', className: 'plain', title: words, 'aria-label': `${words}. Go there`,
        onclick: () => this.#goTo(person),
      }, badge(person.label, person.who));
    }), this.others.length > BAR_MAX && make('span', { className: 'soft' }, `+${this.others.length - BAR_MAX}`));
  }

  /** Goes to the row where somebody is. */
  #goTo({ key: id, name }) {
    const { app, rows, tree, source } = this.#page;
    if (id === null || id === source.home) return app.announce(`${name} is in no row`);
    if (tree.row(id) && rows.reveal(id)) return undefined;
    return app.attempt(async () => (await import('./search.js')).jump(this.#page, id));
  }

  /** Marks beside the rows that are drawn: after each drawing. */
  show() {
    const { rows, tree } = this.#page;
    const byKey = Map.groupBy ? Map.groupBy(this.others, ({ key }) => key) : grouped(this.others);
    const isAlone = this.others.length === 0;
    if (isAlone && this.#wasAlone) return;
    this.#wasAlone = isAlone;
    for (const shown of rows.shown) {
      const here = byKey.get(shown.row?.key) ?? [];
      const text = here.map(({ connection, name }) => `${connection}${name}`).join('|');
      if (shown.people.dataset.who === text) continue;
      shown.people.dataset.who = text;
      fill(shown.people, here.map(({ name, label, who }) => make('span', { title: name }, badge(label, who))),
        here.length > 0 && make('span', { className: 'quiet' }, `${here.map(({ name }) => name).join(', ')} here`));
    }
    this.#showCarets();
    const ticks = this.others.filter(({ key }) => key !== null && tree.place(key) >= 0 && !rows.isInView(key));
    fill(this.ticks, ticks.map(({ key, colour, name }) => {
      const tick = make('span', { className: 'tick', title: name, data: { colour } });
      tick.style.top = `${(100 * tree.place(key)) / Math.max(1, tree.total)}%`;
      return tick;
    }));
  }

  #showCarets() {
    const { rows, source } = this.#page;
    const layer = rows.layer.getBoundingClientRect();
    const kept = new Set();
    for (const person of this.others) {
      const { head, property } = person.value ?? {};
      const shown = person.key === null ? null : rows.elementOf(person.key);
      if (!Number.isInteger(head) || !shown || !rows.isInView(person.key)) continue;
      const note = source.note && source.entity.description.property(source.note).number;
      const field = note && property === note ? 'note' : 'title';
      const { left, top, height } = rectangleAt(shown[field], head);
      // A row may be gliding: its caret is where the row will be.
      const inRow = top - shown.element.getBoundingClientRect().top;
      let caret = this.#carets.get(person.connection);
      if (!caret) {
        caret = make('div', { className: 'caret', 'aria-hidden': 'true', data: { colour: person.colour } },
          make('span', {}, person.name));
        this.#carets.set(person.connection, caret);
        rows.layer.append(caret);
      }
      kept.add(person.connection);
      caret.style.transform = `translate(${left - layer.left}px, ${rows.topOf(person.key) + inRow}px)`;
      caret.style.height = `${height}px`;
    }
    for (const [connection, caret] of this.#carets) {
      if (kept.has(connection)) continue;
      caret.remove();
      this.#carets.delete(connection);
    }
  }
}

function grouped(people) {
  const groups = new Map();
  for (const person of people) groups.set(person.key, [...(groups.get(person.key) ?? []), person]);
  return groups;
}
