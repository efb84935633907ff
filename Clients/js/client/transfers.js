// Sub-trees of any size, out and in: as chunks of rows in preorder. Neither side holds more than some chunks.

import { Limits } from '../wire/limits-more.js';
import { NestError } from '../wire/errors.js';
import { decode, encode } from '../wire/messages.js';
import { Reader } from '../wire/bytes.js';
import { objectID, valueFor } from '../wire/model.js';
import { NestDate } from '../wire/values.js';
import { fnv1a, hashText } from '../wire/hash.js';
import { ChunkReader, ChunkWriter } from '../wire/chunks.js';
import { shownValue } from './more.js';
import { known } from './options.js';
import { Download, ending, unpacked, Upload } from './streams.js';
import { Receipt, Transaction } from './transaction.js';

/**
 * A row of a sub-tree, in preorder: `depth` is 0 for the first row (of an import: for each that goes to its place), and
 * at most one more than that of the row before.
 * @typedef {{ id?: number, depth: number, values: readonly any[] }} Row
 */

/** @returns {Promise<any>} an entity, by its name or as it was given */
const entityOf = async (nest, entity) => (typeof entity === 'string' ? nest.entity(entity) : entity);

/**
 * Reads a sub-tree at one revision.
 *
 * The result has `revision`, `entity` (its name), `rowCount`, `byteCount` (of all chunks), `properties` (the names of
 * the values), and is an async iterable of rows, once. `chunks()` gives them in arrays as they arrive. The server sends
 * as fast as they are consumed; leaving the loop cancels the rest, and so does `cancel()`: call it if you begin no loop. The
 * loop throws CHECKSUM if the sub-tree is not complete and as it was sent: discard what it gave.
 *
 * @param nest The client.
 * @param {object} request
 * @param {string | import('./requests.js').Entity} request.entity The entity of the root.
 * @param {number | { id: number }} request.root
 * @param {string} request.relationship The to-many relationship to follow down, such as `children`.
 * @param {readonly string[]} [request.properties] Left out: all attributes.
 * @param {number} [request.levels] At most so many levels below the root. Left out: all.
 * @param {number} [request.atLeast] A revision that the state has reached, such as that of a receipt.
 * @param {AbortSignal} [request.signal]
 */
export async function exportSubtree(nest, request) {
  const { entity, root, relationship, properties = [], levels, atLeast = 0, signal } = known('export', request,
    ['entity', 'root', 'relationship', 'properties', 'levels', 'atLeast', 'signal']);
  const { model, description: described } = await entityOf(nest, entity);
  const numbers = properties.map((name) => described.property(name).number);
  if (levels !== undefined && !(Number.isSafeInteger(levels) && levels >= 0)) {
    throw new NestError('INVALID', `levels is a count, not ${levels}`);
  }
  // The client writes the revision itself: not before what it has seen.
  const body = encode('fetchSubtree', {
    atLeast: 0, root: objectID(root), relationship: described.property(relationship).number,
    depthLimit: levels ?? null, properties: numbers,
  }).subarray(1);
  const download = new Download(nest, 'fetchSubtree', body, { atLeast, signal, model: model.hash });
  const start = await download.expect('subtreeStart');
  const kind = (nest.knownModel ?? model).find(start.entity);
  let isRead = false;
  const chunks = () => {
    if (isRead) throw new NestError('INVALID', 'a sub-tree is read once: export it again');
    isRead = true;
    return ending(chunksOf(nest, download, start, kind), download);
  };
  return Object.freeze({
    revision: start.revision, entity: kind?.name ?? String(start.entity),
    rowCount: start.rowCount, byteCount: start.byteCount,
    properties: Object.freeze(start.properties.map((number) => kind?.find(number)?.name ?? String(number))),
    cancel: () => download.cancel(),
    chunks,
    [Symbol.asyncIterator]: () => ending(rowsOf(chunks()), download),
  });
}

async function* rowsOf(chunks) {
  for await (const rows of chunks) yield* rows;
}

