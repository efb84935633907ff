// Optimistic writes against nestd: two clients show their own writes while they, and a third one, write at the same
// neighbours, connections break, and the server is killed. Every publish is checked against the laws (local.js); at
// quiet points lists equal a fresh fetch. NEST_SEED and NEST_STEPS repeat and extend a run.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { optimistic } from '../../optimistic.js';
import { textOf, Watcher } from './local.js';
import { missing, Server, trapModel, until } from './nestd.js';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';
import { build, changedRequest, randomRequest } from './requests.js';
import { refusals, World } from './world.js';

const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));
const steps = Number(process.env.NEST_STEPS ?? 150);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Subject {
  constructor(run, nest) {
    this.run = run;
    this.nest = nest;
    this.random = run.random.fork();
    this.local = optimistic(nest);
    this.watchers = [];
    this.described = new Map();
  }

  async start() {
    const { nest } = this;
    this.entities = { Thing: await nest.entity('Thing'), Tag: await nest.entity('Tag') };
  }

  async follow(request = randomRequest(this.random, this.run.world)) {
    const results = await this.local.results(build(this.entities, request));
    const watcher = new Watcher(this.nest, this.local, results, this.run.faults);
    watcher.described = request;
    this.watchers.push(watcher);
    return watcher;
  }

  /** Follows an outline. Its windows are mostly shorter than it. */
  async followOutline(limit = this.random.pick([5, 20, 200]), owner = this.random.pick(this.run.world.owners)) {
    const { random, run: { world } } = this;
    let request = this.entities.Thing.of(owner, 'then')
      .properties(...random.pick([['title'], ['title', 'done', 'parent'], ['depth']]))
      .window(owner === 1 ? 0 : random.pick([0, 0, 3]), limit);
    if (random.chance(0.3)) request = request.where(random.pick(['done == NO', 'title != "a"', 'depth == nil OR depth < 64']));
    const folds = { expand: owner === 1 ? 'all' : random.pick(['all', 'all', 'none', 'done']), except: [random.pick(world.things)] };
    const results = await this.local.outline(request, folds);
    const watcher = new Watcher(this.nest, this.local, results, this.run.faults);
    Object.assign(watcher, { folds, outline: request, described: { outline: true, folds, where: request.predicates } });
    this.watchers.push(watcher);
    return watcher;
  }

  /** Folds, scrolls, or shows what is below another object. */
  changeOutline({ results, folds }) {
    const { random, run: { world } } = this;
    const kind = random.pick(['fold', 'fold', 'scroll', 'zoom', 'where']);
    if (kind === 'fold' && folds.expand !== 'done') return results.setExpanded(random.pick(world.things), random.chance(0.6));
    if (kind === 'scroll') return results.scroll({ offset: random.pick([0, 0, 2, 6]), limit: random.pick([4, 30, 200]) });
    if (kind === 'where') return results.change({ where: random.pick([null, null, 'done == NO']) });
    return results.zoom(random.pick(world.owners));
  }

  write(fill = null) {
    const name = this.run.world.name();
    let remember;
    const write = this.local.transaction(name, (tx) => {
      remember = fill ? fill(tx) : this.run.world.fill(tx, this.entities);
    });
    write.done.then((receipt) => {
      // Objects that were inserted and deleted at once are not results.
      if (receipt.isChanged) remember?.(receipt);
      this.run.count('accepted');
    }, (error) => {
      this.run.count(`${write.state} ${error.code}`);
      const isExpected = write.state === 'parked' || error.code === 'CANCELLED' || refusals.has(error.code);
      if (!isExpected) this.run.faults.push(error);
    });
    return write;
  }

  async step() {
    const { random, watchers } = this;
    const watcher = watchers.length > 0 ? random.pick(watchers) : null;
    const kind = random.weighted({
      write: 40, burst: 4, undo: 6, redo: 3, wait: 10, follow: watchers.length < 5 ? 8 : 0, change: watcher ? 5 : 0,
      pause: watcher ? 4 : 0, close: watchers.length > 3 ? 2 : 0,
    });
    this.run.count(kind);
    switch (kind) {
      case 'write': return void this.write();
      case 'burst': for (let count = random.between(2, 6); count > 0; count -= 1) this.write(); return undefined;
      case 'undo': return void this.local.undo().done.catch((error) => this.run.count(`undo ${error.code}`));
      case 'redo': return void this.local.redo().done.catch((error) => this.run.count(`redo ${error.code}`));
      case 'follow': return void await (random.chance(0.4) ? this.followOutline() : this.follow());
      case 'change': {
        if (watcher.outline) {
          if (!watcher.isPaused) await Promise.race([this.changeOutline(watcher).catch(() => {}), pause(2_000)]);
          return undefined;
        }
        const request = changedRequest(random, watcher.described, this.run.world);
        if (watcher.isPaused) return undefined;
        return watcher.results.change(build(this.entities, request)).then((isNewest) => {
          if (isNewest) watcher.described = request;
        }, () => {});
      }
      case 'pause':
        watcher.isPaused = !watcher.isPaused;
        return watcher.isPaused ? watcher.results.pause() : watcher.results.resume();
      case 'close':
        watchers.splice(watchers.indexOf(watcher), 1);
        return watcher.results.close();
      default: return pause(random.below(40));
    }
  }

  /** What an outline must show by now. */
  async freshOutline({ results }) {
    const { request, folds } = results;
    const other = await this.run.other.outline(request, folds);
    try {
      await until(() => other.status === 'live' || other.status === 'ended', () => other.status);
      return other.state;
    } finally {
      other.close();
    }
  }

  /** What a list must show by now. */
  async fresh(watcher) {
    if (watcher.outline) return this.freshOutline(watcher);
    const { request, state: { position } } = watcher.results;
    const { anchor, before, after } = request.shownWindow ?? {};
    // A window follows the object that it is around to the place of that object, when it is gone.
    const now = anchor && position?.anchor ? request.around(position.anchor, before, after) : request;
    try {
      return await this.run.other.fetch(now, { atLeast: 'newest' });
    } catch (error) {
      // The object whose relationship it was is gone. Its list stays, without rows.
      if (error.code !== 'NOT_FOUND') throw error;
      return { sections: [], total: 0 };
    }
  }

  /** Everything is settled, and every list equals a fresh fetch. */
  async quiet() {
    for (const watcher of this.watchers) {
      if (watcher.isPaused) watcher.results.resume();
      watcher.isPaused = false;
    }
    const { local, run } = this;
    await until(() => local.pending.length === 0, () => {
      const writes = local.pending.map(({ kind, phase, revision }) => `${kind} ${phase} ${revision}`);
      return `${writes}; ${this.watchers.map(({ inner, results }) => `${inner?.head} ${results.status}`)}`;
    });
    for (const watcher of this.watchers) {
      if (watcher.results.status === 'ended') continue;
      await until(async () => {
        if (watcher.results.status === 'ended') return true;
        const { state } = watcher.results;
        const fresh = await this.fresh(watcher);
        const isSame = textOf(fresh.sections) === textOf(state.sections) && fresh.total === state.total;
        return isSame && state.isCurrent && watcher.results.status === 'live';
      }, async () => `${watcher.results.status} ${textOf(watcher.results.state.sections)} is not ${
        textOf((await this.fresh(watcher)).sections)} of ${JSON.stringify(watcher.described)}`);
      run.count('equal');
    }
  }
}

