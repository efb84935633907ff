// The messages of the protocol (section 6): name → [type, codec of the body]. Rare ones are in messages-more.js.
import { Limits } from './limits.js';
import { NestError, errorName } from './errors.js';
import { malformed } from './bytes.js';
import {
  checked, choice, codec, decodeWith, encodeWith, features, fields, flags, hex, i64, id128, list, number16, object,
  optional, orNull, rest, string, struct, text, trailing, u64, u8, value, variant, varint,
} from './codec.js';
import { properties, request } from './request.js';
import { diff, rows, snapshot, snapshotSections, totals } from './rows.js';
import { model } from './model-codec.js';

const name = text(Limits.nameBytesMax);
const entity = number16;
const property = number16;
const empty = struct({});
const id32 = codec((r) => r.varint(0xffffffff), varint.write);
const view = checked(varint, (id) => id >= Limits.viewIDMin && id <= 0xffffffff, 'there is no such view');

// 2^62-1, the newest state, is written as null.
export const newest = 2n ** 62n - 1n;
export const atLeast = codec(null, (w, v) => w.varint(v ?? newest));

// Handshake and errors

/** The part of the store that a token is confined to. */
export const confinement = struct({ root: object, entity, relationship: property });
export const code = codec((r) => errorName(r.u16()), null);

/** Of HELLO: a client of a program needs no others. */
export const helloFields = {
  1: ['clientName', name, ''],
  2: ['features', features, 0],
  3: ['session', id128],
  6: ['token', struct({ number: varint, secret: hex(32) }), null],
  9: ['user', name, ''],
};

export const roles = ['read', 'write', 'admin'];

const welcome = fields({
  1: ['serverName', name, ''],
  2: ['features', features, 0],
  3: ['frameBytesMax', varint, Limits.frameBytesMax],
  4: ['historyID', id128],
  5: ['revision', varint, 0],
  6: ['oldestRevision', varint, 0],
  7: ['modelHash', u64, '0000000000000000'],
  8: ['sessionNumber', varint, null],
  9: ['pingIntervalMilliseconds', varint, 20000],
  10: ['requestsInFlightMax', varint, Limits.requestsInFlightPerConnectionMax],
  11: ['subscriptionsMax', varint, 256],
  12: ['creditBytesInitial', varint, 1048576],
  13: ['role', choice(roles, 1, 'read'), 'admin'],
  14: ['confinement', confinement, null],
  15: ['store', name, null],
  16: ['nodeRole', choice(['leader', 'follower'], 1, 'follower'), null],
  17: ['leader', text(Limits.nodeAddressBytesMax), null],
  18: ['user', name, null],
  19: ['tokenExpires', varint, null],
});

const fault = struct({
  entity, property: orNull(property), object: orNull(varint),
  reason: choice(['other', 'required', 'type', 'tooLarge', 'text', 'range', 'notUnique', 'destination',
    'unknownProperty', 'setTwice'], 0, 'other'),
  message: string,
});

const error = struct({
  code, retry: u8, retryAfter: varint, message: string,
  '.details': fields({
    1: ['object', object, null],
    2: ['faults', list(fault, 5, Limits.faultsPerErrorMax), []],
    3: ['leader', text(Limits.nodeAddressBytesMax), null],
    4: ['column', varint, null],
  }),
});

const ping = struct({ payload: hex(8) });

// Writes

export const key = optional(id128, 'MALFORMED');

const noObject = 'there is no such object';
const referenceOrZero = checked(codec((r) => r.zigzag(), (w, v) => w.zigzag(v)),
  (id) => Number.isSafeInteger(id) && id >= -Limits.mutationsPerTransactionMax, noObject);
/** An object, or -k: the object of the k-th insert or find-or-create of the transaction. */
const reference = checked(referenceOrZero, Boolean, noObject);
/** A reference, or null. */
const neighbour = orNull(referenceOrZero);

export const place = variant({
  last: null, first: null, before: reference, after: reference, at: varint,
  near: struct({ left: neighbour, right: neighbour }),
});
export const placement = struct({ relationship: property, owner: reference, place });
export const assigned = variant({ value, reference });
const assignment = struct({ property, '.what': assigned });
const values = list(assignment, 3, Limits.propertiesPerEntityMax);
const placements = list(placement, 3, Limits.propertiesPerEntityMax);
const related = { owner: reference, relationship: property };
const objects = list(reference, 1, Limits.relatedPerMutationMax);
const insert = { entity, values, placements };
export const mutation = variant({
  insert: struct(insert),
  update: struct({ object: reference, values }),
  move: struct({ object: reference, placement }),
  delete: struct({ object: reference }),
  relate: struct({ ...related, object: reference, place }),
  unrelate: struct({ ...related, object: reference }),
  setRelated: struct({ ...related, objects }),
  findOrCreate: struct({ entity, match: values, values, placements }),
  insertAs: struct({ object, ...insert }),
}, 1);

const coalescing = struct({
  key: checked(text(Limits.coalesceKeyBytesMax), Boolean, 'a key is empty'),
  milliseconds: checked(varint, (n) => n <= Limits.coalesceMillisecondsMax, 'a time is too long', 'LIMIT_EXCEEDED'),
});

