// A server for the machine, without I/O: it reads the frames that the machine sends, and answers with bytes.
import * as cluster from '../../machine/cluster.js';
import '../../wire/messages-more.js';
import '../../wire/messages-optimistic.js';
import '../../wire/messages-presence.js';
import '../../wire/opposite.js';
import { Machine } from '../../machine/machine.js';
import { submit } from '../../machine/calls.js';
import { ask } from '../../machine/greeting.js';
import { atLeastBefore } from '../../machine/fetches.js';
import { List } from '../../machine/lists.js';
import { specOf } from '../../machine/spec.js';
import { T } from '../../machine/types.js';
import { toHex, Writer } from '../../wire/bytes.js';
import { encodeFrame, FrameDecoder, preface } from '../../wire/frames.js';
import { decode, encode, messageNames, typeOf } from '../../wire/messages.js';
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';

export const HISTORY = '00112233445566778899aabbccddeeff';
export const OTHER_HISTORY = 'ff112233445566778899aabbccddeeff';
export const MODEL = 'b510d92ca3d08e4a';
export const VIEW = 0x80000005;
/** The projection of the lists of these tests: one text. */
const PROJECTION = [1];

const frame = (name, fields, id = 0, flags = 0) => encodeFrame(typeOf(name), flags, id, encode(name, fields));

/** Numbers in 0 … 1 that are the same in each run. @param {number} seed */
export function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** The machine with a server that this object plays. */
export class World {
  constructor(options = {}) {
    const random = numbers(options.seed ?? 7);
    this.machine = new Machine({ homes: ['a:1'], random, session: '0f'.repeat(16), cluster, ...options });
    this.now = 0;
    this.events = [];
    this.connects = [];
    this.closes = 0;
    this.isFirst = true;
    this.decoder = new FrameDecoder(1 << 22);
    this.sent = [];
    this.perform();
  }

  /** Performs what the machine decides: frames go to `sent`, events to `events`. */
  perform() {
    const output = this.machine.take();
    for (const bytes of output.send) {
      const isPreface = toHex(bytes) === toHex(preface());
      if (!isPreface) this.decoder.push(bytes);
    }
    for (let next = this.decoder.next(); next; next = this.decoder.next()) {
      const name = messageNames.get(next.type) ?? `0x${next.type.toString(16)}`;
      // The bodies of uploads are whatever their test gives.
      const isKnown = messageNames.has(next.type) && name !== 'importSubtree';
      this.sent.push({ name, id: next.id, body: next.body, fields: isKnown ? decode(name, next.body) : null });
    }
    if (output.close) {
      this.closes++;
      this.decoder = new FrameDecoder(1 << 22);
    }
    if (output.connect !== null) this.connects.push(output.connect);
    this.unpack = output.unpack ?? this.unpack;
    this.reads = output.reads;
    this.deadline = output.deadline;
    this.events.push(...output.events.filter(({ type }) => type !== 'greeting'));
    // The owner loads the module of `ask`.
    for (const { type, welcome } of output.events) if (type === 'greeting' && !this.isLoading) this.greet(welcome);
    return output;
  }

  greet(welcome) {
    this.run((m) => ask(m, welcome));
  }

  run(body) {
    const result = body(this.machine, this.now);
    this.perform();
    return result;
  }

  /** Takes the frames that were sent since the last call. */
  takeSent() {
    const sent = this.sent;
    this.sent = [];
    return sent;
  }

  /** Takes the events since the last call, of these types. */
  take(...types) {
    const found = this.events.filter(({ type }) => types.length === 0 || types.includes(type));
    this.events = [];
    return found;
  }

  receive(bytes) {
    this.run((m, now) => m.received(bytes, now));
  }

  reply(name, fields, id = 0, flags = 0) {
    this.receive(frame(name, fields, id, flags));
  }

  error(code, id = 0, details = {}) {
    const { retry = 0, retryAfter = 0, leader = null, message = code } = details;
    this.reply('error', { code, retry, retryAfter, message, object: null, faults: [], leader, column: null }, id);
  }

  /** Connects up to WELCOME. */
  welcome(fields = {}) {
    this.run((m, now) => m.connect(now));
    this.run((m, now) => m.connected(now));
    this.sent = this.sent.filter(({ name }) => name !== 'hello');
    this.receive(preface());
    const known = { serverName: 't', features: 7, historyID: HISTORY, modelHash: MODEL, revision: 1 };
    this.reply('welcome', { ...known, ...fields });
  }

  lose(error = null) {
    this.run((m, now) => m.lost(now, error));
  }

