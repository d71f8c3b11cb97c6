import { ServiceError } from '../../lib/errors.ts';
import { davChild, davNamespace, type XmlElement } from './webdav-xml.ts';

/** Name of a property. */
export interface PropertyName {
  namespace: string;
  name: string;
}

/** What a PROPFIND asks for. */
export type PropfindRequest = { kind: 'allprop'; include: PropertyName[] } | { kind: 'propname' } | { kind: 'prop'; names: PropertyName[] };

/** Most properties that one request may name: each is answered for every member of the folder. */
const maxProperties = 250;

/** Longest names of them with their namespaces together, in characters, for the same reason. */
const longestNames = 32 * 1024;

/**
 * Reads the body of a PROPFIND (RFC 4918 §9.1, §14.20). No body asks for all properties. Elements that are not known are
 * ignored (§17).
 *
 * @throws ServiceError `bad-request` when it is no `propfind` with exactly one of `allprop`, `propname` and `prop`
 */
export function propfindRequest(root: XmlElement | undefined): PropfindRequest {
  if (!root) return { kind: 'allprop', include: [] };
  if (root.namespace !== davNamespace || root.name !== 'propfind') throw malformed('The root element must be {DAV:}propfind.');
  const kinds = root.children.filter((child) => child.namespace === davNamespace && ['allprop', 'propname', 'prop'].includes(child.name));
  const [kind] = kinds;
  if (!kind || kinds.length > 1) throw malformed('There must be one of allprop, propname and prop.');
  if (kind.name === 'propname') return { kind: 'propname' };
  if (kind.name === 'prop') return { kind: 'prop', names: namesOf(kind.children) };
  return { kind: 'allprop', include: namesOf(davChild(root, 'include')?.children) };
}

/**
 * The names of the elements in a `prop` or `include`, each once.
 *
 * @throws ServiceError `bad-request` when they are too many, or too long with their namespaces
 */
export function namesOf(elements: readonly XmlElement[] = []): PropertyName[] {
  // By namespace first: one of a megabyte is not joined with each of its names.
  const seen = new Map<string, Set<string>>();
  const names: PropertyName[] = [];
  let characters = 0;
  for (const { namespace, name } of elements) {
    const ofNamespace = seen.get(namespace) ?? new Set();
    if (ofNamespace.has(name)) continue;
    seen.set(namespace, ofNamespace.add(name));
    names.push({ namespace, name });
    if (names.length > maxProperties) throw malformed(`A request may name ${maxProperties} properties.`);
    characters += namespace.length + name.length;
    if (characters > longestNames)
      throw malformed(`The names of its properties may have ${longestNames} characters with their namespaces.`);
  }
  return names;
}

function malformed(reason: string): ServiceError {
  return new ServiceError('bad-request', `The PROPFIND body is not understood: ${reason}`);
}
