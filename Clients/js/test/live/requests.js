// Random requests, as a description that a builder of the client and nestc both understand:
// { entity, of, relationship, where, sort, section, names, window, around }.

/** Texts that are traps: case without a simple mapping, composed and decomposed letters, signs of predicates. */
export const texts = ['', 'a', 'Ä', 'A\u0308b', 'ß', 'ΟΔΟΣ', 'οδος', 'Milk', 'milk\n2', '"quoted" \\', '%_*?',
  '🥛 milk', 'İ', 'zz'];
export const tagNames = ['red', 'Red', 'green', 'blau', 'rouge'];
export const decimals = ['0', '12.5', '-0.25', '99999999999999999999.125', '7'];
export const integers = [0, 1, -1, 5, 63, 64, 9007199254740991, 9007199254740993n, -(2n ** 63n), 2n ** 63n - 1n];
export const doubles = [0, -0, 0.5, -1e300, 5e-324, 3];
/** Microseconds: the first and the last day of a month, and a date before 1970. */
export const dates = [0, -1, 1_764_547_199_999_999, 1_764_547_200_000_000, 1_700_000_000_000_001];
export const codes = ['01234567-89ab-cdef-0123-456789abcdef', '00000000-0000-0000-0000-000000000001'];

const quoted = (text) => `"${text.replace(/["\\\n]/g, (mark) => ({ '"': '\\"', '\\': '\\\\', '\n': '\\n' })[mark])}"`;

/** Predicates of Thing; `ids` are objects that may be there. */
const predicates = [
  (r) => `done == ${r.pick(['YES', 'NO'])}`,
  (r) => `title CONTAINS[${r.pick(['c', 'd', 'cd'])}] ${quoted(r.pick(texts.slice(1)))}`,
  (r) => `title BEGINSWITH ${quoted(r.pick(texts.slice(1)))} OR depth == ${r.pick(integers)}`,
  (r) => `title LIKE[c] ${quoted(r.pick(['*a*', '?ilk*', '*\\\\*', 'm*']))}`,
  () => 'title MATCHES "[a-zA-Z].*"',
  (r) => `depth > ${r.pick(integers)}`,
  (r) => `NOT (depth BETWEEN {${r.pick(integers)}, ${r.pick(integers)}})`,
  (r) => `weight <= ${r.pick([0, 0.5, 3])}`,
  (r) => `price >= ${r.pick(decimals)}`,
  () => 'due < 2025-12-01',
  (r) => `due == nil OR code == uuid("${r.pick(codes)}")`,
  (r) => `ANY tags.name ==[c] ${quoted(r.pick(tagNames))}`,
  (r) => `NONE tags.name IN {${quoted(r.pick(tagNames))}, ${quoted(r.pick(tagNames))}}`,
  (r) => `then.@count ${r.pick(['==', '>', '<='])} ${r.below(3)}`,
  (r, ids) => `SELF IN SUBTREE(${r.pick(ids)})`,
  (r, ids) => `parent == ${r.pick(ids)} AND title != "a"`,
  (r) => `parent.title ==[cd] ${quoted(r.pick(texts))}`,
  () => 'SELF != 1 AND (done == NO || depth == nil)',
];

const names = ['title', 'done', 'depth', 'weight', 'price', 'due', 'code', 'constructor', 'parent', 'then.@count',
  'tags.@count', 'parent.title', 'parent.parent.depth'];
const sorts = ['title', 'title:c', 'title:cd', '-title', 'depth', '-depth', 'weight', 'price', '-due', 'code', 'done',
  'then.@count', 'parent.title:c', '-tags.@count'];
const sections = [
  ['title', 'firstCharacter', 'title:c'], ['title', 'firstCharacter', '-title'],
  ['due', 'month', 'due'], ['due', 'year', '-due'], ['due', 'day', 'due'],
  ['done', 'value', 'done'], ['depth', 'value', '-depth'], ['then.@count', 'value', 'then.@count'],
  ['parent.title', 'value', 'parent.title:cd'], ['code', 'value', 'code'],
];

const some = (random, list, most) => {
  const chosen = new Set();
  for (let count = random.between(1, most); count > 0; count -= 1) chosen.add(random.pick(list));
  return [...chosen];
};

