// The messages of the protocol (section 6): name → [type, codec of the body]. Rare ones are in messages-more.js.
import { Limits } from './limits.js';
import { NestError, errorName } from './errors.js';
import { malformed } from './bytes.js';
import {
  bool, choice, codec, decodeWith, encodeWith, features, fields, flags, hex, i64, id128, list, number16, object,
  optional, orNull, string, struct, text, trailing, u64, u8, value, varint, varintAny,
} from './codec.js';
import { properties, request } from './request.js';
import { diff, rows, snapshot, snapshotSections, totals } from './rows.js';
import { model } from './model-codec.js';

const name = text(Limits.nameBytesMax);
const entity = number16;
const property = number16;
const empty = struct({});
const number = struct({ number: varint });
const view = codec((r) => {
  const id = r.varint(0xffffffff);
  if (id < Limits.viewIDMin) throw malformed('the id of a view is that of a request');
  return id;
}, varint.write);

// 2^62-1, the newest state, is written as null.
const newest = 2n ** 62n - 1n;
const atLeast = codec((r) => {
  const revision = r.varintAny();
  if (revision === newest) return null;
  if (typeof revision === 'bigint') throw malformed('a revision is out of its range');
  return revision;
}, (w, v) => w.varint(v ?? newest));

// Handshake and errors

/** The part of the store that a token is confined to. */
export const confinement = struct({ root: object, entity, relationship: property });
const code = codec((r) => errorName(r.u16()), (w, v) => w.u16(new NestError(v, '').number));

const hello = fields({
  1: ['clientName', name, ''],
  2: ['features', features, 0],
  3: ['session', id128],
  4: ['expectedHistory', id128, null],
  5: ['expectedModelHash', u64, null],
  6: ['token', struct({ number: varint, secret: hex(32) }), null],
  8: ['peer', struct({ node: id128, secret: hex(32) }), null],
  9: ['user', name, ''],
});

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
const policies = choice(['keep', 'force', 'strict']);
const rehomes = flags(['rehomes'], true);
const kind = choice(['write', 'undo', 'redo', 'revert']);
const orNothing = orNull(varint);

/** The label of who wrote or is connected, null for nobody known, and whether it is a claim that no server has checked. */
export const user = codec((r) => {
  const label = name.read(r);
  const userClaimed = r.u8() !== 0;
  return { user: label || null, userClaimed: userClaimed && label !== '' };
}, (w, from) => {
  name.write(w, from.user ?? '');
  w.u8(from.userClaimed ? 1 : 0);
});
const nobody = { user: null, userClaimed: false };

/** Reads what follows a list at the end of a body, one for each item; `absent` if nothing does. Items grow by it. */
export function eachWith(r, items, of, each, absent) {
  const all = r.left > 0 ? list(of, each, items.length).read(r) : null;
  if (all && all.length !== items.length) throw malformed('the users of a list are of another list');
  items.forEach((item, i) => Object.assign(item, all ? all[i] : absent));
}

const readUsers = (r, items) => eachWith(r, items, user, 2, nobody);

/** An object, or -k: the object of the k-th insert or find-or-create of the transaction. */
const reference = codec((r) => {
  const id = r.zigzag();
  if (typeof id === 'bigint' || id === 0 || id < -Limits.mutationsPerTransactionMax) {
    throw malformed('a reference leads to no object');
  }
  return id;
}, (w, v) => w.zigzag(v));

const places = ['last', 'first', 'before', 'after', 'at'];
const place = codec((r) => {
  const byte = r.u8();
  if (byte < 2) return places[byte];
  if (byte > 4) throw new NestError('UNSUPPORTED', 'a place is not known');
  return { [places[byte]]: byte === 4 ? r.varint() : reference.read(r) };
}, (w, v) => {
  if (v === null) return w.u8(0);
  const found = typeof v === 'string' ? v : Object.keys(v)[0];
  const byte = places.indexOf(found);
  if (byte < 0 || byte < 2 !== (typeof v === 'string')) throw new NestError('INVALID', `${String(found)} is no place`);
  w.u8(byte);
  if (byte > 1) (byte === 4 ? varint : reference).write(w, v[found]);
});
export const placement = struct({ relationship: property, owner: reference, place });

