import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pictureHead } from '../../src/web/files/thumbnails/picture-head.ts';
import { jpegWithThumbnail, pngHead } from '../support/pictures.ts';

const plain = { orientation: 1, thumbnail: undefined };

test('the size of a picture is read from its first bytes, not from its name', () => {
  assert.deepEqual(pictureHead(pngHead(30_000, 30_000)), { width: 30_000, height: 30_000, ...plain });
  const gif = Buffer.from('GIF89a\x40\x01\xc8\x00', 'latin1');
  assert.deepEqual(pictureHead(gif), { width: 320, height: 200, ...plain });
  const webp = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0', 'latin1'), Buffer.from([63, 1, 0, 199, 0, 0, 0])]);
  assert.deepEqual(pictureHead(webp), { width: 320, height: 200, ...plain });
  const bmp = Buffer.alloc(64);
  bmp.write('BM', 'latin1');
  bmp.writeInt32LE(320, 18);
  bmp.writeInt32LE(-200, 22);
  assert.deepEqual(pictureHead(bmp), { width: 320, height: 200, ...plain });
  // The file has the size of a tile, and then that of the whole picture.
  const avif = Buffer.alloc(100);
  avif.write('\0\0\0\x18ftypavif', 'latin1');
  for (const [at, width, height] of [
    [30, 512, 512],
    [60, 30_000, 30_000],
  ] as const) {
    avif.write('ispe', at, 'latin1');
    avif.writeUInt32BE(width, at + 8);
    avif.writeUInt32BE(height, at + 12);
  }
  assert.deepEqual(pictureHead(avif), { width: 30_000, height: 30_000, ...plain });
});

test('thumbnail and orientation that a camera stored are read in both byte orders', () => {
  const thumbnail = Buffer.from('not really a picture');
  for (const isLittle of [true, false]) {
    const head = pictureHead(jpegWithThumbnail({ width: 4000, height: 3000, orientation: 6, thumbnail, isLittle }));
    assert.deepEqual([head?.width, head?.height, head?.orientation], [4000, 3000, 6]);
    assert.deepEqual(Buffer.from(head?.thumbnail ?? []), thumbnail);
  }
});

test('the head of truncated data is undefined or has the right width, and invalid data causes no error', () => {
  const whole = jpegWithThumbnail({ width: 40, height: 30, orientation: 1, thumbnail: Buffer.alloc(500), isLittle: true });
  for (let length = 0; length < whole.length; length++) {
    const head = pictureHead(whole.subarray(0, length));
    assert.ok(head === undefined || head.width === 40, String(length));
  }
  for (let at = 0; at < whole.length; at++) {
    const broken = Buffer.from(whole);
    broken[at] = 0xff;
    pictureHead(broken);
  }
  for (const text of ['', 'x', '<svg width="9999">', 'GIF8', '\xff\xd8\xff\xe1'])
    assert.equal(pictureHead(Buffer.from(text, 'latin1')), undefined, text);
});
