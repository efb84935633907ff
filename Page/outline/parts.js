// Writes of two parts, each in one transaction: the first part shows at once, the second one is made when the texts that
// it changes are merged with what others wrote. Until then the writes that are made later wait behind it.
//
// So a write waits only for writes that were made earlier. One that the server refuses is made anew in its place: it stays
// before those that wait for it.

/** How often a write is made anew because others have changed its texts. */
const CONFLICTS_MAX = 20;

/** Others have changed what a write was made for: it is not made anew. */
const isWrong = () => Object.assign(new Error('others have changed it'), { code: 'CONFLICT', isFinal: true });

/**
 * Makes a write of two parts.
 *
 * - `first(tx)` and `last(tx)` add the steps; they may be called again, for another transaction.
 * - `texts` that it changes, and `ready`, which resolves when they may be read.
 * - `isRight()`: whether they are still what the write was made for. `touched`: the other objects that it changes.
 *
 * Resolves with the receipt. Rejects with what refused it; CANCELLED: it was undone before it was sent.
 */
export function inParts({ writes, texts: all }, { name, texts, ready, first, last, touched = [], isRight = () => true }) {
  return new Promise((resolve, reject) => {
    let conflicts = 0;
    let mended = null;
    const over = (act, value) => {
      mended?.();
      act(value);
    };
    const open = (wait, instead) => {
      let fault = null;
      const write = writes.group(name, async (group) => {
        try {
          group.transaction(first);
          await wait();
          if (!isRight()) throw isWrong();
          group.transaction(last);
        } catch (error) {
          fault = error;
          throw error;
        }
      }, { touched, instead });
      write.done.then((receipt) => over(resolve, receipt), (error) => refused(write, fault ?? error));
    };
    // At once: what the server has refused because of it is made anew behind it.
    const refused = (write, error) => {
      for (const text of texts) text.sent = null;
      if (error.code !== 'CONFLICT' || error.isFinal || conflicts >= CONFLICTS_MAX) return over(reject, error);
      conflicts += 1;
      mended ??= writes.mending();
      return open(() => Promise.all(texts.map((text) => all.readAgain(text))), write);
    };
    open(() => ready, null);
  });
}
