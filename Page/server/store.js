// The store: a copy of it as a file, and a check of all of it.

import { button, fill, make } from '../shell/dom.js';
import { bytesText, count, dateText, labelText, numberText } from '../shell/format.js';

/** The largest backup that is kept in memory, where the browser cannot write into a file. */
export const MEMORY_MAX = 1 << 30;

const suggestedName = (revision) => `nest-${dateText(Date.now())}-r${revision}.sqlite`;

export class Store {
  #app;
  #operations;
  #stop = null;

  constructor(app, operations) {
    this.#app = app;
    this.#operations = operations;
    this.progress = make('progress', { max: 1, value: 0, 'aria-label': 'Progress' });
    this.words = make('p', { role: 'status' });
    this.cancel = button('Cancel', () => this.#stop?.abort());
    this.running = make('div', { className: 'running', hidden: true }, this.progress, this.cancel);
    this.problems = make('ul', {});
    this.buttons = [
      button('Back up…', () => this.#run(() => this.#backUp())),
      button('Check', () => this.#run(() => this.#check())),
    ];
    this.element = make('section', { className: 'card', data: { region: '' } }, make('h2', {}, 'Store'),
      make('p', { className: 'soft' }, 'A backup is a file that nestd can start with. A check reads the whole store. '
        + 'The server goes on serving meanwhile.'),
      make('div', { className: 'buttons' }, this.buttons), this.running, this.words, this.problems);
  }

  close() {
    this.#stop?.abort();
  }

  async #run(body) {
    this.#stop = new AbortController();
    for (const each of this.buttons) each.disabled = true;
    this.words.className = '';
    fill(this.problems);
    try {
      await body();
    } catch (error) {
      const isCancelled = error.code === 'CANCELLED' || error.name === 'AbortError';
      this.#say(isCancelled ? 'Cancelled.' : error.message, isCancelled ? '' : 'fault');
    } finally {
      this.#stop = null;
      this.running.hidden = true;
      for (const each of this.buttons) each.disabled = false;
    }
  }

  #say(words, className = '') {
    this.words.className = className;
    this.words.textContent = words;
  }

  #progress(value, max) {
    this.running.hidden = false;
    this.progress.max = max;
    this.progress.value = value;
  }

  async #backUp() {
    // The picker must come first: a browser opens it only right after a click.
    const handle = await window.showSaveFilePicker?.({ suggestedName: suggestedName(this.#app.nest.server.revision) });
    this.#say('The server makes a copy…');
    const backup = await this.#operations.backup({ signal: this.#stop.signal });
    const { byteCount, revision } = backup;
    if (!handle && byteCount > MEMORY_MAX) {
      backup.cancel();
      throw new Error(`The copy has ${bytesText(byteCount)}. This browser cannot write into a file, and ${
        bytesText(MEMORY_MAX)} is the most that this page keeps in memory: use nestc backup FILE.`);
    }
    const target = handle ? await handle.createWritable() : new Memory();
    let received = 0;
    try {
      for await (const bytes of backup) {
        await target.write(bytes);
        received += bytes.length;
        this.#progress(received, byteCount);
        this.#say(`${bytesText(received)} of ${bytesText(byteCount)}`);
      }
      await target.close();
    } catch (error) {
      await target.abort?.();
      throw error;
    }
    if (!handle) target.save(suggestedName(revision));
    this.#say(`The backup is complete: ${bytesText(byteCount)}, the store at revision ${numberText(revision)}.`);
  }

  async #check() {
    this.#say('Beginning…');
    const report = await this.#operations.check({
      signal: this.#stop.signal,
      progress: ({ name, number, count: steps }) => {
        this.#progress(number - 1, steps);
        this.#say(`${labelText(name)}, ${number} of ${steps}`);
      },
    });
    const { revision, objectCount, problemCount, problems } = report;
    if (problemCount === 0) {
      this.#say(`No problem in ${count(objectCount, 'object')}, at revision ${numberText(revision)}.`);
      return;
    }
    this.#say(`${count(problemCount, 'problem')}. Keep the store as it is, and see docs/operations.md.`, 'fault');
    fill(this.problems, problems.map((text) => make('li', {}, labelText(text))),
      problemCount > problems.length && make('li', {}, `and ${numberText(problemCount - problems.length)} more`));
  }
}

/** What a browser that cannot write into a file gets instead: the bytes, and a download in the end. */
class Memory {
  #parts = [];

  write(bytes) {
    this.#parts.push(bytes);
  }

  close() {}

  save(name) {
    const url = URL.createObjectURL(new Blob(this.#parts, { type: 'application/vnd.sqlite3' }));
    make('a', { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
}
