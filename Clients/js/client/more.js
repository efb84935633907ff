/**
 * Requests that few programs send. This module is loaded when one is.
 * @module
 */

import '../wire/messages-more.js';
import { objectID } from '../wire/model.js';
import { LargeValue, NestDate } from '../wire/values.js';
import { atLeastBefore } from '../machine/fetches.js';
import { endGroup } from '../machine/groups.js';
import { Ping } from '../machine/pings.js';
import { CALL, known } from './options.js';
import { shown } from './shown.js';
import { entityName, nameOf, shownConflicts } from './undo.js';

/** @typedef {import('./nest.js').Nest} Nest */
/** @typedef {import('../wire/model.js').Model} Model */

/**
 * What an undo would do now.
 * @param {Nest} nest
 * @param {'undo' | 'redo' | { revision: number, ofAnyone?: boolean }} [what]
 * @param {{ policy?: string, rehomes?: boolean }} [given]
 */
export async function preview(nest, what = 'undo', given = {}) {
  const { policy = 'keep', rehomes = false } = known('preview', given, ['policy', 'rehomes']);
  const model = await nest.model();
  const options = { answer: 'undoPreview', model: model.hash };
  return shownPreview(await nest.request('previewUndo', { what, policy, rehomes }, options), model);
}

/**
 * Committed transactions, newest first. The history has ended when a page is empty.
 * @param {Nest} nest
 * @param {{ before?: number, limit?: number, onlyMine?: boolean, object?: any, signal?: AbortSignal,
 *   timeout?: number }} [given] `object`: only those that changed this object
 */
export async function history(nest, given = {}) {
  const { before = 0, limit = 100, onlyMine = true, object = null, signal, timeout } =
    known('history', given, ['before', 'limit', 'onlyMine', 'object', ...CALL]);
  const fields = { before, limit, onlyMine, object: object === null ? null : objectID(object) };
  const { entries } = await nest.request('getHistory', fields, { signal, timeout, answer: 'history' });
  return Object.freeze(entries.map(historyEntry));
}

/**
 * @param {Nest} nest
 * @param {string | null} [name]
 * @param {number | null} [joined]
 * @returns {Promise<number>}
 */
export const beginGroup = (nest, name, joined = null) =>
  nest.request('beginGroup', { name: name || null, joined }, { kind: 'connection', answer: 'group' });

/**
 * @template T
 * @param {Nest} nest
 * @param {string | null} name
 * @param {(nest: Nest) => Promise<T>} body
 * @returns {Promise<T>}
 */
export async function group(nest, name, body) {
  await beginGroup(nest, name);
  let result;
  try {
    result = await body(nest);
  } catch (error) {
    nest.run((m) => endGroup(m, null));
    throw error;
  }
  await leaveGroup(nest);
  return result;
}

/** @param {Nest} nest @returns {Promise<void>} */
export const leaveGroup = (nest) => nest.call((m, call) => endGroup(m, call));

/** The milliseconds that a message takes to the server and back. @param {Nest} nest */
export async function ping(nest) {
  const start = performance.now();
  await nest.call((m, call) => new Ping(call).open(m));
  return performance.now() - start;
}

/**
 * The result of a request.
 * @param {Nest} nest
 * @param {import('./requests.js').FetchRequest} request
 * @param {{ atLeast?: number | 'newest', signal?: AbortSignal, timeout?: number }} [given]
 */
export async function fetch(nest, request, given = {}) {
  const { atLeast = 0, signal, timeout } = known('fetch', given, ['atLeast', ...CALL]);
  const ready = nest.resolve(request).then(({ bytes, wire, model }) =>
    ({ body: bytes, bodyAt: atLeastBefore(atLeast, bytes), model, projection: wire.projection,
      totals: wire.totals }));
  const state = await nest.request('fetch', null, { ready, signal, timeout });
  return shown(request.shownWindow ? state : { ...state, position: null }, request);
}

/** Everything that an object holds. @param {Nest} nest @param {any} id @param {any} [given] */
export async function object(nest, id, given = {}) {
  const { signal, timeout } = known('object', given, CALL);
  const fields = { id: objectID(id) };
  const read = nest.model();
  const ready = read.then(({ hash }) => ({ model: hash }));
  const found = await nest.request('getObject', fields, { ready, signal, timeout, answer: 'object' });
  const model = await read;
  const name = (/** @type {any} */ { property }) => nameOf(model, found.entity, property);
  return Object.freeze({
    entity: entityName(model, found.entity),
    id: found.id,
    revision: found.revision,
    values: record(found.values.map((/** @type {any} */ one) =>
      [name(one), shownValue(model.find(found.entity)?.find(one.property), one.value)])),
    counts: record(found.counts.map((/** @type {any} */ one) => [name(one), one.count])),
  });
}

/** How the server evaluates a request. @param {Nest} nest @param {import('./requests.js').FetchRequest} request */
export async function explain(nest, request) {
  const { bytes, model } = await nest.resolve(request);
  return nest.request('explain', bytes, { answer: 'explanation', model });
}

/** The counters and gauges of the server. @param {Nest} nest @returns {Promise<Map<string, number | bigint>>} */
export async function statistics(nest) {
  const { values } = await nest.request('getStatistics', {}, { answer: 'statistics' });
  return new Map(values.map((/** @type {any} */ { name, value }) => [name, value]));
}

// MARK: Answers as a program sees them: names instead of numbers, frozen

/** @param {any} property undefined: one that the model does not have @param {any} value */
export const shownValue = (property, value) =>
  (/^large/.test(property?.type) && value !== null ? Object.freeze(new LargeValue(value)) : value);

/** @param {any[]} pairs @returns {Readonly<Record<string, any>>} without a prototype: every name is only a name */
const record = (pairs) => Object.freeze(Object.assign(Object.create(null), Object.fromEntries(pairs)));

/** @param {any} found of UNDO_PREVIEW @param {Model} model */
function shownPreview(found, model) {
  return Object.freeze({
    ...found,
    conflicts: shownConflicts(found.conflicts.listed, model),
    conflictCount: found.conflicts.count,
    changes: Object.freeze(found.changes.map((/** @type {any} */ one) => Object.freeze({
      ...one,
      entity: entityName(model, one.entity),
      properties: Object.freeze(one.properties.map((/** @type {any} */ number) => nameOf(model, one.entity, number))),
      values: Object.freeze(one.values.map((/** @type {any} */ value) => Object.freeze({
        property: nameOf(model, one.entity, value.property),
        before: shownValue(model.find(one.entity)?.find(value.property), value.before),
        after: shownValue(model.find(one.entity)?.find(value.property), value.after),
      }))),
    }))),
  });
}

/** @param {any} entry of HISTORY */
const historyEntry = (entry) => Object.freeze({ ...entry, time: Object.freeze(new NestDate(entry.time)) });