const transaction = struct({
  key, name: orNull(name, ''),
  preconditions: list(struct({ object, revision: varint }), 2, Limits.preconditionsPerTransactionMax),
  mutations: list(mutation, 2, Limits.mutationsPerTransactionMax),
  '.coalescing': trailing(struct({ coalescing }), { coalescing: null }),
});

// The objects of a receipt, one for each insert and find-or-create, as runs of ids.
const isFound = choice([false, true], 0, undefined, 'MALFORMED');
const runs = checked(
  list(struct({ first: object, count: varint, isFound }), 3, Limits.runsMax),
  (all) => all.every(({ first, count }) => count > 0 && count - 1 <= Limits.objectIDMax - first)
    && all.reduce((sum, { count }) => sum + count, 0) <= Limits.objectIDMax,
  'a run is not possible',
);

/** Of a transaction or import; an undo has more: messages-undo.js. */
export const receiptFields = {
  revision: varint, '.flags': flags(['isChanged', 'isReplayed']), results: runs, name,
};

// Subscriptions

const resume = optional(struct({ historyID: id128, revision: varint }));
const isIncreasing = (revisions) => revisions.every((revision, i) => i === 0 || revision > revisions[i - 1]);
export const increasing = (max) => checked(list(varint, 1, max), (all) => all.length > 0 && isIncreasing(all),
  'its revisions do not increase');

// The users of some authors are claims: their revisions follow.
export const authorList = checked(list(struct({ revision: varint, sessionNumber: varint, user: orNull(name, '') }), 3,
  Limits.historyPageMax), (all) => all.length > 0 && isIncreasing(all.map((one) => one.revision)),
'its revisions do not increase');
export const authors = codec((r) => {
  const all = authorList.read(r);
  const claims = r.left > 0 ? increasing(all.length).read(r) : [];
  const authors = all.map((one) => ({ ...one, userClaimed: one.user !== null && claims.includes(one.revision) }));
  if (authors.filter((one) => one.userClaimed).length !== claims.length) throw malformed('a claim has no author');
  return { authors };
}, null);

/** name → [type, codec]; rare messages are there when messages-more.js has been loaded. */
export const messages = {
  hello: [0x01, fields(helloFields)],
  welcome: [0x02, welcome],
  error: [0x04, error],
  goAway: [0x05, struct({ code, lastRequestID: id32, retryAfter: varint, message: string })],
  ping: [0x06, ping],
  pong: [0x07, ping],
  cancel: [0x09, empty],
  done: [0x0b, empty],
  transaction: [0x10, transaction],
  receipt: [0x11, struct(receiptFields)],
  subscribe: [0x30, struct({ resume, atLeast, request })],
  subscribed: [0x31, struct({
    view, first: choice(['snapshot', 'difference', 'current', 'alreadySubscribed']), revision: varint, reason: string,
    projection: properties,
  })],
  diff: [0x32, diff],
  snapshot: [0x33, snapshot],
  snapshotRows: [0x34, rows],
  progress: [0x35, struct({ revision: varint })],
  unsubscribe: [0x36, struct({ view })],
  subscriptionEnd: [0x37, struct({ code, message: string })],
  snapshotSections: [0x3a, snapshotSections],
  totals: [0x3b, totals],
  resubscribe: [0x3c, struct({ view, request })],
  getModel: [0x40, empty],
  model: [0x41, model],
  parsePredicate: [0x46, struct({
    entity, text: text(Limits.predicateTextBytesMax), now: i64, zone: text(Limits.zoneNameBytesMax),
  })],
  predicate: [0x47, struct({ predicate: rest })],
  own: [0xb0, struct({ revisions: increasing(Limits.requestsInFlightPerConnectionMax) })],
  authors: [0xb2, authors],
};

/** The type of each message by its name. @type {Record<string, number>} */
export const types = {};

/** type → name */
export const messageNames = new Map();

/** Adds messages: name → [type, codec]. */
export function addMessages(more) {
  for (const [name, [type]] of Object.entries(Object.assign(messages, more))) {
    types[name] = type;
    messageNames.set(type, name);
  }
}
addMessages(messages);

function entryOf(name) {
  if (!Object.hasOwn(messages, name)) {
    throw new NestError('UNSUPPORTED', `the message ${name} needs messages-more.js`);
  }
  return messages[name];
}

/** The type of a message, for the header of its frame. */
export const typeOf = (name) => entryOf(name)[0];

/** The body of a message. Throws NestError if the fields cannot be encoded, or are over a limit of the protocol. */
export const encode = (name, from = {}) => encodeWith(entryOf(name)[1], from);

/**
 * The fields of a body. `context`: `{width}` for rows and diffs, the length of the view's projection; `{hasWindow}`
 * for diffs. Throws NestError: MALFORMED, INVALID_TEXT, VALUE_TOO_LARGE, UNSUPPORTED or LIMIT_EXCEEDED.
 */
export const decode = (name, body, context) => decodeWith(entryOf(name)[1], body, context);

/** What an ERROR says, as the error that a program gets. */
export const errorOf = ({ code, message, retry, ...details }) =>
  new NestError(code, message, { ...details, retry: retry > 4 ? 3 : retry });
