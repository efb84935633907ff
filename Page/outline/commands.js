// What somebody does with rows: split, join, indent, move, delete, tick off. Each is one transaction with a name.

import { endOf, indexOf, nextOf, parentOf, previousOf, topsOf } from './overlay.js';
import { wordsOf } from '../shell/notice.js';
import { Splits } from './splits.js';
import { short } from './texts.js';

const listed = (rows) => (rows.length === 1 ? `“${short(rows[0].title)}”` : `${rows.length} rows`);

export class Commands {
  #app;
  #nest;
  #tree;
  #texts;
  #writes;
  #source;
  #splits;

  constructor(page) {
    const { app, nest, tree, texts, writes, source } = page;
    this.#app = app;
    this.#nest = nest;
    this.#tree = tree;
    this.#texts = texts;
    this.#writes = writes;
    this.#source = source;
    this.#splits = new Splits(page);
  }

  #refused = (error, write) => {
    if (write.state !== 'parked' || error.code === 'CLOSED') return this.#app.fault(error);
    // With its key it happens once, however often it is sent.
    const again = () => this.#app.attempt(() => write.again().done);
    return this.#app.notice(`It is not known whether “${write.name}” was stored: ${wordsOf(error)}`,
      { kind: 'fault', actions: [['Send it again', again]] });
  };

  // MARK: New rows

  /** Inserts a row with a text. Returns the new object: its id is null until ids were reserved. */
  insert({ place, title = '', name = `add “${short(title)}”` }) {
    let object;
    let text = null;
    const write = this.#writes.make(name, (tx) => {
      object = tx.insert(this.#source.entity, this.#source.values({ title }), this.#source.place(place));
    }, {
      done: (receipt) => text && this.#texts.inserted(text, receipt),
      refused: (error) => this.#lost(text, title, error),
      undone: () => text && this.#texts.discard(text),
    });
    this.#writes.named(object, (id) => {
      if (id === null) return;
      text = this.#texts.open(id, 'title', title, 0);
      this.#texts.inserts(text, write.end);
    });
    return object;
  }

  /** A row was not stored: its text is offered again. */
  #lost(text, inserted, error) {
    const title = text?.text ?? inserted;
    if (text) this.#texts.discard(text);
    if (title.trim() === '') return this.#app.fault(error);
    const again = () => this.insert({ place: { parent: this.#tree.under }, title });
    return this.#app.notice(`“${short(title)}” was not added: ${error.message}`,
      { kind: 'fault', actions: [['Add it at the end', again]] });
  }

  /**
   * Inserts rows of any depth as one transaction; `replaced`: a row that goes. Returns the object of the last top row.
   */
  insertRows(rows, place, replaced = null) {
    const { entity } = this.#source;
    let last = null;
    const name = rows.length === 1 ? `paste “${short(rows[0].title)}”` : `paste ${rows.length} rows`;
    this.#writes.make(name, (tx) => {
      const owners = [];
      last = null;
      for (const row of rows) {
        const to = row.depth > 0 ? { parent: owners[row.depth - 1] }
          : last === null ? place : { parent: place.parent, after: last };
        owners[row.depth] = tx.insert(entity, this.#source.values(row), this.#source.place(to));
        if (row.depth === 0) [last] = owners;
      }
      if (replaced) tx.delete(replaced.key);
    }, { refused: this.#refused, touched: replaced ? [replaced.key] : [] });
    return last;
  }

  /**
   * Splits a row's title at two places (between them it is deleted); what is behind them becomes a new row. Returns the
   * object that one writes in next: the new one, or the row.
   */
  split(row, title, [start, end]) {
    const [left, right] = [title.slice(0, start), title.slice(end)];
    if (start === 0 && right !== '') {
      // The text stays with its row; an empty row comes before it.
      this.insert({ place: this.#before(row) });
      return { id: row.key };
    }
    const place = this.#behind(row);
    if (left !== title) return this.#splits.split(row, title, left, right, place);
    // What was typed is stored before the new row is.
    const text = this.#texts.get(row.key, 'title');
    if (text) this.#texts.flush(text);
    return this.insert({ place });
  }

  /** The place behind a row for what is written next: below it, if rows below it show; otherwise after it. */
  #behind(row) {
    const { rows } = this.#tree;
    const index = indexOf(rows, row.key);
    if (row.children > 0 && row.isExpanded) {
      const first = rows[index + 1];
      return { parent: row.key, before: first?.parent === row.key ? first.key : null, isFirst: true };
    }
    return this.after(row);
  }

  /** The place after a row, as its sibling. */
  after(row) {
    const { rows } = this.#tree;
    const next = nextOf(rows, indexOf(rows, row.key));
    return { parent: row.parent, after: row.key, before: next < 0 ? null : rows[next].key };
  }

  #before(row) {
    const { rows } = this.#tree;
    const previous = previousOf(rows, indexOf(rows, row.key));
    return { parent: row.parent, after: previous < 0 ? null : rows[previous].key, before: row.key };
  }

  // MARK: Joins

  /** Joins a row with the one shown before it. Returns what `Splits.join` does. */
  async join(row) {
    const { rows } = this.#tree;
    const index = indexOf(rows, row.key);
    const above = rows[index - 1];
    if (!above) return null;
    if (row.title === '' && row.children === 0 && !row.note) {
      this.remove([row]);
      return { key: above.key, caret: 'end' };
    }
    if (above.title === '' && above.children === 0 && !above.note && above.parent === row.parent) {
      this.remove([above]);
      return { key: row.key, caret: 0 };
    }
    return this.#splits.join(above, row);
  }

  // MARK: Moves

  /**
   * Moves rows to a place, in their order. A row without children unfolds for them, so that they stay in view. Resolves
   * with the receipt; null: it was refused.
   */
  move(rows, place, { name = `move ${listed(rows)}` } = {}) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const keys = (tops.length > 0 ? tops : rows).map(({ key }) => key);
    const owner = this.#tree.row(place.parent);
    if (owner?.children === 0 && !owner.isExpanded) this.#unfold(owner.key);
    return this.#writes.make(name, (tx) => {
      let last = null;
      for (const key of keys) {
        tx.move(this.#source.entity, key, this.#source.place(last === null ? place : { parent: place.parent, after: last }));
        last = key;
      }
    }, { touched: keys, refused: this.#refused }).end;
  }

  #unfold(key) {
    return this.#tree.outline.setExpanded(key, true).catch(this.#app.fault);
  }

  /** Moves rows below another one, which is unfolded first: the rows that it has come from the server. */
  async #moveBelow({ key, isExpanded, children }, rows, place, options) {
    if (!isExpanded && children > 0) await this.#unfold(key);
    this.move(rows, { parent: key, ...place }, options);
  }

  /** Puts rows below the row before them. Returns whether there is one. */
  async indent(rows) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const index = indexOf(this.#tree.rows, tops[0]?.key);
    if (index < 0) return false;
    const owner = this.#tree.rows[previousOf(this.#tree.rows, index)] ?? await this.#rowFarBefore(tops[0], index);
    if (!owner) return false;
    await this.#moveBelow(owner, tops, { after: this.#lastChild(owner.key) }, { name: `indent ${listed(tops)}` });
    return true;
  }

  #lastChild(key) {
    const { rows } = this.#tree;
    const index = indexOf(rows, key);
    if (index < 0) return null;
    const children = rows.slice(index + 1, endOf(rows, index)).filter(({ parent }) => parent === key);
    // The window may end before the last one.
    return children.length === rows[index].children ? children.at(-1)?.key ?? null : null;
  }

  /** The sibling before a row, if it is far above the rows that are here. */
  async #rowFarBefore(row, index) {
    const { rows, start } = this.#tree;
    if (parentOf(rows, index) >= 0 || start === 0 || row.isNew) return null;
    const near = this.#source.below(row.parent).around(row.key, 1, 0);
    const found = await this.#app.attempt(() => this.#nest.fetch(near));
    const [before] = found?.rows ?? [];
    return before && before.id !== row.key ? { key: before.id, isExpanded: false, children: 1 } : null;
  }

  /** Puts rows behind the row that they are below. Returns whether they are below a row. */
  async outdent(rows) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const [first] = tops;
    if (!first || first.depth === 0 || first.parent === this.#tree.under) return false;
    const owner = this.#tree.row(first.parent);
    let parent = owner?.parent;
    if (owner === undefined) {
      const found = await this.#app.attempt(() => this.#nest.object(first.parent));
      parent = found?.values[this.#source.parent]?.id ?? 0;
    }
    if (!parent) return false;
    const before = owner ? this.after(owner).before : null;
    this.move(tops, { parent, after: first.parent, before }, { name: `outdent ${listed(tops)}` });
    return true;
  }

  /** Moves rows past their neighbour: `by` is 1 or -1. At an end, into the neighbour of the row above. */
  async shift(rows, by) {
    const all = this.#tree.rows;
    const tops = topsOf(all, rows.map(({ key }) => key));
    if (tops.length === 0) return false;
    const at = indexOf(all, (by < 0 ? tops[0] : tops.at(-1)).key);
    const beside = by < 0 ? previousOf(all, at) : nextOf(all, at);
    const { parent } = tops[0];
    if (beside >= 0) {
      const { key } = all[beside];
      const near = by < 0 ? { parent, before: key } : { parent, after: key };
      this.move(tops, near);
      return true;
    }
    const owner = parentOf(all, at);
    const next = owner < 0 ? -1 : by < 0 ? previousOf(all, owner) : nextOf(all, owner);
    if (next < 0) return false;
    const { key } = all[next];
    const first = all[next + 1]?.parent === key ? all[next + 1].key : null;
    const place = by < 0 ? { after: this.#lastChild(key) } : { before: first, isFirst: true };
    await this.#moveBelow(all[next], tops, place);
    return true;
  }

  // MARK: Values, deletion

  remove(rows) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const gone = tops.length > 0 ? tops : rows;
    const keys = gone.map(({ key }) => key);
    const texts = this.#texts.all.filter(({ key }) => keys.includes(key));
    const claim = this.#texts.claim(texts);
    return this.#writes.make(`delete ${listed(gone)}`, (tx) => { for (const key of keys) tx.delete(key); }, {
      touched: keys,
      mend: (error) => {
        // What others have deleted is deleted.
        const at = keys.indexOf(error.object);
        if (error.code !== 'NOT_FOUND' || at < 0 || keys.length === 1) return false;
        keys.splice(at, 1);
        return true;
      },
      done: () => {
        for (const text of texts) this.#texts.discard(text);
        claim.release();
      },
      refused: (error, write) => {
        claim.release();
        if (error.code !== 'NOT_FOUND') this.#refused(error, write);
      },
      undone: () => claim.release(),
    }).end;
  }

  /** Ticks rows off, or makes them open again if all of them are done. */
  toggleDone(rows) {
    if (!this.#source.done) return null;
    const done = !rows.every((row) => row.done);
    const changed = rows.filter((row) => row.done !== done);
    const keys = changed.map(({ key }) => key);
    return this.#writes.make(`${done ? 'tick off' : 'reopen'} ${listed(changed)}`, (tx) => {
      for (const key of keys) tx.update(this.#source.entity, key, { [this.#source.done]: done });
    }, { touched: keys, refused: this.#refused }).end;
  }
}
