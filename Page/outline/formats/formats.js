// The formats of files and of the clipboard. Rows are `{ depth, title, note, done, extra }`, in preorder.

import { markdownOf, readMarkdown } from './markdown.js';
import { OPMLWriter, readOPML } from './opml.js';
import { readText, textOf } from './text.js';

export const FORMATS = {
  opml: { name: 'OPML', ending: 'opml', type: 'text/x-opml' },
  md: { name: 'Markdown', ending: 'md', type: 'text/markdown' },
  text: { name: 'text', ending: 'txt', type: 'text/plain' },
};

const ENDINGS = {
  opml: 'opml', xml: 'opml', md: 'md', markdown: 'md', mdown: 'md', mkd: 'md', txt: 'text', text: 'text',
  outline: 'text',
};

/** The format of a file by its name, otherwise by what it begins with. */
export function formatOf(text, fileName = '') {
  const ending = /\.([^.]+)$/.exec(fileName)?.[1].toLowerCase();
  return ENDINGS[ending] ?? guess(text);
}

function guess(text) {
  if (/^\ufeff?\s*<(?:\?xml|opml|!--)/.test(text)) return 'opml';
  const [line = ''] = text.split(/[\r\n]+/).filter((each) => each.trim() !== '');
  return /^\s*(?:[-*+][ \t]|#{1,6}[ \t])/.test(line) ? 'md' : 'text';
}

/** Reads rows. Depths have no gaps. Throws an Error with words for people. */
export function readRows(text, format) {
  const rows = { opml: readOPML, md: readMarkdown, text: readText }[format](text);
  let last = -1;
  return rows.map((row) => {
    last = Math.min(row.depth, last + 1);
    return { ...row, depth: last };
  });
}

/** Gives the pieces of a text for rows, which come one by one or in lists: `write(row)`, then `finish()`. */
export function writerOf(format, title = '') {
  if (format === 'opml') return new OPMLWriter(title);
  return { write: format === 'md' ? markdownOf : textOf, finish: () => '' };
}

/** Writes rows as one text. */
export function written(rows, format, title) {
  const writer = writerOf(format, title);
  return rows.map((row) => writer.write(row)).join('') + writer.finish();
}
