import { crc32, deflateSync } from 'node:zlib';

/** Returns the beginning of a PNG, with any size in its header. */
export function pngHead(width: number, height: number): Buffer {
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', Buffer.concat([size, Buffer.from([8, 2, 0, 0, 0])]))]);
}

/** Returns a PNG with a single colour. @param color red, green and blue */
export function plainPng(width: number, height: number, color: readonly [number, number, number]): Buffer {
  const line = Buffer.concat([Buffer.from([0]), ...Array.from({ length: width }, () => Buffer.from(color))]);
  const lines = Buffer.concat(Array.from({ length: height }, () => line));
  return Buffer.concat([pngHead(width, height), chunk('IDAT', deflateSync(lines)), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(name: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named) >>> 0);
  return Buffer.concat([length, named, sum]);
}

interface CameraPicture {
  width: number;
  height: number;
  /** Exif 2.32, tag 0x0112. */
  orientation: number;
  thumbnail: Buffer;
  isLittle: boolean;
}

/** Returns the beginning of a JPEG, up to its size. As in files of cameras, the Exif part has a thumbnail. */
export function jpegWithThumbnail({ width, height, orientation, thumbnail, isLittle }: CameraPicture): Buffer {
  const tiff = Buffer.alloc(62);
  const write16 = (value: number, at: number) => (isLittle ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at));
  const write32 = (value: number, at: number) => (isLittle ? tiff.writeUInt32LE(value, at) : tiff.writeUInt32BE(value, at));
  tiff.write(isLittle ? 'II' : 'MM', 0, 'latin1');
  write16(42, 2);
  write32(8, 4);
  write16(1, 8);
  writeTag(10, 0x0112, 3, orientation);
  write32(26, 22);
  write16(2, 26);
  writeTag(28, 0x0201, 4, tiff.length);
  writeTag(40, 0x0202, 4, thumbnail.length);
  function writeTag(at: number, tag: number, type: number, value: number) {
    write16(tag, at);
    write16(type, at + 2);
    write32(1, at + 4);
    if (type === 3) write16(value, at + 8);
    else write32(value, at + 8);
  }
  const exif = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff, thumbnail]);
  const size = Buffer.from([8, height >> 8, height & 255, width >> 8, width & 255, 3]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), segment(0xe1, exif), segment(0xc0, size), Buffer.from([0xff, 0xd9])]);
}

function segment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}
