// Splits and joins: one write changes a text, and rows with it. The rows show at once; the write is sent when what was
// made of the text before has its answer.

import { inParts } from './parts.js';
import { short } from './texts.js';

/** Children that a join of two rows moves, at most. */
const JOINED_MAX = 1_000;
const CHANGED = 'Others have changed these rows meanwhile. Look at them, and join them again.';

export class Splits {
  #page;

  constructor(page) {
    this.#page = page;
  }

  /** Adds to a transaction that a text is stored, if the server has another one. */
  #store(tx, text) {
    const { source } = this.#page;
    if (text.revision > 0) tx.expect(text.key, text.revision);
    if (!text.isDirty) return;
    text.sent = text.text;
    tx.update(source.entity, text.key, { [source[text.field]]: text.sent });
  }

  /** Splits the title of a row: `right` becomes a new row. Returns it: its id is null until ids were reserved. */
  split(row, title, left, right, place) {
    const { texts, source, tree, writes } = this.#page;
    const text = texts.open(row.key, 'title', title, tree.revision);
    texts.typed(text, left, [left.length, left.length]);
    let made = null;
    let rest = null;
    const claim = texts.claim([text]);
    const written = inParts(this.#page, {
      name: `split “${short(title)}”`, texts: [text], ready: claim.ready,
      first: (tx) => {
        // Made anew, it is the same row.
        const id = made?.id ?? null;
        made = tx.insert(source.entity, source.values({ title: right }),
          { ...source.place(place), ...(id === null ? {} : { id }) });
      },
      last: (tx) => this.#store(tx, text),
    }).then((receipt) => {
      if (rest) texts.inserted(rest, receipt);
      claim.release(receipt);
    }, (error) => {
      this.#unsplit(text, rest, right);
      claim.release();
      if (error.code !== 'CANCELLED') this.#page.app.fault(error);
    });
    const object = { get id() { return made?.id ?? null; } };
    writes.named(object, (id) => {
      if (id === null) return;
      rest = texts.open(id, 'title', right, 0);
      texts.inserts(rest, written);
    });
    return object;
  }

  /** What was split is one text again, and not stored. */
  #unsplit(text, rest, right) {
    const { texts, acts, editor } = this.#page;
    const caret = text.text.length;
    texts.typed(text, text.text + (rest?.text ?? right), null);
    if (!rest) return;
    if (editor.key === rest.key) acts.edit(text.key, { caret });
    texts.discard(rest);
  }

  /**
   * Joins a row with the one before it, which is not empty. Returns `{ key, caret }` of where one writes on; null:
   * the keyboard stays where it is.
   *
   * The children of a folded row are asked for first. Meanwhile one may write on, also in these rows.
   */
  async join(above, row) {
    const { tree, editor, app } = this.#page;
    const shown = this.#shownChildren(row);
    if (shown) return this.#joined(above, row, shown);
    const moved = await editor.busy(this.#hiddenChildren(row));
    if (!moved) return null;
    const index = tree.index(row.key);
    const [before, now] = [tree.rows[index - 1], tree.rows[index]];
    if (before?.key !== above.key || now.children !== moved.length) return void app.notice(CHANGED, { kind: 'warning' });
    const { key, selection: [caret] } = editor;
    const joined = this.#joined(before, now, moved);
    if (key === above.key) return { key, caret };
    return key === row.key ? { key: above.key, caret: joined.caret + caret } : null;
  }

  #joined(above, row, moved) {
    const { texts, source, tree, app } = this.#page;
    const text = texts.open(above.key, 'title', above.title, tree.revision);
    const gone = texts.open(row.key, 'title', tree.row(row.key)?.title ?? row.title, tree.revision);
    const caret = text.text.length;
    texts.typed(text, text.text + row.title, [caret, caret]);
    const note = [above.note, row.note].filter(Boolean).join('\n');
    const isChild = row.parent === above.key;
    // Its text is in the other one now: what others write there meanwhile must not be lost.
    const words = gone.text;
    const claim = texts.claim([text, gone]);
    inParts(this.#page, {
      name: `join “${short(above.title)}” and “${short(row.title)}”`, texts: [text, gone], ready: claim.ready,
      touched: moved,
      first: (tx) => {
        let after = isChild ? row.key : null;
        for (const child of moved) {
          tx.move(source.entity, child, source.place({ parent: above.key, after }));
          if (after !== null) after = child;
        }
        if (source.note && row.note) tx.update(source.entity, above.key, { [source.note]: note });
        tx.delete(row.key);
      },
      isRight: () => gone.text === words && gone.theirs === null,
      last: (tx) => {
        tx.expect(row.key, gone.revision);
        this.#store(tx, text);
      },
    }).then((receipt) => {
      texts.discard(gone);
      claim.release(receipt);
    }, (error) => {
      // Both rows are as the server has them.
      for (const one of [text, gone]) texts.revert(one);
      claim.release();
      if (error.code === 'CANCELLED') return undefined;
      if (error.code !== 'CONFLICT') return app.fault(error);
      return app.notice(CHANGED, { kind: 'warning' });
    });
    return { key: above.key, caret };
  }

  /** The keys of the children of a row, if all of them are shown; else null. */
  #shownChildren(row) {
    if (row.children === 0) return [];
    const shown = this.#page.tree.rows.filter(({ parent }) => parent === row.key);
    return shown.length === row.children || row.isNew ? shown.map(({ key }) => key) : null;
  }

  /** Asks the server for them; null: there are too many, or it does not answer. */
  async #hiddenChildren(row) {
    const { nest, source, writes, app } = this.#page;
    if (row.children > JOINED_MAX) {
      app.notice(`This row has too many rows below it to be joined: ${row.children}.`, { kind: 'warning' });
      return null;
    }
    const found = await app.attempt(async () => {
      // Some may have been put there just now.
      await writes.idle();
      return nest.fetch(source.below(row.key));
    });
    return found ? found.rows.map(({ id }) => id) : null;
  }
}
