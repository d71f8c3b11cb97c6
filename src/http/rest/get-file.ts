import { createHash } from 'node:crypto';
import type { Entry } from '../../files/entry.ts';
import type { FileDownload, OpenDownload } from '../../files/operations/file-download.ts';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { type ByteRange, multipartRanges, parseRange } from '../../lib/headers/byte-ranges.ts';
import { evaluateConditions, rangeApplies } from '../../lib/headers/conditional-request.ts';
import { formatReprDigest, wantsReprDigest } from '../../lib/headers/digest-fields.ts';
import { contentDisposition } from '../../lib/headers/header-fields.ts';
import { formatHttpDate } from '../../lib/headers/http-dates.ts';
import { inlineKind, mediaTypeByName } from '../../lib/media-types.ts';
import { clientGone, isClientGone, type Outgoing } from '../reply/outgoing.ts';
import type { Reply, ReplyHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type BodyPart, sendFile, sendKept } from '../reply/send-file.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { FolderRedirect, redirectFolder } from '../request/member-url.ts';
import { conditionHeaders, entryValidators, isConditional } from '../request/preconditions.ts';
import { inlineQuery } from '../request/request-target.ts';

type FileHeaders = ReplyHeaders & { etag: string };

interface PreparedBody {
  reply: { status: number; headers: ReplyHeaders };
  parts: BodyPart[];
  epilogue?: Buffer;
}

/**
 * Content security policy of files. It prevents an uploaded file from running as a page of this origin, even if the browser takes the file
 * for HTML.
 */
const filePolicy = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'";

/** Policy of a PDF for `?inline=frame`. Browsers do not show a PDF in a sandbox, so this policy has none. It allows only inline styles. */
const pdfPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; form-action 'none'; base-uri 'none'";

function fileHeaders(exchange: Exchange, entry: Entry): FileHeaders {
  const { etag, lastModifiedMs } = entryValidators(entry);
  const mediaType = mediaTypeByName(entry.name);
  const wanted = inlineQuery(exchange.target.query);
  const isInline = wanted !== null && inlineKind(mediaType) !== undefined;
  return {
    'content-type': isInline && inlineKind(mediaType) === 'text' ? 'text/plain; charset=utf-8' : mediaType,
    'content-disposition': contentDisposition(isInline ? 'inline' : 'attachment', entry.name),
    'content-security-policy': wanted === 'frame' && mediaType === 'application/pdf' ? pdfPolicy : filePolicy,
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    etag,
    'last-modified': formatHttpDate(lastModifiedMs),
  };
}

/** Handles GET and HEAD of a file, with conditions, ranges and digest (RFC 9110 §9.3.1, §13, §14). A folder's URL is redirected. */
export function getFile(exchange: Exchange): Promise<Response> {
  return exchange.isHead ? describeFile(exchange) : sendContent(exchange);
}

function describeFile(exchange: Exchange): Promise<Response> {
  const { path, files } = exchange;
  const entry = files.inspect(path, 'readFile');
  if (!entry) throw new ServiceError('not-found', 'Path not found.');
  if (entry.isFolder) throw new FolderRedirect(path);
  const headers = fileHeaders(exchange, entry);
  const reply = conditional(exchange, entry, headers) ?? { status: 200, headers: { ...headers, 'content-length': entry.sizeBytes } };
  files.emitHead(path, false);
  return respond(exchange, reply);
}

async function sendContent(exchange: Exchange): Promise<Response> {
  const { path } = exchange;
  let download: FileDownload | undefined;
  try {
    download = exchange.files.download(path);
    const { entry } = download;
    if (download.kept && isPlain(exchange)) {
      const sent = sendKept(exchange, download, () => fileHeaders(exchange, entry));
      download = undefined;
      return await sent;
    }
    const headers = fileHeaders(exchange, entry);
    const early = conditional(exchange, entry, headers);
    if (early) return await respond(exchange, early);
    if (wantsReprDigest(header(exchange, 'want-repr-digest')))
      headers['repr-digest'] = formatReprDigest(await contentSha256(exchange, download));
    const { reply, parts, epilogue } = fullOrRanges(exchange, entry, headers);
    if (parts.length === 0 || parts.some(({ range }) => range.start === 0)) await exchange.visit?.countDownload();
    return await sendFile(exchange, reply, download, parts, epilogue);
  } catch (error) {
    throw redirectFolder(path, error);
  } finally {
    download?.release();
  }
}

