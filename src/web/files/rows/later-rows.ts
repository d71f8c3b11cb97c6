import { notice } from '../../shared/notices.ts';
import { inFrames } from '../frames.ts';
import { text } from '../language.ts';
import { reasonOf, send } from '../server.ts';
import { makeRow, memberOf, type Row } from './row-cells.ts';

/** A row as the service sends it in a line. */
type Line = [name: string, look: string, sizeBytes: number, modified: number];

/**
 * All rows of a page that was sent without most of them: first the ones that it has, if they are still true.
 *
 * @param sent what the page was sent with
 * @returns undefined when the others cannot be had, which the reader has been told
 */
export async function laterRows(page: URL, sent: readonly Row[]): Promise<Row[] | undefined> {
  const lines = await fetchLines(page);
  if (!lines) return undefined;
  return new Promise((resolve) => {
    const rows: Row[] = [];
    const add = (line: string) => {
      const [name, look, sizeBytes, modified] = JSON.parse(line) as Line;
      const before = sent[rows.length];
      const isSame = before !== undefined && memberOf(before).name === name;
      rows.push(isSame ? before : makeRow({ name, isFolder: look === 'folder', sizeBytes, modified, look }));
    };
    inFrames(lines, add, () => resolve(rows));
  });
}

async function fetchLines(page: URL): Promise<string[] | undefined> {
  const url = new URL(page);
  url.searchParams.set('rows', 'lines');
  let problem: string;
  try {
    const reply = await send('GET', url.href, { headers: { accept: 'application/x-ndjson' } });
    if (reply.ok) return (await reply.text()).split('\n').slice(0, -1);
    problem = await reasonOf(reply);
  } catch {
    problem = text('noConnection');
  }
  notice(text('error', { reason: problem }), 'error');
  return undefined;
}
