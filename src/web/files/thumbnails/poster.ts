import { make } from '../../shared/dom.ts';
import { scriptHeaders } from '../server.ts';
import { smallSize } from './draw.ts';

/** How long a film may take to show a frame, in milliseconds. */
const patienceMs = 15_000;

/** Where the frame is, in seconds: films often begin in the dark. */
const frameAt = 3;

/**
 * Draws a frame of a film. The browser fetches what it needs for that, mostly the beginning, and no more.
 *
 * @returns undefined when the film may not be read, has no pictures, or is of a kind that the browser does not know
 */
export async function drawPoster(url: string): Promise<HTMLCanvasElement | undefined> {
  // A film is asked for by the browser itself, whose own password box would lock the page.
  const reply = await fetch(url, { method: 'HEAD', headers: scriptHeaders });
  if (!reply.ok) return undefined;
  const film = make('video', { muted: true, preload: 'metadata', src: `${url}?inline` });
  try {
    await happened(film, 'loadedmetadata');
    film.currentTime = Number.isFinite(film.duration) ? Math.min(frameAt, film.duration / 3) : 0;
    await happened(film, 'seeked');
    return draw(film);
  } catch {
    return undefined;
  } finally {
    film.removeAttribute('src');
    film.load();
  }
}

function draw(film: HTMLVideoElement): HTMLCanvasElement | undefined {
  const { videoWidth, videoHeight } = film;
  if (videoWidth * videoHeight === 0) return undefined;
  const canvas = make('canvas', smallSize(videoWidth, videoHeight));
  canvas.getContext('2d')?.drawImage(film, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** @throws when the film fails, or takes too long */
function happened(film: HTMLVideoElement, type: 'loadedmetadata' | 'seeked'): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, patienceMs);
    const end = (action: () => void) => () => {
      clearTimeout(timer);
      action();
    };
    film.addEventListener(type, end(resolve), { once: true });
    film.addEventListener('error', end(reject), { once: true });
  });
}
