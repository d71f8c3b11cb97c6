import { recordChange } from '../../events/dispatcher.ts';
import type { Entry } from '../../files/entry.ts';
import type { FileLock, LockOwner } from '../../files/locks/lock-store.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { XmlElement } from '../../lib/xml/xml-parser.ts';
import { element, writeXml, type XmlNode, xmlDeclaration } from '../../lib/xml/xml-writer.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { preconditions } from '../request/preconditions.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { xmlContentType } from './dav-properties.ts';
import { davChild, davNamespace, readXmlBody } from './webdav-xml.ts';

/** Writes a lock as `activelock` (RFC 4918 §14.1). @param href URL of the locked resource, as this client sees it */
function activeLock({ owner, isDeep, expiresMs, token }: FileLock, href: string, nowMs: number): XmlNode {
  const link = (url: string) => [element('D:href', url)];
  return element('D:activelock', [
    element('D:locktype', [element('D:write', '')]),
    element('D:lockscope', [element('D:exclusive', '')]),
    element('D:depth', isDeep ? 'infinity' : '0'),
    ...(owner ? [element('D:owner', owner.isLink ? link(owner.text) : owner.text)] : []),
    element('D:timeout', `Second-${Math.max(0, Math.round((expiresMs - nowMs) / 1000))}`),
    element('D:locktoken', link(token)),
    element('D:lockroot', link(href)),
  ]);
}

/** Values of `lockdiscovery` (RFC 4918 §15.8) for a resource and for its members. */
interface LockDiscovery {
  self: string;
  ofMember: (entry: Entry) => string;
}

/** Reads all locks that a PROPFIND shows. Called before the reply begins. */
export async function discoverLocks(exchange: Exchange, path: VirtualPath, isFolder: boolean): Promise<LockDiscovery> {
  const nowMs = exchange.service.clock.nowMs();
  const locked = exchange.files.locksAt(path);
  const own = await locked.covering();
  const below = await locked.onMembers();
  const href = memberUrlPath(path, isFolder);
  const write = (locks: readonly FileLock[], at: string) =>
    locks.length === 0 ? '' : writeXml(locks.map((lock) => activeLock(lock, at, nowMs)));
  const inherited = write(
    own.filter((lock) => lock.isDeep),
    href,
  );
  return {
    self: write(own, href),
    ofMember: ({ name, isFolder: isSubFolder }) =>
      inherited + write(below.get(name) ?? [], memberUrlPath(memberPath(path, name), isSubFolder)),
  };
}

/** Maximum lifetime of a lock without a refresh, in seconds. Without a limit, the locks of clients that disconnected would stay. */
const longestLockS = 3600;

/** Lifetime of a lock in seconds, if the client requests none. */
const usualLockS = 600;

/**
 * Handles LOCK (RFC 4918 §9.10) of clients of class 2 (`isClassTwo`). Takes an exclusive write lock, or refreshes a lock if the request has
 * no body. If the file does not exist yet, creates an empty file (§7.3).
 */
export async function lockMember(exchange: Exchange): Promise<Response> {
  const { path, files } = exchange;
  const isDeep = lockDepth(exchange);
  const timeoutMs = requestedTimeoutS(header(exchange, 'timeout')) * 1000;
  const verify = await preconditions(exchange, path);
  const info = await readXmlBody(exchange);
  const locked = files.lockable(path);
  const entry = files.inspect(path, 'lock');
  verify(entry);
  const isTold = files.isVisible(path);
  const isFolder = isTold ? entry?.isFolder === true : exchange.target.kind === 'member' && exchange.target.isFolder;
  if (!info) return respond(exchange, lockReply(exchange, path, await locked.refresh(timeoutMs), isFolder, 200));
  const owner = readOwner(info);
  const lock = await locked.take(isDeep, owner, timeoutMs).catch((error) => {
    // The lock can exist even though the call failed. So the request counts as a change and gets a 500. After a 503, proxies would repeat
    // the request at another node, where the client's own lock would refuse it.
    if (isServiceError(error, 'unavailable') && error.details.may_be_done === true) recordChange(exchange.request);
    throw error;
  });
  if (entry) return respond(exchange, lockReply(exchange, path, lock, isFolder, isTold ? 200 : 201));
  try {
    await createEmptyFile(exchange, path, lock);
  } catch (error) {
    await locked.release(lock.token);
    throw error;
  }
  return respond(exchange, lockReply(exchange, path, lock, false, 201));
}