const assignment = codec((r) => {
  const number = property.read(r);
  const byte = r.u8();
  if (byte > 1) throw new NestError('UNSUPPORTED', 'a kind of value is not known');
  return byte ? { property: number, reference: reference.read(r) } : { property: number, value: value.read(r) };
}, (w, from) => {
  property.write(w, from.property);
  w.u8(from.reference === undefined ? 0 : 1);
  if (from.reference === undefined) value.write(w, from.value);
  else reference.write(w, from.reference);
});

const values = list(assignment, 3, Limits.propertiesPerEntityMax);
const placements = list(placement, 3, Limits.propertiesPerEntityMax);
const related = { owner: reference, relationship: property };
const objects = list(reference, 1, Limits.relatedPerMutationMax);
const steps = Object.entries({
  insert: struct({ entity, values, placements }),
  update: struct({ object: reference, values }),
  move: struct({ object: reference, placement }),
  delete: struct({ object: reference }),
  relate: struct({ ...related, object: reference, place }),
  unrelate: struct({ ...related, object: reference }),
  setRelated: struct({ ...related, objects }),
  findOrCreate: struct({ entity, match: values, values, placements }),
});
const mutation = codec((r) => {
  const step = steps[r.u8() - 1];
  if (!step) throw new NestError('UNSUPPORTED', 'a mutation is not known');
  return { [step[0]]: step[1].read(r) };
}, (w, v) => {
  const [found] = Object.keys(v);
  const index = steps.findIndex(([step]) => step === found);
  if (index < 0) throw new NestError('INVALID', `${found} is no mutation`);
  w.u8(index + 1);
  steps[index][1].write(w, v[found]);
});

const coalescing = codec((r) => {
  const from = { key: r.string(Limits.coalesceKeyBytesMax), milliseconds: r.varint() };
  if (!from.key) throw malformed('a key is empty');
  if (from.milliseconds > Limits.coalesceMillisecondsMax) throw new NestError('LIMIT_EXCEEDED', 'a time is too long');
  return from;
}, (w, v) => {
  w.string(v.key, Limits.coalesceKeyBytesMax);
  w.varint(v.milliseconds);
});

const transaction = struct({
  key, name: orNull(name, ''),
  preconditions: list(struct({ object, revision: varint }), 2, Limits.preconditionsPerTransactionMax),
  mutations: list(mutation, 2, Limits.mutationsPerTransactionMax),
  '.coalescing': trailing(struct({ coalescing }), { coalescing: null }),
});

const undo = struct({
  key,
  '.options': trailing(struct({ policy: policies, '.flags': rehomes, expected: orNothing }),
    { policy: 'keep', rehomes: false, expected: null }),
});
const revert = struct({ key, policy: policies, '.flags': rehomes, revision: varint, ofAnyone: bool });

const conflict = struct({
  reason: choice(['edited', 'moved', 'deleted', 'present', 'ownerGone', 'rehomed', 'overwritten', 'lost'], 0, 'other'),
  entity, object, property: orNull(property), revision: orNothing, sessionNumber: orNothing, label: name,
});
const conflicts = codec((r) => {
  const count = r.varint();
  return { count, listed: list(conflict, 7, Math.min(count, Limits.undoConflictsMax)).read(r) };
}, (w, v) => {
  w.varint(v.count);
  list(conflict, 7).write(w, v.listed);
});

// The objects of a receipt, one for each insert and find-or-create, as runs of ids.
const runs = codec((r) => {
  const all = list(struct({ first: object, count: varint, found: u8 }), 3, Limits.runsMax).read(r);
  let sum = 0;
  return all.map(({ first, count, found }) => {
    sum += count;
    if (count === 0 || found > 1 || count - 1 > Limits.objectIDMax - first || sum > Limits.objectIDMax) {
      throw malformed('a run of results cannot be');
    }
    return { first, count, isFound: found === 1 };
  });
}, (w, v) => {
  w.varint(v.length);
  for (const { first, count, isFound } of v) {
    w.varint(first);
    w.varint(count);
    w.u8(isFound ? 1 : 0);
  }
});

const receiptBody = struct({
  revision: varint, '.flags': flags(['isChanged', 'isReplayed']), results: runs, name,
  '.conflicts': trailing(struct({ conflicts }), { conflicts: null }),
});
const receipt = codec((r) => {
  const from = receiptBody.read(r);
  readUsers(r, from.conflicts?.listed ?? []);
  return from;
}, receiptBody.write);

