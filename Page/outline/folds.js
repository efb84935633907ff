// Which rows are unfolded is each person's own: kept in the browser, so that the outline looks the same next time.

/** From a fold to when it is kept, in milliseconds. */
const REST_MS = 500;
/** Folds beyond this many characters are not kept: the browser's storage is small. */
const CHARACTERS_MAX = 500_000;

export class Folds {
  #name;
  #timer = null;

  constructor(store, entity) {
    this.#name = `nest-folds/${store}/${entity}`;
  }

  /** What `nest.outline` takes; null: nothing was kept. */
  get kept() {
    try {
      const folds = JSON.parse(sessionStorage.getItem(this.#name) ?? localStorage.getItem(this.#name) ?? 'null');
      return typeof folds === 'object' ? folds : null;
    } catch {
      return null;
    }
  }

  keep(outline) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const text = JSON.stringify(outline.folds);
      if (text.length > CHARACTERS_MAX) return;
      try {
        sessionStorage.setItem(this.#name, text);
        localStorage.setItem(this.#name, text);
      } catch {
        // Full or switched off: the next page begins folded.
      }
    }, REST_MS);
  }

  drop() {
    sessionStorage.removeItem(this.#name);
    localStorage.removeItem(this.#name);
  }
}
