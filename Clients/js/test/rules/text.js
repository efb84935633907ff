// Folding, the order of text, LIKE, decimals and dates, without vectors.

import { compareText, fold, likePattern } from '../../rules/text.js';
import { decimalKey } from '../../rules/decimals.js';
import { dateText, periodText, readDate } from '../../rules/dates.js';
import { same } from './same.js';

const utf8 = new TextEncoder();

/** The order of two texts by their UTF-8 bytes, as the protocol defines it. */
function byBytes(a, b) {
  const [x, y] = [utf8.encode(a), utf8.encode(b)];
  const index = x.findIndex((byte, at) => byte !== y[at]);
  return index < 0 ? x.length - y.length : x[index] - (y[index] ?? -1);
}

/** LIKE by trying everything: slow, and short enough to be right. */
function likeNaively(pattern, text) {
  if (pattern.length === 0) return text.length === 0;
  const [first, ...rest] = pattern;
  if (first === '*') return likeNaively(rest, text) || text.length > 0 && likeNaively(pattern, text.slice(1));
  if (text.length === 0) return false;
  if (first === '\\' && rest.length) return rest[0] === text[0] && likeNaively(rest.slice(1), text.slice(1));
  return (first === '?' || first === text[0]) && likeNaively(rest, text.slice(1));
}

/** A small generator of numbers, the same for the same seed everywhere (mulberry32). */
export function generator(seed) {
  let state = seed;
  return (below) => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % below;
  };
}

export function run(_vectors, test) {
  test('a final sigma folds as any other sigma, whatever stands around it', () => {
    same(fold('ΟΔΟΣ', 1), 'οδοσ');
    same(fold('οδος', 1), 'οδοσ');
    same(fold('ΣΑΣ Σ', 1), 'σασ σ');
  });

  test('folding of case is idempotent, and uses the full mappings', () => {
    same(fold('ẞ', 1), 'ss');
    same(fold('Straße', 1), 'strasse');
    same(fold('İ', 1), 'i̇');
    same(fold('ﬃ', 1), 'ffi');
    same(fold('K', 1), 'k');
    for (const text of ['ẞß', 'ΟΔΟΣς', 'İıI', 'ǅungla', 'ﬃŉ', 'ΰ', 'Ꮳꮳ']) {
      same(fold(fold(text, 1), 1), fold(text, 1), text);
    }
  });

  test('folding of diacritics decomposes and drops nonspacing marks only', () => {
    same(fold('Crème Brûlée', 2), 'Creme Brulee');
    same(fold('ёлка', 3), 'елка');
    same(fold('한', 2), '한'.normalize('NFD'));
    same(fold('ø', 2), 'ø');
    same(fold('Ж́', 3), 'ж');
    same(fold('ΐ', 3), 'ι');
  });

  test('text is ordered as its UTF-8 bytes are', () => {
    const texts = ['', 'a', 'ab', 'b', 'é', '\u{ff5e}', '\u{1f600}', '\u{1f601}', '\ue000', '\u{ffff}', 'a\u{10000}'];
    for (const a of texts) {
      for (const b of texts) same(Math.sign(compareText(a, b)), Math.sign(byBytes(a, b)), `${a} ${b}`);
    }
  });

  test('LIKE matches as trying everything does', () => {
    const random = generator(7);
    const letters = ['a', 'b', '😀', '*', '?', '\\'];
    const word = (length, kinds) => Array.from({ length: random(length) }, () => letters[random(kinds)]).join('');
    for (let round = 0; round < 4000; round += 1) {
      const [pattern, text] = [word(9, 6), word(9, round % 2 ? 6 : 3)];
      same(likePattern(pattern)(text), likeNaively([...pattern], [...text]), `${text} LIKE ${pattern}`);
    }
  });

  test('LIKE of long patterns goes past the bits of one word', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz'.repeat(4);
    same(likePattern(letters)(letters), true);
    same(likePattern(letters)(`${letters}a`), false);
    same(likePattern(`${letters}*z?${letters}`)(`${letters}zzz${letters}`), true);
    same(likePattern(`*${'a*'.repeat(100)}b`)('a'.repeat(20_000)), false);
  });

  test('the keys of decimals are in the order of the numbers', () => {
    const ascending = ['-99999999999999999999999999999999999999', '-1e3', '-12.51', '-12.5', '-1', '-0.5', '-0.05', '0',
      '0.0000000000000000000000000000000000001', '0.05', '0.5', '0.51', '1', '9', '10', '12.5',
      '12.50000000000000000001', '100', '99999999999999999999999999999999999999'];
    const keys = ascending.map(decimalKey);
    keys.forEach((key, index) => {
      keys.slice(index + 1).forEach((other) => same(key < other, true, ascending[index]));
    });
    const equals = [['1.50', '1.5'], ['-0', '0'], ['1e3', '1000'], ['+7', '7'], ['0.001e2', '0.1'], ['.5', '0.5']];
    for (const [a, b] of equals) {
      same(decimalKey(a), decimalKey(b), a);
    }
    for (const text of ['', '.', '-', 'e5', '1e', '1.2.3', 'NaN', ' 1', '0x1']) same(decimalKey(text), undefined, text);
  });

  test('dates have text and periods in UTC, before 1970 too', () => {
    same(dateText(0), '1970-01-01T00:00:00.000000Z');
    same(dateText(-1), '1969-12-31T23:59:59.999999Z');
    same(periodText(-1, 'year'), '1969');
    same(periodText(1_793_999_999_999_999, 'month'), '2026-11');
    same(periodText(-62_167_219_200_000_001n, 'day'), '-1-12-31');
    same(periodText(-62_167_219_200_000_000n, 'day'), '0000-01-01');
    same(periodText(9_223_372_036_854_775_807n, 'day'), '294247-01-10');
    same(periodText(-9_223_372_036_854_775_808n, 'day'), '-290308-12-21');
  });

  test('the text of a date is read exactly, or not at all', () => {
    same(readDate('1970-01-01'), 0);
    same(readDate('2026-11-21T09:30:15.1+01:00'), 1_795_249_815_100_000);
    same(readDate('9999-12-31T23:59:59.999999Z'), 253_402_300_799_999_999n);
    for (const microseconds of [0, -1, 1_795_249_815_100_001, -2_208_988_800_000_000, 253_402_300_799_999_999n]) {
      same(readDate(dateText(microseconds)), microseconds);
    }
    for (const text of ['2026-02-29', '2026-13-01', '2026-00-01', '2026-01-00', '2026-01-32', '2026-1-1',
      '2026-01-01T24:00', '2026-01-01T10', '2026-01-01T10:00+24:00', '2026-01-01Z', '2026-01-01T10:00:00.1234567', '',
      'now']) {
      same(readDate(text), undefined, text);
    }
  });
}
