import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { defaultGroupUuid } from '../../accounts/account.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import { judgeReply } from '../../auth/callout-reply.ts';
import { eventDefinition } from '../../events/catalogue.ts';
import type { EventAccount, EventServer, ServiceEvent } from '../../events/event.ts';
import { createEvent, peerAccount, processAccount } from '../../events/event-factory.ts';
import { addressFamily } from '../../lib/headers/forwarded-header.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import { shownTarget } from '../../webhooks/forward/address.ts';
import { withQuery } from '../../webhooks/http-sender.ts';
import { createPayload } from '../../webhooks/payload/create-payload.ts';
import { createSubscription } from '../../webhooks/subscription.ts';
import type { Config } from '../schema/schema.ts';
import { describeAnswer } from './auth-answer.ts';
import type { ConfigCase, EventCase, ReplyCase, RequestCase } from './case-file.ts';
import { decide, isSftpRequest } from './decision.ts';
import { localAccount } from './decision-steps.ts';
import { judgeMocked } from './inspected.ts';

/** The result of one case. */
export interface CaseOutcome {
  name: string;
  /** Differences from the expected outcome; empty if the case passes. */
  problems: string[];
  /** The whole outcome, for golden files and `--json`. */
  actual: unknown;
}

/** Runs one case. Sends no requests. */
export function runCase(config: Config, item: ConfigCase): CaseOutcome {
  if ('request' in item) return runRequest(config, item);
  return 'event' in item ? runEvent(config, item) : runReply(config, item);
}

function runRequest(config: Config, item: RequestCase): CaseOutcome {
  // Only the first space separates the method from the path, because an SFTP path may contain spaces.
  const [, method = '', path = ''] = /^(\S+) ?(.*)$/.exec(item.request) ?? [];
  const { account: user, group, destination, service, credentials } = item;
  const decided = decide(config, { user, group, method, path, destination, service, credentials });
  const { judged, unused } = judgeMocked(config, decided, item.verdicts ?? {}, isSftpRequest(decided.method));
  const { outcome, ...decision } = judged;
  const why = decision.reason ?? `by ${decision.rule ?? 'no rule'}`;
  const sorted = (uuids: readonly string[] | undefined) => uuids && [...uuids].sort();
  const problems = [
    ...(item.expect !== undefined && item.expect !== outcome ? [`expected ${item.expect}, got ${outcome} (${why})`] : []),
    ...unused.map((uuid) => `the inspection "${uuid}" does not judge this file`),
    ...different('inspections', sorted(item.inspections), sorted(decision.inspections ?? [])),
    ...different('status', item.status, decision.status),
    ...different('rule', item.rule, decision.rule),
    ...different('real_path', item.real_path, decision.real_path),
    ...(item.reason !== undefined && !decision.reason?.includes(item.reason) ? different('reason', item.reason, decision.reason) : []),
  ];
  return { name: item.name ?? `${item.account}: ${item.request}`, problems, actual: item.verdicts ? judged : decided };
}

function different(name: string, expected: unknown, actual: unknown): string[] {
  if (expected === undefined || isDeepStrictEqual(expected, actual)) return [];
  return [`${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`];
}

function runEvent(config: Config, item: EventCase): CaseOutcome {
  const requests = renderRequests(config, item);
  const fired = requests.map(({ handler }) => handler);
  const problems: string[] = [];
  if (item.handlers !== undefined) {
    const expected = Array.isArray(item.handlers) ? item.handlers : Object.keys(item.handlers);
    const missing = expected.filter((handler) => !fired.includes(handler));
    const extra = fired.filter((handler) => !expected.includes(handler));
    problems.push(...missing.map((handler) => describeMissing(config, handler)));
    problems.push(...extra.map((handler) => `the handler "${handler}" also fires`));
  }
  for (const [handler, expected] of Array.isArray(item.handlers) ? [] : Object.entries(item.handlers ?? {})) {
    const request = requests.find((candidate) => candidate.handler === handler);
    if (!request) continue;
    const differences = [
      ...different('url', expected.url, request.url),
      ...different('method', expected.method?.toUpperCase(), request.method),
      ...different('content_type', expected.content_type, request.content_type),
      ...(expected.body === undefined ? [] : missingIn(expected.body, request.body, 'body')),
    ];
    problems.push(...differences.map((text) => `${handler}: ${text}`));
  }
  return { name: item.name ?? `event ${item.event}`, problems, actual: requests };
}

