import type { Entry } from '../../files/entry.ts';
import type { FileLock } from '../../files/locks/lock-store.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { element, writeXml, type XmlNode } from '../../lib/xml/xml-writer.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';

/** One lock as `activelock` (RFC 4918 §14.1). @param href URL of the locked resource as this client knows it */
export function activeLock({ owner, isDeep, expiresMs, token }: FileLock, href: string, nowMs: number): XmlNode {
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

/** Values of `lockdiscovery` (RFC 4918 §15.8) for a resource and its members. */
export interface LockDiscovery {
  self: string;
  ofMember: (entry: Entry) => string;
}

/** Looks up all locks that a PROPFIND will show, before it begins to write. */
export async function lockDiscoveryOf(exchange: Exchange, path: VirtualPath, isFolder: boolean): Promise<LockDiscovery> {
  const nowMs = exchange.service.clock.nowMs();
  const locked = clientOf(exchange).files.locksOf(path);
  const own = await locked.covering();
  const below = await locked.onMembers();
  const href = urlPathOf(path, isFolder);
  const write = (locks: readonly FileLock[], at: string) =>
    locks.length === 0 ? '' : writeXml(locks.map((lock) => activeLock(lock, at, nowMs)));
  const inherited = write(
    own.filter((lock) => lock.isDeep),
    href,
  );
  return {
    self: write(own, href),
    ofMember: ({ name, isFolder: isSubFolder }) => inherited + write(below.get(name) ?? [], urlPathOf(memberPath(path, name), isSubFolder)),
  };
}
