// Drags rows by their bullets: up and down between rows, and to a depth by moving left and right. Escape cancels. "Move
// to…" and the keys do the same without a mouse.

import { make } from '../shell/dom.js';
import { placeAt } from './drop.js';
import { topsOf } from './overlay.js';
import { short } from './texts.js';

/** From how many pixels on a press is a drag. */
const SLOP = 5;
/** Near the edges of the view the rows scroll: how near, and by how many pixels a frame. */
const EDGE = 44;
const SCROLL = 9;
/** The width of a level, if the style sheet has none. */
const STEP = 24;

export class Drag {
  #page;
  #pressed = null;
  #drag = null;
  #frame = null;

  constructor(page) {
    this.#page = page;
    this.line = make('div', { className: 'drop', hidden: true });
    this.label = make('div', { className: 'dragged', hidden: true });
    page.rows.layer.append(this.line);
    page.rows.element.after(this.label);
    page.rows.list.addEventListener('pointerdown', this.#down);
    addEventListener('pointermove', this.#moved);
    addEventListener('pointerup', this.#up);
    addEventListener('pointercancel', this.#cancel);
    addEventListener('keydown', this.#key, true);
    // A drag is no click on the link that a bullet is, and no drag of a link.
    page.rows.list.addEventListener('click', this.#click, true);
    page.rows.list.addEventListener('dragstart', (event) => event.preventDefault());
  }

  close() {
    this.#cancel();
    removeEventListener('pointermove', this.#moved);
    removeEventListener('pointerup', this.#up);
    removeEventListener('pointercancel', this.#cancel);
    removeEventListener('keydown', this.#key, true);
  }

  #down = (event) => {
    const bullet = event.button === 0 && event.isPrimary && event.target.closest?.('.bullet');
    const row = bullet && this.#page.rows.rowAt(bullet);
    if (!row) return;
    const selected = this.#page.selection.rows;
    const rows = selected.some(({ key }) => key === row.key) ? selected : [row];
    this.#pressed = { x: event.clientX, y: event.clientY, row, rows, pointer: event.pointerId, bullet };
  };

  #moved = (event) => {
    const { x, y, pointer } = this.#pressed ?? {};
    if (event.pointerId !== pointer) return;
    if (!this.#drag && Math.hypot(event.clientX - x, event.clientY - y) < SLOP) return;
    if (!this.#drag) this.#begin();
    this.#drag.x = event.clientX;
    this.#drag.y = event.clientY;
    this.#show();
  };

  #begin() {
    const { rows, row, bullet, pointer } = this.#pressed;
    const tops = topsOf(this.#page.tree.rows, rows.map(({ key }) => key));
    this.#drag = { rows: tops, keys: new Set(tops.map(({ key }) => key)), depth: row.depth, place: null };
    try {
      bullet.setPointerCapture(pointer);
    } catch {
      // The pointer was lifted meanwhile.
    }
    this.label.textContent = rows.length === 1 ? short(row.title) : `${rows.length} rows`;
    this.label.hidden = false;
    document.body.classList.add('dragging');
    for (const { key } of tops) this.#page.rows.elementOf(key)?.element.classList.add('lifted');
    this.#scroll();
  }

  /** Shows where the rows would go. */
  #show() {
    const { tree, rows } = this.#page;
    const drag = this.#drag;
    const layer = rows.layer.getBoundingClientRect();
    this.label.style.transform = `translate(${drag.x + 12}px, ${drag.y + 10}px)`;
    const { gap, y } = this.#gapAt(drag.y);
    const step = this.#step();
    const depth = drag.depth + Math.round((drag.x - this.#pressed.x) / step);
    drag.place = gap === null ? null : placeAt(tree.rows, gap, depth, drag.keys);
    this.line.hidden = drag.place === null;
    if (!drag.place) return;
    this.line.style.transform = `translateY(${y - layer.top}px)`;
    this.line.style.left = `${this.#left() + drag.place.depth * step}px`;
  }

  #step() {
    const list = getComputedStyle(this.#page.rows.list);
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return parseFloat(list.getPropertyValue('--step')) * rem || STEP;
  }

  /** Where the bullets of depth 0 are in the list. */
  #left() {
    const { rows } = this.#page;
    const bullet = rows.list.querySelector('.bullet')?.getBoundingClientRect();
    const row = rows.list.querySelector('.row');
    if (!bullet || !row) return 0;
    const indent = Number(row.style.getPropertyValue('--depth')) * this.#step();
    return bullet.left - rows.list.getBoundingClientRect().left - indent;
  }

  /** The gap between rows at a height: an index of the tree's rows. */
  #gapAt(y) {
    const { tree, rows } = this.#page;
    let gap = null;
    let edge = null;
    for (const [index, row] of tree.rows.entries()) {
      const element = rows.elementOf(row.key)?.element;
      if (!element || element.classList.contains('away')) continue;
      const { top, bottom } = element.getBoundingClientRect();
      if (y < (top + bottom) / 2) return { gap: index, y: top };
      gap = index + 1;
      edge = bottom;
    }
    return { gap, y: edge };
  }

  #scroll = () => {
    if (!this.#drag) return;
    const { rows } = this.#page;
    const { top, bottom } = rows.element.getBoundingClientRect();
    const { y } = this.#drag;
    const by = y < top + EDGE ? -SCROLL : y > bottom - EDGE ? SCROLL : 0;
    if (by !== 0) {
      rows.scrollBy(by);
      this.#show();
    }
    this.#frame = requestAnimationFrame(this.#scroll);
  };

  #key = (event) => {
    if (!this.#drag || event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    this.#cancel();
    this.#wasDragged = true;
  };

  #wasDragged = false;

  #click = (event) => {
    if (!this.#wasDragged) return;
    this.#wasDragged = false;
    event.preventDefault();
    event.stopPropagation();
  };

  #up = (event) => {
    if (event.pointerId !== this.#pressed?.pointer) return;
    const drag = this.#drag;
    this.#cancel();
    if (!drag) return;
    // The click that follows is the end of the drag. If none does, the next one counts.
    this.#wasDragged = true;
    setTimeout(() => { this.#wasDragged = false; });
    if (!drag.place) return;
    const { commands, tree } = this.#page;
    const { parent, after, before } = drag.place;
    commands.move(drag.rows, { parent: parent ?? tree.under, after, before });
  };

  #cancel = () => {
    if (this.#drag) {
      for (const { key } of this.#drag.rows) this.#page.rows.elementOf(key)?.element.classList.remove('lifted');
    }
    cancelAnimationFrame(this.#frame);
    this.#pressed = null;
    this.#drag = null;
    this.line.hidden = true;
    this.label.hidden = true;
    document.body.classList.remove('dragging');
  };
}
