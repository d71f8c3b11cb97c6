import { eventVariable } from '../../events/variables.ts';
import { isJson } from '../../lib/json.ts';
import { parseTemplate } from '../../lib/text-template.ts';
import { escapeXmlQuoted } from '../../lib/xml/escape-xml.ts';
import type { Payload } from './payload.ts';

const defaultContentType = 'text/plain; charset=utf-8';

type Encode = (value: string, name: string, before: string) => string;

/**
 * A body of the user's own making. Values are encoded as its content type asks, so that a file's name cannot break out of
 * its place.
 *
 * @param headers the handler's headers, where Content-Type may stand
 */
export function createCustomPayload(text: string, headers: readonly (readonly [string, string])[]): Payload {
  const template = parseTemplate(text);
  const contentType = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? defaultContentType;
  const encode = encoderOf(contentType);
  return {
    isSingle: true,
    render([outgoing]) {
      const lookUp = (name: string) => outgoing && eventVariable(outgoing.event, name);
      const body = template.render(lookUp, encode);
      return { body: Buffer.from(body), contentType, query: [], recorded: { text: body } };
    },
  };
}

function encoderOf(contentType: string): Encode {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return encodeJson;
  if (type === 'application/xml' || type === 'text/xml' || type === 'text/html' || type.endsWith('+xml')) return escapeXmlQuoted;
  if (type === 'application/x-www-form-urlencoded') return (value) => new URLSearchParams([['', value]]).toString().slice(1);
  return (value) => value;
}

// Inside quotes the text of a string; elsewhere a value: what is JSON already (`{data_json}`, numbers) stays as it is.
function encodeJson(value: string, _name: string, before: string): string {
  const text = JSON.stringify(value);
  if (isInsideString(before)) return text.slice(1, -1);
  return isJson(value) ? value : text;
}

function isInsideString(before: string): boolean {
  return before.replace(/\\./gs, '').split('"').length % 2 === 0;
}