class Run {
  constructor(random) {
    this.random = random;
    this.world = new World(random.fork());
    this.faults = [];
    this.counts = {};
  }

  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  async start(isDirect = false) {
    this.server = await Server.start('--model', trapModel);
    this.proxy = await ChaosProxy.start(() => this.server.port, this.random.fork());
    const common = { reconnectPauseMax: 150, connectTimeout: 2000 };
    const url = `tcp://127.0.0.1:${isDirect ? this.server.port : this.proxy.port}`;
    this.other = await connect({ ...common, url: `tcp://127.0.0.1:${this.server.port}`, user: 'Bo' });
    this.subjects = [];
    for (const user of ['Ann', 'Cy']) this.subjects.push(new Subject(this, await connect({ ...common, url, user })));
    for (const subject of this.subjects) await subject.start();
    this.entities = { Thing: await this.other.entity('Thing'), Tag: await this.other.entity('Tag') };
    await this.other.transaction('begin', (tx) => this.world.begin(tx, this.entities));
    await this.world.learn(this.server);
  }

  async step() {
    const { random } = this;
    const kind = random.weighted({ subject: 60, other: 12, break: 3, wild: 4, kill: 1 });
    if (kind !== 'subject') this.count(kind);
    switch (kind) {
      case 'subject': return random.pick(this.subjects).step();
      case 'other': {
        let remember;
        const fill = (tx) => { remember = this.world.fill(tx, this.entities); };
        return void this.other.transaction(this.world.name(), fill)
          .then((receipt) => receipt.isChanged && remember(receipt), () => {});
      }
      case 'break': return this.proxy.breakAll(random.pick(['cut', 'reset']));
      case 'wild':
        this.proxy.wild = !this.proxy.wild;
        return this.proxy.wild ? this.proxy.breakAll() : undefined;
      default: return this.server.restart();
    }
  }

