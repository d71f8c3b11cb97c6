import { isDeepStrictEqual } from 'node:util';
import type { EventServer, ServiceEvent } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { allTimestamps } from '../../events/timestamps.ts';
import { eventVariable } from '../../events/variables.ts';
import { isJson, isObject } from '../../lib/json.ts';
import { parseTemplate } from '../../lib/text-template.ts';
import { element, escapeXmlQuoted, writeXml, type XmlNode, xmlDeclaration } from '../../lib/xml/xml-writer.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { RecordedBody } from '../records/delivery-record-schema.ts';

export interface OutgoingEvent {
  event: ServiceEvent;
  raw: Buffer;
}

/** The parts of one request that depend on its events. */
export interface RenderedPayload {
  /** Undefined for requests without a body. */
  body: Buffer | undefined;
  contentType: string | undefined;
  /** Members added to the URL's query. */
  query: [string, string][];
  /** The body or query for records and displays. It does not contain the secrets of `extra_data`. */
  recorded: RecordedBody;
}

/** Renders events in a format of docs/spec/delivery.md. */
export interface Payload {
  /** Whether a request can contain only one event (docs/spec/delivery.md#requests). */
  readonly isSingle: boolean;
  render(events: readonly OutgoingEvent[]): RenderedPayload;
}

interface ExtraData {
  readonly hasEventVariables: boolean;
  readonly isEmpty: boolean;
  /** Renders the members for one event. Leaves out members that the body itself defines. */
  render(event: ServiceEvent | undefined): Record<string, unknown>;
}

/** Names of members whose values are treated as secrets. */
export const secretMember = /password|secret|token|key|auth|credential|signature/i;

export const mask = '***';

/** Masks the secrets in `extra_data`, for records and displays. */
export function withoutSecrets<T>(value: T, isSecret = false): T {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, isSecret)) as T;
  if (!isObject(value)) return isSecret && value !== '' ? (mask as T) : value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutSecrets(member, isSecret || secretMember.test(name))]);
  return Object.fromEntries(members) as T;
}

type Render = (lookUp: (name: string) => string | undefined) => unknown;

/** Names of members that the body itself defines (docs/spec/delivery.md#extra-data). */
const reservedNames = new Set(['events', 'server']);

/** Compiles `extra_data`. Variables may appear in keys and string values at any depth. */
function createExtraData(members: Readonly<Record<string, unknown>>, server: EventServer): ExtraData {
  const variables: string[] = [];
  const render = compile(members, variables);
  const fixed: Record<string, string> = { 'server.name': server.name, 'server.uuid': server.uuid };
  const serverVariable = (name: string) => fixed[name.toLowerCase()];
  return {
    hasEventVariables: variables.some((name) => serverVariable(name) === undefined),
    isEmpty: Object.keys(members).length === 0,
    render(event) {
      const rendered = render((name) => (event ? eventVariable(event, name) : serverVariable(name))) as Record<string, unknown>;
      return Object.fromEntries(Object.entries(rendered).filter(([name]) => !reservedNames.has(name)));
    },
  };
}

function compile(value: unknown, variables: string[]): Render {
  if (typeof value === 'string') {
    const template = parseTemplate(value);
    variables.push(...template.variables);
    return (lookUp) => template.render(lookUp);
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => compile(item, variables));
    return (lookUp) => items.map((item) => item(lookUp));
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => [compile(name, variables), compile(member, variables)] as const);
    return (lookUp) => Object.fromEntries(members.map(([name, member]) => [name(lookUp), member(lookUp)]));
  }
  return () => value;
}

/** The event about a 403 reply of the authentication endpoint. Its `data.response` is the body of the reply. */
const forbiddenEvent = String(eventIds.authenticationForbidden);

/**
 * The event about an upload that an inspection refused. Its `data.response` is the inspection's reply, which only the journal may contain.
 */
const refusedEvent = String(eventIds.uploadRefused);

/**
 * Returns the part of an event that receivers may see. It contains neither `code` nor `extra` of a 403 reply
 * (docs/spec/authentication.md#refusal-by-the-endpoint), and no reply of an inspection.
 */
