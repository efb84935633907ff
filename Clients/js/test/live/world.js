// What the random test knows of the store, and the random writes that it makes. The server decides: a write may be
// refused, because its objects are gone by then.

import { NestDate } from '../../wire/values.js';
import { codes, dates, decimals, doubles, integers, tagNames, texts } from './requests.js';

/** Refusals that random writes may earn. Anything else is a fault. */
export const refusals = new Set([
  'NOT_FOUND', 'CYCLE', 'VALIDATION_FAILED', 'NOT_UNIQUE', 'UNDO_CONFLICT', 'OWNER_GONE', 'NOTHING_TO_UNDO',
  'NOTHING_TO_REDO', 'DELETE_DENIED', 'CONFLICT', 'INVALID', 'ROOT_OBJECT', 'INDEX_OUT_OF_RANGE',
]);

export class World {
  constructor(random) {
    this.random = random;
    /** Objects that are there, or were a moment ago. */
    this.things = [1];
    /** Those that have children. */
    this.owners = [1];
    this.tags = [];
    this.writes = 0;
  }

  /** Learns all ids anew. */
  async learn(server) {
    const ids = async (...options) => (await server.json(['fetch', ...options])).map(({ id }) => id);
    this.things = await ids('--entity', 'Thing', '--with-root', '--properties', 'title');
    this.owners = await ids('--entity', 'Thing', '--with-root', '--properties', 'title', '--where', 'then.@count > 0');
    if (this.owners.length === 0) this.owners = [1];
    this.tags = await ids('--entity', 'Tag', '--properties', 'name');
  }

  /** Begins with three levels of things and some tags, so that lists have rows. */
  begin(tx, { Thing, Tag }) {
    const tags = tagNames.map((name) => tx.insert(Tag, { name }));
    for (let branch = 0; branch < 5; branch += 1) {
      const owner = tx.insert(Thing, { title: `branch ${branch}`, ...this.values() });
      for (let leaf = 0; leaf < 9; leaf += 1) {
        const thing = tx.insert(Thing, { title: this.random.pick(texts), ...this.values(), parent: owner });
        if (leaf % 3 === 0) tx.relate(Thing, thing, 'tags', this.random.pick(tags));
      }
    }
  }

  thing() {
    return this.random.pick(this.things);
  }

  /** Random values of some attributes of a thing. */
  values() {
    const { random } = this;
    const all = {
      title: () => random.pick(texts), done: () => random.chance(0.5), depth: () => random.pick([null, ...integers]),
      weight: () => random.pick([null, ...doubles]), price: () => random.pick([null, ...decimals]),
      due: () => random.pick([null, ...dates.map((each) => new NestDate(each))]),
      code: () => random.pick([null, ...codes]),
      constructor: () => random.pick([null, new Uint8Array(), new Uint8Array([0, 255, 16])]),
    };
    const chosen = Object.keys(all).filter(() => random.chance(0.4));
    return Object.fromEntries((chosen.length > 0 ? chosen : ['title']).map((name) => [name, all[name]()]));
  }

  place(owner) {
    const { random } = this;
    const where = random.weighted({ last: 3, first: 2, before: 2, after: 2, at: 2, near: 1 });
    const value = { last: true, first: true, before: this.thing(), after: this.thing(), at: random.below(6),
      near: { left: random.pick([null, this.thing()]), right: random.pick([null, this.thing()]) } }[where];
    return { of: owner, as: 'parent', [where]: value };
  }

  /** A name that no other write has, so that the history shows what became of this one. */
  name() {
    this.writes += 1;
    return `w${this.writes}`;
  }

  /** Fills a transaction with random steps. Returns a function for its receipt, which remembers the new objects. */
  fill(tx, { Thing, Tag }) {
    const { random } = this;
    const fresh = [];
    const freshTags = [];
    const newTag = (result) => { freshTags.push(result); return result; };
    const any = () => (fresh.length > 0 && random.chance(0.4) ? random.pick(fresh) : this.thing());
    for (let step = random.pick([1, 1, 1, 2, 3, 8]); step > 0; step -= 1) {
      const kind = random.weighted({
        insert: 8, bulk: 1, tag: 2, find: 2, update: 8, move: 6, remove: 1, relate: 3, unrelate: 1, set: 1,
      });
      const tag = () => (this.tags.length > 0 ? random.pick(this.tags) : newTag(tx.insert(Tag, { name: 'first' })));
      switch (kind) {
        case 'insert': {
          const owner = any();
          const values = { title: 'new', ...this.values() };
          const place = { of: owner, as: 'parent', ...(random.chance(0.5) && { first: true }) };
          const isPlaced = random.chance(0.5);
          fresh.push(isPlaced ? tx.insert(Thing, values, place) : tx.insert(Thing, { ...values, parent: owner }));
          break;
        }
        case 'bulk': {
          const owner = any();
          for (let count = random.between(2, 30); count > 0; count -= 1) {
            fresh.push(tx.insert(Thing, { title: `${count % 7}`, parent: owner }));
          }
          break;
        }
        case 'tag': newTag(tx.insert(Tag, { name: random.pick(tagNames) })); break;
        case 'find': newTag(tx.findOrCreate(Tag, { name: random.pick(tagNames) })); break;
        case 'update': tx.update(Thing, any(), this.values()); break;
        case 'move': tx.move(Thing, any(), this.place(any())); break;
        case 'remove': tx.delete(random.chance(0.85) || this.tags.length === 0 ? any() : random.pick(this.tags)); break;
        case 'relate':
          if (random.chance(0.5)) tx.relate(Thing, any(), 'tags', tag());
          else tx.relate(Tag, tag(), 'things', any(), random.pick([{}, { first: true }, { at: 1 }]));
          break;
        case 'unrelate': tx.unrelate(Thing, any(), 'tags', tag()); break;
        default: tx.setRelated(Thing, any(), 'tags', [tag()]);
      }
    }
    return (receipt) => {
      this.things.push(...fresh.map((result) => receipt.id(result)));
      this.tags.push(...freshTags.map((result) => receipt.id(result)));
    };
  }
}
