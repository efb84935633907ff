// The fields of Tests/Vectors/frames.json in the form that messages.js has them.
import { encodePredicate, operators } from '../../wire/predicate.js';
import { exactValue, fail, rowValue, same, shown } from './check.js';

/** Messages between the nodes of a cluster, which no client sends or receives. */
export const ofNodes = new Set(['follow', 'logHead', 'record', 'logBehind', 'peerOpen', 'peerClose', 'peerRequest', 'peerPresence']);

const pathOf = ({ steps, leaf }) => {
  if (leaf === 'object') return { steps, leaf: 0, property: 0 };
  const number = ['sum', 'min', 'max', 'avg'].findIndex((name) => name in leaf);
  if (number >= 0) {
    const property = Object.entries(leaf).find(([name]) => name !== 'attribute')[1];
    return { steps, leaf: 3, function: number + 1, property, attribute: leaf.attribute };
  }
  return 'count' in leaf ? { steps, leaf: 2, property: leaf.count } : { steps, leaf: 1, property: leaf.attribute };
};

const nodeOf = (node) => {
  if (!('operator' in node)) return node;
  const { steps, leaf, values, operator, ...rest } = node;
  return { ...rest, path: pathOf(node), operator: operators[operator - 1], values: values.map(exactValue) };
};

const sortOf = ({ key, isAscending, folding }) => {
  const flags = { descending: !isAscending, folding };
  return key === 'order' ? { order: true, ...flags } : { path: pathOf(key), ...flags };
};

/** A fetch request of a vector. */
export function requestOf({ predicate, columns, section, window, sort, totals, ...rest }) {
  return {
    columns: (columns ?? []).map(pathOf), predicate: null, section: null, window: null, ...rest,
    sort: sort.map(sortOf),
    ...(totals && { totals: totals.map((total) => ('path' in total ? { ...total, path: pathOf(total.path) } : total)) }),
    ...(predicate && { predicate: encodePredicate(predicate.map(nodeOf)).slice() }),
    ...(section && { section: { function: section.function, path: pathOf(section.path) } }),
    ...(window && { window: rename(window, 'around', 'anchor') }),
  };
}

const functions = ['value', 'firstCharacter', 'year', 'month', 'day'];

/** A request of requests.json, in numbers. */
export const numberedRequest = ({ predicate, section, ...rest }) => ({
  ...rest, predicate: predicate && exactValue({ data: predicate }),
  section: section && { ...section, function: functions[section.function - 1] },
});

const reasons = ['other', 'required', 'type', 'tooLarge', 'text', 'range', 'notUnique', 'destination',
  'unknownProperty', 'setTwice'];

/** A fault of refusals.json. */
export const faultOf = ({ text, reason, object, property, entity }) => ({
  entity, message: text, reason: reasons[reason], object: object || null, property: property || null,
});

const valuesIn = (fields) => (Array.isArray(fields) ? fields.map(valuesIn) : {
  ...fields,
  ...(fields.values && { values: fields.values.map((v) => (isAssignment(v) ? valuesIn(v) : rowValue(v))) }),
  ...(Object.hasOwn(fields, 'value') && { value: rowValue(fields.value) }),
});
const isAssignment = (v) => typeof v === 'object' && v !== null && 'property' in v;
const steps = (mutation) => Object.fromEntries(Object.entries(mutation).map(([name, step]) => [name, {
  ...step,
  ...(step.values && { values: step.values.map(valuesIn) }),
  ...(step.match && { match: step.match.map(valuesIn) }),
}]));

const rename = (fields, from, to) => {
  if (!(from in fields)) return fields;
  const { [from]: value, ...rest } = fields;
  return { ...rest, [to]: value };
};
const keyed = (sections) => sections.map((section) => ({ ...section, key: rowValue(section.key) }));

const modelOf = (f) => ({
  ...f, entities: f.entities.map((entity) => ({
    ...entity,
    attributes: entity.attributes.map((a) => ({
      ...a, default: rowValue(a.default), minimum: rowValue(a.minimum), maximum: rowValue(a.maximum),
    })),
  })),
});