const entryFlags = ['isMine', 'isNextUndo', 'isNextRedo', 'isBlocked', 'hasEntry', 'hasUser', 'userClaimed'];
const entry = struct({
  revision: varint, time: i64, sessionNumber: varint, kind, reverted: orNothing,
  '.rest': codec((r) => {
    const { hasEntry, hasUser, ...state } = flags(entryFlags).read(r);
    return {
      ...state, name: name.read(r), entry: hasEntry ? r.varint() : null, user: hasUser ? name.read(r) : null,
    };
  }, (w, v) => {
    const hasEntry = v.entry != null;
    flags(entryFlags).write(w, { ...v, hasEntry, hasUser: v.user });
    name.write(w, v.name);
    if (hasEntry) w.varint(v.entry);
    if (v.user) name.write(w, v.user);
  }),
});

const previewed = codec((r) => {
  const what = r.u8();
  const options = { ...struct({ policy: policies, '.flags': rehomes }).read(r) };
  if (what < 2) return { what: what ? 'redo' : 'undo', ...options };
  if (what > 2) throw new NestError('UNSUPPORTED', 'what to preview is not known');
  return { what: { revision: r.varint(), ofAnyone: r.u8() !== 0 }, ...options };
}, (w, v) => {
  const isRevert = typeof v.what === 'object';
  w.u8(isRevert ? 2 : v.what === 'redo' ? 1 : 0);
  policies.write(w, v.policy ?? 'keep');
  rehomes.write(w, v);
  if (isRevert) {
    w.varint(v.what.revision);
    w.u8(v.what.ofAnyone ? 1 : 0);
  }
});

const changedObject = codec((r) => {
  const change = choice(['inserted', 'updated', 'deleted'], 1).read(r);
  const from = { change, entity: entity.read(r), id: object.read(r) };
  return { ...from, properties: change === 'updated' ? properties.read(r) : [] };
}, (w, v) => {
  choice(['inserted', 'updated', 'deleted'], 1).write(w, v.change);
  w.varint(v.entity);
  w.varint(v.id);
  if (v.change === 'updated') properties.write(w, v.properties);
});

const previewBody = struct({
  name, conflicts, insertedCount: varint, updatedCount: varint, deletedCount: varint,
  changes: list(struct({
    '.object': changedObject, label: name,
    values: list(struct({ property, before: value, after: value }), 3, Limits.propertiesPerEntityMax),
  }), 5, Limits.previewObjectsMax),
});
const undoPreview = codec((r) => {
  const from = previewBody.read(r);
  readUsers(r, from.conflicts.listed);
  return from;
}, previewBody.write);

const undoEntry = codec((r) => {
  const revision = r.varint();
  return revision ? { revision, transactionCount: r.varint(), name: name.read(r) } : null;
}, (w, v) => {
  w.varint(v?.revision ?? 0);
  if (v) struct({ transactionCount: varint, name }).write(w, v);
});

// Subscriptions

const resume = optional(struct({ historyID: id128, revision: varint }));
const since = optional(struct({ historyID: id128, revision: varint, place: varint }));

function increasing(revisions) {
  if (!revisions.length || revisions.some((revision, i) => i > 0 && revision <= revisions[i - 1])) {
    throw malformed('its revisions do not increase');
  }
}

const own = codec((r) => {
  const revisions = list(varint, 1, Limits.requestsInFlightPerConnectionMax).read(r);
  increasing(revisions);
  return { revisions };
}, struct({ revisions: list(varint) }).write);

const changeSet = struct({
  revision: varint, time: i64, sessionNumber: varint, kind, reverted: orNothing, name, place: varint,
  objects: list(changedObject, 3),
  '.user': trailing(user, nobody),
});

// The users of some authors are claims: their revisions follow.
const authors = codec((r) => {
  const all = list(struct({ revision: varint, sessionNumber: varint, user: orNull(name, '') }), 3,
    Limits.historyPageMax).read(r);
  const claims = r.left > 0 ? list(varint, 1, all.length).read(r) : [];
  increasing(all.map(({ revision }) => revision));
  increasing([0, ...claims]);
  const known = new Set(all.flatMap(({ revision, user }) => (user ? [revision] : [])));
  if (claims.some((revision) => !known.has(revision))) throw malformed('a claim is of no author');
  return { authors: all.map((author) => ({ ...author, userClaimed: claims.includes(author.revision) })) };
}, (w, v) => {
  list(struct({ revision: varint, sessionNumber: varint, user: orNull(name, '') })).write(w, v.authors);
  const claims = v.authors.flatMap(({ revision, userClaimed }) => (userClaimed ? [revision] : []));
  if (claims.length) list(varint).write(w, claims);
});

