import { isDeepStrictEqual } from 'node:util';
import { defaultGroupUuid, type GroupConfiguration } from '../../accounts/account.ts';
import { groupOptions } from '../../accounts/options.ts';
import { verdictOf } from '../../auth/callout-reply.ts';
import type { Config } from '../../config/schema/schema.ts';
import { type MethodReport, readingOf } from '../auth/auth-probe.ts';
import { requestsOf } from './config-case-event.ts';
import type { ConfigCase, EventCase, ReplyCase, RequestCase } from './config-cases.ts';
import { decide } from './decision.ts';

/** What came of a case. */
export interface CaseOutcome {
  name: string;
  /** What does not fit; empty when the case passes. */
  problems: string[];
  /** The whole outcome, for golden files and `--json`. */
  actual: unknown;
}

/** Runs one case. Nothing is sent anywhere. */
export function runCase(config: Config, item: ConfigCase): CaseOutcome {
  if ('request' in item) return runRequest(config, item);
  return 'event' in item ? runEvent(config, item) : runReply(config, item);
}

function runRequest(config: Config, item: RequestCase): CaseOutcome {
  const [method = '', path = ''] = item.request.split(' ');
  const decision = decide(config, { user: item.account, group: item.group, method, path, destination: item.destination });
  const outcome = decision.allowed ? 'allowed' : 'refused';
  const why = decision.reason ?? `by ${decision.rule ?? 'no rule'}`;
  const problems = [
    ...(item.expect !== undefined && item.expect !== outcome ? [`expected ${item.expect}, got ${outcome} (${why})`] : []),
    ...different('status', item.status, decision.status),
    ...different('rule', item.rule, decision.rule),
    ...different('real_path', item.real_path, decision.real_path),
  ];
  return { name: item.name ?? `${item.account}: ${item.request}`, problems, actual: decision };
}

function different(name: string, expected: unknown, actual: unknown): string[] {
  if (expected === undefined || isDeepStrictEqual(expected, actual)) return [];
  return [`${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`];
}

function runEvent(config: Config, item: EventCase): CaseOutcome {
  const requests = requestsOf(config, item);
  const fired = requests.map(({ handler }) => handler);
  const problems: string[] = [];
  if (item.handlers !== undefined) {
    const expected = Array.isArray(item.handlers) ? item.handlers : Object.keys(item.handlers);
    const missing = expected.filter((handler) => !fired.includes(handler));
    const extra = fired.filter((handler) => !expected.includes(handler));
    problems.push(
      ...missing.map((handler) => handlerText(config, handler)),
      ...extra.map((handler) => `the handler "${handler}" fires, too`),
    );
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

function handlerText(config: Config, handler: string): string {
  if (!Object.hasOwn(config.event_handlers, handler)) return `there is no event handler "${handler}"`;
  return `the handler "${handler}" does not fire${config.event_handlers[handler]?.enabled ? '' : ': it is disabled'}`;
}

/** What of `expected` is not in `actual`: maps may have more members, everything else must be equal. */
function missingIn(expected: unknown, actual: unknown, path: string): string[] {
  if (typeof expected === 'object' && expected !== null && !Array.isArray(expected) && typeof actual === 'object' && actual !== null) {
    return Object.entries(expected).flatMap(([key, value]) => missingIn(value, (actual as Record<string, unknown>)[key], `${path}.${key}`));
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((value, index) => missingIn(value, actual[index], `${path}[${index}]`));
  }
  return different(path, expected, actual);
}

function runReply(config: Config, item: ReplyCase): CaseOutcome {
  const groups = new Map<string, GroupConfiguration>(Object.entries(config.groups));
  if (!groups.has(defaultGroupUuid)) groups.set(defaultGroupUuid, groupOptions.parse({}));
  const { status, body } = item.reply;
  const bytes = Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
  const verdict = verdictOf({ status, body: bytes }, new Set(groups.keys()));
  const actual = readingOf(groups, item.account, verdict);
  const problems = [
    ...(item.expect !== undefined && item.expect !== actual.outcome
      ? [`expected ${item.expect}, got ${actual.outcome} (${actual.reason})`]
      : []),
    ...(item.reason !== undefined && !actual.reason.includes(item.reason) ? different('reason', item.reason, actual.reason) : []),
    ...(item.effective === undefined ? [] : missingIn(item.effective, accountOf(actual), 'effective')),
  ];
  return { name: item.name ?? `${item.account}: reply ${status}`, problems, actual };
}

function accountOf(report: Pick<MethodReport, 'account'>): Record<string, unknown> {
  return report.account ?? {};
}
