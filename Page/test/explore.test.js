// What the explorer decides without a page: words of predicates, completion, addresses, values, copied texts.

import assert from 'node:assert/strict';
import test from 'node:test';
import './modules.js';
import { model as makeModel } from './models.js';
import { complete } from '../explore/complete.js';
import { faultRange, lex, placeOf } from '../explore/lex.js';
import { entityTree, labelOf, reachable, readPath, rightsOf, typeWords, withSubentities } from '../explore/paths.js';
import {
  columnsOf, EMPTY, pathOf, readQuery, requestOf, searchOf, sortedBy, sortOf,
} from '../explore/query.js';
import { isSettled, nextNames, unsettledWords } from '../explore/unsettled.js';

const { cellText, dateText, fieldText, isSame, moreText, readValue } = await import('../explore/values.js');
const { Double, LargeValue, NestDate, Reference, UUID } = await import('../../Clients/js/index.js');
const { Entity } = await import('../../Clients/js/client/requests.js');

const model = makeModel();
const thing = model.entity('Thing');
const words = (text) => lex(text).map(({ kind, text: word }) => `${kind}:${word}`);
/** What is offered where | stands. */
const offered = (text, entity = thing) =>
  complete(model, entity, text.replace('|', ''), text.indexOf('|')).entries.map((one) => one.text);

test('words of predicates, also of unfinished ones', () => {
  assert.deepEqual(words('ANY notes.text CONTAINS[cd] "a \\" b" AND due >= 2026-11-21 14:30'),
    ['quantifier:ANY', 'name:notes.text', 'compare:CONTAINS', 'folding:[cd]', 'text:"a \\" b"', 'join:AND', 'name:due',
      'compare:>=', 'literal:2026-11-21 14:30']);
  assert.deepEqual(words('NOT(parts.@count=3&&done==YES)||x!=-1e5'),
    ['not:NOT', 'mark:(', 'name:parts.@count', 'compare:=',
    'literal:3', 'join:&&', 'name:done', 'compare:==', 'literal:YES', 'mark:)', 'join:||', 'name:x', 'compare:!=',
      'literal:-1e5']);
  assert.deepEqual(words('name == "open'), ['name:name', 'compare:==', 'text:"open']);
  assert.deepEqual(words('whole. '), ['name:whole.']);
  assert.deepEqual(words('#no == é'), ['name:#no', 'compare:==', 'name:é']);
  for (const text of ['', '  ', '§§', '"', '😀 == 1', '[', '..']) {
    const all = lex(text);
    assert.ok(all.every(({ from, to, text: word }) => text.slice(from, to) === word && to > from), text);
  }
});

test('a column counts Unicode scalars, and the word there is marked', () => {
  assert.equal(placeOf('a😀b', 3), 3);
  assert.deepEqual(faultRange('name == Ann', 9), { from: 8, to: 11 });
  assert.deepEqual(faultRange('(name == "Ann"', 15), { from: 13, to: 14 });
  assert.deepEqual(faultRange('', 1), { from: 0, to: 1 });
});

test('completion offers properties, then operators, then values, then more conditions', () => {
  assert.ok(offered('|').includes('name') && offered('|').includes('SELF') && offered('|').includes('ANY '));
  assert.deepEqual(offered('na|'), ['name']);
  assert.deepEqual(offered('name |').slice(0, 2), ['CONTAINS[cd] ""', 'BEGINSWITH[cd] ""']);
  assert.deepEqual(offered('name BEG|'), ['BEGINSWITH[cd] ""']);
  assert.deepEqual(offered('done |'), ['== YES', '== NO']);
  assert.deepEqual(offered('done == |'), ['YES', 'NO']);
  assert.deepEqual(offered('done == Y|'), ['YES']);
  assert.ok(offered('due > t|').includes('today'));
  assert.ok(offered('due |').includes('== nil') && !offered('name |').includes('== nil'),
    'nil only where there may be none');
  assert.deepEqual(offered('done == YES |'), ['AND ', 'OR ']);
  assert.ok(offered('done == YES AND |').includes('weight'));
  assert.deepEqual(offered('SELF |')[0], 'IN SUBTREE()');
  assert.ok(offered('(name == "a" OR |').includes('price'));
  assert.deepEqual(offered('due == date("2026-01-01") |'), ['AND ', 'OR ']);
  assert.deepEqual(offered('count IN {1, 2} |'), ['AND ', 'OR ']);
});

