// A random outline through a proxy that breaks its connections, and a server that is killed. At quiet points its rows
// are those of naive recursion over the whole tree, with the fold states that the test remembers by itself. Every diff
// is checked by itself: rows, digest, and the runs that an animation plays. NEST_SEED and NEST_STEPS repeat and extend
// a run.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { isExpanded, played, rowsOf, windowOf } from '../machine/outline-server.js';
import { Follower } from './follower.js';
import { Server, missing, until } from './nestd.js';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';
import { refusals } from './world.js';

const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));
const steps = Number(process.env.NEST_STEPS ?? 150);
const ROOT = 1;

class Run {
  constructor(random) {
    this.random = random;
    this.calls = new Set();
    this.faults = [];
    this.counts = {};
    this.ids = [];
  }

  async start() {
    this.server = await Server.start();
    this.proxy = await ChaosProxy.start(() => this.server.port, this.random.fork());
    const common = { reconnectPauseMax: 150, connectTimeout: 2000 };
    this.subject = await connect({ ...common, url: `tcp://127.0.0.1:${this.proxy.port}` });
    this.writer = await connect({ ...common, url: `tcp://127.0.0.1:${this.server.port}` });
    this.items = await this.subject.entity('Item');
    for (let count = 0; count < 30; count += 1) await this.write('insert');
    await this.open();
  }

  /** An outline, and what the test remembers of it. */
  async open() {
    const expand = this.random.pick(['none', 'all', 'done']);
    this.outline = await this.subject.outline(this.items.children(ROOT).properties('title', 'done').window(0, 40), { expand });
    this.steps = [{ expansion: expand }];
    this.follower = new Follower(this.outline, () => false);
    const ids = ({ rows }) => rows.map(({ id }) => id);
    let before = [];
    this.outline.subscribe(({ type, state, runs }) => {
      this.count(type);
      const after = ids(state);
      try {
        if (type === 'diff') assert.deepEqual(played(before, after, runs), after, JSON.stringify({ before, runs }));
      } catch (error) {
        this.faults.push(error);
      }
      before = after;
    });
  }

  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** Starts something; `then` notes that it has happened. */
  call(what, body, then = () => {}) {
    this.count(what);
    const call = body().then((result) => then(result), (error) => {
      if (!refusals.has(error.code)) this.faults.push(new Error(`${what}: ${error.code} ${error.message}`));
    }).finally(() => this.calls.delete(call));
    this.calls.add(call);
    return call;
  }

  id() {
    const { ids, random } = this;
    return ids.length > 0 && random.chance(0.9) ? random.pick(ids) : ROOT;
  }

  write(kind = this.random.weighted({ insert: 8, move: 8, update: 5, delete: this.ids.length > 20 ? 3 : 0 })) {
    const { random, items, ids } = this;
    const of = this.id();
    const object = this.id();
    if (kind === 'insert') {
      const values = { title: `t${random.below(100)}`, done: random.chance(0.3) };
      let made;
      return this.call('insert', () => this.writer.transaction('i', (tx) => {
        made = tx.insert(items, values, { of, ...(random.chance(0.5) && { first: true }) });
      }), (receipt) => ids.push(receipt.id(made)));
    }
    if (object === ROOT) return undefined;
    return this.call(kind, () => this.writer.transaction(kind, (tx) => {
      if (kind === 'move') tx.move(items, object, { of, ...(random.chance(0.5) && { first: true }) });
      else if (kind === 'update') tx.update(items, object, { title: `u${random.below(100)}`, done: random.chance(0.3) });
      else tx.delete(object);
    }));
  }

  /** The writer takes its own work back, or makes it again. */
  undo() {
    const redoes = this.random.chance(0.4);
    return this.call(redoes ? 'redo' : 'undo', () => (redoes ? this.writer.redo() : this.writer.undo()));
  }

  window() {
    const { random } = this;
    return random.chance(0.5) ? { offset: random.below(30), limit: random.between(1, 40) }
      : { around: this.id(), before: random.below(10), after: random.below(20) };
  }

  step() {
    const { random, outline } = this;
    const kind = random.weighted({
      write: 40, undo: 5, fold: 25, scroll: 12, zoom: 4, filter: 4, expand: 3, wait: 30, pause: 2, break: 3, wild: 4, kill: 1,
    });
    switch (kind) {
      case 'write': return void this.write();
      case 'undo': return void this.undo();
      case 'fold': {
        const states = new Map(Array.from({ length: random.between(1, 4) }, () => [this.id(), true]));
        const open = random.chance(0.6);
        for (const object of states.keys()) states.set(object, open);
        this.steps.push({ states });
        return void this.call('fold', () => outline.setExpanded(states.keys(), open));
      }
      case 'scroll': return void this.call('scroll', () => outline.scroll(this.window()));
      case 'zoom': return void this.call('zoom', () => outline.change({ under: this.id(), window: { offset: 0, limit: 40 } }));
      case 'filter':
        return void this.call('filter', () => {
          const where = random.chance(0.5) ? null : 'done == NO';
          return outline.change({ where });
        });
      case 'expand': {
        const expand = random.pick(['none', 'all', 'done']);
        const step = { expansion: expand };
        this.steps.push(step);
        // The object above the outline may have been deleted.
        return void this.call('expand', () => outline.change({ expand }).catch((error) => {
          step.isRefused = true;
          throw error;
        }));
      }
      case 'pause':
        this.count('pause');
        outline.pause();
        setTimeout(() => outline.resume(), random.below(100));
        return undefined;
      case 'break':
        this.count('break');
        return this.proxy.breakAll(random.pick(['cut', 'reset']));
      case 'wild':
        this.count('wild');
        this.proxy.wild = !this.proxy.wild;
        return this.proxy.wild ? this.proxy.breakAll() : undefined;
      case 'kill':
        this.count('kill');
        return this.server.restart();
      default: return new Promise((resolve) => setTimeout(resolve, random.below(60)));
    }
  }

