import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { XmlElement } from '../../lib/xml/xml-parser.ts';
import { respond } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { memberUrlPath } from '../request/request-target.ts';
import {
  findProperty,
  multistatusEnd,
  multistatusStart,
  type Property,
  type PropertySources,
  properties,
  propstat,
  responseXml,
  writeProperty,
  xmlContentType,
} from './dav-properties.ts';
import { discoverLocks, isClassTwo } from './locks.ts';
import { davChild, davNamespace, readXmlBody } from './webdav-xml.ts';

const denial = 'Properties cannot be changed.';

/**
 * Refuses every PROPPATCH with 403 and event `propertiesDenied` (docs/spec/webdav.md#proppatch). With `webdav_compatibility`, the reply is
 * a multistatus with a 403 for each property (docs/spec/webdav.md#compatibility), because some clients report a plain 403 as a
 * failed upload.
 */
export async function refuseProperties(exchange: Exchange): Promise<Response> {
  const { path, files } = exchange;
  if (!exchange.service.options.webdav_compatibility) {
    await files.emitPropertiesDenied(path, denial);
    throw new ServiceError('never-allowed', denial);
  }
  const root = await readXmlBody(exchange);
  if (root?.namespace !== davNamespace || root.name !== 'propertyupdate')
    throw new ServiceError('bad-request', 'The PROPPATCH body must be {DAV:}propertyupdate.');
  const changes = root.children.filter((child) => child.namespace === davNamespace && ['set', 'remove'].includes(child.name));
  const names = propertyNames(changes.flatMap((child) => davChild(child, 'prop')?.children ?? []));
  if (names.length === 0) throw new ServiceError('bad-request', 'The PROPPATCH body names no property.');
  const entry = files.inspect(path);
  if (!entry) throw new ServiceError('not-found', 'Path not found.');
  await files.emitPropertiesDenied(path, denial);
  const denied = propstat(names.map((name) => writeProperty(name, '')).join(''), 403);
  return respond(exchange, {
    status: 207,
    headers: { 'content-type': xmlContentType, 'cache-control': 'no-store' },
    body: multistatusStart + responseXml(memberUrlPath(path, entry.isFolder), denied) + multistatusEnd,
  });
}

interface PropertyName {
  namespace: string;
  name: string;
}

/** The parsed body of a PROPFIND. */
type PropfindRequest = { kind: 'allprop'; include: PropertyName[] } | { kind: 'propname' } | { kind: 'prop'; names: PropertyName[] };

/** Maximum number of properties in one request, because the reply repeats them for every member of the folder. */
const maxProperties = 250;

/** Maximum number of characters of all names and namespaces in one request, because the reply repeats these, too. */
const longestNames = 32 * 1024;

/**
 * Reads the body of a PROPFIND (RFC 4918 §9.1, §14.20). Without a body, all properties are requested. Unknown elements are ignored (§17).
 *
 * @throws ServiceError `bad-request` unless the body is a `propfind` with exactly one of `allprop`, `propname` and `prop`
 */
export function propfindRequest(root: XmlElement | undefined): PropfindRequest {
  if (!root) return { kind: 'allprop', include: [] };
  if (root.namespace !== davNamespace || root.name !== 'propfind') throw malformed('The root element must be {DAV:}propfind.');
  const kinds = root.children.filter((child) => child.namespace === davNamespace && ['allprop', 'propname', 'prop'].includes(child.name));
  const [kind] = kinds;
  if (!kind || kinds.length > 1) throw malformed('There must be exactly one of allprop, propname and prop.');
  if (kind.name === 'propname') return { kind: 'propname' };
  if (kind.name === 'prop') return { kind: 'prop', names: propertyNames(kind.children) };
  return { kind: 'allprop', include: propertyNames(davChild(root, 'include')?.children) };
}

/**
 * Returns the names of the elements in a `prop` or `include`, without duplicates.
 *
 * @throws ServiceError `bad-request` if the names are too many or too long
 */
