import { byId } from './dom.ts';
import { canPreview } from './file-kind.ts';
import { whenLayerIsAsked } from './navigation/history.ts';
import { loadPart } from './parts.ts';
import { nameOf, type Row, shownRows } from './rows.ts';

async function open(row: Row): Promise<void> {
  const part = await loadPart(() => import('./preview.ts'));
  if (part && row.isConnected && !document.querySelector('dialog[open]')) part.showPreview(row);
}

/** Opens previews on a plain click; with a modifier the browser does what it always does. */
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
  const row = shownRows().find((candidate) => nameOf(candidate) === name && canPreview(candidate));
  if (row) void open(row);
  return row !== undefined;
}
