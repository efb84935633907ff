/**
 * A server that greets with another model than the one before. The client reads the model before it sends anything
 * else. If the model extends one that the client has read (protocol.md, section 4), what was made for that one goes on.
 * Only a client that meets such a server loads this module.
 *
 *     WELCOME with another hash ──ask──▶ GET_MODEL ──MODEL──▶ enter
 *                                            └──ERROR──▶ the connection is closed; the next one asks again
 * @module
 */

import { NestError } from '../wire/errors.js';
import { decode, encode, errorOf } from '../wire/messages.js';
import { decodeModel } from '../wire/model.js';
import { fail, lossError, modelError, MODEL_CHANGED } from './calls.js';
import { enter } from './connection.js';
import { answerArrived, errorArrived, handlers } from './frames.js';
import { mayBeExecuted } from './table.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** The models that the client keeps; a server has one. */
const MODELS_MAX = 8;

/** What must be the same in a model that extends another one. */
const ENTITY = ['name', 'parent'];
const ROOT = ['object', 'relationship'];
const ATTRIBUTE = ['name', 'type'];
const RELATIONSHIP = ['name', 'destination', 'inverse', 'isToMany', 'isOrdered', 'join'];

/** @param {any} a @param {any} b @param {string[]} names */
const same = (a, b, names) => a === b || (a && b && names.every((name) => a[name] === b[name]));

/**
 * Whether a list has all that an older one has, by number.
 * @param {any[]} list
 * @param {any[]} old
 * @param {(one: any, before: any) => boolean} means
 */
function hasAll(list, old, means) {
  const all = new Map(list.map((one) => [one.number, one]));
  return old.every((before) => all.has(before.number) && means(all.get(before.number), before));
}

/**
 * Whether a model has everything that an older one has, under the same numbers and with the same meaning.
 * @param {any} model
 * @param {any} old
 * @returns {boolean}
 */
export const extendsModel = (model, old) => hasAll(model.entities, old.entities, (entity, before) =>
  same(entity, before, ENTITY) && same(entity.root, before.root, ROOT)
    && hasAll(entity.attributes, before.attributes, (a, b) => same(a, b, ATTRIBUTE))
    && hasAll(entity.relationships, before.relationships, (a, b) => same(a, b, RELATIONSHIP)));

/**
 * Asks the server that greets for its model, before anything else is sent. A client that has read no model cannot
 * compare: everything that was made for one ends.
 * @param {Machine} m
 * @param {any} welcome of that server; its connection may have been lost while this module was loaded
 */
export function ask(m, welcome) {
  if (m.greeting !== welcome) return;
  if (m.models.size === 0) changed(m, new Set());
  else m.send(T.getModel, m.table.nextID, encode('getModel', {}));
}

/** @param {Machine} m @param {Uint8Array} body */
function modelArrived(m, body) {
  const model = decodeModel(body);
  const valid = new Set();
  for (const [hash, old] of m.models) if (extendsModel(model, old)) valid.add(hash);
  // What extends the model before extends all that one has extended, also if the client does not keep these.
  if (valid.has(m.welcome.modelHash)) for (const hash of m.valid) valid.add(hash);
  if (m.models.size >= MODELS_MAX) m.models.clear();
  m.models.set(model.hash, model);
  m.table.nextID++;
  changed(m, valid);
}

/**
 * Goes on with what was made for the server's model or for one that it extends; the rest ends.
 * @param {Machine} m
 * @param {Set<any>} valid the models that the server's extends
 */
function changed(m, valid) {
  const { greeting } = m;
  const error = new NestError('SCHEMA_CHANGED', MODEL_CHANGED);
  const isWrong = (/** @type {any} */ model) => modelError(m, model) !== null;
  // The rows of a transfer have the properties of the model that they were asked for.
  const isOld = (/** @type {any} */ { kind, model }) => isStream(kind) && model && model !== greeting.modelHash;
  enter(m, greeting, () => {
    m.valid = valid.add(greeting.modelHash);
    for (const entry of m.table.removeWaiting(({ request }) => isWrong(request.model) || isOld(request))) {
      fail(m, entry.request, mayBeExecuted(entry) ? lossError(entry.request) : error);
    }
    for (const one of [...m.followers]) {
      const { waiting } = one;
      if (isWrong(one.model)) one.end(m, error);
      else if (waiting && isWrong(waiting.spec.model)) {
        // A change that was made for another model cannot be requested.
        fail(m, { owner: waiting }, error);
        one.waiting = null;
      }
    }
  });
}

/** @param {string} kind */
const isStream = (kind) => kind === 'download' || kind === 'upload';

handlers.set(T.model, (m, frame) => (m.greeting ? modelArrived(m, frame.body) : answerArrived(m, frame)));

handlers.set(T.error, (m, { id, body }) => {
  const error = errorOf(decode('error', body));
  if (!m.greeting || id === 0) return errorArrived(m, error, id);
  // The server does not send its model now. The next attempt asks again.
  m.closeReason = error;
  m.isClosing = true;
});
