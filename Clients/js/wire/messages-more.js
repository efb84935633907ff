// Messages that a page which shows and edits a list does not need. Importing this file adds them to messages.js.
import { Limits } from './limits-more.js';
import { malformed } from './bytes.js';
import {
  checked, choice, codec, fields, flags, hex, i64, id128, list, number16, object, optional, orNull, rest,
  string, struct, text, trailing, u64, value, varint,
} from './codec.js';
import { addMessages, atLeast, confinement, key, placement, roles } from './messages.js';
import {
  bool, conflicts, eachWith, nobody, orNothing, policies, rehomes, user, withUsers,
} from './messages-undo.js';
import { model } from './model-codec.js';
import { properties, request } from './request.js';

const empty = struct({});
const name = text(Limits.nameBytesMax);
const address = text(Limits.nodeAddressBytesMax);
const number = struct({ number: varint });
/** Up to 2^62-1: a number, or a BigInt beyond 2^53-1. */
const varintAny = codec((r) => r.varintAny(), (w, v) => w.varint(v));
/** Bytes with their length before them. */
const bytes = codec((r) => r.raw(r.size()), (w, v) => w.bytes(v));

// History, undo, changes

const kind = choice(['write', 'undo', 'redo', 'revert']);
const entryFlags = ['isMine', 'isNextUndo', 'isNextRedo', 'isBlocked', 'hasEntry'];
const entry = struct({
  revision: varint, time: i64, sessionNumber: varint, kind, reverted: orNothing,
  '.rest': codec((r) => {
    const { hasEntry, ...state } = flags(entryFlags).read(r);
    return { ...state, name: name.read(r), entry: hasEntry ? r.varint() : null };
  }, (w, v) => {
    const hasEntry = v.entry != null;
    flags(entryFlags).write(w, { ...v, hasEntry });
    name.write(w, v.name);
    if (hasEntry) w.varint(v.entry);
  }),
});

const ofAny = struct({ revision: varint, ofAnyone: bool });
const options = struct({ policy: policies, '.flags': rehomes });
const previewed = codec((r) => {
  const what = choice(['undo', 'redo', 'revert']).read(r);
  const from = options.read(r);
  return { what: what === 'revert' ? ofAny.read(r) : what, ...from };
}, (w, v) => {
  const isRevert = typeof v.what === 'object';
  w.u8(isRevert ? 2 : v.what === 'redo' ? 1 : 0);
  options.write(w, { ...v, policy: v.policy ?? 'keep' });
  if (isRevert) ofAny.write(w, v.what);
});

const changes = choice(['inserted', 'updated', 'deleted'], 1);
const changedObject = codec((r) => {
  const from = { change: changes.read(r), entity: number16.read(r), id: object.read(r) };
  return { ...from, properties: from.change === 'updated' ? properties.read(r) : [] };
}, (w, v) => {
  changes.write(w, v.change);
  w.varint(v.entity);
  w.varint(v.id);
  if (v.change === 'updated') properties.write(w, v.properties);
});

const undoPreview = withUsers(struct({
  name, conflicts, insertedCount: varint, updatedCount: varint, deletedCount: varint,
  changes: list(struct({
    '.object': changedObject, label: name,
    values: list(struct({ property: number16, before: value, after: value }), 3, Limits.propertiesPerEntityMax),
  }), 5, Limits.previewObjectsMax),
}), (from) => from.conflicts.listed);

const since = optional(struct({ historyID: id128, revision: varint, place: varint }));
const changeSet = struct({
  revision: varint, time: i64, sessionNumber: varint, kind, reverted: orNothing, name, place: varint,
  objects: list(changedObject, 3),
  '.user': trailing(user, nobody),
});

// Statistics, explanations

const long = text(Limits.explanationTextBytesMax);
const some = (of, each) => list(of, each, Limits.explanationListMax);
const explanation = struct({
  revision: varint,
  request: some(struct({ name: long, text: long }), 2),
  routing: choice(['value', 'pair', 'table'], 1), route: long,
  reading: choice(['ordered', 'sorted', 'examined'], 1), candidates: long,
  paths: some(struct({ text: long, tables: some(long, 1) }), 2),
  subtrees: some(struct({
    text: long,
    objects: codec((r) => (r.varint() || null), (w, v) => w.varint(v ?? 0)),
  }), 2),
  '.flags': flags(['isInJournal']),
  live: optional(struct({
    rows: varint, sections: varint, bytes: varint, views: varint, subscriptions: varint, evaluations: varint,
    changes: varint,
  })),
});

