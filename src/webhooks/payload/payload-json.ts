import type { EventServer } from '../../events/event.ts';
import type { Payload } from './payload.ts';
import type { ExtraData } from './payload-extra-data.ts';

const head = '{"events":[';
const headBytes = Buffer.from(head);
const comma = Buffer.from(',');

/** `{"events": […], "server": {…}, …extra_data}`; the events are the journal's lines, byte for byte. */
export function createJsonPayload(extraData: ExtraData, server: EventServer): Payload {
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
