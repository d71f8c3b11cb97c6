import type { VirtualPath } from '../lib/virtual-path.ts';
import { clientOf, type Exchange } from './exchange.ts';
import { takeFlash } from './flash.ts';
import { sendChunks } from './folder-listing.ts';
import { listingPage } from './pages/listing-page.ts';
import { pageHeaders } from './pages/page-headers.ts';
import type { alreadySent, Reply } from './reply.ts';
import { serverPathOf } from './request-target.ts';
import { triggersOf } from './triggers.ts';

/** GET and HEAD of a folder as a page. */
export async function sendHtmlListing(exchange: Exchange, path: VirtualPath): Promise<Reply | typeof alreadySent> {
  const { files, account, session } = clientOf(exchange);
  const { flash, clearCookie } = takeFlash(exchange);
  const model = {
    path,
    entries: files.openListing(path),
    accountName: account.name,
    mayWrite: account.permissions.allows(path, 'write'),
    mayCreateFolder: account.permissions.allows(path, 'create-folder'),
    mayDelete: account.permissions.allows(path, 'delete-file') || account.permissions.allows(path, 'delete-folder'),
    triggers: triggersOf(exchange),
    flash,
    hasSession: session !== undefined,
  };
  return sendChunks(exchange, { ...pageHeaders(), 'server-path': serverPathOf(path), 'set-cookie': clearCookie }, listingPage(model));
}