const properties256 = (of) => list(of, 2, Limits.propertiesPerEntityMax);

/** name → [type, codec] */
export const messages = {
  hello: [0x01, hello],
  welcome: [0x02, welcome],
  error: [0x04, error],
  goAway: [0x05, struct({ code, lastRequestID: codec((r) => r.varint(0xffffffff), varint.write), retryAfter: varint,
    message: string })],
  ping: [0x06, ping],
  pong: [0x07, ping],
  cancel: [0x09, empty],
  credit: [0x0a, struct({ bytes: varint })],
  done: [0x0b, empty],
  transaction: [0x10, transaction],
  receipt: [0x11, receipt],
  undo: [0x12, undo],
  redo: [0x13, undo],
  getHistory: [0x14, struct({ before: varint, limit: codec((r) => {
    const limit = r.varint();
    if (limit > Limits.historyPageMax) throw new NestError('LIMIT_EXCEEDED', 'a page is too long');
    return limit;
  }, varint.write), onlyMine: bool })],
  history: [0x15, struct({ entries: list(entry, 14, Limits.historyPageMax) })],
  fetch: [0x18, struct({ atLeast, request })],
  getObject: [0x1a, struct({ id: object })],
  object: [0x1b, struct({
    entity, id: object, revision: varint, values: properties256(struct({ property, value })),
    counts: properties256(struct({ property, count: varint })),
  })],
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
  subscribeChanges: [0x38, struct({ since, entities: list(entity, 1, Limits.changesEntitiesMax) })],
  changeSet: [0x39, changeSet],
  snapshotSections: [0x3a, snapshotSections],
  totals: [0x3b, totals],
  resubscribe: [0x3c, struct({ view, request })],
  getModel: [0x40, empty],
  model: [0x41, model],
  parsePredicate: [0x46, struct({
    entity, text: text(Limits.predicateTextBytesMax), now: i64, zone: text(Limits.nameBytesMax),
  })],
  predicate: [0x47, codec((r) => ({ predicate: r.raw(r.left) }), (w, v) => w.raw(v.predicate))],
  revert: [0x50, revert],
  beginGroup: [0x51, struct({ name: orNull(name, ''), joined: orNothing })],
  group: [0x52, number],
  endGroup: [0x53, empty],
  previewUndo: [0x54, previewed],
  undoPreview: [0x55, undoPreview],
  getUndoState: [0x56, struct({ follows: bool })],
  undoState: [0x57, struct({
    undo: undoEntry, redo: undoEntry, undoCount: varint, redoCount: varint, blockedCount: varint, droppedCount: varint,
    group: orNothing,
  })],
  own: [0xb0, own],
  authors: [0xb2, authors],
};

/** Adds messages, such as those of messages-more.js, to the tables. */
export function addMessages(more) {
  for (const [name, entry] of Object.entries(more)) {
    messages[name] = entry;
    messageNames.set(entry[0], name);
  }
}

/** type → name */
export const messageNames = new Map(Object.entries(messages).map(([name, [type]]) => [type, name]));

/** The type of a message, for the header of its frame. */
export const typeOf = (name) => messages[name][0];

/** The body of a message. Throws NestError if the fields cannot be encoded, or are over a limit of the protocol. */
export const encode = (name, from = {}) => encodeWith(messages[name][1], from);

/**
 * The fields of a body. `context`: `{width}` for rows and diffs, the length of the view's projection; `{hasWindow}`
 * for diffs. Throws NestError: MALFORMED, INVALID_TEXT, VALUE_TOO_LARGE, UNSUPPORTED or LIMIT_EXCEEDED.
 */
export const decode = (name, body, context) => decodeWith(messages[name][1], body, context);

/** What an ERROR says, as the error that a program gets. */
export const errorOf = ({ code, message, retry, ...details }) =>
  new NestError(code, message, { ...details, retry: retry > 4 ? 3 : retry });
