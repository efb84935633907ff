// The machine with lists of a client with a cache, and a server that the test plays.
import { CachedList, Newest, shared } from '../../machine/cached.js';
import { load } from '../../machine/cached-frames.js';
import { beginRecording } from '../../machine/recording.js';
import '../../wire/messages-totals.js';
import { MemoryCache } from '../../cache/memory.js';
import { spec, World } from '../machine/server.js';

export const IDENTITY = '00000000000000ab';

export class CachedWorld extends World {
  constructor(cache = new MemoryCache(), options = {}) {
    super(options);
    this.cache = cache;
    /** What the cache was given. */
    this.changes = [];
    this.run((m) => {
      beginRecording(m, IDENTITY);
      m.followers.add(new Newest());
    });
  }

  perform() {
    const output = super.perform();
    const changes = output.events.filter(({ type }) => type === 'cache').map(({ change }) => change);
    this.changes?.push(...changes);
    this.cache?.record(changes);
    return output;
  }

  takeChanges() {
    const { changes } = this;
    this.changes = [];
    return changes;
  }

  /** Opens a list, with what the cache has of it. */
  async follow(request = spec()) {
    const list = new CachedList({});
    const other = this.run((m) => shared(m, request.key));
    if (other !== undefined) list.loaded = other;
    else {
      const view = await this.cache.view(request.key);
      list.loaded = view && load(view, request);
    }
    this.run((m) => list.open(m, request));
    return list;
  }

  last(list) {
    return this.changesOf(list).at(-1);
  }
}
