// A client without a connection, for tests of what is built on `request`: the test plays the server.

import { decode, encode, messageNames, typeOf } from '../../wire/messages.js';
import '../../wire/messages-more.js';
import '../../wire/messages-optimistic.js';
import '../../wire/opposite.js';
import { NestError } from '../../wire/errors.js';
import { Model } from '../../wire/model.js';
import { Entity } from '../../client/requests.js';

const property = (number, name, type, more) => ({ number, name, type, isOptional: true, default: null, ...more });

/** Items in lists; properties have names that are traps in JavaScript. */
export const model = new Model('00000000000000aa', [{
  number: 1,
  name: 'Item',
  attributes: [
    property(1, 'title', 'string'), property(2, 'constructor', 'string'),
    property(3, 'then', 'double', { default: 1.5 }),
  ],
  relationships: [
    { number: 5, name: 'parent', destination: 1, inverse: 6, isToMany: false },
    { number: 6, name: 'children', destination: 1, inverse: 5, isToMany: true, isOrdered: true },
  ],
}]);

/** What `nest.request` gives, and what a test does with it in the place of a server. */
class Call {
  constructor(name, fields, options) {
    this.name = name;
    this.options = options;
    const body = fields instanceof Uint8Array ? fields : encode(name, fields);
    this.fields = decode(name, options.bodyAt?.({ seen: null }) ?? body);
    /** What the client has sent after the request: `{name, body}`. */
    this.sent = [];
    this.isOver = false;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = (value) => { this.isOver = true; resolve(value); };
      this.reject = (error) => { this.isOver = true; reject(error); };
    });
    if (options.stream) options.stream.call = this;
    /** What a test does with a part that the client sends: it may replace one of these. */
    this.takes = { subtreeChunk: () => {}, subtreeEnd: () => {}, credit: () => {} };
    options.signal?.addEventListener('abort', () => this.reject(new NestError('CANCELLED', 'cancelled')));
  }

  /** Sends a part of a stream. */
  part(name, fields) {
    this.options.stream.part(typeOf(name), encode(name, fields));
  }

  /** Answers with a message, as the client gets it decoded. */
  answer(name, fields) {
    this.resolve(decode(name, encode(name, fields)));
  }
}

/** As much of the machine as sends the parts of streams. */
function machine() {
  let current;
  return {
    phase: 'ready',
    table: {
      inFlight: new Map([[1, {}]]),
      idOf(call) {
        current = call;
        return call.isOver ? undefined : 1;
      },
    },
    send(type, id, body) {
      const name = messageNames.get(type);
      current.sent.push({ name, body });
      current.takes[name](body);
    },
  };
}

/** The client; `respond(call)` plays the server. */
export function client(respond, { initialCredit = 1000, ...more } = {}) {
  const calls = [];
  const m = machine();
  return {
    calls,
    waiting: 0,
    run: (body) => body(m),
    // Of WELCOME: no user, from a server that knows them.
    server: { user: '', creditBytesInitial: initialCredit },
    model: async () => model,
    entity: async (name) => new Entity(model, model.entity(name)),
    newKey: () => 'a0a1a2a3a4a5a6a7a8a9aaabacadaeaf',
    unzstd: async () => null,
    request(name, fields, options) {
      const call = new Call(name, fields, options);
      calls.push(call);
      queueMicrotask(() => respond?.(call));
      return call.promise;
    },
    ...more,
  };
}