  /** The whole tree, as a program has it that reads everything. */
  async tree() {
    const objects = new Map([[ROOT, { title: '', done: false, parent: null, children: [] }]]);
    const path = [ROOT];
    const rows = await this.writer.export({
      entity: this.items, root: ROOT, relationship: 'children', properties: ['title', 'done'],
    });
    for await (const { id, depth, values: [title, done] } of rows) {
      if (id === ROOT) continue;
      const parent = path[depth - 1];
      objects.set(id, { title, done, parent, children: [] });
      objects.get(parent).children.push(id);
      path.length = depth;
      path.push(id);
    }
    return { objects, at: (id) => objects.get(id) };
  }

  async quiet() {
    this.count('quiet');
    this.proxy.calm();
    await until(() => this.calls.size === 0, () => `${this.calls.size} calls are under way: ${this.outline.status}`);
    if (this.faults.length > 0) throw this.faults[0];
    const { outline } = this;
    const receipt = await this.writer.transaction('mark', (tx) => tx.insert(this.items, { title: 'mark' }, { of: ROOT }));
    this.ids.push(receipt.results?.[0]?.first ?? receipt.id(0));
    await until(() => outline.error || (outline.status === 'live' && outline.revision >= receipt.revision),
      () => `${outline.status} at ${outline.revision} of ${receipt.revision}`);
    const tree = await this.tree();
    this.ids = [...tree.objects.keys()].filter((id) => id !== ROOT);
    if (outline.error) {
      // What it was below is gone.
      assert.equal(outline.error.code, 'NOT_FOUND', outline.error.message);
      this.count('reopened');
      return this.open();
    }
    await this.compare(tree);
    if (this.follower.error) throw this.follower.error;
    return undefined;
  }

  /** The fold states, in the order of the calls: what was set before another expansion does not count. */
  folds() {
    let folds;
    for (const { isRefused, expansion, states } of this.steps) {
      if (expansion && !isRefused) folds = { expansion, states: new Map() };
      for (const [object, open] of states ?? []) folds.states.set(object, open);
    }
    return folds;
  }

  async compare(tree) {
    const { outline } = this;
    const { state, request } = outline;
    const { expansion, states } = this.folds();
    const usual = { expansion: expansion === 'done' ? { attribute: 0 } : expansion, exceptions: new Set() };
    // A state of an outline by an attribute is an exception, which a later change of the attribute turns round: where
    // one has been set, the test believes the row. What is folded in rows that the window leaves out it cannot know.
    const shown = new Map(state.rows.map((row) => [row.id, row.isExpanded]));
    for (const [object, open] of states) {
      if (!tree.at(object)) continue;
      const is = expansion === 'done' && shown.has(object) ? shown.get(object) : open;
      if (isExpanded(tree, usual, object) !== is) usual.exceptions.add(object);
    }
    const hides = request.predicates.length > 0 ? (id) => tree.at(id).done : () => false;
    const all = rowsOf(tree, { root: request.source.object, folds: usual, hides });
    if (expansion === 'done' && states.size > 0 && state.rows.length < state.total) return this.count('not compared');
    const { anchor } = state.position;
    const window = anchor ? { ...request.shownWindow, anchor } : request.shownWindow;
    if (window.anchor && !anchor) return assert.equal(state.rows.length, 0);
    const { rows, position } = windowOf(all, window);
    const simple = state.rows.map(({ id, title, depth, children, isExpanded: open }) =>
      ({ id, values: [title, open ? children : -1 - children, depth] }));
    const why = JSON.stringify({ request: request.predicates, window, ...usual, exceptions: [...usual.exceptions] });
    assert.deepEqual(simple, rows, `${why}, the client has ${JSON.stringify(this.outline.folds)}\n${JSON.stringify({ simple, rows })}`);
    // A position that changes alone is sent ten times a second.
    const place = () => [outline.state.total, outline.state.start].join();
    await until(() => place() === [position.total, position.start.row].join(), () => `${place()}: ${why}`);
    this.count('compared');
    return undefined;
  }

  async close() {
    for (const client of [this.subject, this.writer]) client?.close();
    await this.proxy?.close();
    await this.server?.close();
  }
}

test(`a random outline agrees with recursion: NEST_SEED=${seed} NEST_STEPS=${steps}`, { skip: missing }, async (context) => {
  const run = new Run(new Random(seed));
  try {
    await run.start();
    const pauses = run.random.fork();
    for (let step = 1; step <= steps; step += 1) {
      await run.step();
      if (run.faults.length > 0) throw run.faults[0];
      if (pauses.chance(1 / 15)) await run.quiet();
    }
    await run.quiet();
    context.diagnostic(JSON.stringify({ ...run.counts, ...run.proxy.counts }));
  } catch (error) {
    error.message = `NEST_SEED=${seed} NEST_STEPS=${steps}: ${error.message}`;
    throw error;
  } finally {
    await run.close();
  }
});
