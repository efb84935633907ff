// Texts that somebody edits here: a title or a note of a row. What is typed is sent when the fingers rest; what others
// write meanwhile is merged; nothing typed is dropped before the server has it.

import { merge } from './merge.js';

/** From the last key to the write, and the longest that a text waits while one types on, in milliseconds. */
const REST_MS = 150;
const WAIT_MAX_MS = 1_000;
/** Writes of one text that follow each other so closely are one undo entry, in milliseconds. */
const COALESCE_MS = 1_500;
/** How often a text is merged and sent again because others were faster. */
const CONFLICTS_MAX = 20;

/** A text. `base`: what the server has, as far as is known, at `revision`. `text`: what shows. */
class Text {
  selection = null;
  isComposing = false;
  /** What the server has while an input method composes; merged when it ends. */
  later = null;
  /** What is being sent; null: nothing is. */
  sent = null;
  /** Whether its row is not stored yet, and with what text it will be. */
  isNew = false;
  inserted = '';
  /** Their text, that this one has not taken; null: none. */
  theirs = null;
  /** Why the server refused it. */
  fault = null;
  timer = null;
  since = null;
  /** How many writes are about it, in flight or waiting; `queued` resolves when they have their answers. */
  holds = 0;
  queued = null;
  /** How many of them are of other kinds: then it is not sent alone. */
  claims = 0;

  constructor(key, field, base, revision) {
    Object.assign(this, { key, field, base, text: base, revision });
  }

  get isDirty() {
    return this.text !== this.base;
  }

  get isQueued() {
    return this.holds > 0;
  }
}

export class Texts {
  #all = new Map();
  /** The rows that are here, and their revision. */
  #rows = [];
  #revision = 0;
  #writes;
  #source;
  #nest;
  #drafts;
  #changed;
  #gone;
  #wrote;

  /**
   * `changed(text)`: is called when a text shows something else than what was typed, or a fault, or a chip.
   * `gone(text)`: its row was deleted before the text was stored. `wrote()`: somebody has typed.
   */
  constructor({ nest, source, writes, drafts, changed, gone, wrote = () => {} }) {
    this.#gone = gone;
    this.#wrote = wrote;
    this.#nest = nest;
    this.#source = source;
    this.#writes = writes;
    this.#drafts = drafts;
    this.#changed = changed;
  }

  get(key, field) {
    return this.#all.get(`${key}.${field}`) ?? null;
  }

  /** What shows instead of what the server has sent: `{ title, note }`. */
  values(key) {
    const values = {};
    for (const field of ['title', 'note']) {
      const text = this.get(key, field);
      if (text) values[field] = text.text;
    }
    return values;
  }

  get all() {
    return [...this.#all.values()];
  }

  /** Texts that are not stored. */
  get dirty() {
    return this.all.filter((text) => text.isDirty);
  }

  /** Begins to edit a text, of which the server has `base` at `revision`. */
  open(key, field, base, revision) {
    const name = `${key}.${field}`;
    const text = this.#all.get(name) ?? new Text(key, field, base ?? '', revision);
    this.#all.set(name, text);
    return text;
  }

  /** Ends editing: the text stays until the server has it. */
  close(text) {
    text.isOpen = false;
    const isWaiting = text.isDirty || text.isQueued;
    if (!isWaiting && text.theirs === null && text.later === null) this.#forget(text);
    else this.flush(text);
  }

  #forget(text) {
    clearTimeout(text.timer);
    if (this.get(text.key, text.field) === text) this.#all.delete(`${text.key}.${text.field}`);
    this.#drafts.drop(this.#draftName(text));
  }

  /** Drops a text with what was typed. */
  discard(text) {
    this.#forget(text);
    this.#changed(text);
  }

  /** Drops what was typed; who edits it goes on with what the server has. */
  revert(text) {
    if (!text.isOpen) return this.discard(text);
    Object.assign(text, { text: text.base, theirs: null, fault: null });
    this.keep(text);
    return this.#changed(text);
  }