test('completion follows relationships', () => {
  assert.deepEqual(offered('whole.na|'), ['name']);
  assert.ok(offered('whole.whole.|').includes('done'));
  assert.deepEqual(offered('parts.@|'), ['@count']);
  assert.ok(offered('ANY notes.|').includes('text'));
  assert.ok(offered('parts.@count |').includes('>= '));
  assert.deepEqual(offered('name.|'), []);
  assert.deepEqual(offered('nothing.|'), []);
  assert.ok(offered('siz|', model.entity('Tool')).includes('size'), 'of the entity below');
});

test('completion keeps out of texts, and replaces the word at the caret', () => {
  assert.deepEqual(offered('name == "do|ne"'), []);
  assert.deepEqual(complete(model, thing, 'name == "x" AND do == YES', 18), {
    ...complete(model, thing, 'name == "x" AND do == YES', 18), from: 16, to: 18 });
  const inside = complete(model, thing, 'whole.name', 8);
  assert.deepEqual([inside.from, inside.to, inside.entries[0].text], [6, 10, 'name']);
  assert.deepEqual(offered('done|'), [], 'nothing more to say');
});

test('paths have the type of what they lead to', () => {
  const type = (path) => readPath(model, thing, path)?.type ?? null;
  assert.deepEqual(['name', 'whole', 'whole.price', 'parts.@count', 'parts.@sum.price', 'parts.@avg.count',
    'parts.@avg.weight',
    'parts.@max.due', 'parts', 'name.x', 'parts.@sum', 'parts.@sum.whole', 'nothing'].map(type),
  ['string', 'object', 'decimal', 'integer', 'decimal', 'decimal', 'double', 'date', null, null, null, null, null]);
  assert.equal(labelOf(model.entity('Tool')).name, 'name');
  assert.equal(labelOf(model.entity('Note')).name, 'text');
  assert.equal(typeWords(model, thing.property('parts')), '→ many Thing');
  assert.deepEqual(entityTree(model).map(({ entity, depth }) => `${depth}${entity.name}`),
    ['0Loan', '0Note', '0Tag', '0Thing', '1Tool']);
  assert.deepEqual(withSubentities(model, thing).map(({ name }) => name), ['Thing', 'Tool']);
});

test('an address is read as it was written', () => {
  for (const query of [
    EMPTY, { where: 'name == "a&b=c#d 100%"', sort: '-name:cd,count' },
    { section: 'year(due)', columns: ['name', 'parts.@count'] },
    { totals: ['count', 'sum(price)'], of: { entity: 'Thing', id: 8, relationship: 'parts' } },
  ]) {
    const whole = { ...EMPTY, ...query, entity: 'Thing' };
    assert.deepEqual(readQuery('Thing', searchOf(whole)), whole);
    assert.deepEqual(readQuery('Thing', new URL(pathOf(whole, 3), 'http://a').search), whole);
  }
  assert.equal(pathOf({ ...EMPTY, entity: 'Thing' }, 3), '/explore/Thing/3');
  assert.equal(readQuery('Thing', '?of=Thing.x.parts&columns=,,').of, null);
});

test('a click on a head sorts up, down, and not; with Shift beside the others', () => {
  const click = (text, path, isMore = false) => sortedBy(model, thing, text, path, isMore);
  assert.equal(click('', 'name'), 'name:cd');
  assert.equal(click('name:cd', 'name'), '-name:cd');
  assert.equal(click('-name:cd', 'name'), '');
  assert.equal(click('name:cd', 'count'), 'count');
  assert.equal(click('name:cd', 'count', true), 'name:cd,count');
  assert.equal(click('name:cd,count', 'name', true), '-name:cd,count');
  assert.equal(click('-name:cd,count', 'name', true), 'count');
  assert.equal(sortOf({ ...EMPTY, section: 'year(due)', sort: '-name:cd' }), 'due,-name:cd');
  assert.equal(sortOf({ ...EMPTY, section: 'year(due)', sort: 'name,-due' }), '-due,name');
  assert.equal(sortOf({ ...EMPTY, section: 'year(due)' }), 'due');
});

