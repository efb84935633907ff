// A person at a table of the explorer, who changes, inserts and deletes rows at random, by seed, and takes some of it
// back. Rows of other people are left alone, but all count in rows of `all`.

import { setTimeout as pause } from 'node:timers/promises';
import { clickButton } from './sheet.js';

const CONTROL = 2;
const SHIFT = 8;
const WEIGHTS = { count: 5, rename: 3, insert: 3, remove: 2, undo: 2, redo: 1, wait: 1 };

export class Clerk {
  log = [];
  #number = 100;

  constructor(page, random) {
    this.page = page;
    this.random = random;
  }

  async step() {
    const kind = this.random.weighted(WEIGHTS);
    this.log.push(kind);
    await this.#toTable();
    await this[kind]();
  }

  /** The keyboard to the table, with no object beside it. */
  async #toTable() {
    await this.page.until(() => {
      if (document.querySelector('dialog[open], .editing')) return false;
      document.querySelector('.sheet-grid').focus();
      return true;
    });
    await this.page.press('Escape');
    await this.page.until(() => document.querySelector('.object').hidden);
    await this.page.evaluate(() => document.querySelector('.sheet-grid').focus());
  }

  /** To a cell of a row of one of these people; false if there is none. */
  async #to(owners, column) {
    const lines = await this.page.evaluate((all) => [...document.querySelectorAll('.runway [data-id]')]
      .filter((row) => all.includes(row.children[1].textContent.split(' ')[0]))
      .map((row) => Number(row.getAttribute('aria-rowindex')) - 2), owners);
    if (lines.length === 0) return false;
    await this.page.press('Home', CONTROL);
    for (let line = this.random.pick(lines); line > 0; line -= 1) await this.page.press('ArrowDown');
    await this.page.press('Home');
    for (let left = column; left > 0; left -= 1) await this.page.press('ArrowRight');
    // Rows may have come before it meanwhile.
    return this.page.evaluate((all) => all.includes(document.querySelector('.runway .active')?.parentElement
      .children[1].textContent.split(' ')[0]), owners);
  }

  /** Types slowly into the active cell, while others write. */
  async #type(text) {
    await this.page.press('F2');
    if (!await this.page.evaluate(() => document.activeElement.matches('.editing input'))) return;
    for (const letter of text) {
      await this.page.press(letter);
      await pause(this.random.below(150));
    }
    await this.page.press('Enter');
  }

  get #name() {
    return `${this.page.name} ${this.#number += 1}`;
  }

  async count() {
    if (await this.#to([this.page.name, 'all'], 2)) await this.#type(String(this.random.below(9_000)));
  }

  async rename() {
    if (await this.#to([this.page.name], 1)) await this.#type(this.#name);
  }

  async insert() {
    await clickButton(this.page, 'New…');
    await this.page.until(() => document.activeElement.matches('dialog textarea'));
    await this.page.type(this.#name);
    await clickButton(this.page, 'Insert');
    await this.page.until(() => !document.querySelector('dialog[open]'));
  }

  async remove() {
    if (!await this.#to([this.page.name], 1)) return;
    await this.page.press('Enter');
    // The object may be gone: what inserted it was taken back meanwhile.
    const isThere = await this.page.until(() => {
      const object = document.querySelector('.object');
      if (object.textContent.includes('There is no such object')) return 'no';
      return [...object.querySelectorAll('button')].some((each) => each.textContent === 'Delete…') && 'yes';
    });
    if (isThere === 'no') return;
    await clickButton(this.page, 'Delete…');
    await clickButton(this.page, 'Delete');
    await this.page.until(() => !document.querySelector('dialog[open]'));
  }

  /** What is taken back is settled, and so is that before something else is written. */
  async #takeBack(key, modifiers) {
    const isSettled = () => document.querySelector('.result-more').textContent === ''
      && !document.querySelector('.runway [data-pending]');
    await this.page.until(isSettled);
    await this.page.press(key, modifiers);
    await this.page.until(isSettled);
  }

  undo() { return this.#takeBack('z', CONTROL); }
  redo() { return this.#takeBack('Z', CONTROL | SHIFT); }
  wait() { return pause(this.random.below(900)); }
}
