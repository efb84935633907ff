// Pictures with a palette: every filter that a browser uses is read, and few colours stay exactly what they are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync, inflateSync } from 'node:zlib';
import { crc32 } from '../pictures/crc.js';
import { pixelsOf, withPalette } from '../pictures/palette.js';

const chunk = (type, data) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(Buffer.concat([Buffer.from(type), data])));
  return Buffer.concat([length, Buffer.from(type), data, sum]);
};

/** A PNG with alpha whose line `y` has the filter `y % 5`, from `colour(x, y)`. */
function encoded(width, height, colour) {
  const pixels = Buffer.alloc(width * height * 4);
  for (let at = 0; at < width * height; at += 1) {
    pixels.writeUInt32BE(((colour(at % width, Math.floor(at / width)) << 8) | 255) >>> 0, at * 4);
  }
  const byte = (x, y) => (x < 0 || y < 0 ? 0 : pixels[y * width * 4 + x]);
  const lines = [];
  for (let y = 0; y < height; y += 1) {
    const line = Buffer.alloc(width * 4 + 1);
    line[0] = y % 5;
    for (let x = 0; x < width * 4; x += 1) {
      const [left, above, corner] = [byte(x - 4, y), byte(x, y - 1), x < 4 ? 0 : byte(x - 4, y - 1)];
      const guess = left + above - corner;
      const nearest = [left, above, corner].reduce((best, each) => (Math.abs(guess - each) < Math.abs(guess - best) ? each : best));
      line[x + 1] = byte(x, y) - [0, left, above, (left + above) >> 1, nearest][y % 5];
    }
    lines.push(line);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(lines))), chunk('IEND', Buffer.alloc(0))]);
}

/** The colours of a PNG with a palette, line by line. */
function decoded(png) {
  const parts = {};
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    const [length, type] = [png.readUInt32BE(at), png.toString('latin1', at + 4, at + 8)];
    assert.equal(png.readUInt32BE(at + 8 + length), crc32(png.subarray(at + 4, at + 8 + length)), type);
    parts[type] = png.subarray(at + 8, at + 8 + length);
  }
  const width = parts.IHDR.readUInt32BE(0);
  const lines = inflateSync(parts.IDAT);
  return { count: parts.PLTE.length / 3, colours: [...lines].flatMap((index, at) =>
    (at % (width + 1) === 0 ? [] : [parts.PLTE.readUIntBE(index * 3, 3)])) };
}

test('the checksum is that of PNG', () => {
  assert.equal(crc32(Buffer.from('IEND')), 0xae426082);
});

test('every filter is read, and few colours are kept exactly', () => {
  const colour = (x, y) => ((x * 7 + y * 3) % 16) * 0x0f1109;
  const png = encoded(19, 12, colour);
  const expected = Array.from({ length: 19 * 12 }, (_, at) => colour(at % 19, Math.floor(at / 19)));
  const { pixels } = pixelsOf(png);
  assert.deepEqual(expected.map((_, at) => pixels.readUIntBE(at * 3, 3)), expected);
  assert.deepEqual(decoded(withPalette(png)).colours, expected);
});

test('of many colours 256 are left, and each is near to what it was', () => {
  const colour = (x, y) => (x * 4 << 16) | (y * 4 << 8) | ((x + y) * 2);
  const { count, colours } = decoded(withPalette(encoded(60, 60, colour)));
  assert.ok(count > 60 && count <= 256, `${count} colours`);
  const far = colours.filter((found, at) => {
    const wanted = colour(at % 60, Math.floor(at / 60));
    return [16, 8, 0].some((shift) => Math.abs((found >> shift & 255) - (wanted >> shift & 255)) > 40);
  });
  assert.deepEqual(far, []);
});

test('what is no picture of a browser is refused', () => {
  const png = encoded(2, 2, () => 0);
  png[24] = 16;
  assert.throws(() => pixelsOf(png), /no PNG of a browser: depth 16/);
});