function describeMissing(config: Config, handler: string): string {
  if (!Object.hasOwn(config.event_handlers, handler)) return `there is no event handler "${handler}"`;
  return `the handler "${handler}" does not fire${config.event_handlers[handler]?.enabled ? '' : ': it is disabled'}`;
}

/** Lists how `actual` differs from `expected`. Maps in `actual` may have more members; everything else must be equal. */
function missingIn(expected: unknown, actual: unknown, path: string): string[] {
  if (isObject(expected) && typeof actual === 'object' && actual !== null) {
    return Object.entries(expected).flatMap(([key, value]) => missingIn(value, (actual as Record<string, unknown>)[key], `${path}.${key}`));
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((value, index) => missingIn(value, actual[index], `${path}[${index}]`));
  }
  return different(path, expected, actual);
}

function runReply(config: Config, item: ReplyCase): CaseOutcome {
  const groups = withDefaultGroup(config.groups);
  const { status, body } = item.reply;
  const bytes = Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
  const verdict = judgeReply({ status, body: bytes }, new Set(groups.keys()));
  const actual = describeAnswer(groups, item.account, verdict, { uuid: 'callout', type: 'http' });
  const problems = [
    ...(item.expect !== undefined && item.expect !== actual.outcome
      ? [`expected ${item.expect}, got ${actual.outcome} (${actual.reason})`]
      : []),
    ...(item.reason !== undefined && !actual.reason.includes(item.reason) ? different('reason', item.reason, actual.reason) : []),
    ...(item.effective === undefined ? [] : missingIn(item.effective, actual.account ?? {}, 'effective')),
  ];
  return { name: item.name ?? `${item.account}: reply ${status}`, problems, actual };
}

/** UUID and time of all events. They are fixed, so that each run renders the same bodies. */
const fixedUuid = '00000000-0000-4000-8000-0000000000ff';
const fixedTimeMs = Date.UTC(2026, 0, 1);

/** A request that a handler would send. */
interface ExpectedRequest {
  handler: string;
  method: string;
  /** The URLs, in the order in which the handler tries them. */
  url: string[];
  content_type: string | null;
  /** The parsed JSON body, or any other body as text; null if there is no body. */
  body: unknown;
}

/** Renders the requests of all handlers for an event, in the order of the configuration. */
function renderRequests(config: Config, item: EventCase): ExpectedRequest[] {
  const server: EventServer = { uuid: config.server.uuid ?? 'svc-test', type: 'server', name: config.server.name || 'svc-test' };
  const { event, group } = makeEvent(config, item, server);
  const raw = Buffer.from(JSON.stringify(event));
  return Object.entries(config.event_handlers).flatMap(([uuid, options]) => {
    if (!options.enabled || !createSubscription(uuid, options)(event, group)) return [];
    const { body, contentType, query } = createPayload(options, server).render([{ event, raw }]);
    return {
      handler: uuid,
      method: options.request_method.toUpperCase(),
      url: options.url.map((url) => (options.type === 'forward' ? shownTarget(url, event) : withQuery(url, query))),
      content_type: contentType ?? null,
      body: body === undefined ? null : parseBody(body.toString('utf8')),
    };
  });
}

function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function makeEvent(config: Config, item: EventCase, server: EventServer): { event: ServiceEvent; group: string | undefined } {
  const { isAboutPath, groups } = eventDefinition(item.event);
  const { account, group } = findAccount(config, item, groups.includes('process'));
  const service = item.component ?? Object.entries(config.services).find(([, options]) => options.enabled)?.[0] ?? 'web';
  const { type, name } = Object.entries(config.services).find(([uuid]) => uuid === service)?.[1] ?? { type: 'http', name: '' };
  const component = groups.includes('process') && item.component === undefined ? server : { uuid: service, type, name: name || service };
  const { path } = item.data;
  const names = isAboutPath && typeof path === 'string' ? { file_name: posix.basename(path), directory_name: posix.dirname(path) } : {};
  const draft = { id: item.event, context: { account, component }, data: { ...names, ...item.data } };
  return { event: { ...createEvent(draft, server, fixedTimeMs), uuid: fixedUuid }, group };
}

function findAccount(config: Config, item: EventCase, isOfProcess: boolean): { account: EventAccount; group: string | undefined } {
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
