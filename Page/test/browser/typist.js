// A person at the outline who does something at random, by seed: with keys, an input method, the clipboard and the mouse,
// and without a look at what the others do.

import { setTimeout as pause } from 'node:timers/promises';

const ALT = 1;
const CONTROL = 2;
const SHIFT = 8;

const WORDS = ['milk', 'bread', 'Straße', 'naïve', 'two words', 'a #tag', '日本', '🎈', '<b>bold</b>', 'x'];
const PASTED = ['one\ntwo\nthree', 'parent\n\tchild\n\t\tgrandchild\nsibling', '- [x] done\n- [ ] open', 'a single line'];

/** How often a typist does what. */
const WEIGHTS = {
  type: 24, enter: 14, newRow: 8, compose: 8, paste: 4, indent: 9, outdent: 6, move: 6, join: 5, remove: 5, done: 4,
  note: 3, fold: 6, undo: 6, redo: 3, walk: 5, drag: 5, several: 3, wheel: 4, zoom: 1, pause: 4,
};

/** The rows that the page shows, as places to click. */
const visible = () => {
  const grid = document.querySelector('[role=treegrid]');
  if (!grid) return [];
  // The field of the row that is edited lies over it.
  const covered = (x, y, row) => {
    const top = document.elementFromPoint(x, y);
    return !row.contains(top) && !top?.matches('textarea.editor');
  };
  return [...grid.querySelectorAll('[role=row][data-id]')].flatMap((row) => {
    const title = row.querySelector('.title').getBoundingClientRect();
    const bullet = row.querySelector('.bullet')?.getBoundingClientRect();
    const [x, y] = [title.left + Math.min(12, title.width / 2 + 1), title.top + Math.min(title.height / 2, 12)];
    if (covered(x, y, row)) return [];
    const middle = bullet && { x: bullet.left + bullet.width / 2, y: bullet.top + bullet.height / 2 };
    return [{ id: Number(row.dataset.id), x, y, bullet: middle }];
  });
};

export class Typist {
  /** What this one has done, for the report of a failure. */
  log = [];
  counts = {};

  constructor(page, random) {
    this.page = page;
    this.random = random;
  }

  async step() {
    const kind = this.random.weighted(WEIGHTS);
    this.log.push(kind);
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    await this.#leaveDialogs();
    await this[kind]();
  }

  /** A key may have opened a dialog or a menu: out of it, as a person would. */
  async #leaveDialogs() {
    const isOpen = () => document.querySelector('dialog[open], [role=menu], [role=listbox]') !== null;
    for (let turn = 0; turn < 3 && await this.page.evaluate(isOpen); turn += 1) await this.page.press('Escape');
  }

  /** Puts the caret into a row; false if the page shows none. */
  async caret() {
    const rows = await this.page.evaluate(visible);
    if (rows.length === 0) return false;
    const row = this.random.pick(rows);
    await this.page.click(row);
    for (let left = this.random.below(4); left > 0; left -= 1) {
      await this.page.press(this.random.pick(['ArrowRight', 'ArrowLeft', 'End', 'Home']));
    }
    return true;
  }

  /** The caret, where it is or in another row. */
  async here() {
    const writes = () => document.activeElement?.localName === 'textarea';
    return (this.random.chance(0.5) && await this.page.evaluate(writes)) || this.caret();
  }

  async type() {
    if (!await this.here()) return this.newRow();
    for (let count = this.random.between(1, 3); count > 0; count -= 1) {
      const word = this.random.pick(WORDS);
      if (this.random.chance(0.5)) await this.page.type(word);
      else for (const letter of word) await (/^[\w ]$/.test(letter) ? this.page.press(letter) : this.page.type(letter));
      if (this.random.chance(0.2)) await this.page.press('Backspace');
      if (this.random.chance(0.2)) await pause(this.random.below(200));
    }
  }

  async compose() {
    if (!await this.here()) return;
    for (const part of ['k', 'か', 'かん', '漢']) {
      await this.page.compose(part);
      if (this.random.chance(0.3)) await pause(this.random.below(150));
    }
    if (this.random.chance(0.8)) await this.page.type('漢字');
    else await this.page.compose('');
  }

  async paste() {
    if (await this.here()) await this.page.paste(this.random.pick(PASTED));
  }

  /** Splits a row. */
  async enter() {
    if (!await this.here()) return;
    await this.page.press('Enter');
    if (this.random.chance(0.7)) await this.page.type(this.random.pick(WORDS));
  }

  /** A new row at the end of one; in an empty outline, the first one. */
  async newRow() {
    if (await this.caret()) await this.page.press('End');
    else await this.page.evaluate(() => document.querySelector('[role=treegrid]')?.focus());
    await this.page.press('Enter');
    await this.page.type(this.random.pick(WORDS));
  }

  async join() {
    if (!await this.caret()) return;
    await this.page.press('Home');
    await this.page.press('Backspace');
  }

  async keys(key, modifiers = 0, more = 0) {
    if (!await this.here()) return;
    for (let count = 0; count <= more; count += 1) await this.page.press(key, modifiers);
  }

  indent() { return this.keys('Tab'); }
  outdent() { return this.keys('Tab', SHIFT); }
  move() { return this.keys(this.random.pick(['ArrowUp', 'ArrowDown']), CONTROL | SHIFT, this.random.below(3)); }
  remove() { return this.keys('Backspace', CONTROL | SHIFT); }
  done() { return this.keys('Enter', CONTROL); }
  fold() { return this.keys(this.random.pick(['ArrowUp', 'ArrowDown']), CONTROL); }
  walk() { return this.keys(this.random.pick(['ArrowUp', 'ArrowDown']), 0, this.random.below(4)); }

  async note() {
    if (!await this.here()) return;
    await this.page.press('Enter', SHIFT);
    await this.page.type(this.random.pick(WORDS));
    await this.page.press('Escape');
  }

  async undo() {
    for (let count = this.random.between(1, 2); count > 0; count -= 1) await this.page.press('z', CONTROL);
  }

  redo() { return this.page.press('Z', CONTROL | SHIFT); }

  /** Selects several rows, and does something to all. */
  async several() {
    if (!await this.caret()) return;
    await this.page.press('Escape');
    for (let count = this.random.between(1, 2); count > 0; count -= 1) await this.page.press('ArrowDown', SHIFT);
    const [key, modifiers] = this.random.pick([['Tab', 0], ['Tab', SHIFT], ['Enter', CONTROL], ['ArrowUp', CONTROL | SHIFT],
      ['Backspace', CONTROL | SHIFT]]);
    await this.page.press(key, modifiers);
    await this.page.press('Escape');
  }

  async drag() {
    const rows = (await this.page.evaluate(visible)).filter(({ bullet }) => bullet);
    if (rows.length < 2) return;
    const [from, to] = [this.random.pick(rows), this.random.pick(rows)];
    const aside = this.random.between(-40, 60);
    await this.page.drag(from.bullet, { x: from.bullet.x + 3, y: from.bullet.y + 6 },
      { x: to.bullet.x + aside, y: to.bullet.y + this.random.between(-8, 8) }, { x: to.bullet.x + aside, y: to.bullet.y + 3 });
  }

  async wheel() {
    const grid = await this.page.middle('[role=treegrid]');
    await this.page.wheel(grid, this.random.pick([-600, -120, 120, 600]));
  }

  /** Into a row, and soon out again. */
  async zoom() {
    await this.keys('ArrowRight', ALT);
    await this.type();
    await this.page.press('ArrowLeft', ALT);
  }

  pause() { return pause(this.random.below(300)); }
}
