// What the vectors do not show of models, results, chunks and predicates: names that JavaScript gives a meaning, states
// that share their rows, streams of several chunks.
import { fromHex, toHex } from '../../wire/bytes.js';
import { ChunkReader, ChunkWriter } from '../../wire/chunks.js';
import { Digest } from '../../wire/hash.js';
import { decode, encode } from '../../wire/messages.js';
import { decodeModel, Model, objectID, valueFor } from '../../wire/model.js';
import { decodePredicate, encodePredicate } from '../../wire/predicate.js';
import { applyDiff, DiffMismatch, digest, SnapshotAssembler } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { Double, NestDate, Reference, UUID } from '../../wire/values.js';
import { bytesOf, fail, randomOf, refused, same } from './check.js';

// A model whose names are those of JavaScript's own properties.
function model(test) {
  const names = ['__proto__', 'constructor', 'then', 'depth', 'hasOwnProperty', 'toString'];
  const attribute = (name, i) => ({ number: i + 1, name, type: 'string', default: null, minimum: null, maximum: null });
  const entity = {
    number: 1, name: '__proto__', attributes: names.map(attribute), relationships: [], uniquenessConstraints: [],
    indexes: [], parent: null, label: null, root: null,
  };
  const made = decodeModel(encode('model', { entities: [entity] }));

  test('properties may have names that JavaScript uses itself', () => {
    same(names.map((name) => made.entity('__proto__').property(name).number), [1, 2, 3, 4, 5, 6]);
    for (const name of ['isPrototypeOf', 'valueOf', 7]) {
      same([made.find(name), made.entity(1).find(name)], [undefined, undefined]);
    }
    same(refused('UNKNOWN_PROPERTY', () => made.entity(1).property('valueOf')).message.includes('valueOf'), true);
    refused('UNKNOWN_ENTITY', () => made.entity('toString'));
  });

  test('a model cannot be changed', () => {
    const one = made.entity(1);
    const parts = [made, made.entities, one, one.attributes, one.property('then')];
    same(parts.map((part) => Object.isFrozen(part)), parts.map(() => true));
    same(new Model('00', []).entities, []);
  });

  test('values are converted by the type of the attribute', () => {
    const of = (type) => ({ name: 'x', type });
    same(valueFor(of('double'), 1), new Double(1));
    same(valueFor(of('float'), -0), new Double(-0));
    same([valueFor(of('integer'), 5n), valueFor(of('integer16'), -0), valueFor(of('string'), null)], [5n, 0, null]);
    same([valueFor(of('decimal'), 1.5), valueFor(of('decimal'), '1e400'), valueFor(of('decimal'), 2n ** 70n)],
      ['1.5', '1e400', String(2n ** 70n)]);
    same(valueFor(of('date'), new Date(1)), new NestDate(1000));
    same(valueFor(of('uuid'), '00112233-4455-6677-8899-aabbccddeeff'), new UUID('00112233445566778899aabbccddeeff'));
    same(valueFor({ name: 'owner', destination: 1 }, { id: 5 }), new Reference(5));
    for (const [type, value] of [['string', 5], ['integer', 1.5], ['integer', '5'], ['boolean', 1], ['date', 5],
      ['double', '1'], ['double', NaN], ['decimal', NaN], ['data', 'x'], ['uuid', 'x'], ['uri', 1],
      ['integer', 2 ** 53]]) {
      refused('INVALID', () => valueFor(of(type), value), `${type} ${value}`);
    }
    for (const id of [0, -1, 1.5, '5', null, 2 ** 53, {}]) refused('INVALID', () => objectID(id));
  });
}