  failed() {
    if (this.faults.length > 0) throw this.faults[0];
  }

  async close() {
    for (const { nest } of this.subjects ?? []) nest.close();
    this.other?.close();
    await this.proxy?.close();
    await this.server?.close();
  }
}

test(`own writes are shown at once, and lists end as the server has them (NEST_SEED=${seed})`, { skip: missing },
  async (context) => {
    const run = new Run(new Random(seed));
    try {
      await run.start();
      for (let step = 1; step <= steps; step += 1) {
        try {
          await run.step();
          run.failed();
          if (step % 50 === 0 || step === steps) {
            run.proxy.calm();
            for (const subject of run.subjects) await subject.quiet();
            run.failed();
            await run.world.learn(run.server);
          }
        } catch (error) {
          error.message = `NEST_SEED=${seed} step ${step}: ${error.message}`;
          throw error;
        }
      }
      context.diagnostic(JSON.stringify(run.counts));
    } finally {
      await run.close();
    }
  });

test(`what is decided is what the server answers, and its confirmation changes no row (NEST_SEED=${seed})`,
  { skip: missing }, async (context) => {
    const run = new Run(new Random(seed));
    const counts = { decided: 0, changed: 0, undecided: 0, refused: 0, outlines: 0 };
    try {
      await run.start(true);
      const [subject] = run.subjects;
      const { local } = subject;
      await until(() => local.pending.length === 0);
      // A list with everything, so that much is known.
      const all = { of: null, where: null, sort: [], section: null, names: [], window: null };
      for (const entity of ['Thing', 'Tag']) await subject.follow({ ...all, entity });
      for (let turn = 0; turn < steps; turn += 1) {
        const what = `NEST_SEED=${seed} turn ${turn}`;
        if (turn % 10 === 0) {
          for (const watcher of subject.watchers.splice(2)) watcher.results.close();
          for (let count = 6; count > 0; count -= 1) {
            const request = randomRequest(subject.random, run.world);
            await subject.follow({ ...request, window: null, around: null });
          }
          await subject.followOutline(1_000);
          await subject.followOutline(1_000, 1);
          await until(() => subject.watchers.every(({ results }) => results.status !== 'connecting'));
          await run.world.learn(run.server);
        }
        const watchers = subject.watchers.filter(({ results }) => results.status === 'live');
        const before = watchers.map(({ results }) => textOf(results.state.sections));
        const write = subject.write();
        await null;
        await null;
        const isReady = write.tx.missing.length === 0;
        const predicted = watchers.map(({ results, rowEvents }) => (
          { state: results.state, text: textOf(results.state.sections), rowEvents }));
        await write.done.catch(() => {});
        await until(() => local.pending.length === 0);
        run.failed();
        watchers.forEach((watcher, index) => {
          const { state, text, rowEvents } = predicted[index];
          const now = textOf(watcher.results.state.sections);
          if (write.state === 'refused') {
            assert.equal(now, before[index], `${what}: refused`);
            counts.refused += 1;
          } else if (isReady && state.undecided === 0) {
            const exact = (_, value) => (typeof value === 'bigint' ? `${value}n` : value);
            const steps = JSON.stringify(write.tx.mutations, exact);
            const about = () =>
              `${what} ${JSON.stringify(watcher.described)} ${steps}\nfrom ${before[index]}\nnow ${now}`;
            assert.equal(text, now, about());
            assert.equal(watcher.rowEvents, rowEvents, `${about()}: a confirmation publishes rows`);
            counts.decided += 1;
            if (text !== before[index]) counts.changed += 1;
            if (text !== before[index] && watcher.outline) counts.outlines += 1;
          } else counts.undecided += 1;
        });
      }
      context.diagnostic(JSON.stringify(counts));
      if (steps >= 100) assert.ok(counts.decided > 300 && counts.changed > 50 && counts.outlines > 10, JSON.stringify(counts));
    } finally {
      await run.close();
    }
  });