// Tokens and connections

const role = choice(roles, 1, undefined, 'MALFORMED');

const within = codec((r) => {
  const at = r.at;
  if (r.varint() === 0) return null;
  r.at = at;
  const from = confinement.read(r);
  if (!from.entity || !from.relationship) throw malformed('a root has no entity or relationship');
  return from;
}, (w, v) => (v ? confinement.write(w, v) : w.varint(0)));

const grant = struct({
  name, role, confinement: within, connections: varint, requestsInFlight: varint, subscriptions: varint,
  outputBytes: varint,
});
// The user label of a token (null: its name), and when it expires in microseconds (0: never).
const holder = struct({ user: orNull(name, ''), expires: varint });
const noHolder = { user: null, expires: 0 };
const createToken = struct({
  hash: hex(32), grant: struct({ '.grant': grant, '.holder': trailing(holder, noHolder) }),
});

const token = struct({ number: varint, grant, created: i64, lastUsed: i64, connections: varint });
const tokens = codec((r) => {
  const all = list(token, 20, Limits.tokensMax).read(r);
  eachWith(r, all.map((one) => one.grant), holder, 2, noHolder);
  return { tokens: all };
}, (w, v) => {
  list(token).write(w, v.tokens);
  if (v.tokens.some((one) => one.grant.user || one.grant.expires)) {
    list(holder).write(w, v.tokens.map((one) => one.grant));
  }
});

const connection = struct({
  number: varint, address: name, name, session: varint, connectedAt: varint, subscriptions: varint, requests: varint,
  requestsInFlight: varint, bytesIn: varint, bytesOut: varint, bytesQueued: varint,
});
const connections = withUsers(struct({ clients: list(connection, 11, Limits.clientsPageMax) }), (from) => from.clients);

// Clusters

const nodeRole = choice(['stopped', 'leader', 'follower'], 0, 'stopped');
const oneMore = codec((r) => {
  const n = r.varint();
  return n ? n - 1 : null;
}, (w, v) => w.varint(v === null ? 0 : v + 1));
const node = struct({
  id: id128, name: address, address, version: name, role: nodeRole, position: oneMore, clients: oneMore, drained: bool,
});
const clusterText = text(Limits.clusterTextBytesMax);
const cluster = fields({
  1: ['store', name, null],
  2: ['node', address, null],
  3: ['role', choice(['leader', 'follower'], 1, 'follower'), null],
  4: ['epoch', varint, null],
  5: ['position', varint, null],
  6: ['head', varint, null],
  7: ['lag', varint, null],
  8: ['base', varint, 0],
  9: ['log', clusterText, ''],
  10: ['logFault', clusterText, null],
  11: ['snapshot', struct({ position: varint, made: varint, bytes: varint }), null],
  12: ['nodes', list(node, 16, Limits.clusterNodesMax), []],
  13: ['verifications', list(struct({ node: id128, digest: id128 }), 32, Limits.clusterNodesMax), []],
  14: ['drained', bool, false],
});

// Transfers. A chunk is raw: chunks.js reads and writes its rows.

const packed = struct({ packed: rest });
const largeType = choice(['largeData', 'largeText'], 13, undefined, 'MALFORMED');
const largeLength = checked(varint, (n) => n <= Limits.largeValueBytesMax, 'a value is too large', 'LIMIT_EXCEEDED');
/** Number and length, in 16 digits each, then the digest. */
const largeValue = checked(hex(48), (digits) => BigInt(`0x${digits.slice(0, 16)}`) - 1n < 2n ** 63n - 1n
  && !/^0{16}/.test(digits) && BigInt(`0x${digits.slice(16, 32)}`) <= BigInt(Limits.largeValueBytesMax),
'a large value is not possible');
const fetchSubtree = struct({
  atLeast: varint, root: object, relationship: number16,
  depthLimit: oneMore, properties,
});

