// PNG with a palette: a picture of a page has few colours, and takes a third of the bytes that a browser writes.

import { crc32 } from './crc.js';
import { deflateSync, inflateSync } from 'node:zlib';

const COLOURS_MAX = 256;
const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const TRUECOLOUR = 2;
const TRUECOLOUR_ALPHA = 6;
const INDEXED = 3;

/** The chunks of a file: `[type, data]`. */
function* chunks(png) {
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield [png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length)];
    at += length + 12;
  }
}

const chunk = (type, data) => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8 + data.length + 4);
  frame.writeUInt32BE(data.length);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), 8 + data.length);
  return frame;
};

/** What a filter of PNG predicts from the bytes on the left, above, and above on the left. */
const PREDICT = [
  () => 0, (left) => left, (_, above) => above, (left, above) => (left + above) >> 1,
  (left, above, corner) => {
    const [a, b, c] = [left, above, corner].map((each) => Math.abs(left + above - corner - each));
    return a <= b && a <= c ? left : b <= c ? above : corner;
  },
];

/** The pixels of a PNG of 8 bits without interlacing, as a browser writes it: `{ width, height, pixels }`, of RGB. */
export function pixelsOf(png) {
  const parts = [...chunks(png)];
  const header = parts.find(([type]) => type === 'IHDR')[1];
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth, kind, , , interlace] = header.subarray(8);
  if (depth !== 8 || interlace !== 0 || (kind !== TRUECOLOUR && kind !== TRUECOLOUR_ALPHA)) {
    throw new Error(`no PNG of a browser: depth ${depth}, kind ${kind}, interlace ${interlace}`);
  }
  const size = kind === TRUECOLOUR ? 3 : 4;
  const raw = inflateSync(Buffer.concat(parts.filter(([type]) => type === 'IDAT').map(([, data]) => data)));
  const stride = width * size;
  const lines = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y += 1) {
    const predict = PREDICT[raw[y * (stride + 1)]];
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x >= size ? lines[at - size] : 0;
      const above = y > 0 ? lines[at - stride] : 0;
      const corner = x >= size && y > 0 ? lines[at - stride - size] : 0;
      lines[at] = raw[y * (stride + 1) + 1 + x] + predict(left, above, corner);
    }
  }
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < width * height; at += 1) lines.copy(pixels, at * 3, at * size, at * size + 3);
  return { width, height, pixels };
}

/** The colours that represent all: the most frequent ones, none of them near to one that is more frequent. */
function palette(counts) {
  const sorted = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  for (let near = 0; ; near = near * 2 + 4) {
    const chosen = [];
    for (const colour of sorted) {
      if (chosen.length > COLOURS_MAX) break;
      if (near === 0 || chosen.every((other) => distance(colour, other) > near)) chosen.push(colour);
    }
    if (chosen.length <= COLOURS_MAX) return chosen;
  }
}

const distance = (a, b) => (((a >> 16) - (b >> 16)) ** 2) + (((a >> 8 & 255) - (b >> 8 & 255)) ** 2) + (((a & 255) - (b & 255)) ** 2);

/** The same picture as a PNG with at most 256 colours. */
export function withPalette(png) {
  const { width, height, pixels } = pixelsOf(png);
  const counts = new Map();
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at += 1) {
    const colour = pixels.readUIntBE(at * 3, 3);
    colours[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const chosen = palette(counts);
  const indexes = new Map(chosen.map((colour, index) => [colour, index]));
  for (const colour of counts.keys()) {
    if (indexes.has(colour)) continue;
    let best = 0;
    chosen.forEach((other, index) => {
      if (distance(colour, other) < distance(colour, chosen[best])) best = index;
    });
    indexes.set(colour, best);
  }
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) lines[y * (width + 1) + 1 + x] = indexes.get(colours[y * width + x]);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, INDEXED, 0, 0, 0], 8);
  const table = Buffer.alloc(chosen.length * 3);
  chosen.forEach((colour, index) => table.writeUIntBE(colour, index * 3, 3));
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('PLTE', table),
    chunk('IDAT', deflateSync(lines, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
