// What the shell decides without a page: numbers, times, names.

import assert from 'node:assert/strict';
import test from 'node:test';
import './modules.js';
import {
  ageText, bytesText, clockText, count, labelText, momentText, numberText, shortAge, shortNumber, spanText, whenText,
} from '../shell/format.js';
import { COLOURS, colourOf, initials, personText } from '../shell/names.js';

const { valueText } = await import('../shell/values.js');
const { Double, NestDate, Reference, UUID } = await import('../../Clients/js/index.js');

test('numbers have separators, units and the right plural', () => {
  assert.deepEqual([numberText(1234567), numberText(2n ** 60n)], ['1,234,567', '1,152,921,504,606,846,976']);
  assert.deepEqual([count(0, 'row'), count(1, 'row'), count(2000, 'row'), count(1, 'query', 'queries'),
    count(3, 'query', 'queries')], ['0 rows', '1 row', '2,000 rows', '1 query', '3 queries']);
  assert.deepEqual([shortNumber(999), shortNumber(12_345), shortNumber(1_500_000)], ['999', '12.3K', '1.5M']);
});

test('sizes never show a unit that the next one replaces', () => {
  const cases = [[0, '0 B'], [999, '999 B'], [1_000, '1 KB'], [999_499, '999 KB'], [999_500, '1 MB'],
    [1_250_000, '1.25 MB'], [5n * 10n ** 12n, '5 TB'], [7e18, '7000 PB']];
  assert.deepEqual(cases.map(([bytes]) => bytesText(bytes)), cases.map(([, text]) => text));
});

test('time spans choose their unit', () => {
  const cases = [[0, '0 µs'], [999, '999 µs'], [999.6, '1 ms'], [1_250, '1.25 ms'], [999_600, '1 s'],
    [59_900_000, '59.9 s'], [59_960_000, '1 min'], [3_600_000_000, '1 h 0 min'], [5_460_000_000, '1 h 31 min']];
  assert.deepEqual(cases.map(([span]) => spanText(span)), cases.map(([, text]) => text));
});

test('ages are relative to now, in both directions, and dates beyond a week', () => {
  const now = new Date(2026, 10, 26, 12, 0, 0).getTime();
  const at = (seconds) => ageText(now + seconds * 1_000, now);
  assert.deepEqual([at(0), at(-4), at(-59), at(-60), at(-3_599), at(-3_600), at(-86_400), at(-6.9 * 86_400)],
    ['now', 'now', '59 seconds ago', '1 minute ago', '59 minutes ago', '1 hour ago', 'yesterday', '6 days ago']);
  assert.deepEqual([at(3 * 86_400), at(-8 * 86_400)], ['in 3 days', '2026-11-18']);
  const short = (seconds) => shortAge(now - seconds * 1_000, now);
  assert.deepEqual([-3, 59, 60, 3_600, 2 * 86_400].map(short), ['0 s', '59 s', '1 min', '1 h', '2 days']);
  assert.equal(whenText(now - 1_000, now), clockText(now - 1_000));
  assert.equal(whenText(now - 86_400_000, now), momentText(now - 86_400_000).slice(0, 16));
});

test('texts of others stay in one line and cannot hide, reorder or control anything', () => {
  assert.equal(labelText('a\nb\tc'), 'a b c');
  assert.equal(labelText('\u202egnp.exe\u2066\u200b\u0007\u001b[31m'), '\ufffdgnp.exe\ufffd\ufffd\ufffd\ufffd[31m');
  assert.equal(labelText('x'.repeat(300)).length, 201);
  assert.equal(labelText('Grüße 你好 👋'), 'Grüße 你好 👋');
});

test('a person has initials, a colour, and a mark if the name is a claim', () => {
  assert.deepEqual(['Ann Lee', 'ann', 'ann.lee@example.org', '', 'Ö', '你好', '👋🏽 x'].map(initials),
    ['AL', 'AN', 'AO', '?', 'Ö', '你好', '👋X']);
  for (const name of ['Ann', '', '👋', 7, 'x'.repeat(1_000)]) {
    const colour = colourOf(name);
    assert.ok(Number.isInteger(colour) && colour >= 0 && colour < COLOURS, `${name}: ${colour}`);
    assert.equal(colour, colourOf(name));
  }
  assert.ok(new Set(Array.from({ length: 100 }, (_, index) => colourOf(`session ${index}`))).size === COLOURS);
  assert.deepEqual([
    personText({ user: 'Ann', userClaimed: true }), personText({ user: 'Ann', userClaimed: false }),
    personText({ user: null, sessionNumber: 3 }), personText({ user: null }),
    personText({ user: null, isMine: true }), personText({ user: 'Ann', userClaimed: true, isMine: true }),
  ], ['~Ann', 'Ann', 'session 3', 'unknown', 'you', 'you (~Ann)']);
});

test('every kind of value has a text in one line', () => {
  assert.deepEqual([
    null, true, false, 'Milk', 'x'.repeat(200), 5, 2n ** 60n, 1.5, new Double(2), new Reference(7), new Uint8Array(12),
    UUID.from('00112233-4455-6677-8899-aabbccddeeff'), NestDate.from(new Date(2026, 0, 2, 3, 4, 5)),
  ].map(valueText), [
    'nothing', 'yes', 'no', '“Milk”', `“${'x'.repeat(120)}…”`, '5', '1,152,921,504,606,846,976', '1.5', '2', '#7',
    '12 B of data', '00112233-4455-6677-8899-aabbccddeeff', '2026-01-02 03:04:05',
  ]);
});
