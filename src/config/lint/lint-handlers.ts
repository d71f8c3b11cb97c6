import { defaultGroupUuid } from '../../accounts/account.ts';
import { type EventDefinition, eventCatalogue, pathMembers } from '../../events/catalogue.ts';
import { isKnownVariable } from '../../events/variables.ts';
import { readNamedFile } from '../../lib/disk/named-file.ts';
import { isObject } from '../../lib/json.ts';
import { didYouMean, nearestName } from '../../lib/nearest-name.ts';
import { parseTemplate } from '../../lib/text-template.ts';
import { readHostKey } from '../../ssh/host-keys.ts';
import { parseTargetUrl } from '../../webhooks/forward/address.ts';
import type { ForwardOptions } from '../../webhooks/forward/options.ts';
import type { EventHandlerOptions } from '../../webhooks/options.ts';
import { createPayload, secretMember } from '../../webhooks/payload/create-payload.ts';
import { wantedEvents } from '../../webhooks/subscription.ts';
import type { Report } from '../findings.ts';
import { type Config, isHttpService } from '../schema/schema.ts';

/** Finds handlers that never fire, options without effect, and filters and templates for data that none of the selected events has. */
export function lintHandlers(config: Config, report: Report): void {
  const known = knownNames(config);
  for (const [uuid, handler] of Object.entries(config.event_handlers)) {
    if (!handler.enabled) continue;
    const at = (...path: PropertyKey[]) => ['event_handlers', uuid, ...path];
    const wanted = wantedEvents(handler);
    if (wanted.length === 0) {
      const option = handler.target.include.length > 0 || handler.target.exclude.length > 0 ? 'target' : 'groups';
      const what = handler.type === 'forward' ? 'event of a finished file' : 'event';
      report.warning('handler-never', at(option), `no ${what} passes both target and groups; the handler can never fire`);
      continue;
    }
    lintAccountFilters(handler, wanted, at, report);
    lintNames(known, handler, at, report);
    lintDataFilter(config, handler, wanted, at, report);
    lintTemplates(handler, wanted, at, report);
    lintEffect(handler, at, report);
    if (handler.type === 'forward') lintForward(handler, wanted, at, report);
  }
}

type At = (...path: PropertyKey[]) => PropertyKey[];

/** Whether an event is about the process itself. Such an event has no account and no client address. */
function isOfProcess({ groups }: EventDefinition): boolean {
  return groups.includes('process');
}

/** Whether an event can have an account with a group. */
function hasAccount(definition: EventDefinition): boolean {
  if (isOfProcess(definition)) return false;
  const { groups } = definition;
  return !groups.includes('authentication') || groups.includes('authenticated') || groups.includes('http');
}

function lintAccountFilters(handler: EventHandlerOptions, wanted: readonly EventDefinition[], at: At, report: Report): void {
  const never = (option: string, why: string) => report.warning('handler-never', at(option), `${why}; the handler can never fire`);
  if (handler.user_groups.include.length > 0 && !wanted.some(hasAccount))
    never('user_groups', 'none of the wanted events is about an account that belongs to a group');
  const isEveryAddress = handler.source_addresses.include.some((range) => range.startsWith('0.0.0.0'));
  if (handler.source_addresses.include.length > 0 && !isEveryAddress && wanted.every(isOfProcess))
    never('source_addresses', 'none of the wanted events comes from a client');
  const names = handler.usernames.include;
  if (names.length > 0 && wanted.every(isOfProcess) && !names.some((name) => name === 'Process' || /[*?]/.test(name)))
    never('usernames', 'the selected events are only about the account "Process"');
}

interface KnownNames {
  user_groups: ReadonlySet<string>;
  /** UUIDs of all components; undefined if the configuration does not set the UUID of the server. */
  components: ReadonlySet<string> | undefined;
}

function knownNames({ server, services, authentications, event_handlers, groups }: Config): KnownNames {
  // The server is also a component. If its UUID is not configured, the UUID is stored in the data folder and not known here.
  const components = server.uuid === undefined ? undefined : [services, authentications, event_handlers].flatMap(Object.keys);
  return {
    user_groups: new Set([defaultGroupUuid, ...Object.keys(groups)]),
    components: components && new Set([...components, server.uuid as string]),
  };
}

/** Finds filters with groups or components that do not exist. Patterns are not checked. */
function lintNames(known: KnownNames, handler: EventHandlerOptions, at: At, report: Report): void {
  for (const option of ['user_groups', 'components'] as const) {
    const names = known[option];
    for (const name of [...handler[option].include, ...handler[option].exclude]) {
      if (names === undefined || names.has(name) || /[*?]/.test(name)) continue;
      const what = option === 'user_groups' ? 'group' : 'component';
      report.warning('unknown-reference', at(option), `there is no ${what} "${name}"`, () => didYouMean(name, names));
    }
  }
}

function dataMembers(definition: EventDefinition): readonly string[] {
  return definition.isAboutPath ? [...pathMembers, ...definition.data] : definition.data;
}

function firstName(name: string): string {
  return name.toLowerCase().split('.', 1)[0] ?? '';
}

