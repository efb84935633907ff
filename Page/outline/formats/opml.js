// OPML 2.0, as Workflowy, Dynalist, OmniOutliner and nestc write it. What a row has no attribute for is kept in
// `extra`, a JSON object, so that a file that is imported and exported has the same attributes (docs/outlines.md,
// "Formats").

import { decoded, encoded, isXMLName, parseXML } from './xml.js';

const MARKS = ['_complete', 'complete', 'checked', '_status'];
const DONE = new Set(['true', 'checked', 'yes', '1']);
/** Not a name in XML: the order that the attributes of an element had. */
const ORDER = 'attribute order';

const isDone = (value) => DONE.has(value.toLowerCase());

/** What HTML shows, as text. Everything that is no tag and no reference stays. */
const plain = (html) => decoded(html.replace(/<br[^>]{0,4096}>/gi, '\n').replace(/<\/?[a-z][^>]{0,4096}>/gi, ''));
const html = (text) => text.replace(/[&<>]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' }[each]));

/** `extra` as its text: members by name, as nestc writes them. */
function extraText(members) {
  const names = Object.keys(members).sort((a, b) => (a < b ? -1 : 1));
  if (names.length === 0) return null;
  return `{${names.map((name) => `${JSON.stringify(name)}: ${JSON.stringify(members[name])}`).join(', ')}}`;
}

/** The members of `extra`; of a text that is no JSON object: itself, as the member `extra`. */
export function extraMembers(text) {
  if (!text) return {};
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Another program has its own text there.
  }
  return { extra: text };
}

/** Reads OPML. Throws an Error with words for people if the text is something else. */
export function readOPML(source) {
  const rows = [];
  const path = [];
  let depth = 0;
  let hasHTML = false;
  let hasTitle = false;
  let isOPML = false;
  parseXML(source, {
    begin(name, attributes) {
      path.push(name);
      if (name === 'opml') isOPML = true;
      if (name === 'title') hasTitle = true;
      // Workflowy writes its texts as HTML; its files have an owner and no title.
      if (name === 'ownerEmail') hasHTML = true;
      if (name !== 'outline' || !path.includes('body')) return;
      rows.push(rowOf(depth, attributes, hasHTML && !hasTitle));
      depth += 1;
    },
    end(name) {
      const at = path.lastIndexOf(name);
      if (at < 0) return;
      depth -= path.splice(at).filter((each) => each === 'outline').length;
      depth = Math.max(0, depth);
    },
  });
  if (!isOPML) throw new Error('This is not OPML: it has no element <opml>.');
  return rows;
}

function rowOf(depth, list, hasHTML) {
  const attributes = new Map(list);
  const extra = {};
  for (const [name, value] of attributes) if (name !== 'text' && name !== '_note') extra[name] = value;
  const read = (name) => {
    const text = attributes.get(name);
    const words = hasHTML ? plain(text) : text;
    if (words !== text) extra[name] = text;
    return words;
  };
  const row = { depth, title: '', done: false };
  if (attributes.has('text')) row.title = read('text');
  else {
    row.title = attributes.get('title') ?? '';
    extra.text = null;
  }
  if (attributes.has('_note')) row.note = read('_note');
  const marks = MARKS.filter((name) => attributes.has(name));
  row.done = marks.some((name) => isDone(attributes.get(name)));
  if (marks.length === 1 && attributes.get('_complete') === 'true') delete extra._complete;
  row.extra = extraText(extra);
  const names = [...attributes.keys()];
  if (names.length > 1 && attributesOf(row).map(([name]) => name).join(' ') !== names.join(' ')) {
    row.extra = extraText({ ...extra, [ORDER]: names.join(' ') });
  }
  return row;
}

/** The attributes of a row, in the order in which they are written. */
function attributesOf({ title, note, done, extra: text }) {
  const extra = extraMembers(text);
  const written = (words, own) => (typeof own !== 'string' ? words : plain(own) === words ? own : html(words));
  const list = [];
  if (extra.text === null) {
    if ('title' in extra) list.push(['title', title]);
    else if (title !== '') list.push(['text', title]);
  } else list.push(['text', written(title, extra.text)]);
  if (note !== null && note !== undefined) list.push(['_note', written(note, extra._note)]);
  list.push(...marksOf(done, extra));
  const known = new Set(['text', '_note', ORDER, ...MARKS, ...list.map(([name]) => name)]);
  for (const name of Object.keys(extra)) {
    const value = extra[name];
    if (known.has(name) || !isXMLName(name)) continue;
    list.push([name, typeof value === 'string' ? value : JSON.stringify(value)]);
  }
  if (typeof extra[ORDER] !== 'string') return list;
  const order = extra[ORDER].split(' ');
  const place = ([name]) => (order.includes(name) ? order.indexOf(name) : order.length);
  return list.sort((a, b) => place(a) - place(b));
}

/** The marks of the file, if they agree with the row; otherwise those that do. */
function marksOf(done, extra) {
  const marks = MARKS.filter((name) => typeof extra[name] === 'string').map((name) => [name, extra[name]]);
  marks.sort(([a], [b]) => (a < b ? -1 : 1));
  if (marks.length > 0 && marks.some(([, value]) => isDone(value)) === Boolean(done)) return marks;
  if (done && marks.length === 0) return [['_complete', 'true']];
  if (done) return marks.map(([name]) => [name, name === '_status' ? 'checked' : 'true']);
  return marks.flatMap(([name, value]) => {
    if (!isDone(value)) return [[name, value]];
    return name === '_status' ? [[name, 'unchecked']] : [];
  });
}

/** Writes OPML: `write(row)` and `finish()` give its pieces. */
export class OPMLWriter {
  #title;
  #last = -1;
  #hasBegun = false;

  constructor(title = '') {
    this.#title = title || 'nest';
  }

  #begin() {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    return ['<?xml version="1.0" encoding="UTF-8"?>', '<opml version="2.0">', '  <head>',
      `    <title>${encoded(this.#title)}</title>`, '  </head>', '  <body>'].join('\n');
  }

  /** Ends the tag of the last row, and the elements that do not contain a row of this depth. */
  #end(depth) {
    if (this.#last < 0) return '';
    if (depth > this.#last) return '>';
    let text = '/>';
    for (let level = this.#last - 1; level >= depth; level -= 1) text += `${line(level)}</outline>`;
    return text;
  }

  write(row) {
    const attributes = attributesOf(row).map(([name, value]) => ` ${name}="${encoded(value)}"`).join('');
    const text = `${this.#begin()}${this.#end(row.depth)}${line(row.depth)}<outline${attributes}`;
    this.#last = row.depth;
    return text;
  }

  finish() {
    return `${this.#begin()}${this.#end(0)}\n  </body>\n</opml>\n`;
  }
}

/** Deeper elements have the same indentation: otherwise a file would grow with the square of its depth. */
const line = (depth) => `\n${' '.repeat(4 + 2 * Math.min(depth, 32))}`;
