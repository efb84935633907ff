// What is evaluated by own values agrees with Tests/Vectors/sortkeys.json and predicates.json, which Swift writes.

import { isSameSection, RowOrder } from '../../overlay/order.js';
import { RowPredicate } from '../../overlay/predicate.js';
import { fromHex } from '../../wire/bytes.js';
import { sectionKey } from '../../wire/rows.js';
import { Double } from '../../wire/values.js';
import { read, store } from '../rules/vectors.js';
import { same } from '../rules/same.js';

/** The order of a request for an entity whose attributes 1, 2, … have the types of the terms. */
function orderOf(terms, section = null) {
  const sort = terms.map((term, index) => ({ ...term, path: { steps: [], leaf: 1, property: index + 1 } }));
  const entity = { find: (number) => terms[number - 1], relationships: [] };
  const by = section && { function: section, path: sort[0].path };
  return new RowOrder({ source: null, sort, section: by }, entity, {});
}

const ownOf = (values) => (property) => values[property - 1];

export function run(vectors, test) {
  test('rows have the places of the vectors', () => {
    for (const { name, terms, groups } of vectors.sortkeys.orders) {
      const order = orderOf(terms);
      same([order.isOwn, order.list, order.reads], [true, null, terms.map((_, index) => index + 1)], name);
      const keys = groups.flatMap((rows, group) => rows.map((values) => (
        { group, key: order.key(1, ownOf(values.map(read))) })));
      for (const a of keys) {
        for (const b of keys) {
          same(Math.sign(order.compare(a.key, b.key)), Math.sign(a.group - b.group), `${name}: ${a.group} ${b.group}`);
        }
      }
    }
  });

  test('rows have the sections of the vectors, with the hashes of a snapshot', () => {
    for (const { type, folding, function: name, values } of vectors.sortkeys.sections) {
      const order = orderOf([{ type, folding }], name);
      const sections = values.map(({ value }) => order.section(ownOf([read(value)])));
      values.forEach(({ value, key }, index) => {
        const what = `${name} of ${type} ${JSON.stringify(value)}`;
        const isDouble = key !== null && (type === 'double' || type === 'float');
        same(sections[index], sectionKey(isDouble ? new Double(Number(read(key)) + 0) : read(key)), what);
        values.forEach((other, at) => {
          same(isSameSection(sections[index], sections[at]), JSON.stringify(key) === JSON.stringify(other.key), what);
        });
      });
    }
  });

  test('a predicate is what the vectors say, or is not known because of other objects', () => {
    const { model, lookup } = store(vectors.predicates);
    const { rows, cases, programs } = vectors.predicates;
    let decided = 0;
    for (const { entity, bytes, truth, text, name } of [...cases, ...programs]) {
      const predicate = new RowPredicate(fromHex(bytes), model.entity(entity), model);
      rows[entity].forEach((id, index) => {
        const found = predicate.truth(id, (property) => {
          same(predicate.reads.includes(property), true, `${text ?? name} reads ${property}`);
          return lookup.value(id, property);
        });
        if (predicate.isOwn || found !== undefined) same(found, truth[index], `${text ?? name} of ${id}`);
        if (predicate.isOwn) decided += 1;
      });
    }
    same(decided > 500, true, `${decided} decided`);
  });

  test('with one value that is not known, a predicate is what it was or not known', () => {
    const { model, lookup } = store(vectors.predicates);
    const { rows, cases } = vectors.predicates;
    for (const { entity, bytes, truth, text } of cases) {
      const predicate = new RowPredicate(fromHex(bytes), model.entity(entity), model);
      rows[entity].forEach((id, index) => {
        for (const hidden of predicate.reads) {
          const own = (property) => (property === hidden ? undefined : lookup.value(id, property));
          const found = predicate.truth(id, own);
          if (found !== undefined) same(found, truth[index], `${text} of ${id} without ${hidden}`);
        }
      });
    }
  });
}
