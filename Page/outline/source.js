// What of a model an outline shows: an entity with an ordered relationship to itself, and the attributes that rows
// have.

/** The ways to outline a model's objects: `Source`s, the best one first. None: nothing in it is an outline. */
export async function sourcesOf(nest, root) {
  const model = await nest.model();
  const found = [];
  for (const described of model.entities) {
    for (const relationship of described.relationships) {
      const inverse = model.find(relationship.destination)?.find(relationship.inverse);
      const isOutline = relationship.isToMany && relationship.isOrdered && relationship.destination === described.number
        && inverse && !inverse.isToMany && inverse.destination === described.number;
      if (!isOutline || !labelOf(described)) continue;
      found.push(new Source(await nest.entity(described.name), relationship.name, inverse.name, root));
    }
  }
  return found.sort((a, b) => Number(b.hasRoot) - Number(a.hasRoot));
}

/** The text that names an object for people: the model's label; without one title, name, or the first text. */
function labelOf(described) {
  const texts = described.attributes.filter(({ type }) => type === 'string');
  const named = (name) => texts.find((attribute) => attribute.name === name);
  return texts.find(({ number }) => number === described.label) ?? named('title') ?? named('name') ?? texts[0] ?? null;
}

export class Source {
  constructor(entity, children, parent, confinement) {
    const { description } = entity;
    const has = (name, type) => (description.find(name)?.type === type ? name : null);
    this.entity = entity;
    this.name = description.name;
    this.children = children;
    this.parent = parent;
    this.title = labelOf(description).name;
    this.note = this.title === 'note' ? null : has('note', 'string');
    this.done = has('done', 'boolean');
    this.extra = has('extra', 'string');
    this.hasRoot = description.root !== null;
    /** The object above everything that one may see; null: the entity has no root. */
    this.home = confinement ?? description.root?.object ?? null;
    /** The object that the model names as the root: it has no title of its own to show. */
    this.root = description.root?.object ?? null;
  }

  /** What rows have: names of attributes, and the relationship that leads to the row above. */
  get names() {
    return [this.title, this.note, this.done, this.extra, this.parent].filter(Boolean);
  }

  /** The rows below an object. */
  below(object) {
    return this.entity.of(object, this.children).properties(...this.names);
  }

  /** The objects of this entity that are below no other. */
  get tops() {
    return this.entity.where(`${this.parent} == nil`).properties(this.title).sorted(`${this.title}:cd`);
  }

  /** The values of a row as the server has them: `{ title, note, done }` by the names of its attributes. */
  values({ title, note, done, extra }) {
    const given = { [this.title]: title };
    if (this.note && note !== undefined) given[this.note] = note;
    if (this.done && done !== undefined) given[this.done] = done;
    if (this.extra && extra) given[this.extra] = extra;
    return given;
  }

  /** A place for a transaction. A neighbour that is gone when the server gets it does not count. */
  place({ parent, after = null, before = null, isFirst = false }) {
    const owner = { of: parent, as: this.parent };
    if (after !== null || before !== null) return { ...owner, near: { left: after, right: before } };
    return isFirst ? { ...owner, first: true } : owner;
  }
}