const properties256 = (of) => list(of, 2, Limits.propertiesPerEntityMax);

addMessages({
  fetch: [0x18, struct({ atLeast, request })],
  getObject: [0x1a, struct({ id: object })],
  object: [0x1b, struct({
    entity: number16, id: object, revision: varint, values: properties256(struct({ property: number16, value })),
    counts: properties256(struct({ property: number16, count: varint })),
  })],
  credit: [0x0a, struct({ bytes: varint })],
  getHistory: [0x14, struct({
    before: varint,
    limit: checked(varint, (n) => n <= Limits.historyPageMax, 'a page is too long', 'LIMIT_EXCEEDED'),
    onlyMine: bool,
    '.object': trailing(struct({ object: varint }), { object: null }),
  })],
  history: [0x15, withUsers(struct({ entries: list(entry, 14, Limits.historyPageMax) }), (from) => from.entries)],
  subscribeChanges: [0x38, struct({ since, entities: list(number16, 1, Limits.changesEntitiesMax) })],
  changeSet: [0x39, changeSet],
  beginGroup: [0x51, struct({ name: orNull(name, ''), joined: orNothing })],
  group: [0x52, number],
  endGroup: [0x53, empty],
  previewUndo: [0x54, previewed],
  undoPreview: [0x55, undoPreview],
  fetchSubtree: [0x20, fetchSubtree],
  importSubtree: [0x21, struct({ key, name: orNull(name, ''), entity: number16, placement, properties })],
  subtreeStart: [0x22, struct({ revision: varint, entity: number16, rowCount: varint, byteCount: varint, properties })],
  subtreeChunk: [0x23, packed],
  subtreeEnd: [0x24, struct({ rowCount: varint, checksum: u64 })],
  putValue: [0x25, struct({ type: largeType, length: largeLength, digest: hex(32) })],
  getValue: [0x26, struct({ atLeast: varint, object, property: number16, offset: varint })],
  value: [0x27, struct({ revision: varint, type: largeType, value: largeValue })],
  getStatistics: [0x42, empty],
  statistics: [0x43, struct({ values: list(struct({ name: string, value: varintAny }), 2, Limits.statisticsMax) })],
  explain: [0x44, struct({ request })],
  explanation: [0x45, explanation],
  getCluster: [0x48, struct({ mark: varint })],
  cluster: [0x49, cluster],
  verifyCluster: [0x4a, empty],
  clusterMark: [0x4b, struct({ position: varint })],
  moveLeader: [0x4c, struct({ node: address })],
  drainNode: [0x4d, struct({ drains: bool })],
  backup: [0x60, empty],
  backupStart: [0x61, struct({ revision: varint, historyID: id128, fileBytes: varint, byteCount: varint })],
  backupChunk: [0x62, struct({ offset: varint, packed: bytes })],
  backupEnd: [0x63, struct({ fileBytes: varint, checksum: u64 })],
  check: [0x64, empty],
  checkProgress: [0x65, struct({ name: text(Limits.checkProblemBytesMax), number: varint, count: varint })],
  checked: [0x66, struct({
    revision: varint, objectCount: varint, problemCount: varint,
    problems: list(text(Limits.checkProblemBytesMax), 1, Limits.checkProblemsMax),
  })],
  createToken: [0x70, createToken],
  tokenCreated: [0x71, number],
  listTokens: [0x72, empty],
  tokenList: [0x73, tokens],
  revokeToken: [0x74, number],
  getClients: [0x78, struct({ after: varint, limit: varint })],
  clients: [0x79, connections],
  kick: [0x7a, number],
  applyModel: [0x7b, struct({ isDryRun: choice([false, true]), '.model': model })],
  modelApplied: [0x7c, struct({
    outcome: choice(['unchanged', 'applied', 'possible', 'refused']), modelHash: u64, rows: varint,
    changes: list(struct({
      text: text(Limits.modelChangeBytesMax), obstacle: text(Limits.modelChangeBytesMax),
    }), 2, Limits.modelChangesMax),
  })],
  modelChanged: [0xb5, struct({ modelHash: u64, '.model': model })],
});
