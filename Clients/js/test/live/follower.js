// Follows a list, and checks every event against what protocol.md promises, with code of its own.

import assert from 'node:assert/strict';
import { sectionKey } from '../../wire/rows.js';
import { Double, NestDate, Reference, UUID } from '../../wire/values.js';

const M = 2n ** 61n - 1n;
const B = 0x0c9b1d3f5a276e85n;
const u64 = (value) => BigInt.asUintN(64, value);

/** The digest of a shown state: protocol.md, section 12, word by word. `exact`: the key as a value of the protocol. */
export function plainDigest(sections, exact = (key) => key) {
  let digest = 0n;
  for (const { key, rows } of sections) {
    const { hash } = sectionKey(exact(key));
    const section = BigInt(hash.high) << 32n | BigInt(hash.low);
    for (const { id } of rows) {
      let z = section ^ u64(BigInt(id) * 0x9e3779b97f4a7c15n);
      z = u64((z ^ z >> 30n) * 0xbf58476d1ce4e5b9n);
      z = u64((z ^ z >> 27n) * 0x94d049bb133111ebn);
      z ^= z >> 31n;
      digest = (digest * B + z % (M - 1n) + 1n) % M;
    }
  }
  return digest.toString(16).padStart(16, '0');
}

/** A value as nestc prints it in JSON. */
export function asJSON(value) {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof NestDate) {
    const seconds = new NestDate(Math.floor(value.microseconds / 1000) * 1000).toDate().toISOString().slice(0, -5);
    return `${seconds}.${String(((value.microseconds % 1e6) + 1e6) % 1e6).padStart(6, '0')}Z`;
  }
  if (value instanceof UUID) return value.toString();
  if (value instanceof Reference) return value.id;
  if (value instanceof Double) return value.value;
  return Object.is(value, -0) ? 0 : value;
}

function sectionName(key) {
  if (typeof key === 'boolean') return key ? 'yes' : 'no';
  return key === null ? null : String(asJSON(key));
}

/** The rows of a state as `nestc fetch --json` prints them. */
export function asRows(state, hasSections) {
  return state.sections.flatMap((section) => section.rows.map((row) => ({
    id: row.id,
    ...(hasSections && { section: sectionName(section.key) }),
    ...Object.fromEntries(state.names.map((name) => [name, asJSON(row.get(name))])),
  })));
}

/** A diff on ids alone, entry by entry as the protocol's pseudo code: what the state after it must be. */
function applied(sections, diff) {
  const state = sections.map(({ key, rows }) => ({ key, ids: rows.map(({ id }) => id) }));
  const before = ([a, b], [c, d]) => a - c || b - d;
  const held = new Map();
  const leaving = [...diff.deletedRows, ...diff.moves.map((move) => ({ at: move.from, move }))]
    .sort((a, b) => before(b.at, a.at));
  for (const { at: [section, row], id, move } of leaving) {
    const [gone] = state[section].ids.splice(row, 1);
    if (move) held.set(move, gone);
    else assert.equal(gone, id, 'a deleted row is another one');
  }
  for (const index of [...diff.deletedSections].reverse()) {
    const [gone] = state.splice(index, 1);
    assert.equal(gone.ids.length, 0, 'a deleted section has rows');
  }
  for (const { at, key } of diff.insertedSections) state.splice(at, 0, { key, ids: [] });
  const arriving = [...diff.insertedRows, ...diff.moves.map((move) => ({ at: move.to, id: held.get(move) }))]
    .sort((a, b) => before(a.at, b.at));
  for (const { at: [section, row], id } of arriving) state[section].ids.splice(row, 0, id);
  return state;
}

const shape = (sections) => sections.map(({ key, rows, ids }) => (
  [String(asJSON(key)), ids ?? rows.map(({ id }) => id)]));

/**
 * Follows one list to its end. `exact`: the newest revision at which its state is exact. `log`: what it has seen last,
 * for the report of a failure.
 */
export class Follower {
  /** `isDouble`: whether the key of sections is a double, which a number does not show. */
  constructor(list, isDouble) {
    Object.assign(this, { list, isDouble, state: null, exact: 0, error: null, log: [] });
    this.done = this.#follow().catch((error) => { this.error = error; });
  }

  async #follow() {
    for await (const change of this.list) {
      const { type, diff, state, revision = state.revision } = change;
      this.log.push(`${type} ${diff ? `${diff.from}-${diff.to}` : revision}`);
      if (this.log.length > 20) this.log.shift();
      // The client would forgive itself, and ask for the state again.
      assert.notEqual(change.cause, 'mismatch', change.message);
      // Before the first rows there are no sections.
      if (state.names.length > 0) this.#check(change);
    }
  }

  #check({ state, diff, revision: exact = 0 }) {
    const { sections, request, revision } = state;
    const old = this.state;
    const held = this.exact;
    assert.ok(Object.isFrozen(state) && Object.isFrozen(sections) && sections.every(({ rows }) => Object.isFrozen(rows)
      && rows.every((row) => Object.isFrozen(row) && Object.isFrozen(row.values))), 'a state is frozen');
    assert.equal(state.count, sections.reduce((sum, { rows }) => sum + rows.length, 0));
    const keys = sections.map(({ key }) => `${typeof key} ${asJSON(key)}`);
    assert.equal(new Set(keys).size, keys.length, 'two sections have the same key');
    if (request.sectionKey === null) assert.deepEqual(keys, ['string '], 'a result without sections has one');
    if (old?.request === request) assert.ok(revision >= old.revision, `revision ${revision} after ${old.revision}`);
    if (diff) {
      assert.ok(old, 'a diff without a state');
      assert.equal(diff.to, revision);
      // The answer to a change leads from the old request to the new one at one revision.
      const fits = diff.from === diff.to ? held <= diff.to : diff.from <= held && held < diff.to;
      assert.ok(fits, `${diff.from} to ${diff.to}, held ${held}`);
      assert.deepEqual(shape(sections), shape(applied(old.sections, diff)), 'not the old state with the diff');
      assert.equal(state.count, diff.total);
      const exactKey = (key) => (this.isDouble(request.sectionKey) && typeof key === 'number' ? new Double(key) : key);
      assert.equal(plainDigest(sections, exactKey), diff.digest, `the digest after a diff to ${diff.to}`);
      this.#identity(old, state, diff);
    }
    this.state = state;
    this.exact = Math.max(this.exact, revision, exact);
  }

  /** Rows that a diff does not update are the same objects, so that a page need not draw them again. */
  #identity(old, state, diff) {
    if (old.names.join() !== state.names.join()) return;
    const before = new Map(old.rows.map((row) => [row.id, row]));
    const updated = new Set(diff.updates.map(({ at: [section, row] }) => state.sections[section].rows[row].id));
    for (const { id } of diff.insertedRows) updated.add(id);
    for (const row of state.rows) {
      if (!updated.has(row.id)) assert.equal(row, before.get(row.id), `the row ${row.id} was made anew`);
    }
  }
}
