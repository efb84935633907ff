// Values as people read and write them. Reading is the opposite of writing: what a field shows, it accepts unchanged.

import { Double, LargeValue, NestDate, UUID } from '/client/index.js';

/** The least and the greatest integer of a type. */
const BOUNDS = {
  integer16: [-(2n ** 15n), 2n ** 15n - 1n], integer32: [-(2n ** 31n), 2n ** 31n - 1n],
  integer: [-(2n ** 63n), 2n ** 63n - 1n],
};
const DECIMAL_DIGITS_MAX = 38;
/** The largest value of a property, in bytes. */
const BYTES_MAX = 65_536;
/** Bytes of data whose digits are shown. */
const BYTES_SHOWN = 32;

const two = (number) => String(number).padStart(2, '0');

/** A date of this machine's zone, exact: `2026-11-26 09:30`, with seconds and microseconds if there are any. */
export function dateText(date) {
  const day = date.toDate();
  if (Number.isNaN(day.getTime())) return String(date);
  const year = day.getFullYear();
  if (year < 1 || year > 9999) return String(date);
  const micros = Number((BigInt(date.microseconds) % 1_000_000n + 1_000_000n) % 1_000_000n);
  const fraction = micros ? `.${String(micros).padStart(6, '0').replace(/0+$/, '')}` : '';
  const seconds = day.getSeconds() || fraction ? `:${two(day.getSeconds())}${fraction}` : '';
  return `${String(year).padStart(4, '0')}-${two(day.getMonth() + 1)}-${two(day.getDate())} `
    + `${two(day.getHours())}:${two(day.getMinutes())}${seconds}`;
}

/** The text of a value in a cell. Null is the empty text. */
export function cellText(value) {
  if (value === null || value === undefined) return '';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (value instanceof NestDate) return dateText(value);
  if (value instanceof Uint8Array || value instanceof LargeValue) return `${value.length} byte${value.length === 1 ? '' : 's'}`;
  if (typeof value === 'object' && 'id' in value) return `#${value.id}`;
  return String(value);
}

/** What more there is to know of a value: a date in UTC, the beginning of data, a SHA-256; null: nothing. */
export function moreText(value) {
  if (value instanceof NestDate) return `${value} (UTC)`;
  if (value instanceof LargeValue) return `SHA-256 ${value.sha256}`;
  if (value instanceof Uint8Array) {
    const bytes = [...value.subarray(0, BYTES_SHOWN)].map((byte) => byte.toString(16).padStart(2, '0'));
    return bytes.join(' ') + (value.length > BYTES_SHOWN ? ' …' : '');
  }
  return null;
}

/** What a field shows of a value. Data is base64. */
export function fieldText(value) {
  if (value instanceof Uint8Array) return btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join(''));
  if (value instanceof LargeValue) return value.sha256;
  if (typeof value === 'object' && value !== null && 'id' in value) return String(value.id);
  return cellText(value);
}

const wrong = (words) => {
  throw new RangeError(words);
};

/**
 * The value of an attribute that a text stands for. `now`: the present time in milliseconds.
 * @throws RangeError with words for people
 */
export function readValue({ type, isOptional }, text, now = Date.now()) {
  const trimmed = text.trim();
  if (type === 'string') return text;
  if (trimmed === '' && isOptional) return null;
  if (trimmed === '' && type !== 'data') wrong('a value is needed here');
  switch (type) {
    case 'boolean': return readBoolean(trimmed);
    case 'integer': case 'integer16': case 'integer32': return readInteger(type, trimmed);
    case 'double': case 'float': return readDouble(trimmed);
    case 'decimal': return readDecimal(trimmed);
    case 'date': return readDate(trimmed, now);
    case 'uuid': return /^[0-9a-f]{32}$/i.test(trimmed.replaceAll('-', '')) ? UUID.from(trimmed)
      : wrong('a UUID has 32 hexadecimal digits; hyphens may stand between them');
    case 'data': return readData(trimmed);
    case 'largeData': case 'largeText': return wrong('nestc put sends a large value');
    default: return trimmed;
  }
}

