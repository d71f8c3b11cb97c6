import { posix } from 'node:path';
import { defaultGroupUuid } from '../../accounts/account.ts';
import type { Config } from '../../config/schema/schema.ts';
import { eventDefinition } from '../../events/catalogue.ts';
import type { EventAccount, EventServer, ServiceEvent } from '../../events/event.ts';
import { createEvent, peerAccount, processAccount } from '../../events/event-factory.ts';
import { addressFamily } from '../../lib/headers/forwarded-header.ts';
import { parseJson } from '../../lib/json.ts';
import { withQuery } from '../../webhooks/delivery.ts';
import { createPayload } from '../../webhooks/payload/create-payload.ts';
import { createSubscription } from '../../webhooks/subscription.ts';
import type { EventCase } from './config-cases.ts';
import { localAccount } from './decision-account.ts';

/** What every event of a test has, so that two runs give the same bodies: a fixed UUID and time. */
const fixedUuid = '00000000-0000-4000-8000-0000000000ff';
const fixedTimeMs = Date.UTC(2026, 0, 1);

/** A request that a handler would send. */
export interface ExpectedRequest {
  handler: string;
  method: string;
  /** In the order in which they are tried. */
  url: string[];
  content_type: string | null;
  /** JSON bodies parsed, others as text; null without a body. */
  body: unknown;
}

/** The requests that the handlers of a configuration make of an event, in the order of the configuration. */
export function requestsOf(config: Config, item: EventCase): ExpectedRequest[] {
  const server: EventServer = { uuid: config.server.uuid ?? 'svc-test', type: 'server', name: config.server.name || 'svc-test' };
  const { event, group } = eventOf(config, item, server);
  const raw = Buffer.from(JSON.stringify(event));
  return Object.entries(config.event_handlers).flatMap(([uuid, options]) => {
    if (!options.enabled || !createSubscription(uuid, options)(event, group)) return [];
    const { body, contentType, query } = createPayload(options, server).render([{ event, raw }]);
    return {
      handler: uuid,
      method: options.request_method.toUpperCase(),
      url: options.url.map((url) => withQuery(url, query)),
      content_type: contentType ?? null,
      body: body === undefined ? null : bodyOf(body.toString('utf8')),
    };
  });
}

function bodyOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function eventOf(config: Config, item: EventCase, server: EventServer): { event: ServiceEvent; group: string | undefined } {
  const { isAboutPath, groups } = eventDefinition(item.event);
  const { account, group } = accountOf(config, item, groups.includes('process'));
  const service = item.component ?? Object.entries(config.services).find(([, options]) => options.enabled)?.[0] ?? 'web';
  const type = Object.hasOwn(config.services, service) ? config.services[service]?.type : undefined;
  const name = Object.hasOwn(config.services, service) ? config.services[service]?.name : undefined;
  const component =
    groups.includes('process') && item.component === undefined ? server : { uuid: service, type: type ?? 'http', name: name || service };
  const { path } = item.data;
  const names = isAboutPath && typeof path === 'string' ? { file_name: posix.basename(path), directory_name: posix.dirname(path) } : {};
  const draft = { id: item.event, context: { account, component }, data: { ...names, ...item.data } };
  return { event: { ...createEvent(draft, server, fixedTimeMs), uuid: fixedUuid }, group };
}

function accountOf(config: Config, item: EventCase, isOfProcess: boolean): { account: EventAccount; group: string | undefined } {
  const { address } = item;
  const peer = { address, port: 50_000, protocol: 'TCP' as const, family: addressFamily(address) };
  if (item.account === undefined) return { account: isOfProcess ? processAccount() : peerAccount(peer), group: item.group };
  const known = localAccount(config, item.account)?.account.configuration;
  const email = known?.email?.split(',', 1)[0]?.trim();
  return {
    account: { uuid: known?.uuid || item.account, name: item.account, ...(email ? { email } : {}), peer },
    group: item.group ?? (known?.group || defaultGroupUuid),
  };
}
