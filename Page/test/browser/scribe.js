// A person at an outline who writes only in rows below the one with their name: new rows, letters one by one, moves and
// deletions, at random by seed, and takes some of it back.

import { setTimeout as pause } from 'node:timers/promises';

const CONTROL = 2;
const SHIFT = 8;
/** Longer than an answer of the server takes, in milliseconds: an outline does not show that it waits for an undo. */
const ANSWER_MS = 1_200;
const WEIGHTS = { enter: 5, type: 5, move: 3, remove: 2, undo: 2, redo: 1, wait: 1 };

export class Scribe {
  log = [];
  #number = 100;

  constructor(page, random) {
    this.page = page;
    this.random = random;
  }

  async step() {
    const kind = this.random.weighted(WEIGHTS);
    this.log.push(kind);
    await this[kind]();
  }

  /** The caret to the end of a row of one's own; false if there is none. */
  async #here() {
    const rows = await this.page.evaluate((name) =>
      [...document.querySelectorAll('[role=treegrid] [role=row][data-key]')]
        .filter((row) => window.titleOf(row).startsWith(`${name} `)).map((row) => {
          const { left, top, width, height } = row.querySelector('.title').getBoundingClientRect();
          // Behind the text: what others do may move the bullet of another row to where it begins.
          return { x: left + 0.7 * width, y: top + height / 2 };
        }), this.page.name);
    if (rows.length === 0) return false;
    await this.page.click(this.random.pick(rows));
    await this.page.press('End');
    // What others do may have moved another row there.
    return this.page.evaluate((name) => document.activeElement.matches('textarea.editor')
      && document.activeElement.value.startsWith(`${name} `), this.page.name);
  }

  async #letters(text) {
    for (const letter of text) {
      await this.page.press(letter);
      await pause(this.random.below(150));
    }
  }

  async enter() {
    if (!await this.#here()) return;
    await this.page.press('Enter');
    await this.page.type(`${this.page.name} ${this.#number += 1}`);
    await this.#letters('abc');
  }

  async type() {
    if (await this.#here()) await this.#letters('xyz');
  }

  async #press(key, modifiers) {
    if (await this.#here()) await this.page.press(key, modifiers);
  }

  move() { return this.#press(this.random.pick(['ArrowUp', 'ArrowDown']), CONTROL | SHIFT); }
  remove() { return this.#press('Backspace', CONTROL | SHIFT); }
  /** Out of the row first, until it is done: it changes the text, or takes the row away with the caret in it. */
  async #takeBack(key, modifiers) {
    await this.page.press('Escape');
    await this.page.press(key, modifiers);
    await this.page.until(() => document.body.dataset.waiting === '0');
    await pause(ANSWER_MS);
  }

  undo() { return this.#takeBack('z', CONTROL); }
  redo() { return this.#takeBack('Z', CONTROL | SHIFT); }
  wait() { return pause(this.random.below(900)); }
}
