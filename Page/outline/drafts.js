// What was typed and has no receipt: kept by the browser, so that a reload, a crash or a refusal loses nothing.
//
// Each window has drafts of its own, under a name that it holds a lock on: the drafts of a window that has ended are
// found by the next one.

const PREFIX = 'nest-draft';
/** Drafts of other windows that are looked at, at most. */
const FOUND_MAX = 200;

export class Drafts {
  #prefix;
  #window;
  /** What is stored after this turn, by name: storing takes as long as drawing the letter. */
  #kept = new Map();
  #timer = null;

  /** `store`: names the store on the server; drafts of another one mean other objects. */
  constructor(store) {
    const name = sessionStorage.getItem('nest-window') ?? crypto.randomUUID();
    sessionStorage.setItem('nest-window', name);
    this.#window = name;
    this.#prefix = `${PREFIX}/${store}/`;
    // Held as long as the window lives. Without locks (plain HTTP) only this window's own drafts are found.
    navigator.locks?.request(`${PREFIX}/${name}`, () => new Promise(() => {}));
    addEventListener('pagehide', this.#store);
  }

  close() {
    this.#store();
    removeEventListener('pagehide', this.#store);
  }

  #name(what) {
    return `${this.#prefix}${this.#window}/${what}`;
  }

  /** Keeps a draft, such as `{ id, field, text, base }`, under a name. */
  keep(what, draft) {
    this.#kept.set(this.#name(what), { ...draft, at: Date.now() });
    this.#timer ??= setTimeout(this.#store);
  }

  #store = () => {
    clearTimeout(this.#timer);
    this.#timer = null;
    const kept = [...this.#kept];
    this.#kept.clear();
    for (const [name, draft] of kept) {
      try {
        localStorage.setItem(name, JSON.stringify(draft));
      } catch {
        // The browser's storage is full or switched off: what is typed is only in the page.
      }
    }
  };

  drop(what) {
    const name = this.#name(what);
    this.#kept.delete(name);
    localStorage.removeItem(name);
  }

  /** Takes the drafts that windows before this one have left, oldest first. They are dropped with `done()` of each. */
  async found() {
    const held = new Set((await navigator.locks?.query())?.held?.map(({ name }) => name) ?? []);
    const all = [];
    for (let index = 0; index < localStorage.length && all.length < FOUND_MAX; index += 1) {
      const name = localStorage.key(index);
      if (!name.startsWith(this.#prefix)) continue;
      const [window] = name.slice(this.#prefix.length).split('/');
      const isOwn = window === this.#window;
      if (!isOwn && (!navigator.locks || held.has(`${PREFIX}/${window}`))) continue;
      try {
        all.push({ ...JSON.parse(localStorage.getItem(name)), done: () => localStorage.removeItem(name) });
      } catch {
        localStorage.removeItem(name);
      }
    }
    return all.sort((a, b) => a.at - b.at);
  }
}
