import { text } from '../language.ts';
import { placedRows } from '../rows/row-window.ts';
import { isFolder, type Member, type Row, rowLink, rowMember, whenRowIsPlaced } from '../rows/rows.ts';

export const linksUrl = '/home/__svc__/links';

/** Paths that the account shares; undefined until they are known. */
let shared: ReadonlySet<string> | undefined;

/** Returns the virtual path of a member. */
export function memberPath({ name, folder }: Pick<Member, 'name' | 'folder'>): string {
  return `/${folder.split('/').slice(2).map(decodeURIComponent).join('/')}${name}`;
}

function mark(row: Row): void {
  if (!shared || !isFolder(row)) return;
  const isShared = shared.has(memberPath(rowMember(row)));
  const link = rowLink(row);
  link.classList.toggle('shared', isShared);
  if (isShared) link.setAttribute('aria-description', text('isShared'));
}

/** Forgets the shared paths, so that they are fetched again for the next folder. */
export function forgetShared(): void {
  shared = undefined;
}

/**
 * Shows shared folders with a different icon, now and when rows are added.
 *
 * @param isChanged whether the links have changed, so that they must be fetched again
 */
export async function markShared(isChanged: boolean): Promise<void> {
  if (!isChanged) whenRowIsPlaced(mark);
  try {
    if (isChanged || !shared) {
      const reply = await fetch(linksUrl, { headers: { accept: 'application/json' } });
      const { links } = (await reply.json()) as { links: { path: string }[] };
      shared = new Set(links.map(({ path }) => path));
    }
  } catch {
    // The icons are optional: the page "Shared" lists the links.
  }
  placedRows().forEach(mark);
}
