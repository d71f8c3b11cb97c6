import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';
import { type Property, type PropertySources, properties, propertyOf, writeProperty } from './dav-properties.ts';
import { lockDiscoveryOf } from './lock-xml.ts';
import { multistatusEnd, multistatusStart, propstat, responseXml, xmlContentType } from './multistatus.ts';
import { type PropfindRequest, propfindRequest } from './propfind-request.ts';
import { isClassTwo } from './webdav-class.ts';
import { listingDepth } from './webdav-headers.ts';
import { davNamespace, readXmlBody } from './webdav-xml.ts';

/** Writes the properties of one entry. */
type Writer = (entry: Entry, sources: PropertySources) => string;

/**
 * PROPFIND (RFC 4918 §9.1; docs/spec/webdav.md#propfind): 207, streamed, by name in blocks, so that memory does not grow with
 * the folder. A folder's URL without its final slash is answered directly, with `Content-Location`.
 */
export async function propfind(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const { target } = exchange;
  const { files } = clientOf(exchange);
  const depth = listingDepth(exchange);
  const request = propfindRequest(await readXmlBody(exchange));
  const entry = files.look(path);
  const namesFolder = target.kind === 'member' && target.isFolder;
  if (!entry || (namesFolder && !entry.isFolder)) throw new ServiceError('not-found', 'Path not found.');
  const space = asksForSpace(request) && entry.isFolder ? await spaceOf(files, path) : undefined;
  const locks = isClassTwo(exchange) ? await lockDiscoveryOf(exchange, path, entry.isFolder) : undefined;
  const write = writerOf(request);
  // The home folder has no name of its own.
  const self = path === '/' ? { ...entry, name: 'home' } : entry;
  const href = urlPathOf(path, entry.isFolder);
  const selfXml = depth.includesSelf ? responseXml(href, write(self, { space, lockDiscovery: locks && (() => locks.self) })) : '';
  const memberSources = { space, lockDiscovery: locks?.ofMember };
  const headers = {
    'content-type': xmlContentType,
    'content-location': entry.isFolder && !namesFolder ? urlPathOf(path, true) : undefined,
    'cache-control': 'no-store',
  };
  const batches = entry.isFolder && depth.includesMembers ? files.openListing(path) : undefined;
  return sendChunks(
    c,
    headers,
    multistatusChunks(href, selfXml, batches, (member) => write(member, memberSources)),
    { status: 207 },
  );
}

// A virtual folder whose real one is missing is shown, but has no disk.
async function spaceOf(files: AccountFiles, path: VirtualPath): Promise<PropertySources['space']> {
  try {
    return await files.space(path);
  } catch (error) {
    if (isServiceError(error, 'not-found')) return undefined;
    throw error;
  }
}

function asksForSpace(request: PropfindRequest): boolean {
  const names = request.kind === 'prop' ? request.names : request.kind === 'allprop' ? request.include : [];
  return names.some(({ name }) => name.startsWith('quota-'));
}

async function* multistatusChunks(
  href: string,
  selfXml: string,
  batches: AsyncIterable<Entry[]> | undefined,
  write: (member: Entry) => string,
): AsyncGenerator<string> {
  yield multistatusStart + selfXml;
  for await (const batch of batches ?? []) {
    let chunk = '';
    for (const member of batch) chunk += responseXml(hrefOfMember(href, member), write(member));
    yield chunk;
  }
  yield multistatusEnd;
}

function hrefOfMember(folder: string, member: Entry): string {
  const name = /^[\w.~-]*$/.test(member.name) ? member.name : encodeURIComponent(member.name).replaceAll("'", '%27');
  return member.isFolder ? `${folder}${name}/` : folder + name;
}

function writerOf(request: PropfindRequest): Writer {
  switch (request.kind) {
    case 'allprop': {
      const included = request.include.flatMap(({ namespace, name }) => propertyOf(namespace, name) ?? []);
      const wanted = [...new Set([...properties.filter((property) => !property.isRare), ...included])];
      return (entry, sources) => byNamespace(wanted, (property) => property.value(entry, sources));
    }
    case 'propname':
      return (entry, sources) => {
        const has = (property: Property) => (property.isRare ? entry.isFolder : property.value(entry, sources) !== undefined);
        return byNamespace(properties, (property) => (has(property) ? '' : undefined));
      };
    case 'prop':
      return namedWriter(request.names);
    default:
      return request satisfies never;
  }
}

// Many clients ignore namespaces and read the first propstat: they must not meet one name twice in it.
function byNamespace(wanted: readonly Property[], textOf: (property: Property) => string | undefined): string {
  let own = '';
  let extra = '';
  for (const property of wanted) {
    const value = textOf(property);
    if (value === undefined) continue;
    if (property.namespace === davNamespace) own += writeProperty(property, value);
    else extra += writeProperty(property, value);
  }
  return propstat(own, 200) + propstat(extra, 200);
}

// Unknown properties, and known ones that an entry does not have, are told apart from those found (RFC 4918 §9.1.1).
function namedWriter(names: { namespace: string; name: string }[]): Writer {
  const wanted = names.flatMap(({ namespace, name }) => propertyOf(namespace, name) ?? []);
  const unknown = names
    .filter(({ namespace, name }) => !propertyOf(namespace, name))
    .map((name) => writeProperty(name, ''))
    .join('');
  return (entry, sources) => {
    let found = '';
    let missing = unknown;
    for (const property of wanted) {
      const value = property.value(entry, sources);
      if (value === undefined) missing += writeProperty(property, '');
      else found += writeProperty(property, value);
    }
    if (missing === '') return propstat(found, 200);
    return (found === '' ? '' : propstat(found, 200)) + propstat(missing, 404);
  };
}
