// Clients with a cache against nestd: they end and begin again while another one writes, the server is killed, and gets
// another model or another history. What a list shows first is what it has shown last; afterwards it equals a fresh
// fetch. NEST_SEED and NEST_STEPS repeat and extend a run.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MemoryCache } from '../../cache.js';
import { connect } from '../../node.js';
import { optimistic } from '../../optimistic.js';
import { textOf } from './local.js';
import { missing, Server, trapModel, until } from './nestd.js';
import { Random } from './random.js';
import { build, randomRequest } from './requests.js';
import { World } from './world.js';

const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));
const steps = Number(process.env.NEST_STEPS ?? 120);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const listsMax = 5;

const shownOf = ({ sections, position, total }) =>
  `${textOf(sections)} ${total} ${position && `${position.start.row} ${position.anchor}`}`;

/** A list of a client, over all its runs. */
class Followed {
  constructor(described, isLocal) {
    Object.assign(this, { described, isLocal, results: null, seen: [] });
    /** What it has shown last; whether the cache must have it. */
    this.last = null;
    this.isKept = false;
  }

  async begin({ nest, local, entities }) {
    const request = build(entities, this.described);
    this.seen = [];
    this.results = this.isLocal ? await local.results(request) : nest.results(request);
    this.results.subscribe(({ type, reason, cause, error }) => {
      this.seen.push({ type, reason, cause, code: error?.code, text: shownOf(this.results.state) });
    });
  }

  /** Remembers what it shows, at the end of a run. */
  end({ nest, entities }) {
    const { results } = this;
    const isShown = results.status !== 'ended' && results.state.revision > 0;
    this.modelHash = entities.Thing.model.hash;
    // A state that goes on with another model is not recorded.
    const isOfModel = (nest.server?.modelHash ?? this.modelHash) === this.modelHash;
    this.isKept = isShown && isOfModel && ['live', 'cached', 'disconnected', 'paused'].includes(results.status);
    this.last = isShown ? shownOf(results.state) : null;
  }
}

class Person {
  constructor(run) {
    Object.assign(this, { run, random: run.random.fork(), cache: new MemoryCache(), lists: [], nest: null });
  }

  /** Begins a run. `isOffline`: there is no server. */
  async begin(isOffline = false) {
    const { run, lists } = this;
    this.nest = await connect({ ...run.common, cache: this.cache, user: 'Ann' });
    this.local = optimistic(this.nest);
    this.entities = { Thing: await this.nest.entity('Thing'), Tag: await this.nest.entity('Tag') };
    for (const list of lists) await list.begin(this);
    for (const list of lists) {
      const { described, last, seen, results } = list;
      const isNew = run.changedSince(this);
      // The requests of another model are others.
      const isKept = list.isKept && list.modelHash === this.entities.Thing.model.hash;
      const about = () => `${JSON.stringify(described)} kept ${isKept}, seen ${JSON.stringify(seen)}, last ${last}`;
      if (isOffline && isKept) await until(() => seen.length > 0, about);
      else if (!isOffline) await until(() => seen.length > 0 || results.status === 'ended', about);
      const [first] = seen;
      if (first?.reason === 'cache') {
        // The last run may have ended before the program saw what had arrived.
        if (last !== null) assert.equal(first.text, last, `the first state is not the last one: ${about()}`);
        run.count(isOffline ? 'first without a server' : 'first');
      } else {
        assert.ok(!isKept || (isNew && !isOffline), `there is no first state: ${about()}`);
        if (first?.cause === 'cache') run.count('dropped before it was shown');
      }
    }
  }

  end() {
    for (const list of this.lists) {
      const drops = list.seen.filter(({ cause }) => cause === 'cache').length;
      for (let count = 0; count < drops; count += 1) this.run.count('dropped');
      list.end(this);
    }
    this.nest.close();
    this.sawModel = this.run.models;
    this.sawHistory = this.run.histories;
  }

  async follow() {
    const list = new Followed(randomRequest(this.random, this.run.world), this.random.chance(0.3));
    this.lists.push(list);
    await list.begin(this);
  }

  /** Every list equals a fresh fetch. */
  async quiet() {
    for (const { results } of this.lists) results.resume();
    for (const { results, described } of this.lists) {
      await until(async () => {
        if (results.status === 'ended') return true;
        const fresh = await this.run.fresh(results);
        return results.status === 'live' && results.state.isCurrent && fresh.total === results.state.total
          && textOf(fresh.sections) === textOf(results.state.sections);
      }, async () => `${results.status} ${textOf(results.state.sections)} is not ${
        textOf((await this.run.fresh(results)).sections)} of ${JSON.stringify(described)}`);
      this.run.count(results.status === 'ended' ? `ended ${results.error?.code}` : 'equal');
    }
    // Objects that are gone have no lists.
    this.lists = this.lists.filter(({ results }) => results.status !== 'ended');
  }
}