  /** Lets time pass until the machine wants to connect, and welcomes it. */
  reconnect(fields = {}) {
    const count = this.connects.length;
    for (let i = 0; i < 100 && this.machine.phase === 'backingOff'; i++) this.pass(this.deadline - this.now);
    if (this.machine.phase !== 'connecting') throw new Error(`not connecting after ${count} attempts`);
    this.welcome(fields);
  }

  pass(ms) {
    this.now += Math.max(ms, 0);
    this.run((m, now) => m.time(now));
  }

  /** Submits a request; the result has `reply` or `error` when it is answered. */
  request(name, fields, options = {}) {
    const { kind = 'read', answer, atLeast, ...more } = options;
    const call = {};
    const body = fields instanceof Uint8Array ? fields : encode(name, fields);
    const owner = { call };
    const request = { owner, kind, type: T[name], body, ...more, answer: answer && typeOf(answer) };
    if (atLeast !== undefined) request.bodyAt = atLeastBefore(atLeast, body);
    this.run((m) => submit(m, request));
    return call;
  }

  /** The end of a call, if it has ended. */
  ended(call) {
    const isEnd = ({ type }) => type === 'answer' || type === 'fail';
    return this.events.find((event) => event.call === call && isEnd(event)) ?? null;
  }

  write(title = 'Milk', key = 'a0'.repeat(16)) {
    const values = [{ property: 1, value: title }];
    const mutations = [{ insert: { entity: 1, values, placements: [] } }];
    const fields = { key, name: null, preconditions: [], mutations };
    return this.request('transaction', fields, { kind: 'write', answer: 'receipt' });
  }

  receipt(id, revision = 2, flags = {}) {
    this.reply('receipt', { revision, isChanged: true, isReplayed: false, results: [], name: 'x', ...flags }, id);
  }

  // Lists

  subscribe(request = spec()) {
    const list = new List({});
    this.run((m) => list.open(m, request));
    return list;
  }

  /** The changes of a subscriber, as they arrived. */
  changesOf(subscriber) {
    return this.events.filter((event) => event.to === subscriber.to);
  }

  types(subscriber) {
    return this.changesOf(subscriber).map((event) => event.change?.type ?? event.type);
  }

  /** Answers the last SUBSCRIBE or RESUBSCRIBE. */
  subscribed(fields = {}) {
    const { id } = this.sent.filter(({ name }) => /subscribe/i.test(name) && name !== 'unsubscribe').at(-1);
    this.sent = [];
    const first = { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection: PROJECTION };
    this.reply('subscribed', { ...first, ...fields }, id);
    return id;
  }

  /** Sends a snapshot of ids, each with its title. */
  snapshot(revision, ids, { id = VIEW, position, title = (row) => `t${row}`, reason = 'first' } = {}) {
    const state = stateOf(ids);
    this.reply('snapshot', {
      reason, revision, digest: digest(state), sectionCount: 1,
      position: position ?? positionOf(ids.length, 0),
      sections: [{ key: '', rowCount: ids.length }],
    }, id, ids.length > 0 ? 1 : 0);
    if (ids.length > 0) this.reply('snapshotRows', { rows: ids.map((row) => ({ id: row, values: [title(row)] })) }, id);
  }

  /** Sends the diff that inserts a row at the front. */
  insert(from, to, row, after, { view = VIEW, position = null } = {}) {
    this.diff(from, to, after, {
      view, position, insertedRows: [{ at: [0, 0], id: row, values: [`t${row}`] }],
    });
  }

  diff(from, to, after, { view = VIEW, position = null, ...changes } = {}) {
    this.reply('diff', {
      from, to, total: after.length, digest: digest(stateOf(after)), deletedRows: [], deletedSections: [],
      insertedSections: [], moves: [], insertedRows: [], updates: [], position, ...changes,
    }, view);
  }
}

const stateOf = (ids) => [{ ...sectionKey(''), rows: ids.map((id) => ({ id })) }];

/** A request for the machine. */
export function spec(fields = {}, model = MODEL) {
  const wire = {
    entity: 1, source: { object: 1, relationship: 6 }, projection: PROJECTION, sort: [], predicate: null, columns: [],
    section: null, window: null, ...fields,
  };
  return specOf(wire, model, { name: JSON.stringify(fields) });
}

/** The ids that a change shows. */
export const ids = (event) => event.state.sections.flatMap(({ rows }) => rows.map(({ id }) => id));

/** A position of a window. */
export const positionOf = (total, row, anchor = null) =>
  ({ total, sectionTotal: 1, start: { row, section: 0, rowInSection: row }, anchor });

export { Writer };
