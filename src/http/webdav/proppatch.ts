import { ServiceError } from '../../lib/errors.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { clientOf } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';
import { writeProperty } from './dav-properties.ts';
import { multistatusEnd, multistatusStart, propstat, responseXml, xmlContentType } from './multistatus.ts';
import { namesOf } from './propfind-request.ts';
import { davChild, davNamespace, readXmlBody } from './webdav-xml.ts';

const denial = 'Properties cannot be changed.';

/**
 * PROPPATCH: always 403 (docs/spec/webdav.md#proppatch), event `propertiesDenied`. With `webdav_compatibility` the 403 stands in a multistatus, once for
 * each property (docs/spec/webdav.md#compatibility), since some clients take a bare 403 for a failed upload.
 */
export async function refuseProperties(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const { files } = clientOf(exchange);
  if (!exchange.service.options.webdav_compatibility) {
    await files.noteDeniedProperties(path, denial);
    throw new ServiceError('never-allowed', denial);
  }
  const root = await readXmlBody(exchange);
  if (root?.namespace !== davNamespace || root.name !== 'propertyupdate')
    throw new ServiceError('bad-request', 'The PROPPATCH body must be {DAV:}propertyupdate.');
  const changes = root.children.filter((child) => child.namespace === davNamespace && ['set', 'remove'].includes(child.name));
  const names = namesOf(changes.flatMap((child) => davChild(child, 'prop')?.children ?? []));
  if (names.length === 0) throw new ServiceError('bad-request', 'The PROPPATCH body names no property.');
  const entry = files.look(path);
  if (!entry) throw new ServiceError('not-found', 'Path not found.');
  await files.noteDeniedProperties(path, denial);
  const denied = propstat(names.map((name) => writeProperty(name, '')).join(''), 403);
  return respond(c, {
    status: 207,
    headers: { 'content-type': xmlContentType, 'cache-control': 'no-store' },
    body: multistatusStart + responseXml(urlPathOf(path, entry.isFolder), denied) + multistatusEnd,
  });
}
