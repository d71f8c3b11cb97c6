import type { Entry } from '../../files/entry.ts';
import type { FileLock } from '../../files/locks/lock-store.ts';
import { escapeXml } from '../../lib/escape-xml.ts';
import { memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';

/** One lock as `activelock` (RFC 4918 §14.1). @param href URL of the locked resource as this client knows it */
export function activeLock(lock: FileLock, href: string, nowMs: number): string {
  const { owner } = lock;
  const text = owner && escapeXml(owner.text);
  const ownerXml = text === undefined ? '' : `<D:owner>${owner?.isLink ? `<D:href>${text}</D:href>` : text}</D:owner>`;
  return `<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:exclusive/></D:lockscope><D:depth>${lock.isDeep ? 'infinity' : '0'}</D:depth>${ownerXml}<D:timeout>Second-${Math.max(0, Math.round((lock.expiresMs - nowMs) / 1000))}</D:timeout><D:locktoken><D:href>${lock.token}</D:href></D:locktoken><D:lockroot><D:href>${href}</D:href></D:lockroot></D:activelock>`;
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
  const inherited = own.filter((lock) => lock.isDeep);
  const write = (locks: readonly FileLock[], at: string) => locks.map((lock) => activeLock(lock, at, nowMs)).join('');
  return {
    self: write(own, href),
    ofMember: ({ name, isFolder: isSubFolder }) =>
      write(inherited, href) + write(below.get(name) ?? [], urlPathOf(memberPath(path, name), isSubFolder)),
  };
}
