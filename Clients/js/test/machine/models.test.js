// A server that comes back with another model: what the client asks, what goes on, and what ends.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { afterEach } from 'node:test';
import { Feed } from '../../machine/feeds.js';
import { ask, extendsModel } from '../../machine/greeting.js';
import * as packed from '../../machine/packed.js';
import { fromHex } from '../../wire/bytes.js';
import { COMPRESSED, encodeFrame } from '../../wire/frames.js';
import { fnv1a, hashText } from '../../wire/hash.js';
import { encode, typeOf } from '../../wire/messages.js';
import { decodeModel } from '../../wire/model.js';
import { ENTITIES, Page, turn } from './page.js';
import { spec, VIEW, World } from './server.js';

const attribute = (number, name, type = 'string') => ({
  number, name, type, isOptional: true, defaultsToNow: false, default: null, minimum: null, maximum: null,
});
const entity = (number, name, attributes, parent = null) => ({
  number, name, parent, isAbstract: false, attributes, relationships: [], uniquenessConstraints: [], indexes: [],
  label: null, root: null,
});
const TITLE = attribute(1, 'title');
const hashOf = (entities) => hashText(fnv1a(encode('model', { entities })));
const of = (...entities) => ({ entities, modelHash: hashOf(entities) });
/** NEW extends OLD, and OTHER does not. */
const OLD = of(entity(1, 'Item', [TITLE]));
const NEW = of(entity(1, 'Item', [TITLE, attribute(2, 'note')]));
const OTHER = of(entity(1, 'Item', [attribute(1, 'name')]));
const names = (frames) => frames.map(({ name }) => name);
const write = (world, model) => world.request('transaction',
  { key: 'a0'.repeat(16), name: null, preconditions: [], mutations: [{ delete: { object: 3 } }] },
  { kind: 'write', answer: 'receipt', model });

test('vectors: which models extend the base', () => {
  const { base, cases } = JSON.parse(readFileSync(new URL('../../../../Tests/Vectors/models.json', import.meta.url)));
  const old = decodeModel(fromHex(base));
  for (const { name, model, extends: expected } of cases) {
    const other = decodeModel(fromHex(model));
    assert.equal(extendsModel(other, old), expected, name);
    assert.ok(extendsModel(other, other), name);
  }
  assert.deepEqual(new Set(cases.map((each) => each.extends)), new Set([true, false]));
  assert.ok(!extendsModel(decodeModel(encode('model', OLD)), decodeModel(encode('model', NEW))), 'more is not less');
});

/** A world whose client has read the model OLD, as `nest.model()` does. */
function reading(options) {
  const world = new World(options);
  world.welcome({ modelHash: OLD.modelHash, features: 0x17 });
  const model = decodeModel(encode('model', OLD));
  world.machine.models.set(model.hash, model);
  return world;
}

/** One that follows a list made for OLD, and has lost its connection. */
function following() {
  const world = reading();
  const list = world.subscribe(spec({}, OLD.modelHash));
  world.subscribed();
  world.snapshot(2, [2, 3]);
  world.lose();
  world.take();
  world.takeSent();
  return { world, list };
}

test('an extension lets everything go on', () => {
  const { world, list } = following();
  const feed = new Feed({}, null, [1], OLD.modelHash);
  world.run((m) => feed.open(m));
  const written = write(world, OLD.modelHash);
  world.reconnect(NEW);
  assert.deepEqual(world.sent.map(({ name, id }) => [name, id]), [['getModel', 1]], 'before everything else');
  const late = write(world, OLD.modelHash);
  assert.deepEqual(world.take('ready', 'fail', 'end'), []);
  world.takeSent();
  world.reply('model', NEW, 1);
  assert.equal(world.take('ready').length, 1);
  const sent = world.takeSent();
  assert.deepEqual(sent.map(({ id }) => id), [2, 3, 4, 5]);
  assert.deepEqual(names(sent).sort(), ['subscribe', 'subscribeChanges', 'transaction', 'transaction']);
  const at = (name) => sent.find((frame) => frame.name === name);
  assert.equal(at('subscribe').fields.resume.revision, 2);
  world.reply('subscribed', { view: VIEW, first: 'current', revision: 2, reason: '', projection: [1] },
    at('subscribe').id);
  world.reply('subscribed', { view: VIEW + 1, first: 'current', revision: 2, reason: '', projection: [] },
    at('subscribeChanges').id);
  for (const { name, id } of sent) if (name === 'transaction') world.receipt(id, 3);
  assert.deepEqual([world.types(list), world.types(feed)], [['resumed'], ['following']]);
  for (const call of [written, late]) assert.equal(world.ended(call).type, 'answer');
  // What a program makes now may be for either model, or for both; and the next connection asks nothing.
  for (const model of [OLD.modelHash, NEW.modelHash, [OLD.modelHash, NEW.modelHash]]) {
    assert.equal(world.ended(write(world, model)), null);
  }
  world.lose();
  world.takeSent();
  world.reconnect(NEW);
  assert.ok(!names(world.sent).includes('getModel'));
});