const forms = {
  hello: (f) => ({ ...f, features: parseInt(f.features, 16) }),
  welcome: ({ replica, ...f }) => ({
    ...f, features: parseInt(f.features, 16), sessionNumber: f.sessionNumber || null,
    ...(replica && { store: replica.store, nodeRole: replica.role, leader: replica.leader }),
  }),
  error: (f) => rename(f, 'retryAfterMilliseconds', 'retryAfter'),
  undo: (f) => ({ policy: 'keep', ...f }),
  redo: (f) => ({ policy: 'keep', ...f }),
  goAway: (f) => rename(f, 'retryAfterMilliseconds', 'retryAfter'),
  transaction: (f) => ({ ...f, mutations: f.mutations.map(steps) }),
  fetch: (f) => ({ ...f, request: requestOf(f.request) }),
  subscribe: (f) => ({ ...f, request: requestOf(f.request) }),
  resubscribe: (f) => ({ ...f, request: requestOf(f.request) }),
  explain: (f) => ({ request: requestOf(f.request) }),
  subscribed: (f) => ({ ...f, revision: f.revision ?? 0 }),
  snapshot: (f) => rename({ ...f, sections: keyed(f.sections) }, 'window', 'position'),
  snapshotSections: (f) => ({ sections: keyed(f.sections) }),
  snapshotRows: (f) => ({ rows: f.rows.map(valuesIn) }),
  totals: (f) => rename(f, 'window', 'position'),
  diff: (f) => rename({
    ...f, insertedSections: keyed(f.insertedSections), insertedRows: valuesIn(f.insertedRows),
    updates: f.updates.map(valuesIn),
  }, 'window', 'position'),
  object: (f) => ({ ...f, values: f.values.map(valuesIn) }),
  subscribeChanges: ({ since, place, ...f }) => ({ ...f, since: since && { ...since, place } }),
  undoPreview: (f) => ({
    ...f, changes: f.changes.map((change) => ({
      ...change,
      values: change.values.map((v) => ({ ...v, before: rowValue(v.before), after: rowValue(v.after) })),
    })),
  }),
  model: modelOf,
  applyModel: modelOf,
  modelChanged: modelOf,
  cluster: (f) => ({ ...f, nodes: f.nodes?.map((node) => ({ ...node, role: node.role ?? 'stopped' })) ?? [] }),
  setPresence: (f) => ({ ...f, bytes: f.bytes === null ? null : exactValue({ data: f.bytes }) }),
  presence: (f) => ({ ...f, changes: f.changes.map((one) => ({ ...one, bytes: exactValue({ data: one.bytes }) })) }),
  backupChunk: (f) => ({ ...f, packed: exactValue({ data: f.packed }) }),
  predicate: (f) => ({
    predicate: Array.isArray(f.predicate)
      ? encodePredicate(f.predicate.map(nodeOf)).slice() : exactValue({ data: f.predicate }),
  }),
};

/** The fields of a vector as messages.js has them. */
export function fieldsOf({ type, fields: { valueCount, ...fields } }) {
  return forms[type] ? forms[type](fields) : fields;
}

const isAbsent = (v) => v === null || v === false || v === '' || v === 0 || Array.isArray(v) && v.length === 0;

/** Fails unless everything expected is there, and nothing else but what stands for left out. `hash`: of a section. */
export function matches(actual, expected, what) {
  const isPlain = (v) => typeof v === 'object' && v !== null && Object.getPrototypeOf(v) === Object.prototype;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    same(actual.length, expected.length, `the length of ${what}`);
    expected.forEach((item, i) => matches(actual[i], item, `${what}[${i}]`));
  } else if (isPlain(expected) && isPlain(actual)) {
    for (const [key, v] of Object.entries(expected)) matches(actual[key], v, `${what}.${key}`);
    for (const [key, v] of Object.entries(actual)) {
      if (key in expected || key === 'hash' || isAbsent(v)) continue;
      fail(`${what}.${key} is ${shown(v)}, and should be absent`);
    }
  } else same(actual, expected, what);
}
