// Requests of an operator: tokens, connections, checks, backups, the cluster. `await nest.operations()` loads this
// module: a program that needs none of it does not.

import { Limits } from '../wire/limits-more.js';
import { NestError } from '../wire/errors.js';
import { fromHex, toHex } from '../wire/bytes.js';
import { decode } from '../wire/messages.js';
import '../wire/messages-more.js';
import { NestDate } from '../wire/values.js';
import { fnv1a, hashText } from '../wire/hash.js';
import { objectID } from '../wire/model.js';
import { known } from './options.js';
import { Download, ending, unpacked } from './streams.js';

/** Microseconds that a token's expiry can have; above, a number is not exact. */
const expiryMax = Number.MAX_SAFE_INTEGER;

/** What a token may have. */
const GRANT = ['name', 'role', 'user', 'expires', 'confinement', 'connections', 'requestsInFlight', 'subscriptions',
  'outputBytes'];

/** The date of microseconds; null for 0. */
const dateOf = (microseconds) => (microseconds ? Object.freeze(new NestDate(microseconds)) : null);

/**
 * The expiry of a token as it is sent: 0 for never.
 * @param {Date | NestDate | null | undefined} expires
 * @param {number} now Milliseconds since 1970.
 * @throws {NestError} INVALID if the date has passed: the token would be useless, or never expire.
 */
export function expiryOf(expires, now) {
  if (expires === null || expires === undefined) return 0;
  if (!(expires instanceof Date) && !(expires instanceof NestDate)) {
    throw new NestError('INVALID', 'expires is a Date or a NestDate; leave it out for a token that does not expire');
  }
  const { microseconds } = expires instanceof Date ? NestDate.from(expires) : expires;
  if (microseconds <= now * 1000) throw new NestError('INVALID', `the token would have expired at ${expires}`);
  if (microseconds > expiryMax) throw new NestError('INVALID', 'a token can expire in the year 2255 at the latest');
  return Number(microseconds);
}

/** @param {string} secret In hexadecimal digits. */
async function sha256(secret) {
  const { subtle } = globalThis.crypto ?? (await import('node:crypto')).webcrypto;
  // A page that did not come over TLS or from its own machine has no SHA-256.
  if (!subtle) throw new NestError('UNSUPPORTED', 'tokens are created in a page that was loaded over TLS');
  return toHex(new Uint8Array(await subtle.digest('SHA-256', fromHex(secret))));
}

/** What an operator may ask of a server. Most of it needs a token with the role admin (NOT_PERMITTED). */
export class Operations {
  #nest;

  /** @param nest The client. */
  constructor(nest) {
    this.#nest = nest;
  }

