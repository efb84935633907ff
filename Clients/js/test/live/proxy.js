// A proxy between clients and a server that delays, cuts into pieces, stalls and breaks connections, by a seed.

import { createServer, connect } from 'node:net';
import { once } from 'node:events';

/** Faults of one direction: milliseconds before bytes go on, the largest piece, and how it ends after some bytes. */
const none = { delay: 0, piece: Infinity, end: null, after: Infinity };

/** What may happen to a connection. Calm ones come in between, so that clients make progress. */
function draw(random) {
  switch (random.below(8)) {
  case 0: return { ...none, delay: random.between(1, 40) };
  case 1: return { ...none, piece: 1 };
  case 2: return { ...none, piece: random.between(2, 1500) };
  case 3: return { ...none, end: 'cut', after: random.below(2000) };
  case 4: return { ...none, end: 'reset', after: random.below(2000) };
  case 5: return { ...none, end: 'stall', after: random.below(1000) };
  case 6:
    return { delay: random.between(1, 15), piece: random.between(2, 400), end: 'cut', after: random.below(6000) };
  default: return none;
  }
}

/**
 * Ends a socket, by RST or as `destroy` does. Node 20 fails to reset a socket whose `end()` is under way (EINVAL), but
 * takes it for one that closes: the process then waits for that for ever when it exits, with a processor busy.
 */
function end(socket, kind) {
  if (kind === 'cut' || (socket.writableEnded && !socket.writableFinished)) socket.destroy();
  else socket.resetAndDestroy();
}

export class ChaosProxy {
  /** Listens on a free port of 127.0.0.1, and forwards to `target()`, the server's present port. */
  static async start(target, random) {
    const proxy = new ChaosProxy(target, random);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.port = proxy.server.address().port;
    return proxy;
  }

  constructor(target, random) {
    this.target = target;
    this.random = random;
    /** Whether connections that begin now have faults. */
    this.wild = false;
    this.links = new Set();
    this.counts = { connections: 0, faults: 0, refused: 0, bytes: 0 };
    this.server = createServer({ allowHalfOpen: true }, (client) => this.#accepted(client));
  }

  #accepted(client) {
    this.counts.connections += 1;
    const kinds = this.wild ? [draw(this.random), draw(this.random)] : [none, none];
    if (this.wild && this.random.chance(0.08)) {
      this.counts.refused += 1;
      client.on('error', () => {}).resetAndDestroy();
      return;
    }
    const server = connect({ port: this.target(), host: '127.0.0.1', allowHalfOpen: true });
    const link = { client, server, timers: new Set() };
    link.end = (kind) => {
      this.links.delete(link);
      for (const timer of link.timers) clearTimeout(timer);
      for (const socket of [client, server]) end(socket, kind);
    };
    this.links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => link.end('reset'));
      socket.on('close', () => link.end('cut'));
    }
    this.#forward(link, client, server, kinds[0]);
    this.#forward(link, server, client, kinds[1]);
  }

  /** Forwards one direction, in order: a delayed piece holds those behind it. */
  async #forward(link, from, to, faults) {
    let left = faults.after;
    const wait = (milliseconds) => new Promise((resolve) => {
      const timer = setTimeout(() => { link.timers.delete(timer); resolve(); }, milliseconds);
      link.timers.add(timer);
    });
    try {
      for await (let bytes of from.iterator({ destroyOnReturn: false })) {
        if (faults.delay > 0) await wait(faults.delay);
        for (; bytes.length > 0;) {
          const piece = bytes.subarray(0, Math.min(faults.piece, left));
          bytes = bytes.subarray(piece.length);
          left -= piece.length;
          this.counts.bytes += piece.length;
          if (!to.write(piece)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
          // A turn of the loop between two pieces: otherwise the kernel joins them again.
          else if (bytes.length > 0 && faults.piece < 64) await new Promise(setImmediate);
          if (left > 0 || !faults.end) continue;
          this.counts.faults += 1;
          // A stalled connection loses nothing, but nothing arrives; then it breaks.
          if (faults.end === 'stall') await wait(700);
          return link.end(faults.end);
        }
      }
      to.end();
    } catch {
      link.end('reset');
    }
  }

  /** Breaks all connections at once. */
  breakAll(kind = 'cut') {
    for (const link of [...this.links]) link.end(kind);
  }

  /** From now on connections have no faults; those that have some are broken. */
  calm() {
    if (this.wild) this.breakAll();
    this.wild = false;
  }

  async close() {
    this.breakAll();
    this.server.close();
    await once(this.server, 'close');
  }
}
