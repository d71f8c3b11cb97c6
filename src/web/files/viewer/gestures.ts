import { type Point, swipeDirection } from './zoom.ts';

/** Height, in CSS pixels, of the controls at the bottom of a film, including the timeline. Touches there belong to the controls. */
const controlsHeight = 80;

/** Actions for gestures of pointers and the wheel. Points are relative to the centre of the viewer's stage. */
interface Gestures {
  zoom: (factor: number, point: Point) => void;
  /** @returns whether the picture was moved; if it was not, the movement is perhaps a swipe */
  drag: (by: Point) => boolean;
  /** Called with the path of a finger that did not move the picture. */
  swipe: (by: Point) => void;
  toggle: (point: Point) => void;
}

/**
 * Watches gestures: one finger or the mouse (drag, swipe), two fingers (pinch), the wheel and double clicks.
 *
 * @returns a controller that ends the watching
 */
export function watchGestures(stage: HTMLElement, gestures: Gestures): AbortController {
  const [watch, on] = listeners(stage);
  const down = new Map<number, Point>();
  let path: Point | undefined;
  const fromMiddle = ({ x, y }: Point): Point => {
    const box = stage.getBoundingClientRect();
    return { x: x - box.x - box.width / 2, y: y - box.y - box.height / 2 };
  };
  const eventPoint = (event: MouseEvent): Point => ({ x: event.clientX, y: event.clientY });
  on('pointerdown', (event) => {
    if (event.button !== 0 || !(event.target instanceof HTMLImageElement || event.target === stage)) return;
    down.set(event.pointerId, eventPoint(event));
    stage.setPointerCapture(event.pointerId);
    path = down.size === 1 && event.pointerType !== 'mouse' ? { x: 0, y: 0 } : undefined;
  });
  on('pointermove', (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const now = eventPoint(event);
    const by = { x: now.x - before.x, y: now.y - before.y };
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (other) {
      const middle = fromMiddle({ x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
      gestures.drag({ x: by.x / 2, y: by.y / 2 });
      gestures.zoom(distance(now, other) / Math.max(1, distance(before, other)), middle);
    } else if (gestures.drag(by)) path = undefined;
    else if (path) path = { x: path.x + by.x, y: path.y + by.y };
  });
  const up = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    if (path && event.type === 'pointerup') gestures.swipe(path);
    path = undefined;
  };
  on('pointerup', up);
  on('pointercancel', up);
  on('dblclick', (event) => gestures.toggle(fromMiddle(eventPoint(event))));
  on('wheel', (event) => {
    event.preventDefault();
    // Browsers report lines or pixels. A pinch on a touchpad arrives as small steps of the wheel, with Ctrl.
    const steps = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1) * (event.ctrlKey ? 5 : 1);
    gestures.zoom(1.0015 ** -Math.max(-400, Math.min(400, steps)), fromMiddle(eventPoint(event)));
  });
  return watch;
}

function listeners(stage: HTMLElement) {
  const watch = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(type: K, listener: (event: HTMLElementEventMap[K]) => void) =>
    stage.addEventListener(type, listener, { passive: false, signal: watch.signal });
  return [watch, on] as const;
}

/**
 * Watches swipes over a film, except on its controls.
 *
 * @param go shows the file that is `by` steps away
 * @returns a controller that ends the watching
 */
export function watchSwipes(stage: HTMLElement, film: HTMLVideoElement, go: (by: number) => void): AbortController {
  const [watch, on] = listeners(stage);
  let start: PointerEvent | undefined;
  const isOfControls = ({ target, clientY }: PointerEvent) =>
    target === film && clientY > film.getBoundingClientRect().bottom - controlsHeight;
  const down = (event: PointerEvent) => {
    // A second finger is not a swipe. A film in full screen has no previous and next file.
    const isFirst = event.isPrimary && event.pointerType !== 'mouse' && document.fullscreenElement === null;
    start = isFirst && !isOfControls(event) ? event : undefined;
  };
  const up = (event: PointerEvent) => {
    const by =
      start?.pointerId === event.pointerId ? swipeDirection({ x: event.clientX - start.clientX, y: event.clientY - start.clientY }) : 0;
    start = undefined;
    if (by !== 0) go(by);
  };
  on('pointerdown', down);
  on('pointerup', up);
  on('pointercancel', () => {
    start = undefined;
  });
  return watch;
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
