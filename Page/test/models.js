// A model for tests of the page: every type, inheritance, an ordered tree, many to many, delete rules of each kind. As
// the server's JSON for nestd --model, and as the client has it.

import { encode } from '../../Clients/js/wire/messages.js';
import '../../Clients/js/wire/opposite.js';
import { decodeModel } from '../../Clients/js/wire/model.js';
import { attributeTypes } from '../../Clients/js/wire/model-codec.js';

/** For nestd --model. */
export const json = {
  format: 'nest-model',
  entities: [
    {
      name: 'Thing', label: 'name',
      attributes: [
        { name: 'name', type: 'string', minimum: 1 }, { name: 'count', type: 'integer', optional: true },
        { name: 'weight', type: 'double', optional: true }, { name: 'price', type: 'decimal', optional: true },
        { name: 'done', type: 'boolean', default: false }, { name: 'due', type: 'date', optional: true },
        { name: 'code', type: 'uuid', optional: true }, { name: 'photo', type: 'data', optional: true },
        { name: 'home', type: 'uri', optional: true },
      ],
      relationships: [
        { name: 'parts', destination: 'Thing', inverse: 'whole', toMany: true, ordered: true, deleteRule: 'cascade' },
        { name: 'whole', destination: 'Thing', inverse: 'parts' },
        { name: 'notes', destination: 'Note', inverse: 'thing', toMany: true, deleteRule: 'cascade' },
        { name: 'loans', destination: 'Loan', inverse: 'thing', toMany: true, deleteRule: 'deny' },
        { name: 'tags', destination: 'Tag', inverse: 'things', toMany: true },
      ],
    },
    { name: 'Tool', parent: 'Thing', attributes: [{ name: 'size', type: 'integer16', optional: true }] },
    {
      name: 'Note', attributes: [{ name: 'text', type: 'string' }],
      relationships: [{ name: 'thing', destination: 'Thing', inverse: 'notes', optional: false }],
    },
    {
      name: 'Loan', attributes: [{ name: 'who', type: 'string' }],
      relationships: [{ name: 'thing', destination: 'Thing', inverse: 'loans' }],
    },
    {
      name: 'Tag', attributes: [{ name: 'name', type: 'string' }],
      relationships: [{ name: 'things', destination: 'Thing', inverse: 'tags', toMany: true }],
    },
  ],
};

/** The same as the client reads it from a server. */
export function model() {
  const numbers = new Map(json.entities.map(({ name }, index) => [name, index + 1]));
  const own = new Map(json.entities.map((entity) => [entity.name, {
    ...entity,
    properties: [...(entity.attributes ?? []), ...(entity.relationships ?? [])],
  }]));
  const chain = (name) => (name ? [...chain(own.get(name).parent), own.get(name)] : []);
  const propertyNumber = (entity, name) =>
    chain(entity).flatMap(({ properties }) => properties).findIndex((one) => one.name === name) + 1;
  const entities = json.entities.map(({ name, parent, label }) => {
    const all = chain(name);
    const attributes = all.flatMap((each) => each.attributes ?? []).map((one) => ({
      number: propertyNumber(name, one.name), name: one.name, type: one.type, isOptional: one.optional ?? false,
      defaultsToNow: false, default: one.default ?? null, minimum: one.minimum ?? null, maximum: null,
    }));
    const relationships = all.flatMap((each) => each.relationships ?? []).map((one) => ({
      number: propertyNumber(name, one.name), name: one.name, destination: numbers.get(one.destination),
      inverse: propertyNumber(one.destination, one.inverse), isToMany: one.toMany ?? false,
      isOrdered: one.ordered ?? false,
      isOptional: one.optional ?? true, deleteRule: one.deleteRule ?? 'nullify', minimumCount: 0, maximumCount: 0,
      join: null,
    }));
    const labelled = label ?? all.map((each) => each.label).find(Boolean);
    return {
      number: numbers.get(name), name, parent: parent ? numbers.get(parent) : null, isAbstract: false, attributes,
      relationships,
      uniquenessConstraints: [], indexes: [], label: labelled ? propertyNumber(name, labelled) : null, root: null,
    };
  });
  if (!attributeTypes.includes(entities[0].attributes[0].type)) throw new Error('an unknown type');
  return decodeModel(encode('model', { entities }));
}
