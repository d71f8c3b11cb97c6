import { isDeepStrictEqual } from 'node:util';
import type { EventServer, ServiceEvent } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { allTimestamps } from '../../events/timestamps.ts';
import { eventVariable } from '../../events/variables.ts';
import { isJson, isObject } from '../../lib/json.ts';
import { parseTemplate } from '../../lib/text-template.ts';
import { escapeXmlQuoted } from '../../lib/xml/escape-xml.ts';
import { element, writeXml, type XmlNode, xmlDeclaration } from '../../lib/xml/xml-writer.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { OutgoingEvent, Payload } from './payload.ts';
import { createExtraData, type ExtraData, withoutSecrets } from './payload-extra-data.ts';

/** A 403 of the authentication endpoint: its body stands in `data.response`. */
const forbiddenEvent = String(eventIds.authenticationForbidden);

/**
 * An event as receivers may see it: `code` and `extra` of a 403 stand in the journal alone
 * (docs/spec/authentication.md#refusal-by-the-endpoint).
 */
export function publicEvent<T extends OutgoingEvent>(outgoing: T): T {
  const { event } = outgoing;
  if (event.id !== forbiddenEvent) return outgoing;
  const { response, ...data } = event.data;
  const shown = publicResponse(response);
  const shownEvent: ServiceEvent = { ...event, data: shown === undefined ? data : { ...data, response: shown } };
  return { ...outgoing, event: shownEvent, raw: Buffer.from(JSON.stringify(shownEvent)) };
}

function publicResponse(response: unknown): unknown {
  // A text that was to be JSON may hold both, in a form that nobody can tell.
  if (typeof response === 'string') return /^[[{]/.test(response) ? undefined : response;
  if (!isObject(response)) return undefined;
  const { code: _code, extra: _extra, ...members } = response;
  return members;
}

/** Namespace of the event elements; `examples/webhooks/events.xsd` describes them. */
const eventsNamespace = 'urn:svc:events:1';
const soapNamespace = 'http://www.w3.org/2003/05/soap-envelope';

// ASCII only, which every parser takes; names that begin with "xml" are reserved (XML 1.0 §2.3).
const xmlName = /^(?!xml)[a-z_][a-z0-9_.-]*$/i;

/** A SOAP 1.2 envelope whose body holds `Events` and, beside it, the members of `extra_data` (docs/spec/delivery.md#xml-bodies). */
function createSoapPayload(extraData: ExtraData): Payload {
  return {
    isSingle: extraData.hasEventVariables,
    render(events) {
      const members = extraData.isEmpty ? {} : extraData.render(events[0]?.event);
      const extra = Object.entries(members).map(([name, value]) => memberOf(name, value, { xmlns: eventsNamespace }));
      const all = element(
        'Events',
        events.map(({ event }) => eventElement(event)),
        { xmlns: eventsNamespace },
      );
      const envelope = element('soap:Envelope', [element('soap:Body', [all, ...extra])], { 'xmlns:soap': soapNamespace });
      const text = `${xmlDeclaration}${writeXml([envelope])}\n`;
      return { body: Buffer.from(text), contentType: 'application/soap+xml; charset=utf-8', query: [], recorded: { text } };
    },
  };
}

function eventElement(event: ServiceEvent): XmlNode {
  const { id, uuid, message, timestamp, data, account, component, server } = event;
  const members = {
    id,
    uuid,
    message,
    created: timestamp.timestamp,
    // Local time stays that of the server that wrote the event.
    timestamp: { ...allTimestamps(timestamp.timestamp), cwa_14051: timestamp.cwa_14051 },
    data,
    account,
    component,
    server,
  };
  return element('Event', membersOf(members));
}

function membersOf(value: object): XmlNode[] {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => memberOf(name, member));
}

function memberOf(name: string, value: unknown, attributes?: Record<string, string>): XmlNode {
  if (xmlName.test(name)) return element(name, contentOf(value), attributes);
  return element('member', contentOf(value), { ...attributes, name });
}

function contentOf(value: unknown): string | XmlNode[] {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((item: unknown) => memberOf('item', item));
  return typeof value === 'object' ? membersOf(value) : String(value);
}

const head = '{"events":[';
const headBytes = Buffer.from(head);
const comma = Buffer.from(',');

/** `{"events": […], "server": {…}, …extra_data}`; the events are the journal's lines, byte for byte. */
function createJsonPayload(extraData: ExtraData, server: EventServer): Payload {
  const root = `],"server":${JSON.stringify({ uuid: server.uuid, name: server.name })}`;
  const tailOf = (members: Record<string, unknown>) => {
    const text = JSON.stringify(members);
    return `${root}${text === '{}' ? '' : `,${text.slice(1, -1)}`}}`;
  };
  const fixed = extraData.hasEventVariables ? undefined : tailOf(extraData.render(undefined));
  return {
    isSingle: extraData.hasEventVariables,
    render(events) {
      const after = fixed ?? tailOf(extraData.render(events[0]?.event));
      const pieces = events.flatMap(({ raw }, index) => (index === 0 ? [raw] : [comma, raw]));
      return {
        body: Buffer.concat([headBytes, ...pieces, Buffer.from(after)]),
        contentType: 'application/json',
        query: [],
        recorded: { before: head, after },
      };
    },
  };
}

const defaultContentType = 'text/plain; charset=utf-8';

type Encode = (value: string, name: string, before: string) => string;

/**
 * A body of the user's own making. Values are encoded as its content type asks, so that a file's name cannot break out of
 * its place.
 *
 * @param headers the handler's headers, where Content-Type may stand
 */
function createCustomPayload(text: string, headers: readonly (readonly [string, string])[]): Payload {
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

/** What a payload is made of. */
export type PayloadOptions = Pick<EventHandlerOptions, 'http_content_type' | 'request_method' | 'extra_data' | 'custom_body' | 'headers'>;

/** The payload that a handler's options ask for. It shows of events what receivers may see, and keeps no secrets of `extra_data`. */
export function createPayload(options: PayloadOptions, server: EventServer): Payload {
  const { isSingle, render } = payloadOf(options, server);
  const shown = withoutSecrets(options.extra_data);
  const kept = isDeepStrictEqual(shown, options.extra_data) ? undefined : payloadOf({ ...options, extra_data: shown }, server);
  return {
    isSingle,
    render(events) {
      const outgoing = events.map(publicEvent);
      const rendered = render(outgoing);
      return kept ? { ...rendered, recorded: kept.render(outgoing).recorded } : rendered;
    },
  };
}

function payloadOf(options: PayloadOptions, server: EventServer): Payload {
  const extraData = createExtraData(options.extra_data, server);
  if (options.request_method === 'get') return createQueryPayload(extraData);
  switch (options.http_content_type) {
    case 'json':
      return createJsonPayload(extraData, server);
    case 'xml':
    case 'soap':
      return createSoapPayload(extraData);
    case 'custom':
      return createCustomPayload(options.custom_body, options.headers);
    default:
      return options.http_content_type satisfies never;
  }
}

// A GET has no body (RFC 9110 §9.3.1); what extra_data names goes into the query.
function createQueryPayload(extraData: ReturnType<typeof createExtraData>): Payload {
  return {
    isSingle: true,
    render([outgoing]) {
      const members = Object.entries(extraData.render(outgoing?.event));
      const query = members.map(([name, value]): [string, string] => [name, queryText(value)]);
      return { body: undefined, contentType: undefined, query, recorded: { query } };
    },
  };
}

/** A member as it stands in a query. */
export function queryText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
