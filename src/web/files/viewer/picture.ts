import { makeButton } from '../../shared/dom.ts';
import { previewText } from '../previews/preview-text.ts';
import type { Row } from '../rows/rows.ts';
import { watchGestures } from './gestures.ts';
import { loadPicture } from './picture-file.ts';
import { alert, type Shown } from './shown.ts';
import { bounded, type Frame, moveBy, type Point, swipeDirection, whole, zoomBy } from './zoom.ts';

/** Factor by which one press of a button or key zooms. */
const step = 1.5;

/** Distance in CSS pixels by which an arrow key moves an enlarged picture. */
const stride = 80;

const arrows: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: stride, y: 0 },
  ArrowRight: { x: -stride, y: 0 },
  ArrowUp: { x: 0, y: stride },
  ArrowDown: { x: 0, y: -stride },
};

/** Shows a picture that can be zoomed and moved. @param go shows the file that is `by` steps away */
export async function showPicture(row: Row, stage: HTMLElement, go: (by: number) => void): Promise<Shown> {
  const image = await loadPicture(row);
  if (typeof image === 'string') return alert(image);
  try {
    await image.decode();
  } catch {
    return alert(previewText('brokenPicture'));
  }
  let zoom = whole;
  const currentFrame = (): Frame => {
    const { clientWidth: width, clientHeight: height } = stage;
    const { offsetWidth: pictureWidth, offsetHeight: pictureHeight } = image;
    return { width, height, pictureWidth, pictureHeight, most: Math.max(8, (2 * image.naturalWidth) / Math.max(1, pictureWidth)) };
  };
  const set = (next: typeof zoom, isSmooth = false) => {
    zoom = next;
    image.classList.toggle('smooth', isSmooth);
    image.style.transform = `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})`;
    stage.classList.toggle('enlarged', zoom.scale > 1);
    nearer.disabled = zoom.scale >= currentFrame().most;
    farther.disabled = zoom.scale <= 1;
  };
  const zoomIn = (factor: number) => set(zoomBy(zoom, factor, { x: 0, y: 0 }, currentFrame()), true);
  const farther = makeButton(previewText('zoomOut'), 'minus', () => zoomIn(1 / step), 'compact');
  const nearer = makeButton(previewText('zoomIn'), 'plus', () => zoomIn(step), 'compact');
  farther.disabled = true;
  const own = watchGestures(stage, {
    zoom: (factor, point) => set(zoomBy(zoom, factor, point, currentFrame())),
    drag: (by) => {
      if (zoom.scale > 1) set(moveBy(zoom, by, currentFrame()));
      return zoom.scale > 1;
    },
    swipe: (path) => {
      const by = swipeDirection(path);
      if (by !== 0) go(by);
    },
    toggle: (point) =>
      set(zoom.scale > 1 ? whole : zoomBy(zoom, Math.max(2, image.naturalWidth / image.offsetWidth), point, currentFrame()), true),
  });
  const watchSize = new ResizeObserver(() => set(bounded(zoom, currentFrame())));
  watchSize.observe(stage);
  const onKey = (key: string) => {
    const by = arrows[key];
    if (key === '+' || key === '=') zoomIn(step);
    else if (key === '-') zoomIn(1 / step);
    else if (key === '0') set(whole, true);
    else if (by && zoom.scale > 1) set(moveBy(zoom, by, currentFrame()), true);
    else return false;
    return true;
  };
  const clean = () => {
    own.abort();
    watchSize.disconnect();
    stage.classList.remove('enlarged');
    // This preloaded element may be shown again.
    image.removeAttribute('style');
  };
  return { nodes: [image], tools: [farther, nearer], onKey, clean };
}
