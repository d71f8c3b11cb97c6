import type { ServiceEvent } from '../../events/event.ts';
import { allTimestamps } from '../../events/timestamps.ts';
import { element, writeXml, type XmlNode, xmlDeclaration } from '../../lib/xml/xml-writer.ts';
import type { Payload } from './payload.ts';
import type { ExtraData } from './payload-extra-data.ts';

/** Namespace of the event elements; `examples/webhooks/events.xsd` describes them. */
const eventsNamespace = 'urn:svc:events:1';
const soapNamespace = 'http://www.w3.org/2003/05/soap-envelope';

// ASCII only, which every parser takes; names that begin with "xml" are reserved (XML 1.0 §2.3).
const xmlName = /^(?!xml)[a-z_][a-z0-9_.-]*$/i;

/** A SOAP 1.2 envelope whose body holds `Events` and, beside it, the members of `extra_data` (docs/spec/delivery.md#xml-bodies). */
export function createSoapPayload(extraData: ExtraData): Payload {
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
