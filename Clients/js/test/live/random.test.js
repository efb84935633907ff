// A random client beside nestc: clients write, follow, scroll, pause, undo and group through a proxy that breaks their
// connections, and a server that is killed, and sometimes comes back with one attribute more. Every event is checked
// against the protocol, with the digest of every diff; at quiet points every list equals what nestc fetches, and in the
// end every write has happened as often as it was acknowledged. NEST_SEED and NEST_STEPS repeat and extend a run.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { Follower, asRows } from './follower.js';
import { Server, missing, trapModel, until } from './nestd.js';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';
import { build, changedRequest, options, randomRequest } from './requests.js';
import { World, refusals } from './world.js';

const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));
const steps = Number(process.env.NEST_STEPS ?? 120);

class Run {
  constructor(random) {
    this.random = random;
    this.world = new World(random.fork());
    this.followers = [];
    this.calls = new Set();
    this.faults = [];
    /** What became of each write: its name → receipt, or the code of its refusal. */
    this.outcomes = new Map();
    this.counts = {};
    this.described = new WeakMap();
    this.model = JSON.parse(readFileSync(trapModel, 'utf8'));
  }

  async start() {
    this.server = await Server.start('--model', trapModel);
    this.proxy = await ChaosProxy.start(() => this.server.port, this.random.fork());
    const proxied = `tcp://127.0.0.1:${this.proxy.port}`;
    // The subject, through the proxy; another writer, whose writes the subject's undo meets; and one that groups its
    // writes, because a group has all writes of its client.
    // Connections break often here: without a short longest pause the clients would mostly wait.
    const common = { reconnectPauseMax: 150, connectTimeout: 2000 };
    this.subject = await connect({ ...common, url: proxied, user: 'Ann' });
    this.other = await connect({ ...common, url: `tcp://127.0.0.1:${this.server.port}`, user: 'Bo' });
    this.grouper = await connect({ ...common, url: proxied, user: 'Cy' });
    // It writes with entities of the subject. A client compares only models that it has read itself.
    await this.grouper.model();
    this.entities = { Thing: await this.subject.entity('Thing'), Tag: await this.subject.entity('Tag') };
    this.otherEntities = { Thing: await this.other.entity('Thing'), Tag: await this.other.entity('Tag') };
    await this.other.transaction('begin', (tx) => this.world.begin(tx, this.otherEntities));
    await this.world.learn(this.server);
    this.feed = { revisions: [], error: null };
    this.feed.done = this.#followChanges().catch((error) => { this.feed.error = error; });
  }

