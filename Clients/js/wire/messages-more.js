// Messages that a page which shows and edits a list does not need. Importing this file gives messages.js their codecs.
import { Limits } from './limits.js';
import { malformed } from './bytes.js';
import {
  bool, bytes, checked, choice, codec, fields, flags, hex, i64, id128, list, number16, object, optional, orNull, rest,
  string, struct, text, trailing, u64, value, varint, varintAny,
} from './codec.js';
import {
  addCodecs, conflicts, confinement, eachWith, key, nobody, orNothing, placement, policies, rehomes, roles, user,
  withUsers,
} from './messages.js';
import { properties, request } from './request.js';

const empty = struct({});
const name = text(Limits.nameBytesMax);
const address = text(Limits.nodeAddressBytesMax);
const number = struct({ number: varint });

// History, undo, changes

const kind = choice(['write', 'undo', 'redo', 'revert']);
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

const revert = struct({ key, policy: policies, '.flags': rehomes, revision: varint, ofAnyone: bool });
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
const fetchSubtree = struct({
  atLeast: varint, root: object, relationship: number16,
  depthLimit: oneMore, properties,
});

addCodecs({
  credit: struct({ bytes: varint }),
  getHistory: struct({
    before: varint,
    limit: checked(varint, (n) => n <= Limits.historyPageMax, 'a page is too long', 'LIMIT_EXCEEDED'),
    onlyMine: bool,
  }),
  history: struct({ entries: list(entry, 14, Limits.historyPageMax) }),
  subscribeChanges: struct({ since, entities: list(number16, 1, Limits.changesEntitiesMax) }),
  changeSet,
  revert,
  beginGroup: struct({ name: orNull(name, ''), joined: orNothing }),
  group: number,
  endGroup: empty,
  previewUndo: previewed,
  undoPreview,
  fetchSubtree: fetchSubtree,
  importSubtree: struct({ key, name: orNull(name, ''), entity: number16, placement, properties }),
  subtreeStart: struct({ revision: varint, entity: number16, rowCount: varint, byteCount: varint, properties }),
  subtreeChunk: packed,
  subtreeEnd: struct({ rowCount: varint, checksum: u64 }),
  getStatistics: empty,
  statistics: struct({ values: list(struct({ name: string, value: varintAny }), 2, Limits.statisticsMax) }),
  explain: struct({ request }),
  explanation: explanation,
  getCluster: struct({ mark: varint }),
  cluster: cluster,
  verifyCluster: empty,
  clusterMark: struct({ position: varint }),
  moveLeader: struct({ node: address }),
  drainNode: struct({ drains: bool }),
  backup: empty,
  backupStart: struct({ revision: varint, historyID: id128, fileBytes: varint, byteCount: varint }),
  backupChunk: struct({ offset: varint, packed: bytes }),
  backupEnd: struct({ fileBytes: varint, checksum: u64 }),
  check: empty,
  checkProgress: struct({ name: text(Limits.checkProblemBytesMax), number: varint, count: varint }),
  checked: struct({
    revision: varint, objectCount: varint, problemCount: varint,
    problems: list(text(Limits.checkProblemBytesMax), 1, Limits.checkProblemsMax),
  }),
  createToken: createToken,
  tokenCreated: number,
  listTokens: empty,
  tokenList: tokens,
  revokeToken: number,
  getClients: struct({ after: varint, limit: varint }),
  clients: connections,
  kick: number,
});
