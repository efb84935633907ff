// The formats of outlines: what is written reads back, and other programs' files are read as nestc reads them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbers, seeds } from './seeds.js';
import { formatOf, readRows, written } from '../outline/formats/formats.js';

const rows = (text, format) => readRows(text, format).map(({ depth, title, note, done }) =>
  `${'. '.repeat(depth)}${done ? '[x] ' : ''}${title}${note ? ` (${note})` : ''}`);

const PARTS = ['Milk', ' ', '\n', '\t', '\\', '- ', '* ', '# ', '[x] ', '[ ] ', '1. ', '&', '&amp;', '&#10;', '<b>',
  '"', "'", '😀',
  'ö', '---', '\\n', 'a', '', '`', '~~', ')', '\r', '_', '=', 'http://x.y/?a=1&b=2'];

function randomRows(random, { notes }) {
  const text = () => Array.from({ length: Math.floor(random() * 5) },
    () => PARTS[Math.floor(random() * PARTS.length)]).join('');
  let depth = -1;
  return Array.from({ length: 1 + Math.floor(random() * 8) }, () => {
    depth = Math.floor(random() * (depth + 2));
    const note = notes && random() < 0.4 ? text() : '';
    return { depth, title: text(), note: note === '' ? undefined : note, done: notes && random() < 0.3 };
  });
}

const RUNS = 400;

test('text that is written reads back', () => {
  for (const seed of seeds(RUNS)) {
    const made = randomRows(numbers(seed), { notes: false });
    const read = readRows(written(made, 'text'), 'text');
    assert.deepEqual(read.map(({ depth, title }) => ({ depth, title })), made.map(({ depth, title }) => ({ depth,
      title })), `seed ${seed}`);
  }
});

test('OPML that is written reads back, with notes and marks', () => {
  for (const seed of seeds(RUNS)) {
    const made = randomRows(numbers(seed), { notes: true });
    const read = readRows(written(made, 'opml'), 'opml');
    assert.deepEqual(read.map(({ depth, title, note, done }) => ({ depth, title, note, done })), made, `seed ${seed}`);
  }
});

test('Markdown that is written reads back, with notes and marks', () => {
  // A block of code in a note is not escaped, and a note of spaces has nothing to show.
  const isPlain = ({ title, note = '' }) => !/`|~/.test(title + note) && !/^[\s]*$/.test(note || 'x');
  for (const seed of seeds(RUNS)) {
    const made = randomRows(numbers(seed), { notes: true }).filter(isPlain);
    if (made.length === 0) continue;
    let last = -1;
    for (const row of made) last = row.depth = Math.min(row.depth, last + 1);
    const text = written(made, 'md');
    const read = readRows(text, 'md');
    assert.deepEqual(read.map(({ depth, title, note, done }) => ({ depth, title, note, done })), made,
      `seed ${seed}\n${text}`);
  }
});

test('Markdown of other programs', () => {
  const text = ['# Trip', 'when it is warm', '', '## Pack', '* [x] socks', '    * red', '* [ ] hat', '  with a brim',
    '', 'Hotel', '-----', '1. call', '2) pay'];
  assert.deepEqual(rows(text.join('\n'), 'md'), ['Trip (when it is warm)', '. Pack', '. . [x] socks', '. . . red',
    '. . hat (with a brim)', '. Hotel', '. . call', '. . pay']);
});

test('text with tabs, with spaces, and with uneven steps', () => {
  assert.deepEqual(rows('a\n\tb\n\t\tc\nd', 'text'), ['a', '. b', '. . c', 'd']);
  assert.deepEqual(rows('a\r\n  b\r\n    c\r\n  d\r\n', 'text'), ['a', '. b', '. . c', '. d']);
  assert.deepEqual(rows('a\n      b\n   c\n', 'text'), ['a', '. b', '. c']);
  assert.deepEqual(rows('C:\\new\n\\section{One}', 'text'), ['C:\\new', '\\section{One}']);
});

test('OPML of other programs keeps what a row has no attribute for', () => {
  const text = `<?xml version="1.0"?><opml version="2.0"><head><title>x</title></head><body>
    <outline text="Groceries" _note="today" colour="green"><outline text="Milk" checkbox="true" complete="true"/>
    <!-- <outline text="no"/> --><outline text='"Bread" &amp; butter'/></outline>
    <outline title="only a title"/></body></opml>`;
  assert.deepEqual(rows(text, 'opml'), ['Groceries (today)', '. [x] Milk', '. "Bread" & butter', 'only a title']);
  const again = written(readRows(text, 'opml'), 'opml', 'x');
  assert.match(again, /<outline text="Groceries" _note="today" colour="green">/);
  assert.match(again, /<outline text="Milk" checkbox="true" complete="true"\/>/);
  assert.match(again, /<outline title="only a title"\/>/);
});

test('OPML of Workflowy has HTML in its texts', () => {
  const row = '<outline text="a &lt;b&gt;bold&lt;/b&gt; word &amp;amp; more"/>';
  const text = `<opml><head><ownerEmail>a@b.c</ownerEmail></head><body>${row}</body></opml>`;
  assert.deepEqual(rows(text, 'opml'), ['a bold word & more']);
  assert.match(written(readRows(text, 'opml'), 'opml'), /text="a &lt;b&gt;bold&lt;\/b&gt; word &amp;amp; more"/);
});

test('OPML with bare signs, and something that is no OPML', () => {
  assert.deepEqual(rows('<opml><body><outline text="Arts & Crafts" url="https://x.y/?a=7&lang=en"/></body></opml>',
    'opml'),
    ['Arts & Crafts']);
  assert.throws(() => readRows('<html></html>', 'opml'), /not OPML/);
});

test('a format is known by the name of a file, or by what it begins with', () => {
  assert.equal(formatOf('x', 'a.OPML'), 'opml');
  assert.equal(formatOf('- x', 'a.txt'), 'text');
  assert.equal(formatOf('\n  <?xml version="1.0"?>'), 'opml');
  assert.equal(formatOf('* one\n* two'), 'md');
  assert.equal(formatOf('# one'), 'md');
  assert.equal(formatOf('one\n\t- two'), 'text');
});