  async #followChanges() {
    const changes = this.subject.changes({ since: { history: this.subject.server.historyID, revision: 0, place: 0 } });
    this.feed.changes = changes;
    for await (const change of changes) if (change.type === 'changes') this.feed.revisions.push(change);
  }

  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** Starts something without waiting for its end. */
  call(what, body, allowed = refusals) {
    this.count(what);
    const call = (async () => body())().catch((error) => {
      const isRefusal = allowed.has(error.code);
      if (!isRefusal) this.faults.push(new Error(`${what}: ${error.code} ${error.message}`, { cause: error }));
      return error;
    }).finally(() => this.calls.delete(call));
    this.calls.add(call);
    return call;
  }

  // MARK: Steps

  write(client = this.subject, entities = this.entities, what = 'write') {
    const name = this.world.name();
    return this.call(what, async () => {
      try {
        let remember;
        const receipt = await client.transaction(name, (tx) => { remember = this.world.fill(tx, entities); });
        this.outcomes.set(name, receipt);
        remember(receipt);
      } catch (error) {
        this.outcomes.set(name, error.code);
        throw error;
      }
    });
  }

  /** The request for the client; `described` leads back from it. */
  build(request) {
    const built = build(this.entities, request);
    this.described.set(built, request);
    return built;
  }

  follow() {
    const { random, followers } = this;
    // Sometimes one that another list has already: both share a view.
    const request = followers.length > 0 && random.chance(0.15) ? this.requestOf(random.pick(followers))
      : randomRequest(random, this.world);
    const list = this.subject.results(this.build(request));
    const follower = new Follower(list, (section) => section?.path.leaf === 1 && section.function === 'value'
      && this.entities.Thing.model.entity('Thing').find(section.path.property)?.type === 'double');
    this.count('follow');
    followers.push(follower);
  }

  requestOf({ list }) {
    return this.described.get(list.request);
  }

  change(follower) {
    const request = changedRequest(this.random, this.requestOf(follower), this.world);
    // A list that stays paused for longer than a request may take does not change.
    const allowed = ['NOT_FOUND', 'INVALID', 'CANCELLED', ...(follower.isPaused ? ['TIMED_OUT'] : [])];
    return this.call('change', () => follower.list.change(this.build(request)), new Set(allowed));
  }

  async step() {
    const { random, followers } = this;
    const follower = followers.length > 0 ? random.pick(followers) : null;
    const kind = random.weighted({
      write: 30, other: 12, command: 2, undo: 8, redo: 4, otherUndo: 2, group: 3, fetch: 3, wait: 12,
      follow: followers.length < 6 ? 8 : 0, change: follower ? 12 : 0, pause: follower ? 5 : 0,
      close: followers.length > 3 ? 3 : 0, break: 4, wild: 6, kill: 1,
    });
    switch (kind) {
      case 'write': return random.chance(0.5) ? this.write() : void this.write();
      case 'other': return void this.write(this.other, this.otherEntities, 'other');
      case 'command': return this.command();
      case 'follow': return this.follow();
      // A paused list changes when it goes on.
      case 'change': {
        const change = this.change(follower);
        return random.chance(0.5) && !follower.isPaused ? change : undefined;
      }
      case 'pause': return this.pause(follower);
      case 'close':
        this.count('close');
        followers.splice(followers.indexOf(follower), 1);
        follower.list.close();
        return follower.done.then(() => this.check(follower));
      case 'undo': {
        const policy = random.pick(['keep', 'keep', 'force', 'strict']);
        return void this.call('undo', () => this.subject.undo({ policy }));
      }
      case 'redo': return void this.call('redo', () => this.subject.redo());
      case 'otherUndo': return void this.call('otherUndo', () => this.other.undo());
      case 'group': return void this.group();
      case 'break':
        this.count('break');
        return this.proxy.breakAll(random.pick(['cut', 'reset']));
      case 'wild':
        this.count('wild');
        this.proxy.wild = !this.proxy.wild;
        return this.proxy.wild ? this.proxy.breakAll() : undefined;
      case 'kill':
        return this.kill();
      case 'fetch': return void this.fetch();
      default: return new Promise((resolve) => setTimeout(resolve, random.below(60)));
    }
  }

  kill() {
    const { random } = this;
    this.count('kill');
    if (random.chance(0.5)) this.grow();
    return this.server.restart();
  }

  /** Adds an attribute to the model of the next start: what was made for the old one goes on. */
  grow() {
    this.count('model');
    const { attributes } = this.random.pick(this.model.entities);
    const more = { name: `more${this.counts.model}`, type: 'string', optional: true };
    attributes.splice(this.random.below(attributes.length + 1), 0, more);
    this.server.changeModel(this.model);
  }

  /** nestc writes too, in a session of its own. */
  command() {
    const id = this.world.thing();
    const run = () => this.server.nestc(['set', `${id}`, 'done=yes', '--json']);
    return this.call('command', run, new Set([...refusals, null]));
  }

  pause(follower) {
    this.count(follower.isPaused ? 'resume' : 'pause');
    follower.isPaused = !follower.isPaused;
    if (follower.isPaused) follower.list.pause();
    else follower.list.resume();
  }

  group() {
    const allowed = new Set([...refusals, 'CONNECTION_LOST', 'OUTCOME_UNKNOWN']);
    if (this.isGrouping) return undefined;
    this.isGrouping = true;
    return this.call('group', () => this.grouper.group('a group', async (nest) => {
      for (let count = this.random.between(1, 3); count > 0; count -= 1) {
        await nest.transaction(null, (tx) => { this.world.fill(tx, this.entities); });
      }
    }).finally(() => { this.isGrouping = false; }), allowed);
  }

  fetch() {
    const request = randomRequest(this.random, this.world);
    return this.call('fetch', async () => {
      const state = await this.subject.fetch(this.build(request));
      assert.ok(Object.isFrozen(state.rows));
    }, new Set(['NOT_FOUND', 'INVALID']));
  }

  // MARK: Checks

  check(follower) {
    const code = follower.error?.code;
    // A list of an object that is gone, or around a row that is none, is refused.
    if (follower.error && !['NOT_FOUND', 'INVALID'].includes(code)) {
      throw new Error(`a list failed: ${follower.error.message}\n${this.explain(follower)}`, { cause: follower.error });
    }
  }

  /** Waits until nothing is under way; then every list is what nestc fetches. */
  async quiet() {
    this.count('quiet');
    this.proxy.calm();
    for (const follower of this.followers) if (follower.isPaused) this.pause(follower);
    await until(() => this.calls.size === 0, () => `${this.calls.size} calls are under way`);
    if (this.faults.length > 0) throw this.faults[0];
    const [newest] = await this.server.json(['history', '--all', '--limit', '1']);
    const revision = newest?.revision ?? 0;
    for (const follower of [...this.followers]) {
      await until(() => follower.error || (follower.list.status === 'live' && follower.list.revision >= revision
        && follower.state === follower.list.state),
      () => `${follower.list.status} at ${follower.list.revision} of ${revision}: ${this.explain(follower)}`);
      this.check(follower);
      if (follower.error) this.followers.splice(this.followers.indexOf(follower), 1);
      else await this.compare(follower);
    }
    await this.world.learn(this.server);
  }

  explain(follower) {
    return `${JSON.stringify(this.requestOf(follower))}\n${follower.log.join('\n')}`;
  }

  async compare(follower) {
    const { state } = follower.list;
    const request = this.requestOf(follower);
    const anchor = request.around ? state.position.anchor : null;
    // Without rows there is no anchor to name in the request of nestc.
    if (request.around && !anchor) return assert.equal(state.count, 0);
    // Without names, nestc prints all that the newest model has.
    const names = request.names.length > 0 ? request.names : follower.list.request.storedNames();
    const expected = await this.server.json(['fetch', ...options({ ...request, names }, anchor)]).catch((error) => {
      // The object whose list it is has been deleted: an undo would bring both back.
      if (error.code === 'NOT_FOUND' && request.of !== null) return [];
      throw error;
    });
    const actual = asRows(state, request.section !== null);
    assert.deepEqual(actual.map(comparable), expected.map(comparable), this.explain(follower));
    this.count('compared');
    this.count(expected.length > 0 ? 'with rows' : 'without rows');
  }

  /** In the end: each acknowledged write happened once, each refused one never; the feed is what nestc prints. */
  async finish() {
    await this.quiet();
    const history = [];
    for (let before = []; ;) {
      const page = await this.server.json(['history', '--all', '--limit', '1000', ...before]);
      history.push(...page);
      if (page.length < 1000) break;
      before = ['--before', `${page.at(-1).revision}`];
    }
    const written = new Map();
    for (const { name, revision, kind } of history) {
      if (kind === 'write') written.set(name, [...(written.get(name) ?? []), revision]);
    }
    for (const [name, outcome] of this.outcomes) {
      const expected = typeof outcome === 'object' && outcome.isChanged ? [outcome.revision] : [];
      assert.deepEqual(written.get(name) ?? [], expected, `the write ${name}: ${outcome.revision ?? outcome}`);
    }
    const newest = history[0]?.revision ?? 0;
    const { feed } = this;
    await until(() => feed.error || (feed.revisions.at(-1)?.revision ?? 0) >= newest, () => 'the feed of changes lags');
    if (feed.error) throw feed.error;
    const events = await this.server.json(['changes', '--since', '0', '--limit', `${newest}`]);
    const expected = events.filter(({ event }) => event === 'changes');
    assert.deepEqual(revisionsOf(feed.revisions), revisionsOf(expected));
  }

  async close() {
    for (const client of [this.subject, this.other, this.grouper]) client?.close();
    await this.proxy?.close();
    await this.server?.close();
  }
}

