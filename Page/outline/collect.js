// The rows below some rows, for copies and files: from the page if all of them are here, otherwise from the server.

import { endOf, indexOf, topsOf } from './overlay.js';

const plain = ({ title, note, done, extra }, depth) => ({ depth, title, note: note || undefined, done, extra });

/** Rows with all that is below them, as `{ depth, title, note, done, extra }`; null: some of it is not here. */
export function collected(tree, rows) {
  const all = [];
  for (const top of topsOf(tree.rows, rows.map(({ key }) => key))) {
    const index = indexOf(tree.rows, top.key);
    const end = endOf(tree.rows, index);
    const run = tree.rows.slice(index, end);
    const isCut = end === tree.rows.length && tree.start + end < tree.total;
    if (isCut || run.some(({ children, isExpanded }) => children > 0 && !isExpanded)) return null;
    all.push(...run.map((row) => plain(row, row.depth - top.depth)));
  }
  return all;
}

/** All rows below an object, one by one, and the object itself unless `isBelow`. */
export async function* exported({ nest, source }, id, { isBelow = false } = {}) {
  const properties = source.names.filter((name) => name !== source.parent);
  const tree = await nest.export({ entity: source.entity, root: id, relationship: source.children, properties });
  const at = (name) => (name ? tree.properties.indexOf(name) : -1);
  const [title, note, done, extra] = [source.title, source.note, source.done, source.extra].map(at);
  for await (const { depth, values } of tree) {
    if (isBelow && depth === 0) continue;
    yield {
      depth: isBelow ? depth - 1 : depth, title: values[title] ?? '',
      note: note < 0 ? undefined : values[note] ?? undefined,
      done: done >= 0 && values[done] === true, extra: extra < 0 ? null : values[extra],
    };
  }
}
