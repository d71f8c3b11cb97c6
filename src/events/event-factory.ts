import { randomUUID } from 'node:crypto';
import { addressFamily, normaliseAddress } from '../lib/headers/forwarded-header.ts';
import { eventDefinition } from './catalogue.ts';
import type { EventAccount, EventDraft, EventPeer, EventServer, ServiceEvent } from './event.ts';
import { eventIds } from './event-ids.ts';
import { jsonTimestamps } from './timestamps.ts';

const processUuid = '00000000-0000-4000-8000-000000000001';
const peerUuid = '00000000-0000-4000-8000-000000000002';

/** Returns the account in events that do not concern an account (docs/spec/events.md#special-accounts). */
export function processAccount(): EventAccount {
  return {
    uuid: processUuid,
    name: 'Process',
    peer: { address: '0.0.0.0', port: 0, protocol: 'TCP', family: 'IPv4' },
  };
}

/** Returns the peer of a connection. @param rawAddress address from the socket or from a proxy */
export function peerAt(rawAddress: string, port: number): EventPeer {
  const address = normaliseAddress(rawAddress);
  return { address, port, protocol: 'TCP', family: addressFamily(address) };
}

/** Returns the account that is named in events about a client that is not authenticated yet (docs/spec/events.md#special-accounts). */
export function peerAccount(peer: EventPeer): EventAccount {
  return { uuid: peerUuid, name: 'Unknown', peer };
}

/** Whether an account is one of the two special accounts above. They belong to no group. */
export function isSpecialAccount(uuid: string | undefined): boolean {
  return uuid === processUuid || uuid === peerUuid;
}

function definedData({ data, context: { token, link, request } }: EventDraft): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const name in data) if (data[name] !== undefined) members[name] = data[name];
  // If the event is about a token or shared link, its data already names this token or link. Otherwise the token or link of the client is
  // added.
  if (token !== undefined) members.token ??= token;
  if (link !== undefined) members.link ??= link;
  if (request) members.request_id = request.id;
  if (request?.traceparent !== undefined) members.traceparent = request.traceparent;
  return members;
}

/** An event. `dataJson` is the JSON of its `data`. It is set only if the draft has `shared` members, whose JSON is reused. */
export interface MadeEvent {
  event: ServiceEvent;
  dataJson: string | undefined;
}

/** Creates an event from a draft. @param nowMs Unix time in milliseconds */
export function makeEvent(draft: EventDraft, server: EventServer, nowMs: number): MadeEvent {
  const own = definedData(draft);
  const { shared } = draft;
  const data = shared ? Object.assign({}, shared.members, own) : own;
  return { event: eventWith(data, draft, server, nowMs), dataJson: shared?.jsonWith(own) };
}

/** Like `makeEvent`, but returns only the event. */
export function createEvent(draft: EventDraft, server: EventServer, nowMs: number): ServiceEvent {
  return makeEvent(draft, server, nowMs).event;
}

function eventWith(data: Record<string, unknown>, draft: EventDraft, server: EventServer, nowMs: number): ServiceEvent {
  return {
    id: String(draft.id),
    uuid: draft.uuid ?? randomUUID(),
    message: draft.message ?? formatMessage(draft.id, data),
    timestamp: jsonTimestamps(nowMs),
    data,
    account: draft.context.account,
    component: draft.context.component,
    server,
  };
}

type Data = Readonly<Record<string, unknown>>;

/** Formats the message of an event, which is its meaning with members of `data` inserted. */
export function formatMessage(id: number, data: Data): string {
  const { texts } = eventDefinition(id);
  let message = '';
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index] as string;
    const value = index % 2 === 0 ? text : id === eventIds.uploadHeld && text === 'reason' ? holdReason(data) : data[text];
    message += typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  }
  return message;
}

const holdReasons: Data = {
  verdict: 'an inspection requires a review',
  failure: 'an inspection failed',
  larger: 'the file is too large for an inspection',
  late: 'the inspection is not finished yet',
};

/** Says why an upload is held: the message of the inspection that holds it, or words for the code in `reason`. */
function holdReason({ reason, verdicts }: Data): unknown {
  const code = String(reason);
  const words = holdReasons[code] ?? reason;
  const wanted = code === 'verdict' ? 'hold' : code;
  const all: readonly Data[] = Array.isArray(verdicts) ? verdicts : [];
  const given = all.find(({ verdict, message }) => verdict === wanted && typeof message === 'string' && message !== '')?.message;
  if (given === undefined) return words;
  return code === 'verdict' ? given : `${words}: ${given}`;
}

/** The JSON of objects that many events share: the server, components, and accounts of connections. */
const sharedJson = new WeakMap<object, string>();

function stringifyShared(part: object): string {
  const known = sharedJson.get(part);
  if (known !== undefined) return known;
  const json = JSON.stringify(part);
  sharedJson.set(part, json);
  return json;
}

/**
 * Returns the JSON of an event. It has the same bytes as the result of `JSON.stringify`, but takes half the time, because objects that
 * events share are serialised only once.
 *
 * @param event its `account`, `component` and `server` must not change afterwards
 * @param dataJson the JSON of its `data`, if the caller has it
 */
export function eventJson(event: ServiceEvent, dataJson = JSON.stringify(event.data)): string {
  const { id, uuid, message, timestamp, account, component, server } = event;
  return `{"id":"${id}","uuid":"${uuid}","message":${JSON.stringify(message)},"timestamp":{"timestamp":"${timestamp.timestamp}","cwa_14051":"${timestamp.cwa_14051}"},"data":${dataJson},"account":${stringifyShared(account)},"component":${stringifyShared(component)},"server":${stringifyShared(server)}}`;
}
