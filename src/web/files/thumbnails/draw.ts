import { make } from '../../shared/dom.ts';
import type { PictureHead } from './picture-head.ts';

/** Longer side of a thumbnail, in pixels: a tile on a screen of double density. */
const longest = 320;

/** The size of a thumbnail of something larger; what is small stays as it is. */
export function smallSize(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, longest / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** Draws a picture small, turned as its camera says. @throws when it is no picture that the browser reads */
export async function drawSmall(content: Blob, head: PictureHead, isTurned: boolean): Promise<HTMLCanvasElement> {
  const { width, height } = smallSize(head.width, head.height);
  // The browser turns whole pictures itself; the thumbnail inside has nothing that says how.
  const options: ImageBitmapOptions = { resizeQuality: 'medium', imageOrientation: 'from-image' };
  const picture = await createImageBitmap(content, options);
  const turns = isTurned ? 1 : head.orientation;
  const isSideways = head.orientation >= 5;
  const canvas = make('canvas', { width: isSideways ? height : width, height: isSideways ? width : height });
  const context = canvas.getContext('2d');
  if (!context) throw new Error('The browser draws nothing.');
  turn(context, turns, width, height);
  if (turns >= 5 || !isSideways) drawCropped(context, picture, width, height);
  else drawCropped(context, picture, height, width);
  picture.close();
  return canvas;
}

// Some cameras put bars around their thumbnails: the middle with the picture's own proportions is shown.
function drawCropped(context: CanvasRenderingContext2D, picture: ImageBitmap, width: number, height: number): void {
  const scale = Math.min(picture.width / width, picture.height / height);
  const [cutWidth, cutHeight] = [width * scale, height * scale];
  const [x, y] = [(picture.width - cutWidth) / 2, (picture.height - cutHeight) / 2];
  context.drawImage(picture, x, y, cutWidth, cutHeight, 0, 0, width, height);
}

/** Turns what will be drawn (Exif 2.32, tag 0x0112). `width`, `height`: as stored. */
function turn(context: CanvasRenderingContext2D, orientation: number, width: number, height: number): void {
  const matrices: Readonly<Record<number, [number, number, number, number, number, number]>> = {
    2: [-1, 0, 0, 1, width, 0],
    3: [-1, 0, 0, -1, width, height],
    4: [1, 0, 0, -1, 0, height],
    5: [0, 1, 1, 0, 0, 0],
    6: [0, 1, -1, 0, height, 0],
    7: [0, -1, -1, 0, height, width],
    8: [0, -1, 1, 0, 0, width],
  };
  const matrix = matrices[orientation];
  if (matrix) context.setTransform(...matrix);
}
