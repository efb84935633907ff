// Numbers, sizes and times as people read them. Pure: each function gets the clock it needs.

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const plurals = new Intl.PluralRules('en');

/** An integer with separators: 12,345. BigInt too. */
export const numberText = (value) => whole.format(value);

/** At most three digits and a letter, for a place that is small: 12.3K. */
export const shortNumber = (value) => short.format(value);

/** `count(1, 'row')`: 1 row; `count(2, 'row')`: 2 rows. */
export const count = (value, one, many = `${one}s`) =>
  `${numberText(value)} ${plurals.select(Number(value)) === 'one' ? one : many}`;

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** Bytes with a unit, of which one has 1,000: 1.25 MB. */
export function bytesText(value) {
  let size = Number(value);
  let unit = 0;
  for (; size >= 999.5 && unit < SIZES.length - 1; unit += 1) size /= 1_000;
  return `${unit === 0 ? Math.round(size) : threeDigits(size)} ${SIZES[unit]}`;
}

/** A time span from microseconds: 85 µs, 1.25 ms, 3.2 s, 2 min. */
export function spanText(microseconds) {
  if (microseconds < 999.5) return `${Math.round(microseconds)} µs`;
  if (microseconds < 999_500) return `${threeDigits(microseconds / 1_000)} ms`;
  if (microseconds < 59_950_000) return `${threeDigits(microseconds / 1_000_000)} s`;
  const minutes = Math.round(microseconds / 60_000_000);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const threeDigits = (value) => String(Number(value.toPrecision(3)));

const AGES = [[60, 'second', 1], [3_600, 'minute', 60], [86_400, 'hour', 3_600], [604_800, 'day', 86_400]];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });

/**
 * How far a time is from now: now, 12 seconds ago, in 3 days; the date itself beyond a week. Both in milliseconds
 * since 1970.
 */
export function ageText(time, now) {
  const seconds = (time - now) / 1_000;
  if (Math.abs(seconds) < 5) return 'now';
  for (const [below, unit, size] of AGES) {
    if (Math.abs(seconds) < below) return relative.format(Math.trunc(seconds / size), unit);
  }
  return dateText(time);
}

/** The same in a narrow column: 12 s, 5 min, 3 h, 2 days. */
export function shortAge(time, now) {
  const seconds = Math.max(0, Math.round((now - time) / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

const two = (value) => String(value).padStart(2, '0');

/** A date of this place, such as 2026-11-26. Milliseconds since 1970. */
export function dateText(time) {
  const date = new Date(time);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The time of day of this place, such as 09:04:32. */
export function clockText(time) {
  const date = new Date(time);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
}

/** The time of day if it is today, else the date, too. Both in milliseconds since 1970. */
export const whenText = (time, now) => (dateText(time) === dateText(now) ? clockText(time)
  : `${dateText(time)} ${clockText(time).slice(0, 5)}`);

/** Date and time of this place, such as 2026-11-26 09:04:32. */
export const momentText = (time) => `${dateText(time)} ${clockText(time)}`;

/** The milliseconds of a NestDate; null of null. */
export const millisecondsOf = (date) => (date === null ? null : Number(date.microseconds) / 1_000);

/** Characters that have no width, change the direction of a text, or control a terminal. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** The longest text of a label that is shown. */
const LABEL_MAX = 200;

/** A text of others in one line that cannot hide or reorder what stands beside it. */
export function labelText(text) {
  const line = String(text).replace(UNSEEN, (character) => (/\s/.test(character) ? ' ' : '\ufffd'));
  return line.length > LABEL_MAX ? `${line.slice(0, LABEL_MAX)}…` : line;
}
