// Markdown as an outline: list items, with `[x]` for done; a heading is a row that holds what follows; text below an
// item is its note. As nestc reads and writes it: docs/outlines.md, "Formats".

/** An item that begins at least this many columns to the right of another is its child. */
const CHILD_COLUMNS = 2;

const ITEM = /^(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const HEADING = /^(#{1,6})(?:[ \t]+|$)/;
const RULE = /^(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const BOX = /^\[([ xX])\](?:[ \t]|$)/;
const FENCE = /^(`{3,}(?=[^`]*$)|~{3,})/;

const columnOf = (space) => {
  let column = 0;
  for (const each of space) column = each === '\t' ? (Math.floor(column / 4) + 1) * 4 : column + 1;
  return column;
};

/** The lines of a text without so many columns of indentation. */
function dropped(line, columns) {
  let column = 0;
  let at = 0;
  while (at < line.length && column < columns && (line[at] === ' ' || line[at] === '\t')) {
    column = columnOf(line.slice(0, at + 1));
    at += 1;
  }
  return line.slice(at);
}

/** Whether a text means something else at the beginning of a title, or of a line of a note. */
const isStructure = (text, isTitle) => RULE.test(text) || ITEM.test(text) || HEADING.test(text) || FENCE.test(text)
  || (isTitle && BOX.test(text));

// MARK: Escapes

const REFERENCE = /&((?:amp;)*)#(10|13|32|9);/g;
const reference = (each) => `&#${each.codePointAt(0)};`;

/** `1\. a` and `\- a`: a backslash before the mark of what would be something else. */
function backslashAt(text, isTitle) {
  const digits = /^\d*/.exec(text)[0].length;
  const bare = text.slice(0, digits) + text.slice(digits).replace(/^\\+/, '');
  return isStructure(bare, isTitle) ? digits : -1;
}

function withStart(text, isTitle) {
  const at = backslashAt(text, isTitle);
  return at < 0 ? text : `${text.slice(0, at)}\\${text.slice(at)}`;
}

function withoutStart(text, isTitle) {
  const at = backslashAt(text, isTitle);
  return at < 0 || text[at] !== '\\' ? text : text.slice(0, at) + text.slice(at + 1);
}

const withReferences = (text) => text.replace(REFERENCE, (_, amps, code) => `&amp;${amps}#${code};`);
const withoutReferences = (text) => text.replace(REFERENCE, (_, amps, code) =>
  (amps === '' ? String.fromCodePoint(Number(code)) : `&${amps.slice(4)}#${code};`));

function writtenTitle(title) {
  const text = withReferences(title).replace(/[\r\n]/g, reference).replace(/^[ \t]|[ \t]$/g, reference);
  return withStart(text, true);
}

const readTitle = (text) => withoutReferences(withoutStart(text, true));

/** `isAtStart`: whether nothing is before it on its line. */
function writtenNoteLine(line, isAtStart) {
  const text = withReferences(line).replace(/\r/g, reference);
  if (!isAtStart) return text;
  const [space] = /^[ \t]*/.exec(text);
  const rest = text.slice(space.length);
  if (rest === '') return space === '' ? '' : reference(space[0]) + space.slice(1);
  return space + withStart(rest, false);
}

function readNoteLine(line) {
  const [space] = /^[ \t]*/.exec(line);
  return withoutReferences(space + withoutStart(line.slice(space.length), false));
}

// MARK: Reading

/** Reads Markdown. */
export function readMarkdown(source) {
  return new Reader().read(source.replace(/^\ufeff/, '').split(/\r\n|\n|\r/));
}

class Reader {
  #rows = [];
  /** The levels of the open headings, and the columns of the open items: of their marks, and of their texts. */
  #headings = [];
  #items = [];
  /** The row whose note may continue: `{ row, kind, column, note }`. */
  #open = null;
  #blanks = 0;
  #fence = null;

  read(lines) {
    let first = 0;
    // Front matter is about the file.
    if (lines[0] === '---') {
      const end = lines.indexOf('---', 1);
      if (end > 0) first = end + 1;
    }
    for (const line of lines.slice(first)) this.#take(line);
    this.#flush();
    return this.#rows;
  }

  #take(line) {
    const [space] = /^[ \t]*/.exec(line);
    const rest = line.slice(space.length).replace(/[ \t]+$/, '');
    const column = columnOf(space);
    if (this.#takesCode(line, rest, column)) return;
    if (rest === '') {
      this.#blanks += 1;
      return;
    }
    const isInNote = this.#open?.kind === 'item' && column >= this.#open.column;
    const item = !RULE.test(rest) && ITEM.exec(rest);
    const heading = HEADING.exec(rest);
    if (item) this.#item(rest, item[0], column);
    else if (heading && !isInNote) this.#heading(rest, heading[1].length);
    else if (!isInNote && this.#underlines(rest)) return;
    else if (RULE.test(rest) && !isInNote) {
      this.#flush();
      this.#items = [];
    } else this.#text(line, rest, column);
    this.#blanks = 0;
  }

  #item(rest, mark, column) {
    this.#flush();
    while (this.#items.length > 0 && column < this.#items.at(-1).mark + CHILD_COLUMNS) this.#items.pop();
    let title = rest.slice(mark.length);
    const box = BOX.exec(title);
    if (box) title = title.slice(box[0].length).trim();
    const depth = this.#headings.length + this.#items.length;
    const width = mark.trimEnd().length + 1;
    this.#items.push({ mark: column, text: column + width });
    this.#begin('item', depth, title, column + width);
    this.#open.row.done = Boolean(box) && box[1] !== ' ';
    this.#fence = FENCE.exec(title)?.[1] ?? null;
  }

  #heading(rest, level) {
    const title = rest.replace(HEADING, '').replace(/(^|[ \t])#+$/, '').trim();
    this.#flush();
    this.#items = [];
    this.#toLevel(level);
    this.#begin('heading', this.#headings.length, title, 0);
    this.#headings.push(level);
  }

  #toLevel(level) {
    while (this.#headings.length > 0 && this.#headings.at(-1) >= level) this.#headings.pop();
  }

  /** A line of = or - below a paragraph of one line makes it a heading. */
  #underlines(rest) {
    const open = this.#open;
    if (open?.kind !== 'paragraph' || open.note.length > 0 || this.#blanks > 0 || this.#items.length > 0) return false;
    if (!/^(=+|-+)$/.test(rest)) return false;
    const level = rest[0] === '=' ? 1 : 2;
    this.#toLevel(level);
    Object.assign(open, { kind: 'heading', column: 0 });
    open.row.depth = this.#headings.length;
    this.#headings.push(level);
    return true;
  }

  #text(line, rest, column) {
    this.#fence = FENCE.exec(rest)?.[1] ?? null;
    const open = this.#open;
    const continues = open && (open.kind === 'heading' || this.#blanks === 0
      || (open.kind === 'item' && column >= open.column));
    if (continues) return this.#note(dropped(line, open.column), this.#fence !== null);
    this.#flush();
    while (this.#items.length > 0 && column < this.#items.at(-1).text) this.#items.pop();
    return this.#begin('paragraph', this.#headings.length + this.#items.length, rest, column);
  }

  #takesCode(line, rest, column) {
    const open = this.#open;
    if (!this.#fence || !open) return false;
    if (rest !== '' && open.kind === 'item' && column < open.column) {
      this.#fence = null;
      return false;
    }
    this.#note(dropped(line, open.column), true);
    if (rest.startsWith(this.#fence) && new RegExp(`^[${this.#fence[0]}]+$`).test(rest)) this.#fence = null;
    return true;
  }

  #begin(kind, depth, title, column) {
    this.#open = { row: { depth, title: readTitle(title), done: false }, kind, column, note: [] };
  }

  #note(line, isCode) {
    const { note } = this.#open;
    if (note.length > 0) note.push(...new Array(this.#blanks).fill(''));
    note.push(isCode ? line : readNoteLine(line));
    this.#blanks = 0;
  }

  #flush() {
    this.#fence = null;
    if (!this.#open) return;
    const { row, note } = this.#open;
    this.#open = null;
    if (note.length > 0) row.note = note.join('\n');
    this.#rows.push(row);
  }
}

// MARK: Writing

/** Writes a row as a list item, with its note below it. */
export function markdownOf({ depth, title, note, done }) {
  const indent = '  '.repeat(depth);
  const text = writtenTitle(title);
  const item = `${indent}-${done ? ' [x]' : ''}${text === '' ? '' : ` ${text}`}\n`;
  if (!note) return item;
  const body = note.replace(/^\n+|\n+$/g, '');
  const [before, after] = [/^\n*/.exec(note)[0].length, body === '' ? 0 : /\n*$/.exec(note)[0].length];
  const lines = body.split('\n').map((line, index) => writtenNoteLine(line, index > 0 || before === 0));
  lines[0] = '&#10;'.repeat(before) + lines[0];
  lines[lines.length - 1] += '&#10;'.repeat(after);
  return item + lines.map((line) => (line === '' ? '\n' : `${indent}  ${line}\n`)).join('');
}