export function publicEvent<T extends OutgoingEvent>(outgoing: T): T {
  const { event } = outgoing;
  if (event.id !== forbiddenEvent && event.id !== refusedEvent) return outgoing;
  const { response, ...data } = event.data;
  const shown = event.id === forbiddenEvent ? publicResponse(response) : undefined;
  const shownEvent: ServiceEvent = { ...event, data: shown === undefined ? data : { ...data, response: shown } };
  return { ...outgoing, event: shownEvent, raw: Buffer.from(JSON.stringify(shownEvent)) };
}

function publicResponse(response: unknown): unknown {
  // Text that looks like malformed JSON is left out, because it may contain `code` and `extra`, too.
  if (typeof response === 'string') return /^[[{]/.test(response) ? undefined : response;
  if (!isObject(response)) return undefined;
  const { code: _code, extra: _extra, ...members } = response;
  return members;
}

/** Namespace of the event elements. `examples/webhooks/events.xsd` describes them. */
const eventsNamespace = 'urn:svc:events:1';
const soapNamespace = 'http://www.w3.org/2003/05/soap-envelope';

// Every parser accepts ASCII names as element names. Names that begin with "xml" are reserved (XML 1.0 §2.3).
const xmlName = /^(?!xml)[a-z_][a-z0-9_.-]*$/i;

/** Creates a SOAP 1.2 envelope with `Events` and the members of `extra_data` (docs/spec/delivery.md#xml-bodies). */
function createSoapPayload(extraData: ExtraData): Payload {
  return {
    isSingle: extraData.hasEventVariables,
    render(events) {
      const members = extraData.isEmpty ? {} : extraData.render(events[0]?.event);
      const extra = Object.entries(members).map(([name, value]) => memberElement(name, value, { xmlns: eventsNamespace }));
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
    // `cwa_14051` is a local time of the server that wrote the event, so it is copied from the event.
    timestamp: { ...allTimestamps(timestamp.timestamp), cwa_14051: timestamp.cwa_14051 },
    data,
    account,
    component,
    server,
  };
  return element('Event', memberElements(members));
}

function memberElements(value: object): XmlNode[] {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => memberElement(name, member));
}

function memberElement(name: string, value: unknown, attributes?: Record<string, string>): XmlNode {
  if (xmlName.test(name)) return element(name, elementContent(value), attributes);
  return element('member', elementContent(value), { ...attributes, name });
}

function elementContent(value: unknown): string | XmlNode[] {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((item: unknown) => memberElement('item', item));
  return typeof value === 'object' ? memberElements(value) : String(value);
}

const head = '{"events":[';
const headBytes = Buffer.from(head);
const comma = Buffer.from(',');

/**
 * Creates a JSON body: `{"events": […], "server": {…}, …extra_data}`. An event has the same bytes as its line in the journal, unless
 * `publicEvent` changed it.
 */
function createJsonPayload(extraData: ExtraData, server: EventServer): Payload {
  const root = `],"server":${JSON.stringify({ uuid: server.uuid, name: server.name })}`;
  const renderTail = (members: Record<string, unknown>) => {
    const text = JSON.stringify(members);
    return `${root}${text === '{}' ? '' : `,${text.slice(1, -1)}`}}`;
  };
  const fixed = extraData.hasEventVariables ? undefined : renderTail(extraData.render(undefined));
  return {
    isSingle: extraData.hasEventVariables,
    render(events) {
      const after = fixed ?? renderTail(extraData.render(events[0]?.event));
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

/**
 * Creates CloudEvents 1.0 in structured or batched mode (https://github.com/cloudevents/spec, JSON event format). `data` has the same bytes
 * as the event's line in the journal, unless `publicEvent` changed the event.
 */
function createCloudEventsPayload(typePrefix: string, isBatch: boolean): Payload {
  return {
    isSingle: !isBatch,
    render(events) {
      const items = events.map(({ event, raw }) => {
        const { path } = event.data;
        const attributes = {
          specversion: '1.0',
          id: event.uuid,
          source: `urn:svc:server:${encodeURIComponent(event.server.uuid)}`,
          type: `${typePrefix}.${event.id}`,
          ...(typeof path === 'string' && path !== '' && { subject: path }),
          time: allTimestamps(event.timestamp.timestamp).iso_8601_fractional,
          datacontenttype: 'application/json',
        };
        return `${JSON.stringify(attributes).slice(0, -1)},"data":${raw.toString('utf8')}}`;
      });
      const text = isBatch ? `[${items.join(',')}]` : (items[0] ?? '');
      const contentType = isBatch ? 'application/cloudevents-batch+json' : 'application/cloudevents+json';
      return { body: Buffer.from(text), contentType, query: [], recorded: { text } };
    },
  };
}

const defaultContentType = 'text/plain; charset=utf-8';

type Encode = (value: string, name: string, before: string) => string;

/**
 * Creates a body from the operator's template. Values are encoded for the content type, so that a file name cannot inject other content.
 *
 * @param headers headers of the handler, which may include Content-Type
 */
function createCustomPayload(text: string, headers: readonly (readonly [string, string])[]): Payload {
  const template = parseTemplate(text);
  const contentType = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? defaultContentType;
  const encode = chooseEncoder(contentType);
  return {
    isSingle: true,
    render([outgoing]) {
      const lookUp = (name: string) => outgoing && eventVariable(outgoing.event, name);
      const body = template.render(lookUp, encode);
      return { body: Buffer.from(body), contentType, query: [], recorded: { text: body } };
    },
  };
}

function chooseEncoder(contentType: string): Encode {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return encodeJson;
  if (type === 'application/xml' || type === 'text/xml' || type === 'text/html' || type.endsWith('+xml')) return escapeXmlQuoted;
  if (type === 'application/x-www-form-urlencoded') return (value) => new URLSearchParams([['', value]]).toString().slice(1);
  return (value) => value;
}

// Inside quotes, a value becomes the content of a JSON string. Outside quotes, a value that is valid JSON, such as a number, is not
// changed, and any other value becomes a JSON string.
function encodeJson(value: string, _name: string, before: string): string {
  const text = JSON.stringify(value);
  if (isInsideString(before)) return text.slice(1, -1);
  return isJson(value) ? value : text;
}

function isInsideString(before: string): boolean {
  return before.replace(/\\./gs, '').split('"').length % 2 === 0;
}

export type PayloadOptions = Pick<
  EventHandlerOptions,
  'type' | 'http_content_type' | 'request_method' | 'extra_data' | 'custom_body' | 'headers' | 'batch_size' | 'cloudevents_type_prefix'
>;

/**
 * Creates the payload for the options of a handler. Requests contain only the public part of events. Records contain no secrets of
 * `extra_data`.
 */
export function createPayload(options: PayloadOptions, server: EventServer): Payload {
  const { isSingle, render } = choosePayload(options, server);
  const shown = withoutSecrets(options.extra_data);
  const kept = isDeepStrictEqual(shown, options.extra_data) ? undefined : choosePayload({ ...options, extra_data: shown }, server);
  return {
    isSingle,
    render(events) {
      const outgoing = events.map(publicEvent);
      const rendered = render(outgoing);
      return kept ? { ...rendered, recorded: kept.render(outgoing).recorded } : rendered;
    },
  };
}

function choosePayload(options: PayloadOptions, server: EventServer): Payload {
  const extraData = createExtraData(options.extra_data, server);
  // The content of a forwarded file is not recorded, so the request is treated like one without a body.
  if (options.request_method === 'get' || options.type === 'forward') return createQueryPayload(extraData);
  switch (options.http_content_type) {
    case 'json':
      return createJsonPayload(extraData, server);
    case 'xml':
    case 'soap':
      return createSoapPayload(extraData);
    case 'cloudevents':
      return createCloudEventsPayload(options.cloudevents_type_prefix, options.batch_size > 1);
    case 'custom':
      return createCustomPayload(options.custom_body, options.headers);
    default:
      return options.http_content_type satisfies never;
  }
}

// A GET request has no body (RFC 9110 §9.3.1), so `extra_data` is sent in the query.
function createQueryPayload(extraData: ExtraData): Payload {
  return {
    isSingle: true,
    render([outgoing]) {
      const members = Object.entries(extraData.render(outgoing?.event));
      const query = members.map(([name, value]): [string, string] => [name, queryText(value)]);
      return { body: undefined, contentType: undefined, query, recorded: { query } };
    },
  };
}

/** Formats the value of a member for a query. */
export function queryText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