  #draftName({ key, field }) {
    return `${key}.${field}`;
  }

  keep(text) {
    const { key, field, base } = text;
    const isStored = !text.isNew && !text.isDirty;
    if (isStored || text.text === '') this.#drafts.drop(this.#draftName(text));
    else this.#drafts.keep(this.#draftName(text), { id: key, field, base, text: text.text });
  }

  /** Somebody has typed. */
  typed(text, value, selection) {
    text.text = value;
    text.selection = selection;
    text.fault = null;
    this.keep(text);
    this.#wrote();
    if (!text.isDirty || text.isComposing) return;
    clearTimeout(text.timer);
    text.since ??= performance.now();
    const rest = Math.max(0, Math.min(REST_MS, text.since + WAIT_MAX_MS - performance.now()));
    text.timer = setTimeout(() => this.flush(text), rest);
  }

  /** Sends a text now. Resolves when the server has it, or has refused it. */
  flush(text) {
    clearTimeout(text.timer);
    text.since = null;
    if (this.get(text.key, text.field) !== text) return null;
    if (text.isQueued) return text.queued;
    if (text.isComposing || !text.isDirty || text.fault) return null;
    return this.#hold(text, this.#send(text));
  }

  /** Sends all texts. Resolves when the server has all that is typed, or has refused it. */
  async flushAll() {
    const isOpen = ({ isDirty, isQueued, isComposing, fault }) => isQueued || (isDirty && !isComposing && !fault);
    for (let open; (open = this.all.filter(isOpen)).length > 0;) await Promise.all(open.map((text) => this.flush(text)));
  }

  /** A write is about a text until `end` resolves. Resolves when all writes that are about it now have ended. */
  #hold(text, end) {
    text.holds += 1;
    const ended = end.then(() => {
      text.holds -= 1;
      if (text.holds > 0) return;
      text.queued = null;
      this.#rest(text);
    });
    text.queued = Promise.all([text.queued, ended]);
    return text.queued;
  }

  /** No write is about a text any more. */
  #rest(text) {
    if (this.get(text.key, text.field) !== text) return;
    // Rows that came with the last answer.
    this.#look(text);
    if (text.isDirty && !text.fault) this.typed(text, text.text, text.selection);
    else {
      this.keep(text);
      if (!text.isOpen && !text.isDirty && text.theirs === null) this.#forget(text);
    }
    this.#changed(text);
  }

  /** A write of another kind inserts a text with its row. `end` resolves with its answer. */
  inserts(text, end) {
    Object.assign(text, { isNew: true, sent: text.text, inserted: text.text });
    this.keep(text);
    this.#hold(text, end);
  }

  /** It was inserted with its row. */
  inserted(text, { revision }) {
    text.isNew = false;
    text.sent = null;
    this.stored(text, text.inserted, revision);
  }

  /**
   * A write of another kind is about texts, too: they are not sent alone until `release(receipt)`, which takes what they
   * have `sent` as stored if there is a receipt. `ready` resolves when everything is answered that was made before, and
   * they are merged with what others wrote: it never waits for what is made later.
   */
  claim(texts) {
    const ready = Promise.all(texts.flatMap((text) => [text.queued, this.#writes.settled(text.key)]))
      .then(() => { for (const text of texts) this.#look(text); });
    let free;
    const end = new Promise((resolve) => { free = resolve; });
    for (const text of texts) {
      clearTimeout(text.timer);
      text.since = null;
      text.claims += 1;
      this.#hold(text, end);
    }
    return {
      ready,
      release: (receipt = null) => {
        for (const text of texts) {
          text.claims -= 1;
          if (receipt && text.sent !== null) this.stored(text, text.sent, receipt.revision);
          text.sent = null;
        }
        free();
      },
    };
  }

  /** Sends a text until it is stored, or another write is about it, too. */
  async #send(text) {
    for (let conflicts = 0; ; conflicts += 1) {
      // A move of its row, say, gives it another revision.
      const settled = this.#writes.settled(text.key);
      if (settled) await settled;
      if (text.claims > 0 || !text.isDirty) return undefined;
      const error = await this.#write(text);
      if (!error) return undefined;
      if (error.code !== 'CONFLICT' || conflicts >= CONFLICTS_MAX) return this.#refused(text, error);
      const fault = await this.readAgain(text).then(() => null, (reason) => reason);
      if (fault) return this.#refused(text, fault);
    }
  }

  /** Resolves with what refused it, or undefined. */
  async #write(text) {
    const { key, field, revision } = text;
    const name = `edit “${short(field === 'title' ? text.text : text.rowTitle ?? 'a note')}”`;
    const sent = text.text;
    text.sent = sent;
    let fault;
    const { end } = this.#writes.make(name, (tx) => {
      if (revision > 0) tx.expect(key, revision);
      tx.update(this.#source.entity, key, { [this.#source[field]]: sent });
    }, {
      coalescing: { key: `${key}.${field}`, milliseconds: COALESCE_MS },
      done: (receipt) => this.stored(text, sent, receipt.isChanged ? receipt.revision : revision),
      refused: (error) => { fault = error; },
      undone: () => { if (text.text === sent) text.text = text.base; },
    });
    await end;
    text.sent = null;
    return fault;
  }

  #refused(text, error) {
    if (text.claims > 0) return;
    if (error.code === 'NOT_FOUND') {
      this.discard(text);
      this.#gone(text);
    } else text.fault = error;
  }

  /** The server has a text at a revision, by a write of this page. */
  stored(text, value, revision) {
    text.base = value;
    text.revision = Math.max(text.revision, revision);
    this.keep(text);
  }

  async readAgain(text) {
    const { values, revision } = await this.#nest.object(text.key, { timeout: Infinity });
    this.arrived(text, values[this.#source[text.field]] ?? '', revision);
    text.revision = Math.max(text.revision, revision);
  }

  /** The server has a text at a revision: the own one, or that of others. */
  arrived(text, value, revision) {
    if (revision < text.revision || value === text.base) {
      if (value === text.base) text.revision = Math.max(text.revision, revision);
      return;
    }
    if (text.isComposing) {
      text.later = { value, revision };
      return;
    }
    const { text: merged, selection, isConflict } = merge(text.base, text.text, value, text.selection ?? undefined);
    text.base = value;
    text.revision = revision;
    text.text = merged;
    text.selection = text.selection && selection;
    text.theirs = isConflict ? value : null;
    this.keep(text);
    this.#changed(text, isConflict);
  }

  composing(text, isComposing) {
    text.isComposing = isComposing;
    const { later } = text;
    if (isComposing || !later) return;
    text.later = null;
    this.arrived(text, later.value, later.revision);
  }

  /** Takes their text instead of mine. */
  takeTheirs(text) {
    const { theirs } = text;
    text.theirs = null;
    this.typed(text, theirs, [theirs.length, theirs.length]);
    if (!text.isDirty && !text.isOpen) this.#forget(text);
    this.#changed(text);
  }

  keepMine(text) {
    text.theirs = null;
    if (!text.isDirty && !text.isOpen) this.#forget(text);
    this.#changed(text);
  }

  /** The rows at a revision: others may have written. */
  rows(rows, revision) {
    this.#rows = rows;
    this.#revision = revision;
    for (const text of this.all) {
      if (!this.#look(text)) continue;
      const isWaiting = text.isDirty || text.isQueued || text.theirs !== null || text.later !== null;
      if (!text.isOpen && !isWaiting) this.#forget(text);
    }
  }

  /** Takes what the row of a text has. Returns whether it is here, and says what the server has. */
  #look(text) {
    const row = this.#rows.find(({ key }) => key === text.key);
    if (!row) return false;
    text.rowTitle = row.title;
    // The row shows what is sent: whether others have written meanwhile, the answer says.
    if (text.sent !== null) return false;
    this.arrived(text, row[text.field] ?? '', this.#revision);
    return true;
  }
}

/** A text for the name of an undo entry. */
export function short(text, most = 40) {
  const line = text.split('\n', 1)[0];
  const characters = [...line];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : line || 'an empty row';
}