class Run {
  constructor(random) {
    Object.assign(this, { random, counts: {}, models: 0, histories: 0, world: new World(random.fork()) });
    this.model = JSON.parse(readFileSync(trapModel, 'utf8'));
  }

  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  changedSince({ sawModel, sawHistory }) {
    return sawModel !== this.models || sawHistory !== this.histories;
  }

  async start() {
    this.server = await Server.start('--model', trapModel);
    this.common = { reconnectPauseMax: 100, connectTimeout: 2000, url: `tcp://127.0.0.1:${this.server.port}` };
    await this.fill();
    this.people = [new Person(this), new Person(this)];
    for (const person of this.people) {
      await person.begin();
      for (let count = 3; count > 0; count -= 1) await person.follow();
    }
  }

  /** A new store has some objects. */
  async fill() {
    this.other?.close();
    this.other = await connect({ ...this.common, user: 'Bo' });
    this.entities = { Thing: await this.other.entity('Thing'), Tag: await this.other.entity('Tag') };
    await this.other.transaction('begin', (tx) => this.world.begin(tx, this.entities));
    await this.world.learn(this.server);
  }

  write() {
    let remember;
    const fill = (tx) => { remember = this.world.fill(tx, this.entities); };
    return this.other.transaction(this.world.name(), fill)
      .then((receipt) => receipt.isChanged && remember(receipt), () => {});
  }

  /** What a list must show by now. */
  async fresh({ request, state: { position } }) {
    const { anchor, before, after } = request.shownWindow ?? {};
    const now = anchor && position?.anchor ? request.around(position.anchor, before, after) : request;
    try {
      return await this.other.fetch(now, { atLeast: 'newest' });
    } catch (error) {
      // The object whose relationship it was is gone. Its list stays, without rows.
      if (error.code !== 'NOT_FOUND') throw error;
      return { sections: [], total: 0 };
    }
  }

  /** The server gets another model, which extends the one before. */
  changeModel() {
    this.models += 1;
    this.model.entities[0].attributes.push({ name: `more${this.models}`, type: 'string', optional: true });
    this.server.changeModel(this.model);
  }

  /** The store is a new one. */
  changeHistory() {
    this.histories += 1;
    for (const name of readdirSync(this.server.directory)) {
      if (name.startsWith('store.sqlite')) rmSync(join(this.server.directory, name), { recursive: true });
    }
  }

  async step() {
    const { random, people, server } = this;
    const person = random.pick(people);
    const kind = random.weighted({
      write: 40, burst: 4, wait: 8, again: 10, offline: 5, restart: 2, follow: 6, close: 3, pause: 4, own: 4, quiet: 4,
    });
    this.count(kind);
    switch (kind) {
      case 'write': return this.write();
      case 'burst': return void Promise.all(Array.from({ length: 5 }, () => this.write()));
      case 'wait': return pause(random.below(60));
      case 'again':
        person.end();
        if (random.chance(0.5)) await this.write();
        return person.begin();
      case 'offline': {
        person.end();
        const what = random.weighted({ same: 5, model: 2, history: 2 });
        this.count(what);
        if (random.chance(0.5)) await this.write();
        await server.kill();
        if (what === 'model') this.changeModel();
        if (what === 'history') this.changeHistory();
        await person.begin(true);
        await server.start();
        if (what === 'history') await this.fill();
        return undefined;
      }
      case 'restart': return server.restart();
      case 'follow': return person.lists.length < listsMax ? person.follow() : undefined;
      case 'close': {
        const [list] = person.lists.splice(random.below(person.lists.length), 1);
        return list?.results.close();
      }
      case 'pause': {
        const list = random.pick(person.lists);
        return random.chance(0.5) ? list?.results.pause() : list?.results.resume();
      }
      case 'own': {
        const fill = (tx) => { this.world.fill(tx, person.entities); };
        const write = person.local.transaction(this.world.name(), fill);
        return write.done.catch(() => {});
      }
      default: return this.quiet();
    }
  }

  async quiet() {
    for (const person of this.people) {
      await until(() => person.local.pending.length === 0);
      await person.quiet();
    }
    await this.world.learn(this.server);
  }

  async close() {
    for (const { nest } of this.people ?? []) nest?.close();
    this.other?.close();
    await this.server?.close();
  }
}

test(`a list begins with what it has shown last (NEST_SEED=${seed})`, { skip: missing }, async (context) => {
  const run = new Run(new Random(seed));
  try {
    await run.start();
    for (let step = 1; step <= steps; step += 1) {
      try {
        await run.step();
        if (step % 40 === 0 || step === steps) await run.quiet();
      } catch (error) {
        error.message = `NEST_SEED=${seed} step ${step}: ${error.message}`;
        throw error;
      }
    }
    context.diagnostic(JSON.stringify(run.counts));
    const { first = 0, 'first without a server': offline = 0, equal = 0 } = run.counts;
    if (steps >= 100) assert.ok(first + offline > 5 && equal > 5, JSON.stringify(run.counts));
  } finally {
    await run.close();
  }
});
