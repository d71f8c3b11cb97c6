import type { ServiceEvent } from '../../events/event.ts';
import { allTimestamps } from '../../events/timestamps.ts';
import type { Payload } from './payload.ts';
import type { ExtraData } from './payload-extra-data.ts';
import { xmlAttribute, xmlText } from './xml-text.ts';

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
      const extra = Object.entries(members)
        .map(([name, value]) => element(name, value, ` xmlns="${eventsNamespace}"`))
        .join('');
      const text =
        `<?xml version="1.0" encoding="utf-8"?>\n<soap:Envelope xmlns:soap="${soapNamespace}"><soap:Body>` +
        `<Events xmlns="${eventsNamespace}">${events.map(({ event }) => eventElement(event)).join('')}</Events>${extra}` +
        '</soap:Body></soap:Envelope>\n';
      return { body: Buffer.from(text), contentType: 'application/soap+xml; charset=utf-8', query: [], recorded: { text } };
    },
  };
}

function eventElement(event: ServiceEvent): string {
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
  return `<Event>${membersOf(members)}</Event>`;
}

function membersOf(value: object): string {
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => element(name, member))
    .join('');
}

function element(name: string, value: unknown, attributes = ''): string {
  const isName = xmlName.test(name);
  const tag = isName ? name : 'member';
  const start = isName ? `${tag}${attributes}` : `${tag}${attributes} name="${xmlAttribute(name)}"`;
  const content = contentOf(value);
  return content === '' ? `<${start}/>` : `<${start}>${content}</${tag}>`;
}

function contentOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((item) => element('item', item)).join('');
  if (typeof value === 'object') return membersOf(value);
  return xmlText(String(value));
}