test('a query becomes a request with the labels of what its columns lead to', () => {
  const base = new Entity(model, thing);
  const request = requestOf(model, base, null, {
    ...EMPTY, entity: 'Thing', where: 'done == NO', section: 'day(due)', columns: ['name', 'whole', 'parts.@count'],
    totals: ['count'],
  });
  assert.deepEqual(request.names, ['name', 'whole', 'parts.@count', 'whole.name', '@entity']);
  assert.deepEqual([request.predicates, request.totalTexts, request.sectionKey.function, request.sort.length],
    [['done == NO'], ['count'], 'day', 1]);
  assert.deepEqual(columnsOf(model.entity('Note'), EMPTY), ['text', 'thing']);
  assert.equal(columnsOf(thing, EMPTY)[0], 'name');
  const parts = requestOf(model, base, base,
    { ...EMPTY, entity: 'Thing', of: { entity: 'Thing', id: 4, relationship: 'parts' } });
  assert.equal(parts.source.object, 4);
  assert.throws(() => requestOf(model, base, null, { ...EMPTY, entity: 'Thing', columns: ['nothing'] }),
    { code: 'UNKNOWN_PROPERTY' });
});

test('what a field shows of a value, it accepts unchanged', () => {
  const cases = [
    ['string', ' a\nb '], ['string', ''], ['integer', 5], ['integer', 2n ** 62n], ['integer16', -7], ['double', 0.1],
    ['double', 3],
    ['decimal', '0.10'], ['decimal', '-12345678901234567890.5'], ['boolean', true], ['boolean', false],
    ['date', new NestDate(1_764_144_000_000_001)], ['date', new NestDate(-1)], ['date', new NestDate(0)],
    ['uuid', UUID.from('0123456789abcdef0123456789abcdef')], ['data', Uint8Array.of(0, 255, 7)],
    ['data', new Uint8Array(0)],
    ['uri', 'https://a.example/?b'], ['float', 1.5],
  ];
  for (const [type, value] of cases) {
    const read = readValue({ type, isOptional: false }, fieldText(value), 0);
    assert.ok(isSame(read, value), `${type} ${fieldText(value)} is read as ${fieldText(read)}`);
  }
  assert.equal(readValue({ type: 'integer', isOptional: true }, ' '), null);
  assert.ok(readValue({ type: 'double', isOptional: true }, '3') instanceof Double);
});

test('dates are those of this machine, or have a zone', () => {
  const read = (text) => readValue({ type: 'date', isOptional: true }, text, Date.UTC(2026, 10, 26, 12));
  assert.equal(read('2026-11-26T09:30Z').toString(), '2026-11-26T09:30:00.000Z');
  assert.equal(read('2026-11-26 09:30:01.000250+01:00').toString(), '2026-11-26T08:30:01.000250Z');
  assert.equal(dateText(read('2026-11-26 09:30')), '2026-11-26 09:30');
  assert.equal(dateText(read('0050-01-02')), '0050-01-02 00:00');
  assert.equal(read('0050-01-02 00:00Z').toString(), '0050-01-02T00:00:00.000Z');
  assert.equal(read('now').toString(), '2026-11-26T12:00:00.000Z');
  assert.ok(read('tomorrow').microseconds - read('today').microseconds >= 82_800_000_000);
});

test('what is no value is refused with words', () => {
  for (const [type, text, expected] of [
    ['integer', '1.5', /whole/], ['integer16', '32768', /-32768 to 32767/], ['integer', '9223372036854775808', /from/],
    ['double', 'x', /number/], ['double', '1e999', /large/], ['decimal', '1e5', /decimal/],
    ['decimal', '9'.repeat(39), /38/],
    ['boolean', 'maybe', /yes or no/], ['date', '2026-02-30', /no such day/], ['date', '26.11.2026', /write a date/],
    ['date', '2026-11-26 24:00', /no such/], ['uuid', '12', /32/], ['data', 'abc', /base64/], ['integer', '', /needed/],
  ]) assert.throws(() => readValue({ type, isOptional: false }, text),
    (error) => error instanceof RangeError && expected.test(error.message), `${type} ${text}`);
});

