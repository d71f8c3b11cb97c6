import type { EventServer } from '../../events/event.ts';
import type { EventHandlerOptions } from '../options.ts';
import { publicEvent } from '../public-event.ts';
import type { Payload } from './payload.ts';
import { createCustomPayload } from './payload-custom.ts';
import { createExtraData } from './payload-extra-data.ts';
import { createJsonPayload } from './payload-json.ts';
import { createSoapPayload } from './payload-soap.ts';

/** What a payload is made of. */
export type PayloadOptions = Pick<EventHandlerOptions, 'http_content_type' | 'request_method' | 'extra_data' | 'custom_body' | 'headers'>;

/** The payload that a handler's options ask for. It shows of events what receivers may see. */
export function createPayload(options: PayloadOptions, server: EventServer): Payload {
  const { isSingle, render } = payloadOf(options, server);
  return { isSingle, render: (events) => render(events.map(publicEvent)) };
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
      const query = members.map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
      return { body: undefined, contentType: undefined, query, recorded: { query } };
    },
  };
}
