// The rules agree with a real server: random objects, then random predicates, orders and sections, which both evaluate.
// NEST_SEED repeats a run, NEST_STEPS says how many requests it makes.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { connect } from '../node.js';
import { Filter, Order, encodePredicate } from '../rules/index.js';
import { valueAt } from '../rules/truth.js';
import { atLeastBefore } from '../machine/fetches.js';
import { Double, NestDate, Reference, UUID } from '../wire/values.js';
import { encodeFetchRequest } from '../wire/request.js';
import { generator } from './rules/text.js';
import { same, shown } from './rules/same.js';
import { missing, Server } from './live/nestd.js';

const seed = Number(process.env.NEST_SEED ?? Math.floor(Math.random() * 2 ** 32));
const steps = Number(process.env.NEST_STEPS ?? 400);
const random = generator(seed);
const pick = (list) => list[random(list.length)];
const chance = (percent) => random(100) < percent;

const texts = ['', 'a', 'A', 'ab', 'Ab', 'ÄB', 'A\u0308b', 'ß', 'ss', 'SS', 'ẞ', 'ΟΔΟΣ', 'οδος', 'οδοσ', 'İ', 'i',
  'I', 'ı', 'ﬁ', 'fi', '\uff5e', '\u{1f600}', '*', '?', '\\', 'a*b', 'a\\b', '\n', 'é', 'e',
  '한', '\u0301', 'ǆ', 'ǅ', '1', '10', '9'];
const pools = {
  string: texts,
  uri: ['urn:a', 'urn:B', 'https://x.org/a%20b', 'https://x.org/A'],
  integer: [0, 1, -1, 9, 10, 2 ** 53 - 1, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)],
  integer16: [0, 1, -32_768, 32_767],
  double: [0, -0, 0.5, -1.5, 1, 2 ** 53, 1e300, 5e-324, -Infinity, Infinity],
  float: [0, 0.1, 0.5, -2, 3.5],
  decimal: ['0', '0.1', '-0.1', '9', '10', '12.5', '-12.5', '12345678901234567890.5'],
  boolean: [true, false],
  date: [0, -1, 1, 1_793_999_999_999_999, 2n ** 63n - 1n, -(2n ** 63n)].map((moment) => new NestDate(moment)),
  data: [[], [0], [0, 255], [1], [255]].map((bytes) => Uint8Array.from(bytes)),
  uuid: ['00'.repeat(16), 'ff'.repeat(16), '00112233445566778899aabbccddeeff'].map((hex) => new UUID(hex)),
};
const numbers = ['integer', 'integer16', 'double', 'float'];

/** A value to compare with a value of the type: numbers in every form. */
function wanted(type) {
  if (!numbers.includes(type)) return pick(pools[type]);
  const kind = pick(numbers);
  const value = pick(pools[kind]);
  return kind === 'double' || kind === 'float' ? new Double(value) : value;
}

/** Makes random requests for a model. */
class Requests {
  constructor(person) {
    this.person = person;
    this.number = (name) => person.property(name).number;
  }

  /** A path to an attribute or a count, after these steps. */
  leaf(before, after = []) {
    const steps = [...before, ...after].map(this.number);
    if (chance(20)) {
      const property = this.number(pick(['team', 'friends']));
      return { type: 'integer', path: { steps: steps.slice(0, 3), leaf: 2, property } };
    }
    const attribute = pick(this.person.attributes);
    return { type: attribute.type, path: { steps, leaf: 1, property: attribute.number } };
  }

  comparison(ids) {
    if (chance(6)) {
      const values = [new Reference(pick(ids)), this.number('team')];
      const path = { steps: [], leaf: 0, property: 0 };
      return { quantifier: 0, path, operator: 'IN SUBTREE', folding: 0, values };
    }
    const quantifier = chance(30) ? 1 + random(3) : 0;
    const before = Array.from({ length: pick([0, 0, 1, 2]) }, () => 'boss');
    const many = quantifier ? [...before.slice(0, 1), pick(['team', 'friends'])] : before;
    if (chance(12)) {
      const path = { steps: (quantifier ? many : [...before, 'boss']).map(this.number), leaf: 0, property: 0 };
      const operator = pick(['==', '!=', 'IN']);
      const values = Array.from({ length: operator === 'IN' ? random(4) : 1 },
        () => (chance(20) ? null : new Reference(pick(ids))));
      return { quantifier, path, operator, folding: 0, values };
    }
    const { type, path } = this.leaf(many, quantifier && chance(20) ? ['boss'] : []);
    const isText = type === 'string' || type === 'uri';
    const ordered = ['==', '!=', '<', '<=', '>', '>=', 'BETWEEN', 'IN'];
    const operator = pick(isText ? [...ordered, 'CONTAINS', 'BEGINSWITH', 'ENDSWITH', 'LIKE', 'LIKE'] : ordered);
    const folding = isText ? random(4) : 0;
    if (operator === 'LIKE') {
      const pattern = Array.from({ length: random(4) }, () => pick(['*', '?', '\\', ...texts])).join('');
      return { quantifier, path, operator, folding, values: [pattern] };
    }
    const isPart = ['CONTAINS', 'BEGINSWITH', 'ENDSWITH'].includes(operator);
    const count = operator === 'BETWEEN' ? 2 : operator === 'IN' ? random(5) : 1;
    const values = Array.from({ length: count }, () => (!isPart && chance(15) ? null : wanted(type)));
    return { quantifier, path, operator, folding, values };
  }