test('cells show values for people', () => {
  assert.deepEqual([null, true, false, 'a', 12n, Uint8Array.of(1), new Uint8Array(3), new Reference(7)].map(cellText),
    ['', 'yes', 'no', 'a', '12', '1 byte', '3 bytes', '#7']);
  assert.equal(moreText(new NestDate(0)), '1970-01-01T00:00:00.000Z (UTC)');
  assert.equal(moreText(Uint8Array.of(1, 255)), '01 ff');
  assert.equal(moreText('a'), null);
  const large = new LargeValue(Uint8Array.from({ length: 48 }, (_, at) => (at === 7 || at === 15 ? 1 : at < 16 ? 0 : 0xab)));
  assert.deepEqual([cellText(large), moreText(large)], ['1 byte', `SHA-256 ${'ab'.repeat(32)}`]);
  assert.deepEqual([isSame(large, large), isSame(large, null), isSame(large, new Uint8Array(1))], [true, false, false]);
  assert.throws(() => readValue({ type: 'largeText', isOptional: true }, 'a'), { message: 'nestc put sends a large value' });
});

test('a confined token sees its hierarchy, and may what changes nothing outside', () => {
  const confinement = { root: 1, entity: thing.number, relationship: thing.find('parts').number };
  const part = reachable(model, confinement);
  assert.deepEqual(part.entities.map(({ name }) => name), ['Thing', 'Tool']);
  assert.deepEqual(part.entity('Tool').relationships.map(({ name }) => name), ['parts', 'whole']);
  assert.equal(part.entity('Thing').find('notes'), undefined);
  assert.equal(part.find(thing.number).name, 'Thing');
  assert.deepEqual(entityTree(part).map(({ entity }) => entity.name), ['Thing', 'Tool']);
  assert.equal(reachable(model, null), model);
  assert.equal(rightsOf(model, confinement).canDelete, false, 'its notes are outside');
  assert.equal(rightsOf(model, confinement).canInsert(thing), true);
  assert.equal(rightsOf(model, confinement).canInsert({ uniquenessConstraints: [[1]] }), false);
  assert.equal(rightsOf(model, null).canDelete, true);
});

test('what is not settled is said in words', () => {
  const settled = { pending: 0, undecided: 0, isCurrent: true, status: 'live' };
  const said = (changes) => {
    const words = unsettledWords({ ...settled, ...changes });
    assert.equal(isSettled({ ...settled, ...changes }), words === '');
    return words;
  };
  assert.equal(said({}), '');
  assert.equal(said({ pending: 1 }), '1 change of yours is not stored yet');
  assert.equal(said({ pending: 2, undecided: 1 }),
    '2 changes of yours are not stored yet; 1 row may still change when the server answers');
  assert.equal(said({ isCurrent: false, status: 'disconnected', undecided: 12 }),
    'no connection: what is shown may be old; 12 rows may still change when the server answers');
  assert.equal(said({ isCurrent: false, status: 'live' }), 'the rows are being read anew');
});

test('undo and redo have the names of what waits, before those that the server knows', () => {
  const state = { undo: { name: 'old' }, redo: { name: 'older' } };
  const wrote = (name) => ({ kind: 'transaction', name });
  const next = (...pending) => Object.values(nextNames(pending, state));
  assert.deepEqual(Object.values(nextNames([], null)), [null, null]);
  assert.deepEqual(next(), ['old', 'older']);
  assert.deepEqual(next(wrote('a')), ['a', null], 'a write leaves nothing to do again');
  assert.deepEqual(next(wrote('a'), wrote(null)), ['a change', null]);
  assert.deepEqual(next(wrote('a'), wrote('b'), { kind: 'undo', name: 'b' }), ['a', 'b']);
  assert.deepEqual(next(wrote('a'), { kind: 'undo', name: 'a' }, { kind: 'redo', name: null }), ['a', null]);
  assert.deepEqual(next({ kind: 'redo', name: null }), ['older', 'older'], 'what is behind it is not known');
});
