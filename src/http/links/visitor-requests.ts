import { ServiceError } from '../../lib/errors.ts';
import { preferredType } from '../../lib/headers/accept-header.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import { handleFormPost } from '../html/form-post.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header, type Visit } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { linkUrlPath } from '../request/request-target.ts';
import { getFile } from '../rest/get-file.ts';
import { getFolder } from '../rest/members.ts';
import { sendZip } from '../rest/zip-download.ts';
import { dropPage, filePage } from './link-pages.ts';
import { showReceipt } from './receipt.ts';
import { isDrop } from './visit.ts';

/** Answers GET and HEAD of a link, or of a path below it (docs/spec/links.md#visitors). */
export function getLinked(exchange: Exchange): Promise<Response> {
  const { target } = exchange;
  const visit = exchange.visit as Visit;
  if (target.kind !== 'link') throw new Error('The request is not about a link.');
  // Redirect to the URL with a final slash, so that relative URLs of the page resolve to URLs below the link.
  if (target.below === '/' && !target.isFolder)
    return respond(exchange, { status: 308, headers: { location: linkUrlPath(visit.secret, target.below, true) + target.query } });
  if (isDrop(exchange)) return getDrop(exchange, visit, target.below);
  return visit.isFile ? getSharedFile(exchange, visit, target.below) : getSharedFolder(exchange, visit, target);
}

function getDrop(exchange: Exchange, visit: Visit, below: VirtualPath): Promise<Response> {
  if (below === '/receipt') return showReceipt(exchange);
  if (below !== '/') throw new ServiceError('not-found', 'Path not found.');
  if (namesJson(exchange)) return respond(exchange, jsonReply(200, shownLink(visit), uncached));
  return respond(exchange, dropPage(exchange, visit));
}

/** Sends a page or JSON to clients that ask for it. Programs such as curl and wget ask for neither, and get the file itself. */
function getSharedFile(exchange: Exchange, visit: Visit, below: VirtualPath): Promise<Response> {
  if (below !== '/') return getFile(exchange);
  const type = preferredType(header(exchange, 'accept'), ['application/octet-stream', 'text/html', 'application/json']);
  if (type === undefined || type === 'application/octet-stream') return getFile(exchange);
  visit.requireDownloads();
  const entry = exchange.files.inspect(visit.root, 'readFile');
  if (!entry) throw new ServiceError('not-found', 'Path not found.');
  if (type === 'application/json') return respond(exchange, jsonReply(200, { ...shownLink(visit), size: entry.sizeBytes }, uncached));
  return respond(exchange, filePage(exchange, visit, entry));
}

function getSharedFolder(
  exchange: Exchange,
  visit: Visit,
  { below, isFolder, query }: { below: VirtualPath; isFolder: boolean; query: string },
) {
  if (!isFolder) return getFile(exchange);
  if (query !== '' && new URLSearchParams(query).has('zip')) return sendZip(exchange);
  visit.requireDownloads();
  return getFolder(exchange, below === '/' ? shownLink(visit) : {});
}

/** Answers POST of a form. The form uploads files, or downloads members of a folder as an archive. */
export function postLinked(exchange: Exchange): Promise<Response> {
  const type = mediaTypeOfRequest(exchange);
  const isForm = type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded';
  if (!isForm || exchange.visit?.isFile) throw new ServiceError('method-not-allowed', 'POST is not supported here.');
  return handleFormPost(exchange);
}

function namesJson(exchange: Exchange): boolean {
  return preferredType(header(exchange, 'accept'), ['text/html', 'application/json']) === 'application/json';
}

function shownLink({ link, root }: Visit) {
  return {
    kind: link.link?.kind,
    name: link.link?.kind === 'drop' ? '' : baseName(root),
    size: null,
    from: link.account.name,
    expires: new Date(link.expiresMs).toISOString(),
    note: link.name,
  };
}
