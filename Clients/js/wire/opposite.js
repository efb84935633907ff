// The directions that a client does not need: it writes no rows, and reads no requests. Importing this file gives the
// codecs of the other modules what a server reads and writes: for tests, benchmarks, and programs that read predicates.
import { Limits } from './limits-more.js';
import { NestError } from './errors.js';
import { malformed } from './bytes.js';
import { choice, decodeWith, fields, hex, id128, list, number16, struct, text, u64, varint } from './codec.js';
import './messages-outline.js';
import './messages-totals.js';
import {
  addMessages, assigned, atLeast, authorList, authors, code, helloFields, mutation, newest, place,
} from './messages.js';
import { conflict, conflicts, rehomes, undoEntry, user } from './messages-undo.js';
import { rootOrNull, roots } from './model-codec.js';
import { path, request, requestFields, sortKey } from './request.js';
import { at, changes, diff, key, position, row, rows } from './rows.js';
import { writeValue } from './values.js';

const name = text(Limits.nameBytesMax);
const unsupported = (what) => new NestError('UNSUPPORTED', `${what} is not known`);

addMessages({
  hello: [0x01, fields({
    ...helloFields,
    4: ['expectedHistory', id128, null],
    5: ['expectedModelHash', u64, null],
    8: ['peer', struct({ node: id128, secret: hex(32) }), null],
  })],
});

// Requests

path.read = (r) => {
  const count = r.count();
  const steps = [];
  if (count <= Limits.pathStepsMax) for (let i = 0; i < count; i++) steps.push(number16.read(r));
  const leaf = count > Limits.pathStepsMax ? 0 : r.u8();
  if (count + (leaf > 1 ? 1 : 0) > Limits.pathStepsMax) throw malformed('a path is too long');
  if (leaf > 4 || (leaf === 4 && !path.where?.isAllowed())) throw unsupported('the end of a path');
  if (leaf === 3) {
    const number = r.u8();
    if (number < 1 || number > 4) throw unsupported('the function of a path');
    return { steps, leaf, function: number, property: number16.read(r), attribute: number16.read(r) };
  }
  const property = leaf ? number16.read(r) : 0;
  return leaf === 4 ? { steps, leaf, property, where: path.where.read(r) } : { steps, leaf, property };
};

sortKey.read = (r) => {
  const bits = r.u8();
  if (bits > 15) throw unsupported('a flag of a sort key');
  const key = bits & 8 ? { order: true } : { path: path.read(r) };
  return { ...key, descending: (bits & 1) === 1, folding: bits >> 1 & 3 };
};

// A field that is not known would change what the request means.
function readFields(r) {
  const out = Object.fromEntries(Object.values(requestFields).map(([name, , absent]) => [name, absent]));
  let previous = 0;
  for (let n = r.count(Limits.fetchFieldsMax, 2); n > 0; n--) {
    const number = r.varintAny();
    if (number <= previous) throw malformed('its fields are out of order');
    previous = number;
    const part = r.part(r.size());
    if (!Object.hasOwn(requestFields, number)) throw unsupported(`the field ${number}`);
    const [name, of] = requestFields[number];
    out[name] = of.read(part);
    part.finish();
  }
  return out;
}

request.read = (r) => {
  const entity = number16.read(r);
  const { range, around, ...from } = readFields(r);
  if (range && around) throw malformed('a request has two windows');
  return { entity, ...from, window: range ?? around };
};

/** A fetch request from its bytes. Bytes after it are ignored; the predicate is not looked into. */
export const decodeFetchRequest = (body) => decodeWith(request, body);

atLeast.read = (r) => {
  const revision = r.varintAny();
  if (revision === newest) return null;
  if (typeof revision === 'bigint') throw malformed('a revision is out of its range');
  return revision;
};

// Writes

const readsVariant = (/** @type {any} */ of, first = 0) => {
  of.read = (r) => {
    const name = choice(Object.keys(of.table), first).read(r);
    return of.table[name] ? { [name]: of.table[name].read(r) } : name;
  };
};
readsVariant(place);
readsVariant(assigned);
readsVariant(mutation, 1);

rehomes.read = (r) => {
  const bits = r.u8();
  if (bits > 1) throw unsupported('a flag');
  return { rehomes: bits === 1 };
};

// Rows

row.write = (w, { id, values }) => {
  w.varint(id);
  for (const v of values) writeValue(w, v);
};

rows.write = (w, from) => list(row).write(w, from.rows);

key.write = (w, from) => writeValue(w, from.key);

position.write = (w, { total, sectionTotal, start, anchor }) => {
  for (const n of [total, sectionTotal, start.row, start.section, start.rowInSection, anchor ?? 0]) w.varint(n);
};

at.write = (w, [section, index]) => {
  w.varint(section);
  w.varint(index);
};

diff.write = (w, from) => {
  w.varint(from.to);
  w.varint(from.to - from.from);
  w.varint(from.total);
  w.u64(from.digest);
  changes.write(w, from);
  if (from.position) position.write(w, from.position);
};

// Answers

rootOrNull.write = (w, v) => roots.write(w, v ? [v] : []);

code.write = (w, v) => w.u16(new NestError(v, '').number);

user.write = (w, from) => {
  name.write(w, from.user ?? '');
  w.u8(from.userClaimed ? 1 : 0);
};

conflicts.write = (w, v) => {
  w.varint(v.count);
  list(conflict, 7).write(w, v.listed);
};

undoEntry.write = (w, v) => {
  w.varint(v?.revision ?? 0);
  if (v) struct({ transactionCount: varint, name }).write(w, v);
};

authors.write = (w, v) => {
  authorList.write(w, v.authors);
  const claims = v.authors.filter((one) => one.userClaimed).map((one) => one.revision);
  if (claims.length) list(varint).write(w, claims);
};