  /** Sends a request, and returns the fields of the reply. */
  #ask(name, fields, answer, options) {
    return this.#nest.request(name, fields, { answer, ...options });
  }

  // Tokens

  /**
   * Creates a token. Its secret is made here and only the hash is sent: the text is available only now.
   * @param {object} given
   * @param {string} given.name For people, at most 256 bytes.
   * @param {'read' | 'write' | 'admin'} [given.role]
   * @param {string} [given.user] The label of the user whose token it is, which history and lists show; the name if
   *   left out.
   * @param {Date | NestDate | null} [given.expires] Left out: never.
   * @param {{ root: number, entity: string, relationship: string } | null} [given.confinement] The object that the
   *   token is confined to, and the to-many relationship that leads down.
   * @param {number} [given.connections] At the same time; this and what follows: 0 is the server's default.
   * @param {number} [given.requestsInFlight]
   * @param {number} [given.subscriptions]
   * @param {number} [given.outputBytes]
   * @returns {Promise<{ number: number, text: string }>} The text is what `connect({ token })` takes.
   */
  async createToken(given) {
    const { name, role = 'write', user = '', expires = null, confinement = null, ...limits } =
      known('createToken', given, GRANT);
    if (typeof name !== 'string' || !name) throw new NestError('INVALID', 'a token needs a name');
    const grant = {
      name, role, user, expires: expiryOf(expires, Date.now()),
      connections: limits.connections ?? 0, requestsInFlight: limits.requestsInFlight ?? 0,
      subscriptions: limits.subscriptions ?? 0, outputBytes: limits.outputBytes ?? 0,
      confinement: /** @type {any} */ (null),
    };
    if ((grant.user || grant.expires) && this.#nest.server?.user === null) {
      // It would skip them: a token that never expires.
      throw new NestError('UNSUPPORTED', 'the server is of a version without users and expiry of tokens');
    }
    let model;
    if (confinement) {
      model = await this.#nest.model();
      const entity = model.entity(confinement.entity);
      const relationship = entity.property(confinement.relationship).number;
      grant.confinement = { root: objectID(confinement.root), entity: entity.number, relationship };
    }
    const secret = this.#nest.newKey() + this.#nest.newKey();
    const hash = await sha256(secret);
    // The same hash returns the same number: it may be sent again after a lost connection.
    const { number } = await this.#ask('createToken', { hash, grant }, 'tokenCreated', { model: model?.hash });
    return Object.freeze({ number, text: `nest_${number}_${secret}` });
  }

  /** All tokens, without their secrets. Dates are NestDate; `expires` and `lastUsed` are null for never. */
  async tokens() {
    const { tokens } = await this.#ask('listTokens', {}, 'tokenList');
    const shown = ({ number, grant, created, lastUsed, connections, user, expires }) => Object.freeze({
      number, ...grant, user: grant.user ?? user ?? '', expires: dateOf(grant.expires ?? expires),
      created: dateOf(created), lastUsed: dateOf(lastUsed), connectionsMax: grant.connections, connections,
    });
    return Object.freeze(tokens.map(shown));
  }

  /** Revokes a token. Its connections end at once. */
  async revokeToken(number) {
    await this.#ask('revokeToken', { number }, 'done', { kind: 'connection' });
  }

  // Connections

  /** All connected clients, this one too, ascending by number. */
  async clients() {
    const clients = [];
    for (;;) {
      const after = clients.length ? clients[clients.length - 1].number : 0;
      const page = (await this.#ask('getClients', { after, limit: Limits.clientsPageMax }, 'clients')).clients;
      for (const client of page) {
        // A page that does not go on would be asked for without an end.
        if (client.number <= (clients[clients.length - 1]?.number ?? -1)) {
          throw new NestError('PROTOCOL', 'the server lists its clients out of order');
        }
        clients.push(Object.freeze({ ...client, connectedAt: dateOf(client.connectedAt) }));
      }
      if (page.length < Limits.clientsPageMax) return Object.freeze(clients);
    }
  }

  /** Ends the connection of another client. A nest client connects again after a moment. */
  async kick(number) {
    await this.#ask('kick', { number }, 'done');
  }

  // The server

  /**
   * Makes the server check its whole store, while it goes on serving.
   * @param {object} [options] `progress` is called when a step begins.
   * @returns The report: `revision`, `objectCount`, `problemCount`, and at most 100 `problems` for people.
   */
  async check(options) {
    const { progress, signal } = known('check', options, ['progress', 'signal']);
    const download = new Download(this.#nest, 'check', {}, { signal });
    try {
      for (;;) {
        const { name, body } = await download.next();
        if (name === 'checkProgress') progress?.(Object.freeze(decode(name, body)));
        else if (name === 'checked') {
          download.finish();
          return Object.freeze(decode(name, body));
        }
      }
    } finally {
      download.cancel();
    }
  }

  /**
   * A copy of the whole store at one revision: its bytes, in order, as an async iterable. The server sends as fast as
   * they are consumed. The loop throws if the copy is not complete: discard what it gave. Leaving the loop cancels it.
   * @param {{ signal?: AbortSignal }} [options]
   */
  async backup(options) {
    const { signal } = known('backup', options, ['signal']);
    const nest = this.#nest;
    const download = new Download(nest, 'backup', {}, { signal });
    const { revision, historyID, fileBytes } = await download.expect('backupStart');
    return Object.freeze({
      revision, historyID, byteCount: fileBytes,
      cancel: () => download.cancel(),
      [Symbol.asyncIterator]: () => ending(backupBytes(nest, download, fileBytes), download),
    });
  }

  // The cluster

  /**
   * The state of the cluster; null if the server is not a node of one.
   * @param {number} [mark] The position of a mark of `verifyCluster`: then with what the nodes found there.
   */
  async cluster(mark = 0) {
    const status = await this.#ask('getCluster', { mark }, 'cluster');
    return status.store === null || status.store === undefined ? null : Object.freeze(status);
  }

  /** Lets every node compute the digest of its store at one position, and returns that position. */
  async verifyCluster() {
    return (await this.#ask('verifyCluster', {}, 'clusterMark')).position;
  }

  /** Lets another node lead, by its name. TIMED_OUT if it does not in time; it may still take the lead then. */
  async moveLeader(node) {
    await this.#ask('moveLeader', { node }, 'done');
  }

  /** Lets the node of this connection send its clients to other nodes, and not lead; or ends that. */
  async drain(drains = true) {
    // Another node must not get the request.
    await this.#ask('drainNode', { drains }, 'done', { kind: 'connection' });
  }
}

async function* backupBytes(nest, download, fileBytes) {
  let hash = fnv1a([]);
  let received = 0;
  try {
    for (;;) {
      const { name, body } = await download.next();
      if (name === 'backupEnd') {
        const end = decode(name, body);
        if (end.fileBytes !== received || fileBytes !== received || end.checksum !== hashText(hash)) {
          throw new NestError('CHECKSUM', 'the backup was damaged on the way: request it again');
        }
        download.finish();
        return;
      }
      if (name !== 'backupChunk') throw new NestError('PROTOCOL', `the server sent ${name} in a backup`);
      const { offset, packed } = decode(name, body);
      if (offset !== received) throw new NestError('MALFORMED', 'a part of the backup is missing');
      const bytes = await unpacked(nest, packed);
      hash = fnv1a(bytes, hash);
      received += bytes.length;
      download.consumed(body.length);
      yield bytes;
    }
  } finally {
    download.cancel();
  }
}
