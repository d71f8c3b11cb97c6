import { isDrawable } from './drawing-cost.ts';

/** Bytes up to which a drawing is shown. */
export const mostDrawingBytes = 5_000_000;

/** What the namespaces of SVG and of HTML have in common. */
const namespaces = new TextEncoder().encode('w3.org/');

/** Whether a drawing (SVG) may be shown. @param bytes are changed; undefined as outcome when it is none */
export async function judgeDrawing(bytes: Uint8Array<ArrayBuffer>): Promise<'drawable' | 'too much' | undefined> {
  const drawing = await parsed(bytes);
  if (!drawing || drawing.querySelector('parsererror')) return undefined;
  return isDrawable(drawing) ? 'drawable' : 'too much';
}

/**
 * Parses a drawing without its namespaces, so that nothing in it means anything to the browser. By a request, as the page's policy refuses texts to
 * the DOM's own parser.
 */
function parsed(bytes: Uint8Array<ArrayBuffer>): Promise<Document | undefined> {
  const [first, ...rest] = namespaces;
  for (let at = bytes.indexOf(first as number); at !== -1; at = bytes.indexOf(first as number, at + 1))
    if (rest.every((byte, index) => bytes[at + 1 + index] === byte)) bytes[at] = 0x2d;
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/xml' }));
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('GET', url);
    request.responseType = 'document';
    request.onloadend = () => {
      URL.revokeObjectURL(url);
      resolve(request.responseXML ?? undefined);
    };
    request.send();
  });
}