function results(test) {
  const countOf = (sections) => sections.reduce((sum, [, n]) => sum + n, 0);
  const start = { row: 0, section: 0, rowInSection: 0 };
  const head = (sections, more) => ({
    reason: 'first', revision: 7, sectionCount: sections.length,
    sections: sections.map(([key, rowCount]) => ({ ...sectionKey(key), rowCount })),
    position: { total: countOf(sections), sectionTotal: sections.length, start, anchor: null },
    ...more,
  });
  const rows = (from, count) => Array.from({ length: count }, (_, i) => ({ id: from + i, values: ['row'] }));
  const whole = (sections, cut) => {
    const total = countOf(sections);
    const assembler = new SnapshotAssembler(head(sections), [1]);
    for (let at = 0; at < total; at += cut) assembler.addRows(rows(1 + at, Math.min(cut, total - at)));
    return assembler.finish(false);
  };

  test('rows run through the sections wherever frames are cut', () => {
    const sections = [['A', 3], ['B', 0], ['C', 1], ['D', 5]];
    for (const cut of [1, 2, 3, 4, 9]) {
      const state = whole(sections, cut);
      same(state.sections.map(({ key, rows: of }) => [key, of.map(({ id }) => id)]),
        [['A', [1, 2, 3]], ['B', []], ['C', [4]], ['D', [5, 6, 7, 8, 9]]]);
      same([state.revision, state.projection], [7, [1]]);
    }
  });

  test('a snapshot with too many or too few rows or sections is refused', () => {
    const two = () => new SnapshotAssembler(head([['', 2]]), [1]);
    refused('MALFORMED', () => two().addRows(rows(1, 3)));
    refused('MALFORMED', () => {
      const assembler = two();
      assembler.addRows(rows(1, 1));
      assembler.finish(false);
    });
    refused('MALFORMED', () => two().addSections([{ ...sectionKey('B'), rowCount: 0 }]));
    refused('MALFORMED', () => {
      const assembler = new SnapshotAssembler(head([['A', 1]], { sectionCount: 2 }), [1]);
      assembler.addRows(rows(1, 1));
      assembler.addSections([{ ...sectionKey('B'), rowCount: 1 }]);
    });
    refused('MALFORMED', () => new SnapshotAssembler(head([['A', 1]], { sectionCount: 2 }), [1]).finish(false));
    refused('MALFORMED', () => {
      const assembler = new SnapshotAssembler(head([['A', 1]], { sectionCount: 2 }), [1]);
      assembler.addSections([{ ...sectionKey('B'), rowCount: 1 }]);
    });
  });

  test('the digest of a snapshot is checked', () => {
    const assembler = new SnapshotAssembler(head([['', 2]], { digest: '0bf629dbb969a574' }), [1]);
    assembler.addRows(rows(2, 2));
    same(assembler.finish().sections[0].rows.length, 2);
    const other = new SnapshotAssembler(head([['', 2]], { digest: '0de4cfd267c80b08' }), [1]);
    other.addRows(rows(2, 2));
    same(refused('PROTOCOL', () => other.finish()).reason, 'digest');
  });

  const none = {
    deletedRows: [], deletedSections: [], insertedSections: [], moves: [], insertedRows: [], updates: [],
    position: null,
  };

  test('a diff leaves the old state and what it does not touch as they are', () => {
    const old = whole([['A', 3], ['B', 2]], 9);
    const updates = [{ at: [0, 1], values: [{ property: 1, value: 'new' }] }];
    const next = applyDiff(old, { ...none, from: 7, to: 9, total: 5, updates }, false);
    const [[first, second], [was, before]] = [next.sections[0].rows, old.sections[0].rows];
    same(next.sections[1] === old.sections[1], true);
    same([first === was, second.values, before.values], [true, ['new'], ['row']]);
    same([next.revision, old.revision], [9, 7]);
  });

  test('a diff of a change of request may end the window, another one keeps it', () => {
    const old = { ...whole([['', 1]], 1), position: { total: 9 } };
    same(applyDiff(old, { ...none, from: 7, to: 8, total: 1 }, false).position, { total: 9 });
    same(applyDiff(old, { ...none, from: 7, to: 7, total: 1 }, false).position, null);
    same(applyDiff(old, { ...none, from: 5, to: 8, total: 1, position: { total: 3 } }, false).position, { total: 3 });
  });

  test('random diffs lead to what a plain simulation of them leads to', () => {
    const random = randomOf(20);
    for (let round = 0; round < 300; round++) randomDiff(random, none);
  });

  test('coordinates that are no numbers of rows are a mismatch, not a crash', () => {
    const old = whole([['', 2]], 2);
    for (const change of [
      { moves: [{ from: [5, 0], to: [0, 0] }] }, { updates: [{ at: [1, 0], values: [] }] },
      { insertedRows: [{ at: [4, 0], id: 9, values: ['x'] }] }, { deletedSections: [3] },
      { insertedSections: [{ at: 5, key: 'x' }] },
    ]) {
      try {
        applyDiff(old, { ...none, from: 7, to: 8, total: 2, ...change }, false);
        fail(`${JSON.stringify(change)} was applied`);
      } catch (error) {
        same([error instanceof DiffMismatch, error.reason], [true, 'coordinates'], error.message);
      }
    }
  });
}

