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
  /** What is being sent. */
  sent = null;
  /** Their text, that this one has not taken; null: none. */
  theirs = null;
  /** Why the server refused it. */
  fault = null;
  timer = null;
  since = null;
  isQueued = false;

  constructor(key, field, base, revision) {
    Object.assign(this, { key, field, base, text: base, revision });
  }

  get isDirty() {
    return this.text !== this.base;
  }
}

export class Texts {
  #all = new Map();
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
    const isWaiting = text.isDirty || text.isQueued || this.#writes.keys.id(text.key) === null;
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

  #draftName({ key, field }) {
    return `${key}.${field}`;
  }

  keep(text) {
    const { key, field, base } = text;
    const id = this.#writes.keys.id(key);
    // A row that has no id is not stored at all: its place is kept, too.
    const isStored = id !== null && !text.isDirty;
    if (isStored || text.text === '') this.#drafts.drop(this.#draftName(text));
    else this.#drafts.keep(this.#draftName(text), { id, field, base, text: text.text, parent: text.parent ?? null });
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
    if (text.isComposing || !text.isDirty || text.isQueued || text.fault) return text.isQueued ? text.queued : null;
    text.isQueued = true;
    let conflicts = 0;
    text.queued = this.#writes.add({
      ...this.#write(text),
      mend: async (error) => {
        conflicts += 1;
        return error.code === 'CONFLICT' && conflicts <= CONFLICTS_MAX && this.readAgain(text);
      },
    });
    return text.queued;
  }

  /** Sends all texts. */
  flushAll() {
    return Promise.all(this.all.map((text) => this.flush(text)));
  }

  #write(text) {
    const { key, field } = text;
    const { entity } = this.#source;
    const attribute = this.#source[field];
    return {
      name: () => `edit “${short(field === 'title' ? text.text : text.rowTitle ?? 'a note')}”`,
      coalescing: { key: `${key}.${field}`, milliseconds: COALESCE_MS },
      begin: () => {
        text.sent = text.text;
        // What was typed back to what the server has needs no write.
        if (text.isDirty) return true;
        this.#ended(text);
        return false;
      },
      body: (tx, id) => {
        const object = id(key);
        if (text.revision > 0) tx.expect(object, text.revision);
        tx.update(entity, object, { [attribute]: text.sent });
      },
      done: ({ revision, isChanged }) => {
        this.stored(text, text.sent, isChanged ? revision : text.revision);
        this.#ended(text);
      },
      refused: (error) => {
        text.sent = null;
        text.isQueued = false;
        if (error.code === 'NOT_FOUND') {
          this.discard(text);
          this.#gone(text);
        } else {
          text.fault = error;
          this.#changed(text);
        }
      },
    };
  }

  #ended(text) {
    text.sent = null;
    text.isQueued = false;
    if (text.isDirty) this.typed(text, text.text, text.selection);
    else {
      this.keep(text);
      if (!text.isOpen && text.theirs === null) this.#forget(text);
    }
    this.#changed(text);
  }

  /** The server has a text at a revision, by a write of this page. */
  stored(text, value, revision) {
    text.base = value;
    text.revision = Math.max(text.revision, revision);
    this.keep(text);
  }

  async readAgain(text) {
    const { values, revision } = await this.#nest.object(this.#writes.keys.id(text.key), { timeout: Infinity });
    this.arrived(text, values[this.#source[text.field]] ?? '', revision);
    text.revision = Math.max(text.revision, revision);
    return true;
  }

  /** The server has a text at a revision: the own one, or that of others. */
  arrived(text, value, revision) {
    if (revision < text.revision || value === text.base) {
      if (value === text.base) text.revision = Math.max(text.revision, revision);
      return;
    }
    if (value === text.sent) {
      // Others have it already: it is stored.
      text.base = value;
      text.revision = revision;
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
    for (const text of this.all) {
      const row = rows.find(({ key }) => key === text.key);
      if (!row) continue;
      text.rowTitle = row.title;
      this.arrived(text, row[text.field] ?? '', revision);
      const isWaiting = text.isDirty || text.isQueued || text.theirs !== null || text.later !== null;
      if (!text.isOpen && !isWaiting) this.#forget(text);
    }
  }
}

/** A text for the name of an undo entry. */
export function short(text, most = 40) {
  const line = text.split('\n', 1)[0];
  const characters = [...line];
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : line || 'an empty row';
}
