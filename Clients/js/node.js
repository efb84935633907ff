/**
 * A client of nest for Node: TCP and TLS, and WebSocket where Node has it (22).
 * @module
 */

import crypto from 'node:crypto';
import zlib from 'node:zlib';
import { optionsOf, start } from './client/connect.js';
import './client/inspect.js';
import { invalid } from './client/options.js';
import { unpacker } from './client/unpack.js';
import * as cluster from './machine/cluster.js';
import { openTCP, readAddress, readServers } from './transports/tcp.js';
import { openWebSocket, readURL } from './transports/websocket.js';
import './wire/buffer.js';

export { NestError } from './wire/errors.js';
export { Double, LargeValue, NestDate, Reference, UUID } from './wire/values.js';
export { Nest } from './client/nest.js';
export { Entity, FetchRequest } from './client/requests.js';
export { quote } from './client/text.js';

const WEB = /^(wss?|https?):/i;

/** Node has Zstandard from 22.15 on. @type {any} */
const zstd = /** @type {any} */ (zlib).zstdDecompress;

const unzstd = zstd
  ? unpacker((bytes, size) => new Promise((resolve, reject) => {
    zstd(bytes, { maxOutputLength: Math.max(size, 1) }, (/** @type {any} */ error, /** @type {any} */ content) => {
      if (error) reject(error);
      else resolve(new Uint8Array(content.buffer, content.byteOffset, content.length));
    });
  }))
  : null;

const common = {
  randomBytes: (/** @type {number} */ count) => new Uint8Array(crypto.randomBytes(count)),
  unzstd,
  cluster,
};

/** @type {import('./client/driver.js').Platform} */
const web = { ...common, open: openWebSocket, canPause: false, followsLeader: false, readAddress: () => null };

/** @type {import('./client/driver.js').Platform} */
const tcp = {
  ...common,
  open: openTCP,
  canPause: true,
  followsLeader: true,
  readAddress(text) {
    try {
      return readAddress(text);
    } catch {
      return null;
    }
  },
};

/**
 * Connects to a server.
 * @param {any} [given] see node.d.ts
 * @returns {Promise<any>} a Nest; rejects with NestError if no server can be used
 */
export async function connect(given) {
  const options = optionsOf(given);
  const urls = options.urls ?? [options.url ?? '127.0.0.1'];
  if (urls.some((/** @type {string} */ url) => WEB.test(url))) return start(web, urls.map(readURL), options);
  const read = urls.map(readServers);
  const { usesTLS } = read[0] ?? {};
  if (read.some((/** @type {any} */ one) => one.usesTLS !== usesTLS)) {
    invalid('the list has both nest:// and nests://, but TLS is for all addresses or for none');
  }
  const stores = new Set([options.store, ...read.map((/** @type {any} */ one) => one.store)].filter(Boolean));
  if (stores.size > 1) invalid(`a client has one store, not ${[...stores].join(' and ')}`);
  const [store] = stores;
  const secure = options.tls ?? usesTLS;
  const homes = read.flatMap((/** @type {any} */ one) => one.homes);
  return start(tcp, homes, { ...options, store, tls: secure === true ? {} : secure || undefined });
}
