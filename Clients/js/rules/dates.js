// Dates as text and as periods of the calendar, in UTC. A date is microseconds since 1970-01-01 00:00 UTC: a number, or
// a BigInt beyond 2^53-1. The calendar is the proleptic Gregorian one.

/** @typedef {number | bigint} Microseconds */

const DAY = 86_400_000_000;

/**
 * @param {Microseconds} microseconds
 * @returns {[days: number, rest: number]} Whole days, rounded down, and the microseconds above them.
 */
function split(microseconds) {
  if (typeof microseconds === 'number') {
    const rest = (microseconds % DAY + DAY) % DAY;
    return [(microseconds - rest) / DAY, rest];
  }
  const rest = (microseconds % BigInt(DAY) + BigInt(DAY)) % BigInt(DAY);
  return [Number((microseconds - rest) / BigInt(DAY)), Number(rest)];
}

/**
 * Days since 1970-01-01 to a date (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
 * @param {number} days
 * @returns {[year: number, month: number, day: number]}
 */
function civil(days) {
  const era = Math.floor((days + 719_468) / 146_097);
  const day = days + 719_468 - era * 146_097;
  const yearOfEra = Math.floor(
    (day - Math.floor(day / 1_460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365,
  );
  const dayOfYear = day - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const index = Math.floor((5 * dayOfYear + 2) / 153);
  const month = index < 10 ? index + 3 : index - 9;
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - Math.floor((153 * index + 2) / 5) + 1];
}

/** @param {number} year @param {number} month @param {number} day */
function dayNumber(year, month, day) {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
    - 719_468;
}

/** @param {number} number */
const two = (number) => String(number).padStart(2, '0');
/** @param {number} year */
const yearText = (year) => year >= 0 && year <= 9999 ? String(year).padStart(4, '0') : String(year);

/**
 * The period of the calendar that contains a moment, in UTC, as the key of a section names it.
 * @param {Microseconds} microseconds
 * @param {'year' | 'month' | 'day'} period
 * @returns {string} `2026`, `2026-11` or `2026-11-21`.
 */
export function periodText(microseconds, period) {
  const [year, month, day] = civil(split(microseconds)[0]);
  if (period === 'year') return yearText(year);
  return period === 'month' ? `${yearText(year)}-${two(month)}` : `${yearText(year)}-${two(month)}-${two(day)}`;
}

/**
 * A date as RFC 3339 text in UTC, to the microsecond: `2026-11-21T09:30:00.000000Z`.
 * @param {Microseconds} microseconds
 * @returns {string}
 */
export function dateText(microseconds) {
  const rest = split(microseconds)[1];
  const seconds = Math.floor(rest / 1_000_000);
  const time = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
  return `${periodText(microseconds, 'day')}T${time}.${String(rest % 1_000_000).padStart(6, '0')}Z`;
}

const day = '(\\d{4})-(\\d\\d)-(\\d\\d)';
const time = '(\\d\\d):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d{1,6}))?)?';
const zone = '([Zz]|([+-])(\\d\\d)(?::?(\\d\\d))?)';
const form = new RegExp(`^${day}(?:[Tt ]${time}${zone}?)?$`);

/**
 * Reads `2026-11-21`, with a time `T09:30`, `T09:30:15` or `T09:30:15.123456`, and a zone `Z` or `+01:00`. Without a
 * zone the time is UTC.
 * @param {string} text
 * @returns {Microseconds | undefined} Undefined if the text is not such a date.
 */
export function readDate(text) {
  const parts = form.exec(text);
  if (!parts) return undefined;
  const [year, month, date, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const fraction = Number((parts[7] ?? '').padEnd(6, '0'));
  const [zoneHours, zoneMinutes] = [Number(parts[10] ?? 0), Number(parts[11] ?? 0)];
  if (month < 1 || month > 12 || date < 1 || hour > 23 || minute > 59 || second > 59) return undefined;
  if (zoneHours > 23 || zoneMinutes > 59) return undefined;
  const days = dayNumber(year, month, date);
  if (civil(days)[1] !== month) return undefined;
  const east = (parts[9] === '-' ? -1 : 1) * (zoneHours * 3_600 + zoneMinutes * 60);
  const ofDay = (hour * 3_600 + minute * 60 + second - east) * 1_000_000 + fraction;
  const whole = BigInt(days) * BigInt(DAY) + BigInt(ofDay);
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
}
