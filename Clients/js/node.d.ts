/** A client of nest for Node: TCP and TLS, and WebSocket where Node has it (22). */

import type { AnyModel, ConnectOptions, Nest } from './index.js';

export * from './index.js';

export interface NodeOptions extends Omit<ConnectOptions, 'url' | 'urls'> {
  /** `HOST:PORT`, `nest://a,b:7001/STORE`; `nests://` is TLS for all. Or `wss://HOST/nest`. */
  url?: string;
  urls?: readonly string[];
  /** True, or options of node:tls such as `ca`. */
  tls?: boolean | object;
  /** Whether the client goes to the leader that another node names: true if left out. */
  followsLeader?: boolean;
}

/**
 * Connects. Rejects with NestError if no server can be used. `connect<Model>(…)`: with the entities of a generated model.
 */
export function connect<M = AnyModel>(options?: NodeOptions | string): Promise<Nest<M>>;