// A state and another one; the diff between them, with any moves; then the other one again.
function randomDiff(random, none) {
  const sectionCount = 1 + random(4);
  const state = (ids) => {
    const sections = Array.from({ length: sectionCount }, (_, i) => ({ ...sectionKey('ABCD'[i]), rows: [] }));
    for (const id of ids) sections[random(sectionCount)].rows.push({ id, values: [id] });
    return { revision: 1, projection: [1], sections, position: null };
  };
  const shuffled = (ids) => ids.map((id) => [random(1e6), id]).sort((a, b) => a[0] - b[0]).map(([, id]) => id);
  const all = Array.from({ length: 30 }, (_, i) => i + 1);
  const old = state(shuffled(all).slice(0, random(30)));
  const next = state(shuffled(all).slice(0, random(30)));
  const places = ({ sections }) => new Map(sections.flatMap(({ rows }, s) => rows.map(({ id }, i) => [id, [s, i]])));
  const [before, after] = [places(old), places(next)];
  const byPlace = (a, b) => (a.at ?? a.to)[0] - (b.at ?? b.to)[0] || (a.at ?? a.to)[1] - (b.at ?? b.to)[1];
  const diff = {
    ...none, from: 1, to: 2, total: after.size, digest: digest(next.sections),
    deletedRows: [...before].filter(([id]) => !after.has(id)).map(([id, at]) => ({ at, id, reason: 'deleted' }))
      .sort(byPlace),
    moves: [...before].filter(([id]) => after.has(id)).map(([id, from]) => ({ from, to: after.get(id) })).sort(byPlace),
    insertedRows: [...after].filter(([id]) => !before.has(id)).map(([id, at]) => ({ at, id, values: [id] }))
      .sort(byPlace),
  };
  const sent = decode('diff', encode('diff', diff), { width: 1 });
  const got = applyDiff(old, sent);
  const ids = ({ sections }) => sections.map(({ rows }) => rows.map(({ id }) => id));
  same(ids(got), ids(next));
}

// The digest as protocol.md defines it, in BigInt; and the hash of a key with which a row has a given number z.
const [word, M, B] = [(1n << 64n) - 1n, (1n << 61n) - 1n, 0x0c9b1d3f5a276e85n];
const factors = [0x9e3779b97f4a7c15n, 0xbf58476d1ce4e5b9n, 0x94d049bb133111ebn];
const expectedDigest = (rows) => rows.reduce((sum, [hash, id]) => {
  let z = hash ^ BigInt(id) * factors[0] & word;
  z = (z ^ z >> 30n) * factors[1] & word;
  z = (z ^ z >> 27n) * factors[2] & word;
  z ^= z >> 31n;
  return (sum * B + z % (M - 1n) + 1n) % M;
}, 0n);
const inverse = (factor) => {
  let x = factor;
  for (let i = 0; i < 6; i++) x = x * (2n - factor * x) & word;
  return x;
};
const unshifted = (z, by) => {
  let x = z;
  for (let i = 0; i < 3; i++) x = z ^ x >> by;
  return x;
};
const hashFor = (z, id) => {
  let x = unshifted(z, 31n);
  x = unshifted(x * inverse(factors[2]) & word, 27n);
  x = unshifted(x * inverse(factors[1]) & word, 30n);
  return x ^ BigInt(id) * factors[0] & word;
};

