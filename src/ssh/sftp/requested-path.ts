import { pathFromSegments, type VirtualPath } from '../../lib/virtual-path.ts';

/**
 * The path that a client means: relative ones begin at the root, which is where a client is; `..` stops there.
 *
 * @throws ServiceError `name-invalid` for a name that is too long
 */
export function requestedPath(text: string): VirtualPath {
  const segments: string[] = [];
  for (const segment of text.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return pathFromSegments(segments);
}