async function createEmptyFile(exchange: Exchange, path: VirtualPath, lock: FileLock): Promise<void> {
  const { target } = exchange;
  if (target.kind === 'member' && target.isFolder) throw new ServiceError('parent-missing', 'The folder does not exist.');
  const upload = await exchange.files.withToken(lock.token).openUpload(path, { expectedSizeBytes: 0 });
  try {
    await upload.commit();
  } catch (error) {
    await upload.abort(error);
    throw error;
  }
}

/** Handles UNLOCK (RFC 4918 §9.11). Replies 204, or 409 if no lock of this path has the token. */
export async function unlockMember(exchange: Exchange): Promise<Response> {
  const token = /^\s*<([^<>\s]+)>\s*$/.exec(header(exchange, 'lock-token') ?? '')?.[1];
  if (token === undefined) throw new ServiceError('bad-request', 'The header Lock-Token is missing or malformed.');
  await exchange.files.lockable(exchange.path).release(token);
  return respond(exchange, { status: 204 });
}

function lockDepth(exchange: Exchange): boolean {
  const depth = (header(exchange, 'depth') ?? 'infinity').trim().toLowerCase();
  if (depth !== '0' && depth !== 'infinity') throw new ServiceError('bad-request', 'Depth must be 0 or infinity.');
  return depth === 'infinity';
}

/** Returns the first valid value of `Timeout` (RFC 4918 §10.7) in seconds, adjusted to the limits of the service. */
function requestedTimeoutS(text: string | undefined): number {
  for (const item of text?.split(',') ?? []) {
    const match = /^\s*(?:(infinite)|second-(\d{1,10}))\s*$/i.exec(item);
    if (match) return match[1] ? longestLockS : Math.min(Math.max(Number(match[2]), 1), longestLockS);
  }
  return usualLockS;
}

/**
 * Checks a LOCK body, and returns the owner in it.
 *
 * @throws ServiceError `bad-request` if it is no `lockinfo`, `unprocessable` if the requested lock is not an exclusive write lock
 */
function readOwner(info: XmlElement): LockOwner | undefined {
  if (info.namespace !== davNamespace || info.name !== 'lockinfo')
    throw new ServiceError('bad-request', 'The LOCK body must be {DAV:}lockinfo.');
  const scope = davChild(info, 'lockscope');
  const type = davChild(info, 'locktype');
  if (!scope || !type) throw new ServiceError('bad-request', 'The LOCK body lacks lockscope or locktype.');
  if (!davChild(scope, 'exclusive') || !davChild(type, 'write'))
    throw new ServiceError('unprocessable', 'Only exclusive write locks are supported.');
  const owner = davChild(info, 'owner');
  const link = owner && davChild(owner, 'href');
  const text = (link ?? owner)?.text.trim() ?? '';
  return text === '' ? undefined : { text: text.slice(0, 1000), isLink: link !== undefined };
}

function lockReply(exchange: Exchange, path: VirtualPath, lock: FileLock, isFolder: boolean, status: number): Reply {
  const active = activeLock(lock, memberUrlPath(path, isFolder), exchange.service.clock.nowMs());
  const prop = element('D:prop', [element('D:lockdiscovery', [active])], { 'xmlns:D': davNamespace });
  return {
    status,
    headers: {
      'content-type': xmlContentType,
      'lock-token': `<${lock.token}>`,
      'cache-control': 'no-store',
    },
    body: `${xmlDeclaration}${writeXml([prop])}\n`,
  };
}

/**
 * Matches programs that mount a server read-only, or not at all, if it offers no locks: macOS Finder, Windows Explorer and Microsoft
 * Office.
 */
const lockingAgents =
  /^WebDAV(?:FS|Lib)\/|^Microsoft-WebDAV-MiniRedir\/|^Microsoft Office\b|^Microsoft Data Access Internet Publishing Provider\b|\b(?:ms-office|MSOffice)\b/i;

/** Returns whether a client gets the replies of a class 2 server (RFC 4918 §18.2). Only `lockingAgents` get them. */
export function isClassTwo(exchange: Exchange): boolean {
  return exchange.service.options.webdav_compatibility && lockingAgents.test(header(exchange, 'user-agent') ?? '');
}

/**
 * Returns the reply to OPTIONS (RFC 4918 §10.1; docs/spec/webdav.md#class). Its status is 200 for some clients, because older Microsoft
 * clients accept no other.
 *
 * @param allow the methods that the URL allows
 */
export function optionsReply(exchange: Exchange, allow: string): Reply {
  const isLocking = isClassTwo(exchange);
  return { status: isLocking ? 200 : 204, headers: { allow, dav: isLocking ? '1, 2' : '1', 'ms-author-via': 'DAV' } };
}
