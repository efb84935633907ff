// A proxy that lets bytes of both directions arrive later, as over a long way: in order, and as many as there are.

import { createServer, connect } from 'node:net';
import { once } from 'node:events';

export class DelayProxy {
  /** Listens on a free port of 127.0.0.1, and forwards to `target()`, the server's present port. */
  static async start(target) {
    const proxy = new DelayProxy(target);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.port = proxy.server.address().port;
    return proxy;
  }

  /** How long bytes are on their way, in milliseconds, each way; those that are already keep their time. */
  delay = 0;

  constructor(target) {
    this.links = new Set();
    this.server = createServer((client) => {
      const server = connect({ port: target(), host: '127.0.0.1' });
      const link = [client, server];
      this.links.add(link);
      for (const socket of link) {
        socket.setNoDelay(true);
        socket.on('error', () => {});
        socket.on('close', () => {
          this.links.delete(link);
          for (const each of link) each.destroy();
        });
      }
      this.#forward(client, server);
      this.#forward(server, client);
    });
  }

  #forward(from, to) {
    // Nothing arrives before what was sent before it.
    let free = 0;
    const later = (act) => {
      free = Math.max(free, performance.now() + this.delay);
      setTimeout(act, free - performance.now());
    };
    from.on('data', (bytes) => later(() => { if (!to.destroyed) to.write(bytes); }));
    from.on('end', () => later(() => { if (!to.destroyed) to.end(); }));
  }

  async close() {
    for (const link of this.links) for (const socket of link) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