test('what is no extension ends everything that was made for the old model', () => {
  const { world, list } = following();
  const feed = new Feed({}, null, [1], OLD.modelHash);
  world.run((m) => feed.open(m));
  const written = write(world, OLD.modelHash);
  const statistics = world.request('getStatistics', {}, { answer: 'statistics' });
  world.reconnect(OTHER);
  world.reply('model', OTHER, 1);
  assert.equal(world.ended(written).error.code, 'SCHEMA_CHANGED');
  assert.equal(world.ended(statistics), null);
  for (const one of [list, feed]) assert.equal(world.changesOf(one).at(-1).error.code, 'SCHEMA_CHANGED');
  assert.deepEqual(world.takeSent().map(({ name, id }) => [name, id]), [['getModel', 1], ['getStatistics', 2]]);
  assert.equal(world.ended(write(world, OLD.modelHash)).error.code, 'SCHEMA_CHANGED');
  assert.equal(world.ended(write(world, [OTHER.modelHash, OLD.modelHash])).error.code, 'SCHEMA_CHANGED');
  assert.equal(world.ended(write(world, OTHER.modelHash)), null);
  assert.ok(world.machine.models.has(OTHER.modelHash), 'it need not be read again');
});

test('a write that was sent has an unknown outcome if the model is no extension', () => {
  const world = reading();
  const written = write(world, OLD.modelHash);
  world.lose();
  world.reconnect(OTHER);
  world.reply('model', OTHER, 1);
  assert.equal(world.ended(written).error.code, 'OUTCOME_UNKNOWN');
});

test('transfers that wait fail, those without a model go on', () => {
  const { world } = following();
  const [exported, imported, saved] = [['fetchSubtree', 'download', OLD.modelHash],
    ['importSubtree', 'upload', OLD.modelHash], ['backup', 'download', undefined]]
    .map(([name, kind, model]) => world.request(name, new Uint8Array([1]), { kind, model }));
  world.reconnect(NEW);
  world.takeSent();
  world.reply('model', NEW, 1);
  for (const call of [exported, imported]) assert.equal(world.ended(call).error.code, 'SCHEMA_CHANGED');
  assert.equal(world.ended(saved), null);
  assert.deepEqual(names(world.takeSent()).sort(), ['backup', 'subscribe']);
});

test('an error to GET_MODEL closes the connection, and the next one asks again', () => {
  const { world, list } = following();
  for (const [code, retryAfter] of [['BUSY', 2000], ['INTERNAL', 0], ['SHUTTING_DOWN', 0]]) {
    world.reconnect(NEW);
    assert.deepEqual(world.takeSent().map(({ name, id }) => [name, id]), [['getModel', 1]]);
    world.error(code, 1, { retry: 2, retryAfter });
    const [lost, ...others] = world.take('lost', 'ready', 'end');
    assert.deepEqual([lost.error.code, others], [code, []]);
    assert.ok(lost.pause >= Math.max(retryAfter, 1), `a pause of ${lost.pause}`);
  }
  world.reconnect(NEW);
  world.reply('model', NEW, 1);
  world.subscribed({ first: 'current', revision: 2 });
  assert.equal(world.types(list).at(-1), 'resumed');
});

test('a connection that is lost while the model is awaited changes nothing', () => {
  const { world, list } = following();
  const written = write(world, OLD.modelHash);
  const connection = world.request('beginGroup', { name: null, joined: null }, { kind: 'connection' });
  world.reconnect(OTHER);
  world.lose();
  assert.equal(world.ended(connection), null, 'it was never sent');
  world.takeSent();
  // The next server has the old model: nothing is asked.
  world.reconnect(OLD);
  assert.deepEqual(names(world.takeSent()).sort(), ['beginGroup', 'subscribe', 'transaction']);
  assert.equal(world.ended(written), null);
  assert.ok(!world.types(list).includes('end'));
});

test('the time of the handshake covers the model', () => {
  const { world } = following();
  world.reconnect(NEW);
  world.pass(world.deadline - world.now);
  assert.equal(world.take('lost')[0].error.code, 'UNREACHABLE');
});