function digests(test) {
  const check = (rows) => {
    const sum = new Digest();
    for (const [hash, id] of rows) sum.add({ high: Number(hash >> 32n), low: Number(hash & 0xffffffffn) }, id);
    same(String(sum), expectedDigest(rows).toString(16).padStart(16, '0'), `the digest of ${rows}`);
  };
  const random = randomOf(3);

  test('digests are those of protocol.md for any ids and keys', () => {
    for (let round = 0; round < 200; round++) {
      check(Array.from({ length: random(20) }, () => {
        const half = () => BigInt(random(4294967296));
        return [half() << 32n | half(), 1 + random(2 ** 21) * 2 ** random(33)];
      }));
    }
  });

  test('digests are right where numbers wrap around', () => {
    const edges = [0n, 1n, M - 2n, M - 1n, M, M + 1n, 2n * M, 2n * M + 1n, 7n * (M + 1n) + M, word, word - 1n,
      word - 14n, word - 15n, word - 16n];
    for (const z of edges) {
      same(expectedDigest([[hashFor(z, 7), 7]]), (z % (M - 1n) + 1n) % M, 'what the test itself makes');
      for (const next of edges) check([[hashFor(z, 7), 7], [hashFor(next, 8), 8], [hashFor(z, 9), 9]]);
    }
    // What the next row must be for the digest to come out at an edge of the modulus.
    for (const target of [0n, 1n, 1n << 21n, 1n << 22n, M - 1n, M - 2n]) {
      for (let round = 0; round < 50; round++) {
        const first = [BigInt(random(4294967296)), 1 + random(1000)];
        const r = ((target - expectedDigest([first]) * B) % M + M) % M;
        for (const more of r > 0n ? [[], [[3n, 4]]] : []) check([first, [hashFor(r - 1n, 5), 5], ...more]);
      }
    }
  });
}

function chunks(test) {
  test('an upload of many rows is cut into chunks, which go on where the one before ended', () => {
    const writer = new ChunkWriter(3);
    const rows = Array.from({ length: 20000 }, (_, i) => ({
      depth: i === 0 ? 0 : 1 + i % 7 % 3,
      values: [`title ${i} ${'x'.repeat(i % 100)}`, i % 3 === 0, i % 2 ? new Uint8Array([i]) : null],
    }));
    for (let i = 1; i < rows.length; i++) rows[i].depth = Math.min(rows[i].depth, rows[i - 1].depth + 1);
    const bodies = rows.map((row) => writer.add(row)).concat(writer.finish()).filter((body) => body);
    same([bodies.length > 3, writer.rowCount, bodies.every(({ length }) => length < 330000)], [true, 20000, true]);
    const reader = new ChunkReader(3);
    same(bodies.flatMap((body) => reader.read(body)), rows.map((row) => ({ id: null, ...row })));
    same(writer.finish(), null);
  });

  test('a row that is no row of a tree is refused', () => {
    refused('INVALID', () => new ChunkWriter(0).add({ depth: 1, values: [] }));
    refused('INVALID', () => new ChunkWriter(1).add({ depth: 0, values: [] }));
    const writer = new ChunkWriter(0);
    writer.add({ depth: 0, values: [] });
    refused('INVALID', () => writer.add({ depth: 2, values: [] }));
    refused('INVALID', () => writer.add({ depth: -1, values: [] }));
    refused('UNSUPPORTED', () => new ChunkReader(1).read(fromHex('0128b52ffd')));
  });
}

function predicates(test) {
  test('a predicate is the same after it was read and written', () => {
    const bytes = bytesOf('03 020000010109030184 6d696c6b 020000010301000101 0402');
    same(toHex(encodePredicate(decodePredicate(bytes))), toHex(bytes));
    same(decodePredicate(fromHex('00')), []);
    const program = [{
      quantifier: 1, path: { steps: [3], leaf: 1, property: 2 }, operator: 'IN', folding: 0,
      values: [new Double(1), 1, -0],
    }];
    same(decodePredicate(encodePredicate(program))[0].values, [new Double(1), 1, new Double(-0)]);
  });
}

/** Runs the tests; `vectors` is not needed. */
export function run(vectors, test) {
  for (const suite of [model, results, digests, chunks, predicates]) suite(test);
}
