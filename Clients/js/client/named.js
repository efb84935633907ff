/**
 * Requests that a model names: fetched properties and fetch request templates of Core Data, with variables.
 * @module
 */

import { codec, decodeWith, list, number16, orNull, string, struct } from '../wire/codec.js';
import { NestError } from '../wire/errors.js';
import { model as modelCodec } from '../wire/model-codec.js';
import { objectID } from '../wire/model.js';
import { invalid } from './options.js';
import { quote } from './text.js';

/** The variable that stands for the object of a fetched property. */
const SOURCE = 'FETCH_SOURCE';
/** A quoted text, the beginning of a SUBQUERY with its variable, or a variable with a path. */
const PARTS = new RegExp([
  String.raw`(?<quoted>"(?:\\[^]|[^"\\])*"?|'(?:\\[^]|[^'\\])*'?)`,
  String.raw`(?<own>(?<![\p{L}\d_])SUBQUERY\s*\([^,"']*,\s*\$(?<variable>[\p{L}_][\p{L}\d_]*))`,
  String.raw`\$(?<name>[\p{L}_][\p{L}\d_]*)(?<path>(?:\.[\p{L}_][\p{L}\d_]*)*)`,
].join('|'), 'giu');

const added = struct({
  expressions: list(struct({ entity: number16, attribute: number16, pattern: string }), 3, 4096),
  requests: list(struct({
    name: string, source: orNull(number16), entity: number16, predicate: string, sort: string,
  }), 5, 1000),
});

/** What a body of MODEL has after its entities; nothing in that of an earlier version. */
const requests = codec((r) => {
  modelCodec.read(r);
  return r.left > 0 ? added.read(r).requests : [];
}, null);

/** The requests of each model that was asked. @type {WeakMap<object, Promise<any[]>>} */
const known = new WeakMap();

/**
 * The requests that the server's model names.
 * @param {any} nest
 * @param {object} model
 * @returns {Promise<any[]>}
 */
function requestsOf(nest, model) {
  const found = known.get(model) ?? nest.request('getModel', {}, { answer: 'model', isRaw: true })
    .then((/** @type {any} */ { body }) => decodeWith(requests, body));
  known.set(model, found);
  found.catch(() => known.delete(model));
  return found;
}

/**
 * The parts of a predicate: texts, and the variables between them.
 * @param {string} text
 */
function variablesOf(text) {
  const found = [...text.matchAll(PARTS)].map(({ index, 0: written, groups }) => (
    /** @type {any} */ ({ index, written, ...groups })));
  const own = new Set(found.map(({ variable }) => variable));
  return found.filter(({ name }) => name && !own.has(name));
}

/**
 * A request that the model names: `Thing.others` for a fetched property of Core Data, or a template's name.
 *
 * `source`: the object that `$FETCH_SOURCE` stands for; `$FETCH_SOURCE.price` is the value that it has now: ask again
 * after it has changed. `variables`: the values of the others.
 * @param {any} nest
 * @param {string} name
 * @param {{ source?: any, variables?: Record<string, any> }} given
 * @returns {Promise<any>} the request
 */
export async function namedRequest(nest, name, { source = null, variables = {} } = {}) {
  const model = await nest.model();
  const named = (await requestsOf(nest, model)).find((one) => one.name === name);
  if (!named) invalid(`the model names no request '${name}'`);
  if ((source === null) !== (named.source === null)) {
    invalid(`the request ${name} ${named.source === null ? 'has no source' : 'needs its source'}`);
  }
  const found = variablesOf(named.predicate);
  /** @type {Map<string, any>} */
  const values = new Map();
  if (source !== null) {
    const id = objectID(source);
    const paths = [...new Set(found.flatMap((one) => (one.name === SOURCE && one.path ? one.path.slice(1) : [])))];
    const of = model.entity(named.source).name;
    const request = (await nest.entity(of)).where(`SELF == ${id}`).properties(...paths.length ? paths : ['@entity']);
    const { rows: [row] } = await nest.fetch(request);
    if (!row) throw new NestError('NOT_FOUND', `there is no object ${id} of ${of}`);
    values.set('', id);
    for (const path of paths) values.set(`.${path}`, row[path]);
  }
  let text = '';
  let end = 0;
  for (const one of found) {
    text += named.predicate.slice(end, one.index);
    end = one.index + one.written.length;
    if (one.name === SOURCE && values.has(one.path)) text += quote(values.get(one.path));
    else if (!one.path && Object.hasOwn(variables, one.name)) text += quote(variables[one.name]);
    else invalid(`the request ${name} needs a value for $${one.name}`);
  }
  text += named.predicate.slice(end);
  const request = (await nest.entity(model.entity(named.entity).name)).where(text);
  return named.sort ? request.sorted(...named.sort.split(',')) : request;
}