test('other messages are answered while the model is awaited', () => {
  const { world } = following();
  world.reconnect(NEW);
  world.takeSent();
  world.reply('ping', { payload: '0102030405060708' });
  world.reply('progress', { revision: 9 });
  world.reply('own', { revisions: [8] });
  assert.deepEqual(names(world.takeSent()), ['pong']);
  world.reply('model', NEW, 1);
  assert.equal(world.take('ready').length, 1);
});

test('a second WELCOME while the model is awaited is a mistake', () => {
  const { world } = following();
  world.reconnect(NEW);
  world.reply('welcome', { serverName: 't', features: 7, historyID: '00'.repeat(16), revision: 1, ...NEW });
  assert.equal(world.take('lost')[0].error.code, 'PROTOCOL');
});

test('a server that leaves while the model is awaited is left for as long as it asks', () => {
  const { world } = following();
  world.reconnect(NEW);
  world.reply('goAway', { code: 'SCHEMA_CHANGED', lastRequestID: 0, retryAfter: 9000, message: '' });
  const [lost] = world.take('lost');
  assert.deepEqual([lost.error.code, lost.pause], ['CONNECTION_LOST', 9000]);
});

/** How a Zstandard frame of at most 255 bytes begins; the test unpacks it itself. */
const ZSTD_HEAD = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 0xff]);

test('the model may be compressed', () => {
  const world = reading({ unpacks: packed });
  world.lose();
  world.reconnect({ ...NEW, features: 0x17 });
  const body = encode('model', NEW);
  world.take();
  world.receive(encodeFrame(typeOf('model'), COMPRESSED, 1, ZSTD_HEAD));
  const { unpack } = world;
  world.run((m, now) => packed.unpacked(m, unpack, body, now));
  assert.equal(world.take('ready').length, 1);
  assert.ok(world.machine.models.has(NEW.modelHash));
});

test('a module that comes late speaks only for its own connection', () => {
  const { world, list } = following();
  world.isLoading = true;
  world.reconnect(NEW);
  const first = world.machine.greeting;
  assert.deepEqual(world.takeSent(), []);
  world.reply('ping', { payload: '0102030405060708' });
  assert.deepEqual(names(world.takeSent()), ['pong']);
  world.lose();
  world.reconnect(NEW);
  world.run((m) => ask(m, first));
  assert.deepEqual(world.takeSent(), []);
  world.run((m) => ask(m, m.greeting));
  world.reply('model', NEW, 1);
  assert.ok(!world.types(list).includes('end'));
  assert.equal(world.take('ready').length, 1);
});

test('each model is valid where it is extended, also when the server goes back', () => {
  const world = reading();
  world.lose();
  world.reconnect(NEW);
  world.reply('model', NEW, 1);
  const [old, young] = [OLD, NEW].map(({ modelHash }) => world.subscribe(spec({}, modelHash)));
  world.lose();
  world.take();
  world.reconnect(OLD);
  world.takeSent();
  world.reply('model', OLD, 1);
  assert.equal(world.changesOf(young).at(-1).error.code, 'SCHEMA_CHANGED');
  assert.ok(!world.types(old).includes('end'));
  assert.deepEqual(names(world.takeSent()), ['subscribe']);
});

test('the first model stays valid through more extensions than the client keeps', () => {
  const world = reading();
  for (let count = 2; count < 22; count++) {
    const extra = Array.from({ length: count }, (_, index) => attribute(index + 2, `a${index}`));
    const next = of(entity(1, 'Item', [TITLE, ...extra]));
    world.lose();
    world.reconnect(next);
    world.reply('model', next, 1);
    assert.ok(world.machine.models.size <= 8);
  }
  assert.equal(world.ended(write(world, OLD.modelHash)), null);
});

test('a change of a list that waits ends alone if it was made for a model that is gone', () => {
  const world = reading();
  world.lose();
  world.reconnect(NEW);
  world.reply('model', NEW, 1);
  const list = world.subscribe(spec({}, OLD.modelHash));
  world.subscribed();
  world.snapshot(2, [2, 3]);
  const call = {};
  world.run((m) => list.changeTo(m, spec({ window: { offset: 0, limit: 1 } }, NEW.modelHash), call));
  world.lose();
  world.reconnect(OLD);
  world.reply('model', OLD, 1);
  assert.equal(world.ended(call).error.code, 'SCHEMA_CHANGED');
  assert.ok(!world.types(list).includes('end'));
});

// MARK: A program

const open = [];
afterEach(() => {
  for (const nest of open.splice(0)) nest.close();
});

/** ENTITIES with another attribute of Item and another entity below it. */
const extended = () => {
  const [item, task] = ENTITIES;
  const notes = attribute(20, 'notes');
  return [{ ...item, attributes: [notes, ...item.attributes] }, { ...task, attributes: [notes, ...task.attributes] },
    entity(3, 'Chore', [notes, ...item.attributes], 1)];
};