async function* chunksOf(nest, download, start, kind) {
  const reader = new ChunkReader(start.properties.length);
  const columns = start.properties.map((number) => kind?.find(number));
  const hasLarge = columns.some((column) => /^large/.test(column?.type));
  let hash = fnv1a([]);
  let received = 0;
  try {
    for (;;) {
      const { name, body } = await download.next();
      if (name === 'subtreeEnd') {
        const { rowCount, checksum } = decode(name, body);
        if (rowCount !== received || rowCount !== start.rowCount || checksum !== hashText(hash)) {
          throw new NestError('CHECKSUM', 'the sub-tree was damaged on the way: export it again');
        }
        download.finish();
        return;
      }
      if (name !== 'subtreeChunk') throw new NestError('PROTOCOL', `the server sent ${name} in a sub-tree`);
      hash = fnv1a(body, hash);
      const rows = reader.rows(new Reader(await unpacked(nest, body)));
      received += rows.length;
      download.consumed(body.length);
      for (const row of hasLarge ? rows : []) {
        row.values = row.values.map((value, slot) => shownValue(columns[slot], value));
      }
      yield rows;
    }
  } finally {
    download.cancel();
  }
}

/**
 * Stores rows as one transaction and one undo entry; the receipt comes when they are durable. If the rows fail, or the
 * connection is lost, nothing is stored.
 *
 * @param nest The client.
 * @param {object} request
 * @param {string | import('./requests.js').Entity} request.entity The entity of all rows.
 * @param {readonly string[]} request.properties What the values of a row are, in their order.
 * @param {any} request.place Where the rows of depth 0 go, one after the other, as in `move`: `{ of: 1 }`.
 * @param {string} [request.name] Of the undo entry. Left out: made from the first row.
 * @param {string} [request.key] 32 hexadecimal digits: an import that is repeated with its key is stored once.
 * @param {AbortSignal} [request.signal]
 * @param {Iterable<Row> | AsyncIterable<Row>} rows In preorder. The values are an array, or an object of names; what an
 *   object leaves out has the default of the model.
 */
export async function importSubtree(nest, request, rows) {
  const { entity, properties, place, name, signal } = known('import', request,
    ['entity', 'properties', 'place', 'name', 'key', 'signal']);
  const key = request.key ?? nest.newKey();
  const into = await entityOf(nest, entity);
  const { model, description: described } = into;
  const columns = properties.map((property) => described.property(property));
  const upload = new Upload(nest, 'importSubtree', {
    key, name: name || null, entity: described.number,
    placement: new Transaction().placement(into, place), properties: columns.map(({ number }) => number),
  }, { signal, model: model.hash });
  const writer = new ChunkWriter(columns.length);
  let hash = fnv1a([]);
  const send = async (body) => {
    if (!body) return;
    if (body.length > upload.chunkBytesMax) {
      throw new NestError('VALUE_TOO_LARGE', `row ${writer.rowCount} is larger than an object can be`);
    }
    hash = fnv1a(body, hash);
    await upload.send(body);
  };
  try {
    for await (const row of rows) await send(added(writer, row, columns));
    await send(writer.finish());
  } catch (error) {
    upload.cancel();
    throw error;
  }
  try {
    return new Receipt(await upload.end({ rowCount: writer.rowCount, checksum: hashText(hash) }));
  } catch (/** @type {any} */ error) {
    // A program that sends it again needs its key.
    if (error.code === 'OUTCOME_UNKNOWN') error.key = key;
    throw error;
  }
}

/** What an object has of a property that is left out. */
const defaultOf = (column) => (column.defaultsToNow ? NestDate.from(new Date()) : column.default ?? null);

/** Adds a row of a program; an error names it by its number. Returns a full chunk, or null. */
function added(writer, row, columns) {
  const number = writer.rowCount + 1;
  const { depth = 0, values } = row ?? {};
  if (typeof values !== 'object' || values === null) {
    throw new NestError('INVALID', `row ${number}: a row is {depth, values}`);
  }
  if (Array.isArray(values) && values.length !== columns.length) {
    throw new NestError('INVALID', `row ${number}: ${values.length} values for ${columns.length} properties`);
  }
  // By own names: a property may be called `constructor`.
  const valueOf = (column, index) => Array.isArray(values) ? values[index]
    : Object.hasOwn(values, column.name) ? values[column.name] : defaultOf(column);
  try {
    return writer.add({ depth, values: columns.map((column, index) => valueFor(column, valueOf(column, index))) });
  } catch (error) {
    if (!(error instanceof NestError) || error.message.startsWith('row ')) throw error;
    throw new NestError(error.code, `row ${number}: ${error.message}`);
  }
}