function lintDataFilter(config: Config, handler: EventHandlerOptions, wanted: readonly EventDefinition[], at: At, report: Report): void {
  const services = Object.values(config.services).flatMap((service) => (service.enabled && isHttpService(service) ? [service] : []));
  const ids = wanted.map(({ id }) => id);
  const never = (why: string, hint?: string) => report.warning('data-filter-never', at('data_filter'), why, hint);
  for (const { name, expression } of handler.data_filter) {
    const root = firstName(name);
    const isNegated = expression.trimStart().startsWith('!');
    if (!wanted.some((definition) => dataMembers(definition).includes(root))) {
      const carriers = eventCatalogue.filter((definition) => dataMembers(definition).includes(root)).map(({ id }) => id);
      const nearest = nearestName(root, [...new Set(wanted.flatMap(dataMembers))]);
      const hint = nearest
        ? `did you mean "${nearest}"?`
        : carriers.length > 0
          ? `it is in event${carriers.length === 1 ? '' : 's'} ${carriers.slice(0, 5).join(', ')}`
          : undefined;
      const events = ids.length <= 5 ? `event${ids.length === 1 ? '' : 's'} ${ids.join(', ')}` : 'the wanted events';
      const effect = isNegated ? 'the rule always holds' : 'the handler can never fire';
      never(`${events} ${ids.length === 1 ? 'has' : 'have'} no member "${root}"; ${effect}`, hint);
    } else if (!isNegated && root === 'api_backend' && services.every((service) => service.api_backend_uuid === '')) {
      never('no enabled service has an api_backend_uuid; the handler can never fire');
    } else if (!isNegated && root === 'metadata' && services.every((service) => service.metadata_fields === null)) {
      never('no enabled service has metadata_fields; the handler can never fire');
    }
  }
}

/**
 * Lists the variables in all texts and names of a value. For a secret, only known variables are listed, so that no finding reveals the
 * secret.
 */
function templateVariables(value: unknown): string[] {
  if (typeof value === 'string') return [...parseTemplate(value).variables];
  if (Array.isArray(value)) return value.flatMap(templateVariables);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const ofMember = templateVariables(member);
    return [...templateVariables(name), ...(secretMember.test(name) ? ofMember.filter(isKnownVariable) : ofMember)];
  });
}

const commonVariables = 'id uuid message data_json account.name account.email account.uuid component.name component.type'.split(' ');

function lintTemplates(handler: EventHandlerOptions, wanted: readonly EventDefinition[], at: At, report: Report): void {
  const variables = handler.http_content_type === 'custom' ? templateVariables(handler.custom_body) : templateVariables(handler.extra_data);
  const carried = new Set(wanted.flatMap(dataMembers));
  for (const name of new Set(variables)) {
    const lowerName = name.toLowerCase();
    if (!isKnownVariable(name)) {
      const known = [...commonVariables, ...[...carried].map((member) => `data.${member}`)];
      const nearest = nearestName(lowerName, known) ?? known.find((candidate) => candidate.endsWith(`.${lowerName}`));
      const hint = nearest ? `did you mean "{${nearest}}"?` : undefined;
      report.warning('unknown-variable', at('extra_data'), `no event has a variable "{${name}}"; it becomes empty text`, hint);
    } else if (lowerName.startsWith('data.') && !carried.has(firstName(lowerName.slice('data.'.length)))) {
      report.warning('variable-never', at('extra_data'), `none of the wanted events has "{${name}}"; it becomes empty text`);
    }
  }
}

/** Finds options without effect, key files that cannot be read, and targets at which each file would replace the previous one. */
function lintForward(handler: ForwardOptions, wanted: readonly EventDefinition[], at: At, report: Report): void {
  const carried = new Set(wanted.flatMap(dataMembers));
  for (const url of handler.url) {
    const { variables } = parseTargetUrl(url).path;
    if (!variables.some((name) => /^(?:path|data\.path|data\.file_name|data\.real_file_name|uuid)$/i.test(name)))
      report.warning(
        'forward-same-name',
        at('url'),
        `"${url}" is the same for all files: each file replaces the previous one`,
        'put {path} into the URL',
      );
    for (const name of variables)
      if (/^data\./i.test(name) && !carried.has(firstName(name.slice('data.'.length))))
        report.warning('variable-never', at('url'), `none of the wanted events has "{${name}}"; no file is sent`);
  }
  for (const option of ['key_path', 'known_hosts_path'] as const) {
    if (handler[option] === '') continue;
    try {
      if (option === 'key_path') readHostKey(handler[option]);
      else readNamedFile(handler[option], option);
    } catch (error) {
      report.error('file-unreadable', at(option), (error as Error).message);
    }
  }
  if (handler.window === '' && handler.time_zone !== 'UTC') report.warning('no-effect', at('time_zone'), 'has no effect without window');
}

function lintEffect(handler: EventHandlerOptions, at: At, report: Report): void {
  const server = { uuid: '', type: 'server', name: '' };
  if (handler.batch_size > 1 && createPayload(handler, server).isSingle)
    report.warning(
      'no-effect',
      at('batch_size'),
      'has no effect: a request has only one event if it is a GET, has a custom body, or has event variables in extra_data',
    );
  const isRetried = handler.retry_count > 0 || handler.retry_for > 0;
  if (handler.retry_increase > 0 && !isRetried)
    report.warning('no-effect', at('retry_increase'), 'has no effect without retry_count or retry_for');
  if (handler.retry_backoff === 'exponential' && !isRetried)
    report.warning('no-effect', at('retry_backoff'), 'has no effect without retry_count or retry_for');
  else if (handler.retry_backoff === 'exponential' && handler.retry_increase === 0 && handler.retry_for === 0)
    report.warning('no-effect', at('retry_backoff'), 'has no effect: retry_increase is 0, so there is no pause before a retry');
  if (handler.request_method === 'get' && handler.http_content_type === 'custom')
    report.warning('no-effect', at('request_method'), 'a GET request has no body, so the template is never sent');
}