async function program() {
  const page = new Page();
  const nest = await page.connect({ reconnectPauseMax: 1 });
  open.push(nest);
  return { page, nest, items: await nest.entity('Item') };
}

/** Ends the connection; the server comes back with these entities. */
async function comeBack({ page, nest }, entities) {
  page.entities = entities;
  page.events.closed(null);
  for (let i = 0; i < 200 && nest.state.phase !== 'ready'; i++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(nest.state.phase, 'ready');
}

test('a program goes on with its lists, requests and entities, and finds the new model', async () => {
  const world = await program();
  const { page, nest, items } = world;
  const before = await nest.model();
  const list = nest.results(items);
  const { fields: { request: { projection } }, id } = await page.next('subscribe');
  page.reply('subscribed', { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection }, id);
  await turn();
  const waiting = nest.fetch(items.where('title == "x"'));
  const parse = await page.next('parsePredicate');
  page.reply('predicate', { predicate: new Uint8Array([0]) }, parse.id);
  await page.next('fetch');
  await comeBack(world, extended());
  const model = await nest.model();
  assert.notEqual(model, before);
  assert.equal(model.entity(3).name, 'Chore');
  assert.ok((await nest.entity('Item')).description.find('notes'));
  // What was sent without the names of its values names those of the old model.
  assert.deepEqual((await page.next('subscribe')).fields.request.projection, projection);
  const again = await page.next('fetch');
  assert.ok(!again.fields.request.projection.includes(20));
  page.error('BUSY', again.id);
  await assert.rejects(waiting, { code: 'BUSY' });
  const held = nest.fetch(items);
  const { fields, id: fetched } = await page.next('fetch');
  assert.deepEqual(fields.request.projection, projection);
  page.error('BUSY', fetched);
  await assert.rejects(held, { code: 'BUSY' });
  // The steps of a transaction may be of both.
  const chores = await nest.entity('Chore');
  const receipt = nest.transaction('x', (tx) => {
    tx.insert(items, { title: 'a' });
    tx.insert(chores, { notes: 'b' });
  });
  const sent = await page.next('transaction');
  const made = { revision: 3, isChanged: true, isReplayed: false, results: [], name: 'x', conflicts: null };
  page.reply('receipt', made, sent.id);
  assert.equal((await receipt).revision, 3);
  const feed = nest.changes();
  const event = feed.next();
  const follows = await page.next('subscribeChanges');
  page.reply('subscribed', { view: VIEW + 1, first: 'current', revision: 3, reason: '', projection: [] }, follows.id);
  assert.equal((await event).value.type, 'following');
  assert.notEqual(list.status, 'ended');
  await comeBack(world, [{ ...ENTITIES[0], name: 'Thing' }]);
  assert.equal(list.error.code, 'SCHEMA_CHANGED');
  await assert.rejects(async () => {
    while (!(await feed.next()).done);
  }, { code: 'SCHEMA_CHANGED' });
  await assert.rejects(nest.fetch(items), { code: 'SCHEMA_CHANGED' });
  await assert.rejects(nest.transaction('x', (tx) => {
    tx.insert(items, { title: 'a' });
    tx.insert(chores, { notes: 'b' });
  }), { code: 'SCHEMA_CHANGED' });
});

test('a feed names the entities and properties that only the new model has', async () => {
  const world = await program();
  const { page, nest } = world;
  const feed = nest.changes();
  const following = feed.next();
  const first = await page.next('subscribeChanges');
  page.reply('subscribed', { view: VIEW, first: 'current', revision: 3, reason: '', projection: [] }, first.id);
  await following;
  await comeBack(world, extended());
  const again = await page.next('subscribeChanges');
  page.reply('subscribed', { view: VIEW, first: 'current', revision: 3, reason: '', projection: [] }, again.id);
  page.reply('changeSet', {
    revision: 4, time: 5, sessionNumber: 1, kind: 'write', reverted: null, name: 'n', place: 0, user: null,
    objects: [{ change: 'updated', entity: 3, id: 7, properties: [20] }],
  }, VIEW);
  for (let i = 0; i < 5; i++) {
    const { value } = await feed.next();
    if (value.type !== 'changes') continue;
    assert.deepEqual([value.objects[0].entity, [...value.objects[0].properties]], ['Chore', ['notes']]);
    return;
  }
  assert.fail('no changes');
});

test('rows of an entity that stores nothing have the name of their entity', async () => {
  const page = new Page();
  page.entities = [entity(1, 'Mark', [])];
  const nest = await page.connect();
  open.push(nest);
  const marks = await nest.entity('Mark');
  assert.deepEqual(marks.lowered().wire.projection, [0]);
});
