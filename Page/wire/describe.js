// What a frame says: its name, a line of words, and its fields with the names of the model. Pure.

import { COMPRESSED, MORE } from '/client/wire/frames.js';
import { Limits } from '/client/wire/limits.js';
import { decode, messageNames } from '/client/wire/messages.js';
import '/client/wire/messages-optimistic.js';
import '/client/wire/messages-presence.js';
import { count, labelText } from '../shell/format.js';
import { personText } from '../shell/names.js';
import { valueText } from '../shell/values.js';

/** Elements of a list that are described. */
const LISTED_MAX = 50;
/** Names of waiting frames that are listed. */
const HELD_NAMED_MAX = 6;
/** Frames whose bytes hold secrets: the session and the token of this window. */
const SECRET = 'hello';

/** The name of a type of message, as protocol.md writes it: SNAPSHOT_ROWS. */
export function nameOf(type) {
  const name = messageNames.get(type);
  if (!name) return `TYPE ${type.toString(16).padStart(2, '0')}`;
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** Views have the numbers from 2^31 on: they are counted from 0 here. */
const viewText = (id) => `view ${id - Limits.viewIDMin}`;

/** What a frame belongs to. */
export function belongsTo(id) {
  if (id === 0) return 'the connection';
  return id >= Limits.viewIDMin ? viewText(id) : `request ${id}`;
}

/** The words for frames that wait, by their types: how many, and the first of them by name. */
export function heldWords(types) {
  if (types.length === 0) return 'No frame waits.';
  const first = types.slice(0, HELD_NAMED_MAX).map(nameOf).join(', ');
  return `${count(types.length, 'frame')} ${types.length === 1 ? 'waits' : 'wait'}: ${first}${
    types.length > HELD_NAMED_MAX ? ', …' : ''}`;
}

/** Whether the bytes of a frame may be shown: HELLO has the token of this window. */
export const isSecret = ({ type }) => messageNames.get(type) === SECRET;

/**
 * Describes a frame: `{ name, summary, fields, fault }`. `fields` is plain data with names; null if it cannot be read,
 * and `fault` says why. `body`: the whole body, unpacked; null: it is not there.
 */
export function describe(frame, body, names) {
  const name = nameOf(frame.type);
  const message = messageNames.get(frame.type);
  const isUnknown = message === undefined;
  if (isUnknown) return { name, summary: '', fields: null, fault: 'This page does not know this type of message.' };
  if (body === null) {
    const why = frame.flags & COMPRESSED ? 'It is compressed.' : 'It was too long to be kept whole.';
    return { name, summary: why, fields: null, fault: why };
  }
  const { shape } = frame;
  try {
    const context = { width: shape?.projection.length ?? 0, hasWindow: shape?.hasWindow ?? false };
    const decoded = decode(message, body, context);
    const summary = (SUMMARIES[message] ?? firstWords)(decoded, { names, shape, frame });
    const more = frame.flags & MORE ? ', more follows' : '';
    const fields = named(redacted(message, decoded), { names, shape, entity: null });
    return { name, summary: summary + more, fields, fault: null };
  } catch (error) {
    return { name, summary: '', fields: null, fault: `It cannot be read: ${error.message}` };
  }
}

/** The fields without the secrets of this window. */
function redacted(message, fields) {
  if (message !== SECRET) return fields;
  return { ...fields, session: '(secret)', token: fields.token && { ...fields.token, secret: '(secret)' } };
}

// MARK: A line of words for each message

const rowsText = (number) => count(number, 'row');
const span = (window) => ('anchor' in window ? `around #${window.anchor}` : `rows ${window.offset} to ${
  window.offset + window.limit}`);

function requestText({ entity, source, predicate, sort, window }, names) {
  return [
    names.entity(entity), source && `${names.property(source.relationship, null)} of #${source.object}`,
    predicate && `where ${names.predicate(predicate, entity)}`,
    sort.length > 0 && `by ${sort.map((key) => names.sortKey(key, entity)).join(', ')}`, window && span(window),
  ].filter(Boolean).join(', ');
}

const stepName = (step) => (typeof step === 'string' ? step : Object.keys(step)[0]);

/** The words of steps whose names are of a program. */
const STEPS = { insertAs: 'insert as' };

/** The steps of a transaction: one by its kind, several of a kind by their number. An insert has its reserved id. */
function stepsText(mutations) {
  const kinds = new Map();
  for (const step of mutations) kinds.set(stepName(step), [...(kinds.get(stepName(step)) ?? []), step]);
  return [...kinds].map(([kind, steps]) => {
    const words = STEPS[kind] ?? kind;
    if (steps.length > 1) return `${steps.length} × ${words}`;
    return kind === 'insertAs' ? `${words} #${steps[0].insertAs.object}` : words;
  }).join(', ');
}

/** An object of a step: its id, or the object of a step before it. */
const objectText = (id) => (id > 0 ? `#${id}` : `the object of insert ${-id}`);

/** Where the server puts an object that was dropped into a gap. */
function gapText({ left, right }) {
  const places = [left && `after ${objectText(left)}`, right && `before ${objectText(right)}`].filter(Boolean);
  return [...places, 'last'].join(', else ');
}

function diffText({ from, to, deletedRows, moves, insertedRows, updates, total }) {
  const parts = [[insertedRows, '+'], [deletedRows, '−'], [moves, '↕'], [updates, '~']]
    .filter(([list]) => list.length > 0).map(([list, sign]) => `${sign}${list.length}`);
  return `${from} → ${to}: ${parts.join(' ') || 'nothing'}, of ${rowsText(total)}`;
}

const SUMMARIES = {
  hello: ({ clientName, user, token }) => `${labelText(clientName)}${user ? `, as ${labelText(user)}` : ''}${
    token ? `, with token ${token.number}` : ''}`,
  welcome: ({ serverName, revision, role }) => `${labelText(serverName)}, revision ${revision}, role ${role}`,
  error: ({ code, message }) => `${code}: ${labelText(message)}`,
  goAway: ({ code, message }) => `${code}: ${labelText(message)}`,
  subscribe: ({ resume, request }, { names }) => `${requestText(request, names)}${
    resume ? `, resumes at ${resume.revision}` : ''}`,
  resubscribe: ({ request }, { names }) => requestText(request, names),
  fetch: ({ request }, { names }) => requestText(request, names),
  explain: ({ request }, { names }) => requestText(request, names),
  subscribed: ({ first, view, revision }) => `${viewText(view)}: ${first === 'current'
    ? `exact at ${revision}` : `${first} follows`}`,
  snapshot: ({ revision, position, sections }) => `revision ${revision}, ${rowsText(
    sections.reduce((sum, { rowCount }) => sum + rowCount, 0))} of ${position.total}`,
  snapshotRows: ({ rows }) => rowsText(rows.length),
  diff: diffText,
  progress: ({ revision }) => `revision ${revision}`,
  totals: ({ revision, position }) => `revision ${revision}, ${rowsText(position.total)}`,
  transaction: ({ name, mutations }) => [name && `“${labelText(name)}”`, stepsText(mutations)]
    .filter(Boolean).join(', '),
  receipt: ({ revision, name, isChanged, isReplayed }) => [`revision ${revision}`, name && `“${labelText(name)}”`,
    !isChanged && 'nothing changed', isReplayed && 'repeated'].filter(Boolean).join(', '),
  changeSet: ({ revision, name, objects }) => `revision ${revision}, “${labelText(name)}”, ${
    count(objects.length, 'object')}`,
  history: ({ entries }) => count(entries.length, 'transaction'),
  model: ({ entities }) => entities.map(({ name }) => labelText(name)).join(', '),
  statistics: ({ values }) => count(values.length, 'number'),
  clients: ({ clients }) => count(clients.length, 'connection'),
  undoState: ({ undo, redo }) => [
    undo && `undo “${labelText(undo.name)}”`, redo && `redo “${labelText(redo.name)}”`,
  ].filter(Boolean).join(', ') || 'nothing to undo',
  unsubscribe: ({ view }) => viewText(view),
  subscribeChanges: ({ since }) => (since ? `from revision ${since.revision} on` : 'from now on'),
  authors: ({ authors }) => authors.map((one) => `${personText(one)} in ${one.revision}`).join(', '),
  parsePredicate: ({ text }) => labelText(text),
  own: ({ revisions, requests }) => revisions.map((revision, index) =>
    `revision ${revision}${requests ? ` of request ${requests[index]}` : ''}`).join(', '),
  reserve: ({ count: number }) => count(number, 'id'),
  reserved: ({ first, count: number }) => (number === 1 ? `id ${first}` : `ids ${first} to ${first + number - 1}`),
};

/** For a message without words of its own: its first simple fields. */
function firstWords(fields) {
  return Object.entries(fields).filter(([, value]) => ['string', 'number', 'boolean', 'bigint'].includes(typeof value))
    .slice(0, 4).map(([name, value]) => (name === 'view' ? viewText(value)
    : `${name} ${typeof value === 'string' ? labelText(value) : value}`)).join(', ');
}

// MARK: Fields with names

const isPlain = (value) => typeof value === 'object' && value !== null
  && Object.getPrototypeOf(value) === Object.prototype;

const isEmpty = (value) => value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** Numbers of the model by the field that they stand in. */
const PROPERTIES = new Set(['property', 'relationship', 'attribute']);
const PROPERTY_LISTS = new Set(['projection', 'properties']);

/** Plain data in which numbers of the model are names, rows are records, and long lists are cut. */
function named(value, context, key = '') {
  const { names, shape } = context;
  if (Array.isArray(value)) {
    if (PROPERTY_LISTS.has(key)) {
      return value.map((number) => (typeof number === 'number'
        ? names.property(number, context.entity ?? shape?.entity ?? null, shape?.columns) : number));
    }
    const listed = value.slice(0, LISTED_MAX).map((each) => named(each, context, key));
    return value.length > LISTED_MAX ? [...listed, `… ${value.length - LISTED_MAX} more`] : listed;
  }
  if (!isPlain(value)) return simple(value, context, key);
  if (key === 'rows' || key === 'insertedRows') return record(value, context);
  const entity = typeof value.entity === 'number' && value.entity > 0 ? value.entity : context.entity;
  const inner = { ...context, entity };
  if ('steps' in value && 'leaf' in value) return names.path(value, entity);
  if (key === 'near') return gapText(value);
  if (key === 'sort') return names.sortKey(value, entity);
  return Object.fromEntries(Object.entries(value).filter(([, each]) => !isEmpty(each))
    .map(([name, each]) => [name, named(each, inner, name)]));
}

function simple(value, { names, shape, entity }, key) {
  if (typeof value === 'number') {
    if (key === 'view') return viewText(value);
    if (key === 'entity') return value === 0 ? 'any' : names.entity(value);
    if (PROPERTIES.has(key)) return names.property(value, entity ?? shape?.entity ?? null, shape?.columns);
    return value;
  }
  if (key === 'predicate' && value instanceof Uint8Array && entity !== null) return names.predicate(value, entity);
  return typeof value === 'string' || typeof value === 'boolean' || value === null ? value : valueText(value);
}

/** A row with the names of its values. */
function record({ id, values, ...rest }, { names, shape }) {
  const entries = values.map((value, index) => [
    shape ? names.property(shape.projection[index], shape.entity, shape.columns) : `value ${index}`, valueText(value)]);
  return { id, ...rest, ...Object.fromEntries(entries) };
}

/**
 * Fields as lines of text, two spaces a level: `name: value`, and `-` before the elements of a list.
 */
export function linesOf(value, indent = '') {
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each !== 'object')) return [`${indent}${value.map(scalar).join(', ')}`];
    return value.flatMap((each) => {
      const [first = '', ...rest] = linesOf(each, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  if (!isPlain(value)) return [`${indent}${scalar(value)}`];
  return Object.entries(value).flatMap(([name, each]) => {
    if (typeof each !== 'object' || each === null) return [`${indent}${name}: ${scalar(each)}`];
    const lines = linesOf(each, `${indent}  `);
    if (lines.length === 1 && Array.isArray(each)) return [`${indent}${name}: ${lines[0].trim()}`];
    return [`${indent}${name}:`, ...lines];
  });
}

const scalar = (value) => (typeof value === 'string' ? labelText(value) : String(value));

/** Bytes in rows of 16: where, in hexadecimal digits, as text. */
export function hexLines(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, '0'));
    const hex = `${digits.slice(0, 8).join(' ')}  ${digits.slice(8).join(' ')}`.padEnd(49);
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(4, '0')}  ${hex} ${text}`);
  }
  return lines;
}
