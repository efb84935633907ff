// A codec reads and writes one form: {read(reader), write(writer, value)}. The tables of messages are made of these.
import { Limits } from './limits.js';
import { NestError } from './errors.js';
import { malformed, Reader, Writer } from './bytes.js';
import { readObject, readValue, writeValue } from './values.js';

export const codec = (read, write) => ({ read, write });

export const u8 = codec((r) => r.u8(), (w, v) => w.u8(v));
export const u64 = codec((r) => r.u64(), (w, v) => w.u64(v));
export const i64 = codec((r) => r.i64(), (w, v) => w.i64(v));
export const id128 = codec((r) => r.id128(), (w, v) => w.id128(v));
/** A count, index, revision or public number: 0 … 2^53-1. */
export const varint = codec((r) => r.varint(), (w, v) => w.varint(v));
export const object = codec(readObject, (w, v) => w.varint(v));
/** The number of an entity or property. */
export const number16 = codec((r) => r.varint(0xffff), (w, v) => w.varint(v));
export const value = codec(readValue, writeValue);
export const string = codec((r) => r.string(), (w, v) => w.string(v));
/** All features of version 1 have bits below 53; bits above are dropped. */
export const features = codec((r) => {
  const high = r.u32() & 0x1fffff;
  return high * 4294967296 + r.u32();
}, (w, v) => {
  w.u32(Math.floor(v / 4294967296));
  w.u32(v % 4294967296);
});

/** A text of at most `max` bytes. */
export const text = (max) => codec((r) => r.string(max), (w, v) => w.string(v, max));
/** So many bytes, as hexadecimal digits. */
export const hex = (count) => codec((r) => r.hex(count), (w, v) => w.hex(v, count));
/** All bytes that are left. */
export const rest = codec((r) => r.raw(r.left), (w, v) => w.raw(v));

/** A count, then as many: at most `max`, each of at least `each` bytes. */
export const list = (of, each = 1, max = Infinity) => codec((r) => {
  const items = [];
  for (let n = r.count(max, each); n > 0; n--) items.push(of.read(r));
  return items;
}, (w, items) => {
  if (items.length > max) throw new NestError('LIMIT_EXCEEDED', `a list is longer than ${max}`);
  w.varint(items.length);
  for (const item of items) of.write(w, item);
});

/**
 * Fields one after the other. The fields of a codec under a name that begins with a point are those of the whole; one
 * that is missing when it is written is null.
 */
export function struct(spec) {
  const entries = Object.entries(spec);
  return codec((r) => {
    const out = {};
    for (const [name, of] of entries) {
      if (name[0] === '.') Object.assign(out, of.read(r));
      else out[name] = of.read(r);
    }
    return out;
  }, (w, from) => {
    for (const [name, of] of entries) of.write(w, name[0] === '.' ? from : from[name] ?? null);
  });
}

/** A number of the enumeration; one that it does not have is `other`, or refused with `code`. */
export const choice = (names, first = 0, /** @type {any} */ other = undefined, code = 'UNSUPPORTED') => codec((r) => {
  const name = names[r.u8() - first] ?? other;
  if (name === undefined) throw new NestError(code, 'a choice is not known');
  return name;
}, (w, name) => {
  const index = names.indexOf(name);
  if (index < 0) throw new NestError('INVALID', `${String(name)} is none of ${names.join(', ')}`);
  w.u8(index + first);
});

/**
 * A byte, and what belongs to it: `{name: operand}`, or the name alone where the table has null. The first is taken for
 * what is left out. Only clients send one: opposite.js reads it.
 */
export const variant = (table, first = 0) => {
  const names = Object.keys(table);
  const write = (w, v) => {
    /** @type {any} */
    const name = v === null ? names[0] : names.find((each) => v === each || Object.hasOwn(v, each));
    choice(names, first).write(w, name ?? v);
    table[name]?.write(w, v === name ? null : v[name]);
  };
  return { table, write };
};

/** A form of which not everything is allowed. */
export const checked = (of, isRight, what, code = 'MALFORMED') => {
  const check = (v, mistake) => {
    if (!isRight(v)) throw new NestError(mistake, what);
    return v;
  };
  const own = code === 'MALFORMED' ? 'INVALID' : code;
  return codec((r) => check(of.read(r), code), (w, v) => of.write(w, check(v, own)));
};

/** A byte of flags, the first name the lowest bit. Flags that it does not know are ignored. */
export const flags = (names) => codec((r) => {
  const bits = r.u8();
  return Object.fromEntries(names.map((name, i) => [name, (bits >> i & 1) === 1]));
}, (w, from) => w.u8(names.reduce((bits, name, i) => bits | (from[name] ? 1 << i : 0), 0)));

/** null when the form has its zero: 0, or the empty text. */
export const orNull = (of, /** @type {any} */ zero = 0) => codec((r) => {
  const read = of.read(r);
  return read === zero ? null : read;
}, (w, v) => of.write(w, v ?? zero));

/** 0: null. 1: the form follows. Another byte is refused with `code`. */
export const optional = (of, code = 'UNSUPPORTED') => codec((r) => {
  const byte = r.u8();
  if (byte > 1) throw new NestError(code, 'a choice is not known');
  return byte ? of.read(r) : null;
}, (w, v) => {
  w.u8(v === null ? 0 : 1);
  if (v !== null) of.write(w, v);
});

/** Fields that an older sender leaves out at the end of a body; `absent` is what they are then. */
export const trailing = (of, absent) => codec(
  (r) => (r.left > 0 ? of.read(r) : { ...absent }),
  (w, from) => {
    const isThere = (name) => from[name] != null && from[name] !== absent[name];
    if (Object.keys(absent).some(isThere)) of.write(w, { ...absent, ...from });
  },
);

/** Tagged fields: number → [name, codec, value if it is left out]. A field without the third is required. */
export function fields(spec) {
  const entries = Object.entries(spec).map(([number, entry]) => /** @type {any[]} */ ([Number(number), ...entry]));
  const byNumber = new Map(entries.map((entry) => [entry[0], entry]));
  return codec((r) => {
    const out = {};
    let previous = 0;
    for (let n = r.count(Limits.fieldsMax, 2); n > 0; n--) {
      const number = r.varintAny();
      if (number <= previous) throw malformed('its fields are out of order');
      previous = number;
      const part = r.part(r.size());
      const entry = byNumber.get(number);
      if (entry) out[entry[1]] = entry[2].read(part);
    }
    for (const [number, name, , absent] of entries) {
      if (out[name] !== undefined) continue;
      if (absent === undefined) throw malformed(`the field ${number} is missing`);
      out[name] = absent;
    }
    return out;
  }, (w, from) => {
    const there = entries.filter(([, name, , absent]) => !isAbsent(from[name], absent));
    w.varint(there.length);
    for (const [number, name, of] of there) {
      const part = new Writer();
      of.write(part, from[name]);
      w.varint(number);
      w.bytes(part.done());
    }
  });
}

function isAbsent(v, absent) {
  return v === undefined || v === null || v === absent || Array.isArray(v) && v.length === 0;
}

/** Decodes bytes with a codec; bytes after what it reads are ignored, as protocol.md asks. */
export function decodeWith(of, body, context) {
  return of.read(Object.assign(new Reader(body), context));
}

export function encodeWith(of, from) {
  const writer = new Writer();
  of.write(writer, from);
  return writer.done();
}
