/** Number of bytes at the beginning of an AVIF that are searched for its size. The size precedes the picture data. */
const maxAvifHead = 16 * 1024;

export interface PictureHead {
  /** Size of the stored picture in pixels. */
  width: number;
  height: number;
  /** Orientation of the picture (Exif 2.32, tag 0x0112); 1 is upright. */
  orientation: number;
  /** The JPEG thumbnail that cameras embed. */
  thumbnail: Uint8Array | undefined;
}

/** Number of bytes at the beginning of a picture that contain its size, and usually the camera's thumbnail. */
export const headBytes = 128 * 1024;

/**
 * Reads the head of a PNG, GIF, WebP, BMP, AVIF or JPEG. The file name does not matter.
 * @param bytes the beginning of the file
 * @returns undefined if the file is not such a picture, or if the bytes do not contain the size
 */
export function pictureHead(bytes: Uint8Array): PictureHead | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = pngSize(view) ?? gifSize(view) ?? webpSize(view) ?? bmpSize(view) ?? avifSize(view);
    if (size) return { ...size, orientation: 1, thumbnail: undefined };
    return view.getUint16(0) === 0xffd8 ? jpegHead(view) : undefined;
  } catch (error) {
    // The bytes end before the head does.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

type Size = Pick<PictureHead, 'width' | 'height'>;

function isText(view: DataView, at: number, text: string): boolean {
  return [...text].every((character, index) => view.getUint8(at + index) === character.charCodeAt(0));
}

function pngSize(view: DataView): Size | undefined {
  return isText(view, 1, 'PNG\r\n') ? { width: view.getUint32(16), height: view.getUint32(20) } : undefined;
}

function gifSize(view: DataView): Size | undefined {
  return isText(view, 0, 'GIF8') ? { width: view.getUint16(6, true), height: view.getUint16(8, true) } : undefined;
}

function webpSize(view: DataView): Size | undefined {
  if (!isText(view, 0, 'RIFF') || !isText(view, 8, 'WEBPVP8')) return undefined;
  const of24 = (at: number) => (view.getUint32(at, true) & 0xffffff) + 1;
  switch (String.fromCharCode(view.getUint8(15))) {
    case 'X':
      return { width: of24(24), height: of24(27) };
    case 'L': {
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  }
}

function bmpSize(view: DataView): Size | undefined {
  if (!isText(view, 0, 'BM')) return undefined;
  // A negative height means that the lines are stored from top to bottom.
  return { width: view.getInt32(18, true), height: Math.abs(view.getInt32(22, true)) };
}

// `ispe` boxes contain the sizes of the picture and of its tiles (ISO/IEC 23008-12 §6.5.3). The largest size is that of the picture.
function avifSize(view: DataView): Size | undefined {
  if (!isText(view, 4, 'ftyp')) return undefined;
  let largest: Size | undefined;
  const end = Math.min(view.byteLength - 16, maxAvifHead);
  for (let at = view.getUint32(0); at < end; at++) {
    if (view.getUint32(at) !== 0x69737065) continue;
    const size = { width: view.getUint32(at + 8), height: view.getUint32(at + 12) };
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

// Reads the segments of a JPEG up to the one with the picture's size. Each segment has a marker and a length.
function jpegHead(view: DataView): PictureHead | undefined {
  let camera: Camera = { orientation: 1, thumbnail: undefined };
  for (let at = 2; view.getUint8(at) === 0xff; ) {
    const marker = view.getUint8(at + 1);
    const isSize = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isSize) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7), ...camera };
    const length = view.getUint16(at + 2);
    if (marker === 0xe1 && isText(view, at + 4, 'Exif')) camera = exif(view, at + 10, length - 8);
    at += 2 + length;
  }
  return undefined;
}

type Camera = Pick<PictureHead, 'orientation' | 'thumbnail'>;

function exif(view: DataView, start: number, length: number): Camera {
  const tiff = new DataView(view.buffer, view.byteOffset + start, Math.min(length, view.byteLength - start));
  const camera: Camera = { orientation: 1, thumbnail: undefined };
  try {
    const isLittle = tiff.getUint16(0) === 0x4949;
    const first = tiff.getUint32(4, isLittle);
    camera.orientation = tagsAt(tiff, first, isLittle).get(0x0112) ?? 1;
    const second = tiff.getUint32(first + 2 + tiff.getUint16(first, isLittle) * 12, isLittle);
    const tags = second === 0 ? new Map<number, number>() : tagsAt(tiff, second, isLittle);
    const [at, size] = [tags.get(0x0201), tags.get(0x0202)];
    if (at !== undefined && size !== undefined && at + size <= tiff.byteLength)
      camera.thumbnail = new Uint8Array(tiff.buffer, tiff.byteOffset + at, size);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return camera;
}

/** Returns the numeric values of the tags in one directory (TIFF 6.0 §2). */
function tagsAt(tiff: DataView, directory: number, isLittle: boolean): Map<number, number> {
  const tags = new Map<number, number>();
  for (let index = 0; index < tiff.getUint16(directory, isLittle); index++) {
    const at = directory + 2 + index * 12;
    const isShort = tiff.getUint16(at + 2, isLittle) === 3;
    tags.set(tiff.getUint16(at, isLittle), isShort ? tiff.getUint16(at + 8, isLittle) : tiff.getUint32(at + 8, isLittle));
  }
  return tags;
}
