/**
 * The functions of a program that are called after each change of something.
 * @module
 */

/** Reports a mistake of a program's function, without harm to the client. @param {any} error */
export function report(error) {
  // Node has no reportError. Thrown, it would end the process.
  (/** @type {any} */ (globalThis).reportError ?? console.error)(error);
}

/** @template T */
export class Listeners {
  /** @type {Set<(value: T) => void>} */
  #all = new Set();

  /**
   * @param {(value: T) => void} listener
   * @returns {() => void} ends it
   */
  add(listener) {
    // The same function may be added twice.
    const own = (/** @type {T} */ value) => listener(value);
    this.#all.add(own);
    return () => {
      this.#all.delete(own);
    };
  }

  /** @param {T} value */
  call(value) {
    for (const listener of [...this.#all]) {
      try {
        // One before it may have ended it.
        if (this.#all.has(listener)) listener(value);
      } catch (error) {
        report(error);
      }
    }
  }
}
