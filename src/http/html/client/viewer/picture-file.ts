import { make } from '../dom.ts';
import { kindOf } from '../file-kind.ts';
import { text } from '../language.ts';
import { previewText } from '../previews/preview-text.ts';
import { linkOf, nameOf, type Row } from '../rows.ts';
import { reasonFor, scriptHeaders, send } from '../server.ts';
import { headBytes, pictureHead } from '../thumbnails/picture-head.ts';

/** Pixels up to which a picture is shown: unpacked, each takes four bytes of memory. */
const mostPixels = 100_000_000;

/** Bytes up to which a picture is fetched before somebody asks for it. */
const mostAhead = 30_000_000;

/** A picture that the browser is loading, or what stands in the way, for people. */
type Picture = HTMLImageElement | string;

/** The picture that is shown, and those beside it. */
const near = new Map<Row, Promise<Picture>>();

/** Begins to load the pictures beside the one that is shown, and forgets all others. Nobody is asked for a password because of them. */
export function fetchAhead(shown: Row, beside: readonly Row[]): void {
  for (const row of near.keys()) if (row !== shown && !beside.includes(row)) near.delete(row);
  for (const row of beside) {
    if (kindOf(row) !== 'image' || near.has(row) || Number(row.dataset.size) > mostAhead) continue;
    near.set(
      row,
      begin(row, (url, headers) => fetch(url, { headers: { ...scriptHeaders, ...headers } })),
    );
  }
}

/** Forgets all pictures. */
export function forgetPictures(): void {
  near.clear();
}

/** Loads a picture; what stood in the way when it was fetched ahead may be over. */
export async function pictureOf(row: Row): Promise<Picture> {
  const known = await near.get(row);
  if (known instanceof HTMLImageElement) return known;
  const picture = begin(row, (url, headers) => send('GET', url, { headers }));
  near.set(row, picture);
  return picture;
}

// The browser loads the picture by itself, which could not ask for the password in the page, and would unpack whatever comes: so its
// beginning is looked at first.
async function begin(row: Row, ask: (url: string, headers: Record<string, string>) => Promise<Response>): Promise<Picture> {
  const url = `${linkOf(row).pathname}?inline`;
  try {
    const reply = await ask(url, { range: `bytes=0-${headBytes - 1}` });
    // An empty file has no such range.
    if (reply.status === 416) return previewText('brokenPicture');
    if (!reply.ok) return reply.status === 404 ? text('gone') : reasonFor(reply.status, undefined);
    const head = pictureHead(new Uint8Array(await reply.arrayBuffer()));
    const { width = 0, height = 0 } = head ?? {};
    if (width * height > mostPixels) return previewText('tooManyPixels', { width, height });
  } catch {
    return text('noConnection');
  }
  return make('img', { src: url, alt: nameOf(row), draggable: false });
}
