// What somebody does with rows: split, join, indent, move, delete, tick off. Each is one transaction with a name.

import { endOf, indexOf, nextOf, parentOf, previousOf, topsOf } from './overlay.js';
import { short } from './texts.js';

/** Children that a join of two rows moves, at most. */
const JOINED_MAX = 1_000;

const listed = (rows) => (rows.length === 1 ? `“${short(rows[0].title)}”` : `${rows.length} rows`);

export class Commands {
  #app;
  #nest;
  #tree;
  #texts;
  #writes;
  #source;

  constructor({ app, nest, tree, texts, writes, source }) {
    this.#app = app;
    this.#nest = nest;
    this.#tree = tree;
    this.#texts = texts;
    this.#writes = writes;
    this.#source = source;
  }

  // MARK: Places

  /** Neighbours of a place may be gone when the server gets it: then the next best place counts. */
  #placed({ parent, after = null, before = null, isFirst = false }) {
    const step = { parent, after, before, isFirst };
    const place = (id) => this.#source.place({
      of: id(parent), after: step.after === null ? null : id(step.after),
      before: step.before === null ? null : id(step.before), isFirst,
    });
    const mend = (error) => {
      if (!['NOT_FOUND', 'INVALID'].includes(error.code) || (step.after === null && step.before === null)) return false;
      if (step.after !== null) step.after = null;
      else step.before = null;
      return true;
    };
    return { step, place, mend };
  }

  #refused = (error) => this.#app.fault(error);

  // MARK: New rows

  /** Inserts a row with a text. Returns its key. */
  insert({ place, title = '', name, note, done }) {
    const key = this.#writes.keys.make();
    this.#insertInto(key, place, { title, note, done }, name);
    return key;
  }

  #insertInto(key, place, values, name = null) {
    const { step, place: placed, mend } = this.#placed(place);
    const text = this.#texts.open(key, 'title', values.title, 0);
    text.parent = this.#writes.keys.id(place.parent);
    this.#texts.keep(text);
    this.#writes.add({
      name: () => name ?? `add “${short(text.text)}”`, inserts: true, mend,
      steps: [{ kind: 'insert', key, place: step, values }],
      begin: () => { text.sent = text.text; },
      body: (tx, id, made) => made(key, tx.insert(this.#source.entity,
        this.#source.values({ ...values, title: text.sent }), placed(id))),
      done: (receipt) => this.#stored(text, receipt),
      refused: (error) => this.#lost(text, place, error),
    });
  }

  #stored(text, receipt) {
    const { sent } = text;
    text.sent = null;
    this.#texts.stored(text, sent, receipt.revision);
    if (text.isDirty) this.#texts.flush(text);
    else if (!text.isOpen) this.#texts.close(text);
  }

  /** A row was not stored: its text is offered again. */
  #lost(text, place, error) {
    const { text: title } = text;
    this.#texts.discard(text);
    if (title.trim() === '') return this.#app.fault(error);
    const again = () => this.insert({ place: { parent: this.#tree.under }, title });
    return this.#app.notice(`“${short(title)}” was not added: ${error.message}`,
      { kind: 'fault', actions: [['Add it at the end', again]] });
  }

  /**
   * Inserts rows of any depth as one transaction; `replaced`: a row that goes. Resolves with the key of the last top
   * row; null: they were refused.
   */
  async insertRows(rows, place, replaced = null) {
    const { step, place: placed, mend } = this.#placed(place);
    const { entity } = this.#source;
    const last = this.#writes.keys.make();
    const receipt = await this.#writes.add({
      name: rows.length === 1 ? `paste “${short(rows[0].title)}”` : `paste ${rows.length} rows`, inserts: true, mend,
      steps: replaced ? [{ kind: 'remove', keys: [replaced.key] }] : [],
      body: (tx, id, made) => {
        const owners = [];
        let before = null;
        for (const row of rows) {
          const to = row.depth > 0 ? this.#source.place({ of: owners[row.depth - 1] })
            : before === null ? placed(id) : this.#source.place({ of: id(step.parent), after: before });
          owners[row.depth] = tx.insert(entity, this.#source.values(row), to);
          if (row.depth === 0) before = owners[0];
        }
        made(last, before);
        if (replaced) tx.delete(id(replaced.key));
      },
      refused: this.#refused,
    });
    return receipt && last;
  }

  /**
   * Splits a row's title at two places (between them it is deleted); what is behind them becomes a new row. Returns its
   * key.
   */
  split(row, title, [start, end]) {
    const [left, right] = [title.slice(0, start), title.slice(end)];
    const key = this.#writes.keys.make();
    if (start === 0 && right !== '') {
      // The text stays with its row; an empty row comes before it.
      this.insert({ place: this.#before(row), title: '' });
      return row.key;
    }
    const text = this.#texts.open(row.key, 'title', title, this.#tree.revision);
    const rest = this.#texts.open(key, 'title', right, 0);
    const { step, place, mend } = this.#placed(this.#behind(row));
    this.#texts.typed(text, left, [start, start]);
    clearTimeout(text.timer);
    rest.parent = this.#writes.keys.id(step.parent);
    this.#texts.keep(rest);
    this.#writes.add({
      name: () => (right === '' ? `add “${short(rest.text)}”` : `split “${short(title)}”`), inserts: true,
      steps: [{ kind: 'insert', key, place: step, values: { title: right } }],
      begin: () => {
        text.sent = text.text;
        rest.sent = rest.text;
      },
      body: (tx, id, made) => {
        if (text.sent !== text.base) {
          if (text.revision > 0) tx.expect(id(row.key), text.revision);
          tx.update(this.#source.entity, id(row.key), { [this.#source.title]: text.sent });
        }
        made(key, tx.insert(this.#source.entity, this.#source.values({ title: rest.sent }), place(id)));
      },
      mend: async (error) => (error.code === 'CONFLICT' ? this.#texts.readAgain(text) : mend(error)),
      done: (receipt) => {
        this.#stored(text, receipt);
        this.#stored(rest, receipt);
      },
      refused: (error) => {
        text.sent = null;
        const lost = rest.text;
        this.#texts.discard(rest);
        // What was split is one text again, and not stored: it can be sent again.
        if (lost !== '') this.#texts.typed(text, text.text + lost, null);
        this.#app.fault(error);
      },
    });
    return key;
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

  /** Joins a row with the one shown before it. Returns `{ key, caret }` of where one writes on; null: it cannot be. */
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
    const moved = row.children > 0 ? await this.#childrenOf(row) : [];
    if (!moved) return null;
    const text = this.#texts.open(above.key, 'title', above.title, this.#tree.revision);
    const caret = text.text.length;
    const gone = this.#texts.get(row.key, 'title');
    const from = gone?.revision || this.#tree.revision;
    this.#texts.typed(text, text.text + row.title, [caret, caret]);
    clearTimeout(text.timer);
    const note = [above.note, row.note].filter(Boolean).join('\n');
    const isChild = row.parent === above.key;
    this.#writes.add({
      name: `join “${short(above.title)}” and “${short(row.title)}”`,
      steps: [
        { kind: 'move', keys: moved, place: { parent: above.key, after: isChild ? row.key : null, before: null } },
        { kind: 'remove', keys: [row.key] },
      ],
      begin: () => { text.sent = text.text; },
      body: (tx, id) => {
        if (text.revision > 0) tx.expect(id(above.key), text.revision);
        if (!gone?.isQueued && from > 0 && row.id) tx.expect(row.id, from);
        const values = { [this.#source.title]: text.sent };
        if (this.#source.note && row.note) values[this.#source.note] = note;
        tx.update(this.#source.entity, id(above.key), values);
        let after = isChild ? id(row.key) : null;
        for (const child of moved) {
          tx.move(this.#source.entity, id(child), this.#source.place({ of: id(above.key), after }));
          if (after !== null) after = id(child);
        }
        tx.delete(id(row.key));
      },
      done: (receipt) => {
        this.#stored(text, receipt);
        if (gone) this.#texts.discard(gone);
      },
      refused: (error) => {
        // Both rows are as the server has them.
        text.sent = null;
        this.#texts.discard(text);
        if (error.code !== 'CONFLICT') return this.#app.fault(error);
        const words = 'Others have changed these rows meanwhile. Look at them, and join them again.';
        return this.#app.notice(words, { kind: 'warning' });
      },
    });
    return { key: above.key, caret };
  }

  /** The keys of all children of a row, also of a folded one; null: there are too many. */
  async #childrenOf(row) {
    const { rows } = this.#tree;
    const index = indexOf(rows, row.key);
    const shown = rows.slice(index + 1, endOf(rows, index)).filter(({ parent }) => parent === row.key);
    if (shown.length === row.children || !row.id) return shown.map(({ key }) => key);
    if (row.children > JOINED_MAX) {
      this.#app.notice(`This row has too many rows below it to be joined: ${row.children}.`, { kind: 'warning' });
      return null;
    }
    const found = await this.#app.attempt(() => this.#nest.fetch(this.#source.below(row.id)));
    return found ? found.rows.map(({ id }) => this.#writes.keys.of(id)) : null;
  }

  // MARK: Moves

  /** Moves rows to a place, in their order. */
  move(rows, place, { name = `move ${listed(rows)}`, more = [], begin } = {}) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const moved = tops.length > 0 ? tops : rows;
    const { step, place: placed, mend } = this.#placed(place);
    const keys = moved.map(({ key }) => key);
    return this.#writes.add({
      name, mend, begin, steps: [...more, { kind: 'move', keys, place: step }],
      body: (tx, id) => {
        let after = null;
        for (const key of keys) {
          const to = after === null ? placed(id) : this.#source.place({ of: id(step.parent), after });
          tx.move(this.#source.entity, id(key), to);
          // Without a left neighbour, each goes before the right one, which keeps their order.
          after = id(key);
        }
      },
      refused: this.#refused,
    });
  }

  /** Puts rows below the row before them. Returns whether there is one. */
  async indent(rows) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const index = indexOf(this.#tree.rows, tops[0]?.key);
    if (index < 0) return false;
    const owner = await this.#rowBefore(tops[0], index);
    if (!owner) return false;
    const shown = this.#tree.row(owner.key);
    this.move(tops, { parent: owner.key, after: this.#lastChild(owner.key) },
      { name: `indent ${listed(tops)}`, ...this.#unfolded(shown ?? owner) });
    return true;
  }

  /** The row that others go below unfolds first, so that they stay in view. */
  #unfolded({ key, isExpanded }) {
    if (isExpanded) return {};
    const begin = async () => {
      await this.#tree.outline.setExpanded(this.#writes.keys.id(key), true).catch(this.#refused);
    };
    return { more: [{ kind: 'fold', key, isExpanded: true }], begin };
  }

  #lastChild(key) {
    const { rows } = this.#tree;
    const index = indexOf(rows, key);
    if (index < 0) return null;
    const children = rows.slice(index + 1, endOf(rows, index)).filter(({ parent }) => parent === key);
    // The window may end before the last one.
    return children.length === rows[index].children ? children.at(-1)?.key ?? null : null;
  }

  /** The sibling before a row: also one that is far above the rows that are here. */
  async #rowBefore(row, index) {
    const { rows, start } = this.#tree;
    const previous = previousOf(rows, index);
    if (previous >= 0) return rows[previous];
    if (parentOf(rows, index) >= 0 || start === 0 || !row.id) return null;
    const near = this.#source.below(this.#writes.keys.id(row.parent)).around(row.id, 1, 0);
    const found = await this.#app.attempt(() => this.#nest.fetch(near));
    const [before] = found?.rows ?? [];
    return before && before.id !== row.id ? { key: this.#writes.keys.of(before.id), id: before.id } : null;
  }

  /** Puts rows behind the row that they are below. Returns whether they are below a row. */
  async outdent(rows) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const [first] = tops;
    if (!first || first.depth === 0 || first.parent === this.#tree.under) return false;
    const owner = this.#tree.row(first.parent);
    let parent = owner?.parent;
    if (owner === undefined) {
      const found = await this.#app.attempt(() => this.#nest.object(this.#writes.keys.id(first.parent)));
      parent = this.#writes.keys.of(found?.values[this.#source.parent]?.id ?? 0);
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
    const place = by < 0 ? { parent: key, after: this.#lastChild(key) } : { parent: key, before: first, isFirst: true };
    this.move(tops, place, this.#unfolded(all[next]));
    return true;
  }

  // MARK: Values, deletion

  remove(rows) {
    const tops = topsOf(this.#tree.rows, rows.map(({ key }) => key));
    const gone = tops.length > 0 ? tops : rows;
    const keys = gone.map(({ key }) => key);
    return this.#writes.add({
      name: `delete ${listed(gone)}`, steps: [{ kind: 'remove', keys }],
      body: (tx, id) => { for (const key of keys) tx.delete(id(key)); },
      mend: (error) => {
        // What others have deleted is deleted.
        const at = keys.findIndex((key) => this.#writes.keys.id(key) === error.object);
        if (error.code !== 'NOT_FOUND' || at < 0 || keys.length === 1) return false;
        keys.splice(at, 1);
        return true;
      },
      refused: (error) => error.code !== 'NOT_FOUND' && this.#app.fault(error),
      done: () => {
        for (const key of keys) {
          for (const field of ['title', 'note']) {
            const text = this.#texts.get(key, field);
            if (text) this.#texts.discard(text);
          }
        }
      },
    });
  }

  /** Ticks rows off, or makes them open again if all of them are done. */
  toggleDone(rows) {
    if (!this.#source.done) return null;
    const done = !rows.every((row) => row.done);
    const changed = rows.filter((row) => row.done !== done);
    return this.#writes.add({
      name: `${done ? 'tick off' : 'reopen'} ${listed(changed)}`,
      steps: changed.map(({ key }) => ({ kind: 'set', key, values: { done } })),
      body: (tx, id) => {
        for (const { key } of changed) tx.update(this.#source.entity, id(key), { [this.#source.done]: done });
      },
      refused: this.#refused,
    });
  }
}