export function propertyNames(elements: readonly XmlElement[] = []): PropertyName[] {
  // The names of each namespace are in a set of their own. Joining each name with a namespace of a megabyte would take too long.
  const seen = new Map<string, Set<string>>();
  const names: PropertyName[] = [];
  let characters = 0;
  for (const { namespace, name } of elements) {
    const ofNamespace = seen.get(namespace) ?? new Set();
    if (ofNamespace.has(name)) continue;
    seen.set(namespace, ofNamespace.add(name));
    names.push({ namespace, name });
    if (names.length > maxProperties) throw malformed(`A request may name at most ${maxProperties} properties.`);
    characters += namespace.length + name.length;
    if (characters > longestNames)
      throw malformed(`The names of its properties, with their namespaces, may have at most ${longestNames} characters.`);
  }
  return names;
}

function malformed(reason: string): ServiceError {
  return new ServiceError('bad-request', `The XML body is not understood: ${reason}`);
}

interface ListingDepth {
  includesSelf: boolean;
  includesMembers: boolean;
}

/**
 * Reads the header `Depth` of a PROPFIND (docs/spec/webdav.md#propfind): 0 or 1, optionally with `noroot`. `infinity` and a missing header
 * count as 1.
 *
 * @throws ServiceError `bad-request`
 */
export function listingDepth(exchange: Exchange): ListingDepth {
  const match = /^(0|1|infinity)(\s*,\s*noroot)?$/i.exec((header(exchange, 'depth') ?? '1').trim());
  if (!match) throw new ServiceError('bad-request', 'Depth must be 0, 1 or infinity, with ",noroot" or without.');
  return { includesSelf: match[2] === undefined, includesMembers: match[1] !== '0' };
}

type Writer = (entry: Entry, sources: PropertySources) => string;

/**
 * Handles PROPFIND (RFC 4918 §9.1; docs/spec/webdav.md#propfind). It streams the 207 reply in blocks, in the order of `openListing`, so
 * memory use does not grow with the folder. A folder's URL without the final slash gets the same reply, with `Content-Location`.
 */
export async function propfind(exchange: Exchange): Promise<Response> {
  const { path, target, files } = exchange;
  const depth = listingDepth(exchange);
  const request = propfindRequest(await readXmlBody(exchange));
  const entry = files.inspect(path);
  const namesFolder = target.kind === 'member' && target.isFolder;
  if (!entry || (namesFolder && !entry.isFolder)) throw new ServiceError('not-found', 'Path not found.');
  const space = asksForSpace(request) && entry.isFolder ? await folderSpace(files, path) : undefined;
  const locks = isClassTwo(exchange) ? await discoverLocks(exchange, path, entry.isFolder) : undefined;
  const write = propertyWriter(request);
  // The home folder has no name of its own.
  const self = path === '/' ? { ...entry, name: 'home' } : entry;
  const href = memberUrlPath(path, entry.isFolder);
  const selfXml = depth.includesSelf ? responseXml(href, write(self, { space, lockDiscovery: locks && (() => locks.self) })) : '';
  const memberSources = { space, lockDiscovery: locks?.ofMember };
  const headers = {
    'content-type': xmlContentType,
    'content-location': entry.isFolder && !namesFolder ? memberUrlPath(path, true) : undefined,
    'cache-control': 'no-store',
  };
  const batches = entry.isFolder && depth.includesMembers ? files.openListing(path) : undefined;
  return sendChunks(
    exchange,
    headers,
    multistatusChunks(href, selfXml, batches, (member) => write(member, memberSources)),
    { status: 207 },
  );
}

// A virtual folder is listed even if its real folder is missing, but then its disk space is unknown.
async function folderSpace(files: AccountFiles, path: VirtualPath): Promise<PropertySources['space']> {
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

function propertyWriter(request: PropfindRequest): Writer {
  switch (request.kind) {
    case 'allprop': {
      const included = request.include.flatMap(({ namespace, name }) => findProperty(namespace, name) ?? []);
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

// Writes one propstat per namespace. Many clients ignore namespaces and read only the first propstat, so no name may occur twice in it.
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

// Writes a separate propstat with 404 for unknown properties, and for properties that an entry does not have (RFC 4918 §9.1.1).
function namedWriter(names: { namespace: string; name: string }[]): Writer {
  const wanted = names.flatMap(({ namespace, name }) => findProperty(namespace, name) ?? []);
  const unknown = names
    .filter(({ namespace, name }) => !findProperty(namespace, name))
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