function randomWindow(random, ids) {
  const around = { anchor: random.pick(ids), before: random.below(5), after: random.below(5) };
  if (random.chance(0.3)) return { around };
  return { window: { offset: random.pick([0, 0, 0, 1, 1, 3, 8, 40]), limit: random.pick([0, 1, 3, 3, 7, 7, 20]) } };
}

/** A random request. The world's `things` may be there, `owners` have children, and `tags` may be there. */
export function randomRequest(random, world) {
  const { things, owners, tags } = world;
  let request = {
    entity: 'Thing', where: null, sort: [], section: null, names: [], window: null, around: null, of: null,
  };
  const shape = random.weighted({ all: 6, children: 4, ofTag: 1, tags: 1 });
  if (shape === 'tags') {
    const filters = [null, 'things.@count > 0', 'name BEGINSWITH[c] "r"', 'ANY things.done == YES'];
    const sort = random.pick([[], ['name:c'], ['-things.@count']]);
    return { ...request, entity: 'Tag', names: ['name', 'things.@count'], sort, where: random.pick(filters) };
  }
  if (shape === 'children') {
    Object.assign(request, { of: random.pick(random.chance(0.85) ? owners : things), relationship: 'then' });
  }
  if (shape === 'ofTag' && tags.length > 0) {
    Object.assign(request, { of: random.pick(tags), ofEntity: 'Tag', relationship: 'things' });
  }
  if (random.chance(0.55)) {
    const [one, other] = [random.pick(predicates)(random, things), random.pick(predicates)(random, things)];
    request.where = random.chance(0.3) ? `(${one}) ${random.pick(['AND', 'OR'])} NOT (${other})` : one;
  }
  if (random.chance(0.3)) {
    const [path, by, sort] = random.pick(sections);
    Object.assign(request, { section: { path, by }, sort: [sort, ...some(random, sorts, 2)] });
  } else if (random.chance(0.6) || request.of === null) {
    request.sort = random.chance(0.15) ? [] : some(random, sorts, 3);
  }
  if (random.chance(0.8)) request.names = some(random, names, 6);
  if (random.chance(0.4)) request = { ...request, ...randomWindow(random, things) };
  return request;
}

/** Another request that a user could go to from this one: mostly the window moves. */
export function changedRequest(random, request, world) {
  if (request.entity === 'Thing' && random.chance(0.6)) {
    return random.chance(0.2) ? { ...request, window: null, around: null }
      : { ...request, window: null, around: null, ...randomWindow(random, world.things) };
  }
  return randomRequest(random, world);
}

/** The request for the client; `entities` by name. */
export function build(entities, request) {
  let built = request.of === null ? entities[request.entity]
    : entities[request.ofEntity ?? 'Thing'].of(request.of, request.relationship);
  if (request.where !== null) built = built.where(request.where);
  if (request.sort.length > 0) built = built.sorted(...request.sort);
  if (request.section) built = built.section(request.section.path, request.section.by);
  if (request.names.length > 0) built = built.properties(...request.names);
  if (request.window) built = built.window(request.window.offset, request.window.limit);
  if (request.around) built = built.around(request.around.anchor, request.around.before, request.around.after);
  return built;
}

/** The same request as arguments of nestc. `anchor`: the object that the window is around by now. */
export function options(request, anchor = request.around?.anchor) {
  const { section, window, around } = request;
  return [
    ...(request.of === null ? ['--entity', request.entity, '--with-root']
      : ['--of', `${request.of}`, '--relationship', request.relationship]),
    ...(request.where === null ? [] : ['--where', request.where]),
    ...(request.sort.length > 0 ? [`--sort=${request.sort.join(',')}`] : []),
    ...(section ? ['--section', section.by === 'value' ? section.path : `${section.by}(${section.path})`] : []),
    ...(request.names.length > 0 ? ['--properties', request.names.join(',')] : []),
    ...(window ? ['--window', `${window.offset}..${window.offset + window.limit}`] : []),
    ...(around ? ['--around', `${anchor}:${around.before},${around.after}`] : []),
  ];
}
