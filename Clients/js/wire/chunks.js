// Chunks of sub-trees (protocol.md, section 13): rows stored column by column.
import { Limits } from './limits-more.js';
import { NestError } from './errors.js';
import { encodeText, malformed, Reader, Writer } from './bytes.js';
import { readValue, writeValue } from './values.js';

/**
 * Reads the chunks of one stream, in order: depths go on from one chunk to the next. `unpack(bytes)` makes the content
 * of a compressed chunk; without it one is UNSUPPORTED.
 */
export class ChunkReader {
  constructor(width, unpack = undefined) {
    this.width = width;
    this.unpack = unpack;
    /** The depth of the last row; null before the first. */
    this.depth = null;
  }

  /** The rows of a chunk's body: `{depth, id, values}`, id null if it has none. */
  read(body) {
    const packing = new Reader(body).u8();
    if (packing > 1) throw malformed('the packing of a chunk is not known');
    if (packing && !this.unpack) throw new NestError('UNSUPPORTED', 'a chunk is compressed');
    return this.rows(new Reader(packing ? this.unpack(body.subarray(1)) : body.subarray(1)));
  }

  rows(reader) {
    const count = reader.count(Limits.chunkRowsMax, 1);
    const hasIDs = reader.u8();
    if (hasIDs > 1) throw new NestError('UNSUPPORTED', 'a flag of a chunk is not known');
    if (count * (1 + hasIDs + this.width) > reader.left) throw malformed('a count cannot be true');
    const rows = [];
    let { depth } = this;
    for (let i = 0; i < count; i++) {
      const step = Number(reader.zigzag());
      const next = depth === null ? step : depth + step;
      if (step > 1 || next < 0 || depth === null && step !== 0) throw malformed('a depth is not possible');
      if (next > Limits.depthMax) throw new NestError('LIMIT_EXCEEDED', `more than ${Limits.depthMax} levels`);
      depth = next;
      rows.push({ depth, id: null, values: new Array(this.width) });
    }
    if (hasIDs) readIDs(reader, rows);
    for (let slot = 0; slot < this.width; slot++) readColumn(reader, rows, slot);
    reader.finish();
    this.depth = depth;
    return rows;
  }
}

function readIDs(reader, rows) {
  let id = 0;
  for (const row of rows) {
    id += Number(reader.zigzag());
    if (!(id >= 1 && id <= Limits.objectIDMax)) throw malformed('an object id is out of its range');
    row.id = id;
  }
}

// The heads of all values, then the bytes of the texts and data.
function readColumn(reader, rows, slot) {
  const bodies = [];
  for (const row of rows) {
    const tag = reader.u8();
    if (tag >= 0x80 && tag < 0xc0) bodies.push({ row, count: tag & 0x3f, isText: true });
    else if (tag === 6 || tag === 7) bodies.push({ row, count: longCount(reader), isText: tag === 6 });
    else {
      reader.at--;
      row.values[slot] = readValue(reader);
    }
  }
  for (const { row, count, isText } of bodies) row.values[slot] = isText ? reader.utf8(count) : reader.raw(count);
}

function longCount(reader) {
  const count = reader.size();
  if (count > Limits.valueBytesMax) throw new NestError('VALUE_TOO_LARGE', `a value of ${count} bytes is too large`);
  return count;
}

/**
 * Writes the chunks of one stream. `add(row)` returns the body of a chunk when one is full (about 262,144 bytes), else
 * null; `finish()` returns the last one, or null.
 */
export class ChunkWriter {
  constructor(width) {
    this.width = width;
    /** The depth of the last row; null before the first. */
    this.depth = null;
    /** Rows of the whole stream. */
    this.rowCount = 0;
    this.chunk = emptyChunk(width);
  }

  /** How many bytes the chunk that is not full has so far. */
  get size() {
    return this.chunk.size + this.chunk.depths.at;
  }

  /** Adds a row `{depth, values}`; the values as `valueFor` of model.js makes them. */
  add({ depth, values }) {
    const step = depth - (this.depth ?? 0);
    if (!Number.isSafeInteger(depth) || depth < 0 || step > 1 || this.depth === null && depth !== 0) {
      throw new NestError('INVALID', `row ${this.rowCount + 1} is more than one level below the row before`);
    }
    if (depth > Limits.depthMax) {
      throw new NestError('DEPTH_LIMIT', `row ${this.rowCount + 1} is more than ${Limits.depthMax} levels down`);
    }
    if (values.length !== this.width) throw new NestError('INVALID', `a row has ${values.length} values`);
    const row = values.map(headAndBody);
    const { chunk } = this;
    chunk.depths.zigzag(step);
    row.forEach(({ head, body }, slot) => {
      chunk.heads[slot].raw(head);
      chunk.bodies[slot].raw(body);
      chunk.size += head.length + body.length;
    });
    this.depth = depth;
    chunk.count++;
    this.rowCount++;
    return this.size >= Limits.chunkBytes || chunk.count === Limits.chunkRowsMax ? this.finish() : null;
  }

  finish() {
    const { count, depths, heads, bodies } = this.chunk;
    if (count === 0) return null;
    const writer = new Writer();
    writer.u8(0);
    writer.varint(count);
    writer.u8(0);
    writer.raw(depths.done());
    for (let slot = 0; slot < this.width; slot++) {
      writer.raw(heads[slot].done());
      writer.raw(bodies[slot].done());
    }
    this.chunk = emptyChunk(this.width);
    return writer.done();
  }
}

const emptyChunk = (width) => ({
  count: 0,
  size: 0,
  depths: new Writer(),
  heads: Array.from({ length: width }, () => new Writer()),
  bodies: Array.from({ length: width }, () => new Writer()),
});

const none = new Uint8Array(0);

// The form and length of a text or data, and its bytes; of other values the whole, and none.
function headAndBody(value) {
  const writer = new Writer();
  const isText = typeof value === 'string';
  if (!isText && !(value instanceof Uint8Array)) {
    writeValue(writer, value);
    return { head: writer.done(), body: none };
  }
  const body = isText ? encodeText(value) : value;
  if (body.length > Limits.valueBytesMax) {
    throw new NestError('VALUE_TOO_LARGE', `a value of ${body.length} bytes is too large`);
  }
  if (isText && body.length < 64) writer.u8(0x80 | body.length);
  else {
    writer.u8(isText ? 6 : 7);
    writer.varint(body.length);
  }
  return { head: writer.done(), body };
}