/** Whether a GET asks for the whole file, without conditions. */
function isPlain(exchange: Exchange): boolean {
  const { service, incoming, target } = exchange;
  // With `cors_origins`, the headers depend on the origin. For links, `server-path` is missing. In both cases the headers cannot be
  // prepared once for all requests.
  if (target.query !== '' || target.kind === 'link' || service.options.cors_origins.length > 0) return false;
  const { range, 'want-repr-digest': wantedDigest } = incoming.headers;
  return range === undefined && wantedDigest === undefined && !isConditional(exchange);
}

function conditional(exchange: Exchange, { modifiedMs }: Entry, headers: FileHeaders): Reply | undefined {
  const { etag, 'last-modified': lastModified, 'cache-control': cacheControl } = headers;
  const current = { etag, lastModifiedMs: modifiedMs };
  const verdict = evaluateConditions({ method: exchange.method, headers: conditionHeaders(exchange), current });
  if (verdict === 'proceed') return undefined;
  if (verdict === 'precondition-failed') throw new ServiceError('precondition-failed', 'A precondition of the request failed.');
  return { status: 304, headers: { etag, 'last-modified': lastModified, 'cache-control': cacheControl } };
}

function fullOrRanges(exchange: Exchange, entry: Entry, headers: FileHeaders): PreparedBody {
  const ranges = requestedRanges(exchange, entry, headers);
  if (ranges === undefined) {
    headers['content-length'] = entry.sizeBytes;
    const parts = entry.sizeBytes === 0 ? [] : [{ preamble: undefined, range: { start: 0, end: entry.sizeBytes - 1 } }];
    return { reply: { status: 200, headers }, parts };
  }
  const [only] = ranges;
  if (ranges.length === 1 && only) {
    headers['content-range'] = `bytes ${only.start}-${only.end}/${entry.sizeBytes}`;
    headers['content-length'] = only.end - only.start + 1;
    return { reply: { status: 206, headers }, parts: [{ preamble: undefined, range: only }] };
  }
  const { parts, epilogue, contentType, lengthBytes } = multipartRanges(String(headers['content-type']), ranges, entry.sizeBytes);
  const reply = { status: 206, headers: { ...headers, 'content-type': contentType, 'content-length': lengthBytes } };
  return { reply, parts, epilogue };
}

function requestedRanges(exchange: Exchange, { sizeBytes, modifiedMs }: Entry, { etag }: FileHeaders): ByteRange[] | undefined {
  const range = header(exchange, 'range');
  if (range === undefined || !rangeApplies(header(exchange, 'if-range'), { etag, lastModifiedMs: modifiedMs })) return undefined;
  const ranges = parseRange(range, sizeBytes);
  if (ranges !== 'unsatisfiable') return ranges;
  throw new ServiceError('range-not-satisfiable', 'The file does not have the requested range.', {
    details: { content_range: `bytes */${sizeBytes}` },
  });
}

async function contentSha256({ outgoing, visit }: Exchange, download: FileDownload): Promise<Buffer> {
  if (download.kept) return createHash('sha256').update(download.kept.content).digest();
  const endTurn = await visit?.takeTurn();
  try {
    return await readSha256(outgoing, download);
  } finally {
    endTurn?.();
  }
}

async function readSha256(outgoing: Outgoing, download: OpenDownload): Promise<Buffer> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(256 * 1024);
  for (let position = 0; position < download.entry.sizeBytes; ) {
    const { bytesRead } = await readAsync(download.fd, buffer, 0, buffer.length, position);
    if (isClientGone(outgoing)) {
      download.end('client-gone');
      throw clientGone();
    }
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest();
}
