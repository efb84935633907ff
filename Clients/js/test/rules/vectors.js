// The rules agree with the server: Tests/Vectors/folding.json, sortkeys.json and predicates.json, which Swift writes.

import { fold } from '../../rules/text.js';
import { Filter } from '../../rules/truth.js';
import { Order } from '../../rules/order.js';
import { decodePredicate, encodePredicate } from '../../wire/predicate.js';
import { fromHex, toHex } from '../../wire/bytes.js';
import { decodeModel } from '../../wire/model.js';
import { NestDate, Reference, UUID } from '../../wire/values.js';
import { same } from './same.js';

const infinite = { inf: Infinity, '-inf': -Infinity, '-0': -0 };
const exact = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value));

/** A value as the vectors write it. */
export function read(value) {
  if (value === null || typeof value !== 'object') return value;
  if ('integer' in value) return exact(value.integer);
  if ('double' in value) return infinite[value.double] ?? value.double;
  if ('date' in value) return new NestDate(exact(value.date));
  if ('data' in value) return fromHex(value.data);
  return 'uuid' in value ? new UUID(value.uuid) : new Reference(value.reference);
}

/** The objects of predicates.json, by the numbers of their properties. */
export function store({ model: hex, objects }) {
  const model = decodeModel(fromHex(hex));
  const found = new Map(objects.map(({ id, entity, values, related }) => {
    const number = (name) => model.entity(entity).property(name).number;
    const held = [...Object.entries(values).map(([name, value]) => [number(name), read(value)]),
      ...Object.entries(related).map(([name, ids]) => [number(name), ids])];
    return [id, new Map(held)];
  }));
  const lookup = (id, property) => found.get(id)?.get(property);
  return { model, lookup: { value: lookup, related: lookup } };
}

/** Every value of the store is known, so only a regular expression and a function are not decided. */
function checkTruth({ entity, bytes, truth, regex, function: isFunction }, what, { rows }, { model, lookup }) {
  const nodes = decodePredicate(fromHex(bytes));
  same(toHex(encodePredicate(nodes)), bytes, what);
  const filter = new Filter(nodes, model.entity(entity), model);
  rows[entity].forEach((id, index) => {
    const found = filter.truth(id, lookup);
    if (!(regex || isFunction) || found !== undefined) same(found, truth[index], `${what} of ${id}`);
  });
}

export function run(vectors, test) {
  test('texts fold to those of the vectors', () => {
    for (const { text, c, d, cd } of vectors.folding.cases) {
      same([fold(text, 1), fold(text, 2), fold(text, 3), fold(text, 0)], [c, d, cd, text], text);
    }
  });

  test('rows are in the order of the vectors', () => {
    for (const { name, terms, groups } of vectors.sortkeys.orders) {
      const order = new Order(terms);
      const keyOf = (values, group) => ({ group, key: order.key(values.map(read), 1) });
      const keys = groups.flatMap((rows, group) => rows.map((values) => keyOf(values, group)));
      for (const a of keys) {
        for (const b of keys) {
          same(Math.sign(order.compare(a.key, b.key)), Math.sign(a.group - b.group), `${name}: ${a.group} ${b.group}`);
        }
      }
    }
  });

  test('sections have the keys of the vectors', () => {
    for (const { type, folding, function: name, values } of vectors.sortkeys.sections) {
      const order = new Order([{ type, folding }]);
      for (const { value, key } of values) {
        same(order.sectionKey(name, read(value)), read(key), `${name} of ${type} ${JSON.stringify(value)}`);
      }
    }
  });

  test('predicates are true of the objects of the vectors', () => {
    const world = store(vectors.predicates);
    const { cases, programs } = vectors.predicates;
    for (const one of [...cases, ...programs]) checkTruth(one, one.text ?? one.name, vectors.predicates, world);
  });

  test('with one value that is not known, a predicate is what it was or not decided', () => {
    const world = store(vectors.predicates);
    const { rows, cases } = vectors.predicates;
    for (const { entity, bytes, truth, text } of cases) {
      const filter = new Filter(decodePredicate(fromHex(bytes)), world.model.entity(entity), world.model);
      const properties = world.model.entity(entity).properties.map(({ number }) => number);
      rows[entity].forEach((id, index) => {
        for (const hidden of properties) {
          const less = (object, property) => (property === hidden ? undefined : world.lookup.value(object, property));
          const found = filter.truth(id, { value: less, related: less });
          if (found !== undefined) same(found, truth[index], `${text} of ${id} without ${hidden}`);
        }
      });
    }
  });

  test('a regular expression is decided by the function of the program', () => {
    const world = store(vectors.predicates);
    // JavaScript's expressions stand in for RE2 where both read the pattern alike: no folding, no \d, no flags.
    const matches = (text, pattern) => new RegExp(`^(?:${pattern})$`, 'u').test(text);
    const alike = vectors.predicates.cases.filter(({ regex, text }) => regex && !/MATCHES\[|\(\?/.test(text));
    same(alike.length > 3, true);
    for (const { entity, bytes, truth, text } of alike) {
      const filter = new Filter(decodePredicate(fromHex(bytes)), world.model.entity(entity), world.model);
      const found = vectors.predicates.rows[entity].map((id) => filter.truth(id, { ...world.lookup, matches }));
      same(found, truth, text);
    }
  });
}