function readBoolean(text) {
  if (/^(yes|true|1)$/i.test(text)) return true;
  if (/^(no|false|0)$/i.test(text)) return false;
  return wrong('write yes or no');
}

function readInteger(type, text) {
  if (!/^[+-]?\d{1,40}$/.test(text)) wrong('write a whole number');
  const value = BigInt(text.replace('+', ''));
  const [least, greatest] = BOUNDS[type];
  if (value < least || value > greatest) wrong(`it must be from ${least} to ${greatest}`);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function readDouble(text) {
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)) wrong('write a number, such as 2.5 or 1e-3');
  const value = Number(text);
  if (!Number.isFinite(value)) wrong('the number is too large');
  return new Double(value);
}

function readDecimal(text) {
  const [, whole, fraction = ''] = /^[+-]?(\d+)(?:\.(\d+))?$/.exec(text)
    ?? wrong('write a decimal number, such as 12.50');
  const digits = (whole + fraction).replace(/^0+/, '').length;
  if (digits > DECIMAL_DIGITS_MAX) wrong(`a decimal has at most ${DECIMAL_DIGITS_MAX} digits`);
  return text.replace('+', '');
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function readData(text) {
  const packed = text.replace(/\s/g, '');
  if (!BASE64.test(packed)) wrong('write base64, or choose a file');
  const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  if (bytes.length > BYTES_MAX) wrong(`${bytes.length} bytes are more than ${BYTES_MAX}`);
  return bytes;
}

const DAYS = { yesterday: -1, today: 0, tomorrow: 1 };
const DATE =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?(?: \(UTC\))?$/;

/** A date with or without time; without a zone it is in that of this machine. Also now, today, yesterday, tomorrow. */
function readDate(text, now) {
  const word = text.toLowerCase();
  if (word === 'now') return new NestDate(now * 1_000);
  if (Object.hasOwn(DAYS, word)) {
    const day = new Date(now);
    return new NestDate(new Date(day.getFullYear(), day.getMonth(), day.getDate() + DAYS[word]).getTime() * 1_000);
  }
  const parts = DATE.exec(text) ?? wrong('write a date such as 2026-11-26, 2026-11-26 09:30, today or now');
  const [year, month, day, hour = 0, minute = 0, second = 0] =
    parts.slice(1, 7).map((part) => (part === undefined ? undefined : Number(part)));
  const micros = Number((parts[7] ?? '').padEnd(6, '0'));
  const isReal = new Date(Date.UTC(2000, month, 0)).getUTCMonth() === month - 1
    && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate() && hour < 24 && minute < 60 && second < 60;
  if (!isReal) wrong('there is no such day or time');
  const zone = parts[8];
  let milliseconds;
  if (zone) {
    const [, sign, hours, minutes] = /([+-])(\d{2}):?(\d{2})/.exec(zone) ?? [null, '+', '0', '0'];
    const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
    milliseconds = utc(year, month, day, hour, minute, second) - offset * 60_000;
  } else {
    const local = new Date(2000, 0, 1, hour, minute, second);
    local.setFullYear(year, month - 1, day);
    milliseconds = local.getTime();
  }
  const exact = BigInt(milliseconds) * 1_000n + BigInt(micros);
  return new NestDate(Number.isSafeInteger(Number(exact)) ? Number(exact) : exact);
}

/** Date.UTC takes the years 0 to 99 for 1900 to 1999. */
function utc(year, month, day, hour, minute, second) {
  const date = new Date(Date.UTC(2000, 0, 1, hour, minute, second));
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime();
}

/** Whether two values are the same. */
export function isSame(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== typeof b) return a instanceof Double && a.value === b
    || b instanceof Double && b.value === a;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return a.length === b.length
    && a.every((byte, index) => byte === b[index]);
  return typeof a === 'object' && typeof b === 'object' && fieldText(a) === fieldText(b);
}
