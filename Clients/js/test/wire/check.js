// What tests need that run in Node and in a page alike: no assertion library, no files.
import { NestError } from '../../wire/errors.js';
import { fromHex, toHex } from '../../wire/bytes.js';
import { Double, NestDate, Reference, UUID } from '../../wire/values.js';

/** Fails the test. */
export function fail(text) {
  throw new Error(text);
}

/** A text that is the same for two things only if they are equal, also in type and sign. */
export function shown(thing) {
  if (thing === undefined) return 'undefined';
  if (Object.is(thing, -0)) return '-0';
  if (typeof thing === 'bigint') return `${thing}n`;
  if (typeof thing === 'number') return String(thing);
  if (typeof thing !== 'object' || thing === null) return JSON.stringify(thing) ?? String(thing);
  if (Array.isArray(thing)) return `[${Array.from(thing, shown).join(',')}]`;
  if (thing instanceof Uint8Array) return `data:${toHex(thing)}`;
  if (thing instanceof NestDate) return `date:${thing.microseconds}`;
  if (thing instanceof Reference) return `reference:${thing.id}`;
  if (thing instanceof UUID) return `uuid:${thing.hex}`;
  if (thing instanceof Double) return `double:${shown(thing.value)}`;
  return `{${Object.keys(thing).sort().map((key) => `${JSON.stringify(key)}:${shown(thing[key])}`).join(',')}}`;
}

export function same(actual, expected, what = 'this') {
  const [a, e] = [shown(actual), shown(expected)];
  if (a !== e) fail(`${what} is\n  ${a.slice(0, 2000)}\nand should be\n  ${e.slice(0, 2000)}`);
}

/** Runs `body`, which must throw a NestError of this code. */
export function refused(code, body, what = '') {
  let got;
  try {
    got = shown(body());
  } catch (error) {
    if (error instanceof NestError && error.code === code) return error;
    throw new Error(`${what}: ${error.code ?? error.stack} instead of ${code}: ${error.message}`);
  }
  return fail(`${what}: ${got.slice(0, 500)} instead of ${code}`);
}

/** The bytes of a vector. */
export const bytesOf = (hex) => fromHex(hex.replace(/\s/g, ''));

const doubles = new Map([['inf', Infinity], ['-inf', -Infinity], ['-0', -0]]);

/** The value of a vector, exact: a double is a Double. */
export function exactValue(json) {
  if (typeof json !== 'object' || json === null) return json;
  const [[type, content]] = Object.entries(json);
  const whole = typeof content === 'string' && /^-?\d+$/.test(content) ? BigInt(content) : content;
  switch (type) {
    case 'integer': return whole;
    case 'double': return new Double(doubles.get(content) ?? content);
    case 'date': return new NestDate(whole);
    case 'data': return fromHex(content);
    case 'reference': return new Reference(content);
    case 'uuid': return new UUID(content);
    default: return fail(`a value of the type ${type}`);
  }
}

/** The value of a vector as rows have it: a double is a number. */
export function rowValue(json) {
  const exact = exactValue(json);
  return exact instanceof Double ? exact.value : exact;
}

/** Random numbers of a seed (mulberry32): 0 ≤ n < `below`. */
export function randomOf(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = state + 0x6d2b79f5 >>> 0;
    let t = Math.imul(state ^ state >>> 15, state | 1);
    t ^= t + Math.imul(t ^ t >>> 7, t | 61);
    return ((t ^ t >>> 14) >>> 0) % below;
  };
}
