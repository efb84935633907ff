// A client with a server that a test plays: the platform's transport gives what is sent to `server`.
import '../../wire/messages-more.js';
import '../../wire/messages-optimistic.js';
import '../../wire/opposite.js';
import { start } from '../../client/connect.js';
import { encodeFrame, FrameDecoder, preface } from '../../wire/frames.js';
import { fnv1a, hashText } from '../../wire/hash.js';
import { decode, encode, messageNames, typeOf } from '../../wire/messages.js';
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { HISTORY, VIEW } from './server.js';

const attribute = (number, name, type) => ({
  number, name, type, isOptional: true, defaultsToNow: false, default: null, minimum: null, maximum: null,
});
const relationship = (number, name, destination, inverse, isToMany) => ({
  number, name, destination, inverse, isToMany, isOrdered: isToMany, isOptional: true, deleteRule: 'nullify',
  minimumCount: 0, maximumCount: 0, join: null,
});
const entity = (number, name, attributes, relationships, parent = null) => ({
  number, name, parent, isAbstract: false, attributes, relationships, uniquenessConstraints: [], indexes: [],
  label: null, root: null,
});

/** Entities and properties with the names that are traps in JavaScript. */
export const ENTITIES = [
  entity(1, 'Item', [
    attribute(1, 'title', 'string'), attribute(2, 'done', 'boolean'), attribute(3, 'id', 'integer'),
    attribute(4, '__proto__', 'string'), attribute(5, 'size', 'double'), attribute(6, 'due', 'date'), attribute(7, 'depth', 'integer'),
  ], [
    relationship(10, 'parent', 1, 11, false), relationship(11, 'children', 1, 10, true),
    relationship(12, 'then', 1, 13, true), relationship(13, 'constructor', 1, 12, true),
    relationship(14, 'nest_inverse_1', 1, 10, true),
  ]),
  entity(2, 'Task', [attribute(1, 'title', 'string')], [], 1),
];

export const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

export class Page {
  /** @param {{ features?: number }} [options] what the server offers */
  constructor({ features = 0x107 } = {}) {
    this.features = features;
    /** The model. */
    this.entities = ENTITIES;
    this.sent = [];
    this.opened = 0;
    this.closed = 0;
    this.events = null;
    this.platform = {
      open: (address, settings, events) => {
        this.opened++;
        this.events = events;
        this.decoder = new FrameDecoder(1 << 22);
        let isFirst = true;
        queueMicrotask(() => events.opened());
        return {
          send: (frames) => {
            for (const bytes of frames) {
              if (isFirst) isFirst = false;
              else this.decoder.push(bytes);
            }
            for (let next = this.decoder.next(); next; next = this.decoder.next()) this.frame(next);
          },
          close: () => this.closed++,
          setReading: (reads) => {
            this.reads = reads;
          },
          waiting: 0,
        };
      },
      randomBytes: (count) => new Uint8Array(count).fill(7),
      unzstd: null,
      cluster: null,
      canPause: true,
      followsLeader: true,
      readAddress: (text) => text,
    };
  }

  /** What the server does by itself: the handshake, and the model. */
  frame({ type, id, body }) {
    const name = messageNames.get(type);
    const frame = { name, id, body, fields: decode(name, body) };
    if (name === 'hello') {
      this.events.received(preface());
      return this.reply('welcome', {
        serverName: 't', features: this.features, historyID: this.history ?? HISTORY, revision: 1,
        modelHash: this.hash ?? modelHash(this.entities),
      });
    }
    if (name === 'getModel') return this.reply('model', { entities: this.entities }, id);
    this.sent.push(frame);
  }

  reply(name, fields, id = 0, flags = 0) {
    const bytes = encodeFrame(typeOf(name), flags, id, encode(name, fields));
    queueMicrotask(() => this.events.received(bytes));
  }

  error(code, id) {
    const details = { object: null, faults: [], leader: null, column: 5 };
    this.reply('error', { code, retry: 0, retryAfter: 0, message: code, ...details }, id);
  }

  /** The next request of a name. The client may load a module first, which takes its time on a busy machine. */
  async next(name) {
    for (const end = Date.now() + 20_000; Date.now() < end;) {
      const index = this.sent.findIndex((frame) => frame.name === name);
      if (index >= 0) return this.sent.splice(index, 1)[0];
      await turn();
    }
    throw new Error(`no ${name} was sent, only ${this.sent.map((frame) => frame.name)}`);
  }

  async connect(options = {}) {
    this.nest = await start(this.platform, ['a:1'], options);
    return this.nest;
  }

  /** Answers the next SUBSCRIBE with a state of these rows: [id, title] each. */
  async list(rows, { view = VIEW, revision = 2, projection = [1] } = {}) {
    const { id } = await this.next('subscribe');
    this.reply('subscribed', { view, first: 'snapshot', revision: 0, reason: '', projection }, id);
    this.reply('snapshot', {
      reason: 'first', revision, digest: digestOf(rows), sectionCount: 1,
      sections: [{ key: '', rowCount: rows.length }],
      position: { total: rows.length, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null },
    }, view, rows.length ? 1 : 0);
    if (rows.length) this.reply('snapshotRows', { rows: rows.map(([row, ...values]) => ({ id: row, values })) }, view);
    await turn();
  }

  /** Sends the diff that inserts a row at the front. */
  insert(from, to, row, after, view = VIEW) {
    this.reply('diff', {
      from, to, total: after.length, digest: digestOf(after.map((id) => [id])), deletedRows: [], deletedSections: [],
      insertedSections: [], moves: [], insertedRows: [{ at: [0, 0], id: row, values: [`t${row}`] }], updates: [],
      position: null,
    }, view);
  }
}

const digestOf = (rows) => digest([{ ...sectionKey(''), rows: rows.map(([id]) => ({ id })) }]);

/** The hash that WELCOME names. */
export const modelHash = (entities = ENTITIES) => hashText(fnv1a(encode('model', { entities })));
