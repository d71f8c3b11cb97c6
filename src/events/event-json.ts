import type { ServiceEvent } from './event.ts';

/** The JSON of what many events share: the server, a component, the account of a client's connection. */
const sharedJson = new WeakMap<object, string>();

function sharedJsonOf(part: object): string {
  const known = sharedJson.get(part);
  if (known !== undefined) return known;
  const json = JSON.stringify(part);
  sharedJson.set(part, json);
  return json;
}

/**
 * The JSON of an event, byte for byte what `JSON.stringify` gives, at half the cost: what events share is written once.
 *
 * @param event its `account`, `component` and `server` are not changed any more
 * @param dataJson the JSON of its `data`, where that is known
 */
export function eventJson(event: ServiceEvent, dataJson = JSON.stringify(event.data)): string {
  const { id, uuid, message, timestamp, account, component, server } = event;
  return `{"id":"${id}","uuid":"${uuid}","message":${JSON.stringify(message)},"timestamp":{"timestamp":"${timestamp.timestamp}","cwa_14051":"${timestamp.cwa_14051}"},"data":${dataJson},"account":${sharedJsonOf(account)},"component":${sharedJsonOf(component)},"server":${sharedJsonOf(server)}}`;
}
