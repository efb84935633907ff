/**
 * A client of nest, for browsers and everything else that has WebSocket.
 * @module
 */

import { optionsOf, start } from './client/connect.js';
import { openWebSocket, readURL } from './transports/websocket.js';

export { NestError } from './wire/errors.js';
export { Double, LargeValue, NestDate, Reference, UUID } from './wire/values.js';
export { Nest } from './client/nest.js';
export { Entity, FetchRequest } from './client/requests.js';
export { quote } from './client/text.js';

/** Milliseconds for which a page may be hidden before its lists pause. */
const HIDDEN_MS = 30_000;

/** Where a page finds its own server, if the program names none. */
const OWN_SERVER = '/nest';

/** @type {import('./client/driver.js').Platform} */
const platform = {
  open: openWebSocket,
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  unzstd: null,
  cluster: null,
  canPause: false,
  // Nodes name their addresses for TCP.
  followsLeader: false,
  readAddress: () => null,
};

/** Whether the platform unpacks Zstandard. Only then the code for it is loaded. */
function unpacksFrames() {
  try {
    return new (/** @type {any} */ (globalThis).DecompressionStream)('zstd');
  } catch {
    return false;
  }
}

/**
 * Connects to a server by WebSocket.
 * @param {any} [given] see index.d.ts
 * @returns {Promise<any>} a Nest; rejects with NestError if no server can be used
 */
export async function connect(given) {
  const options = optionsOf(given);
  const urls = options.urls ?? [options.url ?? OWN_SERVER];
  if (unpacksFrames()) platform.unzstd = (await import('./client/unpack.js')).streamUnpacker();
  if (urls.length > 1) platform.cluster = await import('./machine/cluster.js');
  const nest = await start(platform, urls.map(readURL), options);
  if (options.pausesWhenHidden !== false && typeof document !== 'undefined') pauseWhenHidden(nest);
  return nest;
}

/**
 * Pauses the lists of a hidden page: each resumes with one diff.
 * @param {import('./client/nest.js').Nest} nest
 */
function pauseWhenHidden(nest) {
  /** @type {any} */
  let timer = null;
  const look = () => {
    clearTimeout(timer);
    if (!document.hidden) nest.setHidden(false);
    else timer = setTimeout(() => nest.setHidden(true), HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', look);
  look();
  nest.onState(({ phase }) => {
    if (phase !== 'closed') return;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  });
}
