// Random changes of a cache in IndexedDB, in a page: it keeps what a cache in memory keeps.

import { IndexedDBCache, MemoryCache } from '../../cache.js';
import { Random } from '../live/random.js';

const frame = (byte, size) => ({ type: 0x32, body: new Uint8Array(size).fill(byte) });
const REQUESTS = ['aa', 'bb', 'cc'];

const textOf = (view) =>
  JSON.stringify(view && { ...view, frames: view.frames.map(({ type, body }) => [type, [...body]]) });

/**
 * Gives two caches the same changes, and compares them after each batch. Two objects of the library share the database,
 * as two pages do.
 * @returns {Promise<string | null>} what differs
 */
export async function compare(seed, steps) {
  const random = new Random(seed);
  const name = `random ${seed}`;
  const caches = [await IndexedDBCache.open({ name }), await IndexedDBCache.open({ name })];
  const memory = new MemoryCache();
  const known = caches.map(() => new Map());
  let revision = 1;
  try {
    for (let step = 0; step < steps; step += 1) {
      const which = random.below(2);
      const [cache, held] = [caches[which], known[which]];
      for (let count = random.between(1, 6); count > 0; count -= 1) {
        const request = random.pick(REQUESTS);
        const before = held.get(request);
        const kind = random.weighted({ replace: 2, append: 8, adopt: 2, remove: 1, model: 1, predicate: 1 });
        revision += 1;
        let change = { type: 'remove', request, reason: 'r' };
        if (kind === 'replace' || !before) {
          const view = { request, identity: 'i', modelHash: 'm', historyID: 'h', revision, digest: `${revision}`,
            recording: `r${step} ${count}`, sequence: 1, frames: [frame(step, random.below(3_000))] };
          change = { type: 'replace', view };
          held.set(request, view);
        } else if (kind === 'append') {
          const frames = Array.from({ length: random.below(3) }, () => frame(step, random.below(300)));
          const { recording, sequence, revision: base } = before;
          change = { type: 'append', append: { request, recording, sequence, base, frames, revision, digest: 'd' } };
          held.set(request, { ...before, sequence: sequence + frames.length, revision });
        } else if (kind === 'adopt') {
          await cache.flush();
          const view = await memory.view(request);
          if (view) held.set(request, view);
          continue;
        } else if (kind === 'model') {
          change = { type: 'model', model: { identity: 'i', hash: `${step}`, bytes: new Uint8Array([step & 255]) } };
        } else if (kind === 'predicate') {
          change = { type: 'predicate', key: `${random.below(400)}`, bytes: new Uint8Array([step & 255]) };
        }
        cache.record([change]);
        memory.record([change]);
      }
      await cache.flush();
      for (const reader of caches) {
        for (const request of REQUESTS) {
          const [found, expected] = [textOf(await reader.view(request)), textOf(await memory.view(request))];
          if (found !== expected) return `step ${step}, ${request}: ${found} instead of ${expected}`;
        }
      }
      const [found, expected] = (await Promise.all([cache.model(), memory.model()]))
        .map((model) => model && JSON.stringify([model.hash, model.predicates.map(({ key }) => key).sort()]));
      if (found !== expected) return `step ${step}: the model ${found} instead of ${expected}`;
    }
    return caches.map(({ fault }) => fault?.message).find(Boolean) ?? null;
  } finally {
    for (const cache of caches) await cache.close();
  }
}
