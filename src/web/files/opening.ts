import { byId } from '../shared/dom.ts';
import { loadPart } from '../shared/parts.ts';
import { canPreview, kindOf } from './file-kind.ts';
import { whenLayerIsAsked } from './navigation/history.ts';
import { isThere, nameOf, type Row, shownRows } from './rows/rows.ts';

async function open(row: Row): Promise<void> {
  if (kindOf(row) === 'audio') {
    const part = await loadPart(() => import('./player/player.ts'));
    return part?.playFrom(row);
  }
  const part = await loadPart(() => import('./viewer/viewer.ts'));
  if (part && isThere(row) && !document.querySelector('dialog[open]')) part.showFile(row);
}

/** Opens files on a plain click; with a modifier the browser does what it always does. */
export function startOpening(): void {
  byId('list').addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('#list tbody a') : null;
    const row = link?.closest<Row>('tr');
    if (!row || !canPreview(row) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void open(row);
  });
  whenLayerIsAsked(openNamed);
}

function openNamed(name: string): boolean {
  const row = shownRows().find((candidate) => nameOf(candidate) === name);
  const isShown = row !== undefined && canPreview(row) && kindOf(row) !== 'audio';
  if (isShown) void open(row);
  return isShown;
}
