// Rows, snapshots and diffs: the messages that must be fast.
import { Limits } from './limits.js';
import { Writer, malformed } from './bytes.js';
import { readExact, readObject, readValue, writeValue, Double } from './values.js';
import { choice, codec, list, number16, object, struct, u64, value, varint } from './codec.js';
import { fnv1a } from './hash.js';

/** Reads a row: `{id, values}`, as many values as the projection has properties. */
export function readRow(reader, width) {
  const id = readObject(reader);
  const values = new Array(width);
  for (let i = 0; i < width; i++) values[i] = readValue(reader);
  return { id, values };
}

// The reader of a message of rows has their `width`, from SUBSCRIBED; of a DIFF also `hasWindow`.
export const row = codec((r) => readRow(r, r.width), null);

export const rows = codec((r) => {
  const items = [];
  const width = r.width;
  for (let n = r.count(Infinity, 1 + width); n > 0; n--) items.push(readRow(r, width));
  return { rows: items };
}, null);

/** The key of a section: `key`, and `hash`, the two halves of the hash of its value form. */
export function sectionKey(exact) {
  const writer = new Writer();
  writeValue(writer, exact);
  return { key: exact instanceof Double ? exact.value : exact, hash: fnv1a(writer.done()) };
}

export const key = codec((r) => sectionKey(readExact(r)), null);
const section = struct({ '.key': key, rowCount: varint });

export const position = codec((r) => {
  const total = r.varint();
  const sectionTotal = r.varint();
  const start = { row: r.varint(), section: r.varint(), rowInSection: r.varint() };
  if (start.row > total || start.rowInSection > start.row) throw malformed('a window begins after its end');
  return { total, sectionTotal, start, anchor: r.varint() || null };
}, null);

const head = struct({
  reason: choice(['first', 'large change', 'too far behind']), revision: varint, digest: u64, position,
  sectionCount: varint, sections: list(section, 2),
});

const sum = (sections) => sections.reduce((total, { rowCount }) => total + rowCount, 0);

export const snapshot = codec((r) => {
  const from = head.read(r);
  const { sections, sectionCount, position: { total, sectionTotal, start } } = from;
  if (sectionCount > sectionTotal || sections.length > sectionCount) throw malformed('there are too many sections');
  if (start.row + sum(sections) > total) throw malformed('there are too many rows');
  return from;
}, head.write);

export const snapshotSections = struct({ sections: list(section, 2) });
export const totals = struct({ revision: varint, position });

export const at = codec((r) => [r.varint(), r.varint()], null);
export const changes = struct({
  deletedRows: list(struct({ at, id: object, reason: choice(['deleted', 'unmatched', 'outOfWindow'], 1) }), 4),
  deletedSections: list(varint),
  insertedSections: list(struct({ at: varint, '.key': key }), 2),
  moves: list(struct({ from: at, to: at }), 4),
  insertedRows: list(struct({ at, '.row': row }), 3),
  updates: list(struct({ at, values: list(struct({ property: number16, value }), 2, Limits.projectionMax) }), 3),
});

/** `position` is null for a view without a window. */
export const diff = codec((r) => {
  const to = r.varint();
  const span = r.varint();
  if (span > to) throw malformed('a diff begins before revision 0');
  const from = { from: to - span, to, total: r.varint(), digest: r.u64(), ...changes.read(r) };
  return { ...from, position: r.hasWindow ? position.read(r) : null };
}, null);
