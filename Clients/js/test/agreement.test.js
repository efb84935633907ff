// The rules agree with a real server: random objects, then random predicates, orders and sections, which both evaluate.
// NEST_SEED repeats a run, NEST_STEPS says how many requests it makes.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { connect } from '../node.js';
import { Filter, Order, encodePredicate } from '../rules/index.js';
import { valueAt } from '../rules/truth.js';
import { atLeastBefore } from '../machine/fetches.js';
import { encodeFetchRequest } from '../wire/request.js';
import { People } from './rules/people.js';
import { same, shown } from './rules/same.js';
import { missing, Server } from './live/nestd.js';

const given = process.env.NEST_SEED;
/** The seed whose predicates must select enough: those of a random one may not. */
const FIXED = 1;
const steps = Number(process.env.NEST_STEPS ?? 400);

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

/** Returns how many predicates select some objects, and not all. */
async function compare(seed) {
  const path = fileURLToPath(new URL('rules/model.json', import.meta.url));
  const server = await Server.start('--model', path);
  const nest = await connect({ url: `nest://${server.address}` });
  try {
    const people = await nest.entity('Person');
    const requests = new People(seed, people.description);
    const ids = await requests.populate(nest, people);
    const lookup = await lookupOf(nest, people, ids);
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
    return selective;
  } finally {
    nest.close();
    await server.close();
  }
}

for (const seed of given ? [Number(given)] : [FIXED, Math.floor(Math.random() * 2 ** 32)]) {
  test(`rules and server agree (NEST_SEED=${seed})`, { skip: missing }, async () => {
    const selective = await compare(seed);
    if (given || seed !== FIXED) return;
    assert.ok(selective > steps / 4, `only ${selective} of ${steps} predicates select some objects`);
  });
}