  predicate(ids) {
    const nodes = [];
    let depth = 0;
    for (let left = 1 + random(5); left > 0 || depth > 1; left -= 1) {
      if (left > 0) {
        nodes.push(chance(3) ? { constant: chance(50) } : this.comparison(ids));
        depth += 1;
      }
      if (chance(20)) nodes.push({ not: true });
      if (depth > 1 && (left <= 0 || chance(40))) {
        const count = 2 + random(depth - 1);
        nodes.push(chance(50) ? { and: count } : { or: count });
        depth -= count - 1;
      }
    }
    return nodes;
  }

  sort() {
    return Array.from({ length: random(4) }, () => {
      const { type, path } = this.leaf(chance(25) ? ['boss'] : []);
      const folding = type === 'string' || type === 'uri' ? random(4) : 0;
      return { type, path, folding, descending: chance(40) };
    });
  }

  section([first]) {
    if (!first || chance(40) || first.type === 'decimal' || first.type === 'data') return null;
    const more = { date: ['year', 'month', 'day'], string: ['firstCharacter'], uri: ['firstCharacter'] };
    const by = ['value', ...more[first.type] ?? []];
    return { function: pick(by), path: first.path };
  }
}

/** Stores random objects; returns their ids. */
async function populate(nest, people) {
  const news = [];
  const receipt = await nest.transaction('people', (tx) => {
    for (let count = 40; count > 0; count -= 1) {
      const values = {};
      for (const { name, type } of people.description.attributes) if (chance(75)) values[name] = pick(pools[type]);
      if (news.length && chance(70)) values.boss = pick(news);
      news.push(tx.insert(people, values));
    }
    for (let count = 30; count > 0; count -= 1) tx.relate(people, pick(news), 'friends', pick(news));
  });
  return news.map((one) => receipt.id(one));
}

/** What the server has of all objects, for the rules. */
async function lookupOf(nest, people, ids) {
  const { description } = people;
  const found = new Map();
  for (const id of ids) {
    const { values } = await nest.object(id);
    const held = new Map(Object.entries(values).map(([name, value]) => [description.property(name).number, value]));
    for (const name of ['team', 'friends']) {
      const state = await nest.fetch(people.of(id, name));
      held.set(description.property(name).number, state.rows.map((row) => row.id));
    }
    found.set(id, held);
  }
  const lookup = (id, property) => found.get(id)?.get(property);
  return { value: lookup, related: lookup };
}

/** The sections of a result by the rules: [[key, [id, …]], …]. */
function expected(ids, { nodes, sort, section }, { description, model }, lookup) {
  const filter = new Filter(nodes, description, model);
  const order = Order.of(sort, description, model);
  const keys = ids.filter((id) => filter.truth(id, lookup)).map((id) => {
    const key = order.keyOf(id, lookup);
    if (!section) return { key, section: '' };
    return { key, section: order.sectionKey(section.function, valueAt(id, sort[0].path, 0, lookup)) };
  }).sort((a, b) => order.compare(a.key, b.key));
  const sections = [];
  for (const { key, section: name } of keys) {
    const last = sections[sections.length - 1];
    if (last && shown(last[0]) === shown(name)) last[1].push(key.id);
    else sections.push([name, [key.id]]);
  }
  return sections;
}

test(`rules and server agree (NEST_SEED=${seed})`, { skip: missing }, async () => {
  const path = fileURLToPath(new URL('rules/model.json', import.meta.url));
  const server = await Server.start('--model', path);
  const nest = await connect({ url: `nest://${server.address}` });
  try {
    const people = await nest.entity('Person');
    const ids = await populate(nest, people);
    const lookup = await lookupOf(nest, people, ids);
    const requests = new Requests(people.description);
    const { wire, model } = await nest.resolve(people.properties('name'));
    let selective = 0;
    for (let step = 0; step < steps; step += 1) {
      const nodes = requests.predicate(ids);
      const sort = requests.sort();
      const section = requests.section(sort);
      const bytes = encodeFetchRequest({ ...wire, sort, section, predicate: encodePredicate(nodes) });
      const options = { bodyAt: atLeastBefore(0, bytes), model, projection: wire.projection };
      const state = await nest.request('fetch', bytes, options);
      const found = state.sections.map(({ key, rows }) => [key, rows.map(({ id }) => id)])
        .filter(([, rows]) => rows.length);
      const wantedSections = expected(ids, { nodes, sort, section }, people, lookup);
      same(found, wantedSections, `NEST_SEED=${seed} step ${step}: ${shown({ nodes, sort, section })}`);
      const count = found.reduce((sum, [, rows]) => sum + rows.length, 0);
      if (count > 0 && count < ids.length) selective += 1;
    }
    assert.ok(selective > steps / 4, `only ${selective} of ${steps} predicates select some objects`);
  } finally {
    nest.close();
    await server.close();
  }
});
