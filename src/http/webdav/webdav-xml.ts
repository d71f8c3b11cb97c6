import { ServiceError } from '../../lib/errors.ts';
import { parseXml, type XmlElement } from '../../lib/xml/xml-parser.ts';
import type { Exchange } from '../request/exchange.ts';
import { readSmallBody } from '../request/request-body.ts';

/** The namespace of RFC 4918. */
export const davNamespace = 'DAV:';

/**
 * Reads the XML body of a request.
 *
 * @returns the root element; undefined without a body
 * @throws ServiceError `bad-request` for a malformed document, a document type or an undeclared prefix; `too-large` above 1 MiB
 */
export async function readXmlBody(exchange: Exchange): Promise<XmlElement | undefined> {
  const bytes = await readSmallBody(exchange);
  return bytes.length === 0 ? undefined : parseXml(decode(bytes));
}

// XML processors must read UTF-8 and UTF-16 (RFC 4918 §8.2).
function decode(bytes: Buffer): string {
  const encoding = bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ServiceError('bad-request', 'The request body is not valid Unicode.', { cause: error });
  }
}

/** Returns the first child with this name in the namespace of RFC 4918. */
export function davChild(element: XmlElement, name: string): XmlElement | undefined {
  return element.children.find((child) => child.namespace === davNamespace && child.name === name);
}
