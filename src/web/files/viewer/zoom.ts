/** Scale and position. `x` and `y` are the distance of the picture's centre from the stage's centre, in CSS pixels. */
interface Zoom {
  /** The scale. At 1 the whole picture is visible. */
  scale: number;
  x: number;
  y: number;
}

/** Sizes of the stage and of the picture at scale 1, in CSS pixels, and the largest scale. */
export interface Frame {
  width: number;
  height: number;
  pictureWidth: number;
  pictureHeight: number;
  most: number;
}

export interface Point {
  x: number;
  y: number;
}

export const whole: Zoom = { scale: 1, x: 0, y: 0 };

/** Limits a zoom. A picture larger than the stage must fill it, and a smaller one is centred. */
export function bounded({ scale, x, y }: Zoom, frame: Frame): Zoom {
  const kept = Math.min(Math.max(scale, 1), frame.most);
  const within = (value: number, picture: number, stage: number) => {
    const room = Math.max(0, (picture * kept - stage) / 2);
    return Math.min(Math.max(value, -room), room);
  };
  return { scale: kept, x: within(x, frame.pictureWidth, frame.width), y: within(y, frame.pictureHeight, frame.height) };
}

/** Zooms in (`factor` above 1) or out. The picture stays fixed at `point`, which is relative to the centre of the stage. */
export function zoomBy(zoom: Zoom, factor: number, point: Point, frame: Frame): Zoom {
  const scale = Math.min(Math.max(zoom.scale * factor, 1), frame.most);
  const real = scale / zoom.scale;
  return bounded({ scale, x: point.x - (point.x - zoom.x) * real, y: point.y - (point.y - zoom.y) * real }, frame);
}

export function moveBy(zoom: Zoom, by: Point, frame: Frame): Zoom {
  return bounded({ scale: zoom.scale, x: zoom.x + by.x, y: zoom.y + by.y }, frame);
}

/** Returns the direction of a swipe: 1 to the next file, -1 to the previous one, and 0 if it was not a swipe. */
export function swipeDirection({ x, y }: Point): -1 | 0 | 1 {
  if (Math.abs(x) < 48 || Math.abs(x) < 2 * Math.abs(y)) return 0;
  return x < 0 ? 1 : -1;
}
