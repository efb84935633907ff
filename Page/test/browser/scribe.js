// A person at an outline who writes only in rows that begin with their name: new rows, letters one by one, splits, joins,
// levels, moves, pasted rows and deletions, at random by seed, and takes some of it back. One who shares writes in all
// rows, and folds, too.

import { setTimeout as pause } from 'node:timers/promises';

const CONTROL = 2;
const SHIFT = 8;
/** Longer than an answer of the server takes, in milliseconds: an outline does not show that it waits for an undo. */
const ANSWER_MS = 1_200;
const WEIGHTS = {
  enter: 5, type: 5, split: 5, join: 3, indent: 3, outdent: 2, move: 3, paste: 1, remove: 2, undo: 2, redo: 1, wait: 1,
};
const SHARED_WEIGHTS = { ...WEIGHTS, fold: 2 };

/** The rows that begin with one of some names, as places behind their texts: others may move the bullets of rows. */
const places = (names) => [...document.querySelectorAll('[role=treegrid] [role=row][data-key]')]
  .filter((row) => names.some((name) => window.titleOf(row).startsWith(`${name} `))).map((row) => {
    const { left, top, width, height } = row.querySelector('.title').getBoundingClientRect();
    return { x: left + 0.7 * width, y: top + height / 2 };
  });

/**
 * The level of the row that is edited, and the texts of the row above and of the sibling before it; empty if there is
 * none.
 */
const around = () => {
  const rows = [...document.querySelectorAll('[role=treegrid] [role=row][data-key]')]
    .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'));
  const level = (row) => Number(row.getAttribute('aria-level'));
  const at = rows.findIndex((row) => row.classList.contains('active'));
  const before = rows.slice(0, Math.max(at, 0)).reverse();
  const sibling = before.find((row) => level(row) <= level(rows[at]));
  const isSibling = sibling && level(sibling) === level(rows[at]);
  return {
    above: before[0] ? window.titleOf(before[0]) : '', sibling: isSibling ? window.titleOf(sibling) : '',
    level: at < 0 ? 0 : level(rows[at]),
  };
};

export class Scribe {
  log = [];
  #number = 100;

  /** `shares`: the names of all in whose rows this one writes; null: only in those with the own name. */
  constructor(page, random, { shares = null } = {}) {
    this.page = page;
    this.random = random;
    this.names = shares ?? [page.name];
    this.weights = shares ? SHARED_WEIGHTS : WEIGHTS;
  }

  #isOwn(text) {
    return this.names.some((name) => text.startsWith(`${name} `));
  }

  async step() {
    const kind = this.random.weighted(this.weights);
    this.log.push(kind);
    await this[kind]();
  }

  /** The caret to the end of a row of one's own; false if there is none. */
  async #here() {
    const rows = await this.page.evaluate(places, this.names);
    if (rows.length === 0) return false;
    await this.page.click(this.random.pick(rows));
    await this.page.press('End');
    // What others do may have moved another row there.
    return this.#isOwn(await this.#text());
  }

  /** The text of the row that is edited; empty if there is none. */
  #text() {
    return this.page.evaluate(() => (document.activeElement.matches('textarea.editor') ? document.activeElement.value : ''));
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

  /** Splits a row behind its number: what is behind the caret gets a number of its own. */
  async split() {
    if (!await this.#here()) return;
    const [, letters] = /^\w+ \d+(.*)$/.exec(await this.#text()) ?? [null, ''];
    // Often what was typed just now has no answer yet.
    await this.#letters('s');
    for (let left = this.random.below(letters.length + 2); left > 0; left -= 1) await this.page.press('ArrowLeft');
    await this.page.press('Enter');
    await this.page.type(`${this.page.name} ${this.#number += 1}`);
  }

  /** Joins a row with the one above it, and sometimes splits it again at once. */
  async join() {
    if (!await this.#here() || !this.#isOwn((await this.page.evaluate(around)).above)) return;
    await this.page.press('Home');
    await this.page.press('Backspace');
    if (this.random.chance(0.3)) await this.page.press('Enter');
  }

  async indent() {
    if (await this.#here() && this.#isOwn((await this.page.evaluate(around)).sibling)) await this.page.press('Tab');
  }

  // Rows stay below those of the same person, or below the first ones, which stay: deletions take no other with them.

  async outdent() {
    if (await this.#here() && (await this.page.evaluate(around)).level > 2) await this.page.press('Tab', SHIFT);
  }

  fold() { return this.#press(this.random.pick(['ArrowUp', 'ArrowDown']), CONTROL); }

  async paste() {
    if (!await this.#here()) return;
    const [one, two, three] = [1, 2, 3].map(() => `${this.page.name} ${this.#number += 1}`);
    await this.page.paste(`${one}\n\t${two}\n${three}`);
  }

  async #press(key, modifiers) {
    if (await this.#here()) await this.page.press(key, modifiers);
  }

  async move() {
    if (!await this.#here() || (await this.page.evaluate(around)).level > 2) return;
    await this.page.press(this.random.pick(['ArrowUp', 'ArrowDown']), CONTROL | SHIFT);
  }

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