/** JSON has one zero. The order of the names means nothing. */
const comparable = (row) => Object.fromEntries(Object.entries(row)
  .map(([name, value]) => [name, value === 0 ? 0 : value]));

/** Change sets in parts, joined: revision → the ids that were inserted, updated and deleted. */
function revisionsOf(sets) {
  const revisions = new Map();
  for (const { revision, objects } of sets) {
    const all = revisions.get(revision) ?? [];
    for (const { change, id } of objects) all.push(`${change} ${id}`);
    revisions.set(revision, all);
  }
  return [...revisions].map(([revision, objects]) => `${revision}: ${objects.sort().join(', ')}`);
}

test(`a random client agrees with nestc: NEST_SEED=${seed} NEST_STEPS=${steps}`, { skip: missing }, async (context) => {
  const run = new Run(new Random(seed));
  try {
    await run.start();
    const pauses = run.random.fork();
    for (let step = 1; step <= steps; step += 1) {
      if (step === Math.ceil(steps / 2)) {
        run.grow();
        await run.kill();
      }
      await run.step();
      if (run.faults.length > 0) throw run.faults[0];
      if (pauses.chance(1 / 25)) await run.quiet();
    }
    await run.finish();
    context.diagnostic(JSON.stringify({ ...run.counts, ...run.proxy.counts }));
  } catch (error) {
    error.message = `NEST_SEED=${seed} NEST_STEPS=${steps}: ${error.message}`;
    throw error;
  } finally {
    await run.close();
  }
});
