// Files of outlines: opened, and saved. Loaded when somebody does that.

import { make } from '../shell/dom.js';
import { exported } from './collect.js';
import { FORMATS, formatOf, readRows, writerOf } from './formats/formats.js';
import { short } from './texts.js';

/** A file that is opened is held whole. */
const FILE_BYTES_MAX = 256 << 20;
/** Characters of a file that is saved, joined before they become a part of it. */
const PART_CHARACTERS = 1 << 20;

const counted = (count) => `${count.toLocaleString()} ${count === 1 ? 'row' : 'rows'}`;

/** Asks for a file and stores its rows, behind those that are shown. */
export function importFile(page) {
  const field = make('input', { type: 'file', accept: '.opml,.xml,.md,.markdown,.mdown,.mkd,.txt,.text,.outline' });
  return new Promise((resolve) => {
    field.addEventListener('cancel', () => resolve(false));
    field.addEventListener('change', () => resolve(page.app.attempt(() => importText(page, field.files[0]))));
    field.click();
  });
}

async function importText(page, file) {
  if (file.size > FILE_BYTES_MAX) {
    throw new Error(`The file has more than ${FILE_BYTES_MAX >> 20} MiB. Use nestc import.`);
  }
  const text = new TextDecoder('utf-8', { fatal: true });
  let read;
  try {
    read = text.decode(await file.arrayBuffer());
  } catch {
    throw new Error('The file is not text in UTF-8. nestc import reads other encodings.');
  }
  const rows = readRows(read, formatOf(read, file.name));
  if (rows.length === 0) throw new Error('The file has no rows.');
  await page.texts.flushAll();
  await page.writes.idle();
  await importRows(page, rows, { parent: page.tree.under }, `import “${short(file.name)}”`);
  return true;
}

/** Stores rows as one transaction, however many they are. */
export async function importRows(page, rows, place, name = `paste ${counted(rows.length)}`) {
  const { nest, source, app } = page;
  const close = app.notice(`Storing ${counted(rows.length)}…`, { actions: [] });
  try {
    const properties = [source.title, source.note, source.done, source.extra].filter(Boolean);
    await nest.import({ entity: source.entity, properties, place: source.place(place), name },
      rows.map((row) => ({ depth: row.depth, values: source.values(row) })));
    app.notice(`${counted(rows.length)} stored. Undo takes them back.`);
  } finally {
    close();
  }
}

/** Saves what is shown, with everything below it, as a file. */
export async function exportFile(page, format) {
  const { tree, source, path, writes, texts } = page;
  await texts.flushAll();
  await writes.idle();
  const isHome = tree.under === source.home;
  const title = isHome ? 'nest' : path.steps.at(-1)?.title ?? 'outline';
  const writer = writerOf(format, title);
  const parts = [];
  let text = '';
  for await (const row of exported(page, tree.under, { isBelow: isHome })) {
    text += writer.write(row);
    if (text.length < PART_CHARACTERS) continue;
    parts.push(new Blob([text]));
    text = '';
  }
  parts.push(text + writer.finish());
  const { ending, type } = FORMATS[format];
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = make('a', { href: address, download: `${fileName(title)}.${ending}` });
  link.click();
  // The browser has it when the click is over; the address is for one download.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A title as the name of a file. */
const fileName = (title) =>
  short(title, 60).replace(/[\u0000-\u001f\u007f/\\:*?"<>|]/g, '_').replace(/^\.+/, '') || 'outline';
