import type { RecentChange } from '../../events/recent-changes.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { inTurns } from '../../lib/turns/in-turns.ts';
import { parentPath, parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { HttpContext } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { clientOf } from '../request/exchange.ts';
import { accountOfPage, pageContextOf } from './page-replies.ts';
import { pageHeaders } from './pages/page-headers.ts';
import { recentPage, type ShownChange } from './pages/recent-page.ts';

/** GET of the page of what the account changed lately (docs/spec/http.md#recent-changes): as far as it may still see it, and as it is now. */
export async function showRecent(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const account = accountOfPage(exchange);
  if (!account.maySeeRecent) throw new ServiceError('never-allowed', 'Recent changes are not shown to this account.');
  const client = clientOf(exchange);
  const changes: ShownChange[] = [];
  for await (const change of inTurns(await exchange.service.recentChanges(client.account.uuid))) {
    const shown = shownChange(client.files, change);
    if (shown) changes.push(shown);
  }
  return respond(c, { status: 200, headers: pageHeaders(), body: recentPage(pageContextOf(exchange), { changes, account }) });
}

function shownChange(files: AccountFiles, { kind, path: changed, destination, isFolder, atMs }: RecentChange): ShownChange | undefined {
  const path = pathOf(destination ?? changed);
  const found = path && look(files, path);
  if (!path || !found) return undefined;
  const { entry } = found;
  const folder = parentPath(path);
  const isThere = entry !== undefined && (isFolder === undefined || entry.isFolder === isFolder);
  const from = destination === undefined ? undefined : pathOf(changed);
  return {
    kind,
    atMs,
    path,
    isFolder: entry?.isFolder ?? isFolder ?? false,
    isThere,
    isLinked: isThere && files.may(path, entry.isFolder ? 'listFolder' : 'readFile'),
    folder,
    isFolderLinked: files.may(folder, 'listFolder'),
    from: from && files.may(from, 'lookAtFile') ? from : undefined,
  };
}

/** @returns undefined for what the account may not see at present */
function look(files: AccountFiles, path: VirtualPath): { entry: Entry | undefined } | undefined {
  try {
    return { entry: files.look(path) };
  } catch (error) {
    if (isServiceError(error)) return undefined;
    throw error;
  }
}

function pathOf(text: string): VirtualPath | undefined {
  try {
    return parseVirtualPath(text);
  } catch {
    return undefined;
  }
}
