import * as z from 'zod';
import { eventGroups, isEventId } from '../events/catalogue.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { compileExpression } from '../lib/expression.ts';
import { isObject, parseJson } from '../lib/json.ts';
import {
  duration,
  expressionText,
  type Filter,
  filterList,
  integer,
  lineList,
  number,
  optionalText,
  readOrIssue,
  requestHeaderLines,
  textList,
  urlList,
  yesNo,
} from '../lib/option-types.ts';

const eventFilter = filterList().transform((filter, context): Filter<number> => {
  const numbers = (items: string[]) =>
    items.map((item) => {
      if (!isEventId(Number(item)))
        context.addIssue({ code: 'custom', message: `"${item}" is not an event ID; "svc events --catalogue" lists them` });
      return Number(item);
    });
  return { include: numbers(filter.include), exclude: numbers(filter.exclude) };
});

const groupFilter = filterList().superRefine((filter, context) => {
  for (const group of [...filter.include, ...filter.exclude]) {
    if (!eventGroups.some((known) => known === group))
      context.addIssue({
        code: 'custom',
        message: `"${group}" is not an event group; known: ${eventGroups.join(', ')}`,
        params: { given: group, known: eventGroups },
      });
  }
});

/** One rule: a member of `data` (dots go into objects) and an expression for its value. */
export interface DataRule {
  name: string;
  expression: string;
}

/** Rules on members of an event's data. */
export const dataFilter = z
  .union([lineList(), z.record(z.string(), z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]))])
  .transform((value, context): DataRule[] => {
    const rules = Array.isArray(value)
      ? value.map((line) => ({
          name: line.split(',', 1)[0]?.trim() ?? '',
          expression: line.includes(',') ? line.slice(line.indexOf(',') + 1).trim() : '',
        }))
      : Object.entries(value).map(([name, expression]) => ({ name, expression }));
    for (const rule of rules) {
      if (rule.name === '' || rule.expression === '')
        context.addIssue({ code: 'custom', message: 'each rule must be "data member, expression"' });
      else readOrIssue(context, () => compileExpression(rule.expression));
    }
    return rules;
  });

/** Addresses and CIDR ranges, checked; kept as text. */
const addressFilter = filterList().superRefine(({ include, exclude }, context) => {
  readOrIssue(context, () => compileAddressRanges([...include, ...exclude]));
});

const longestWaitS = 86_400;
const longestRetryS = 30 * 86_400;

const rate = z
  .strictObject({ requests: integer(1, 1_000_000), seconds: number(0.001, 86_400).default(1), burst: integer(1, 1_000_000).optional() })
  .transform(({ burst, ...rest }) => ({ ...rest, burst: burst ?? rest.requests }));

const signingSecrets = z.union([textList(), z.null().transform((): string[] => [])]).superRefine((secrets, context) => {
  // Messages do not show the secret.
  for (const [index, secret] of secrets.entries()) {
    if (secret.startsWith('whsec_') && !/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))
      context.addIssue({ code: 'custom', message: `secret ${index + 1}: what follows "whsec_" must be base64` });
  }
});

/** One entry of `event_handlers`; lazy, as most configurations have none and this is an eighth of all schemas. */
export const eventHandlerOptions = z.lazy(() =>
  z
    .strictObject({
      type: z.literal('http', { error: 'must be http' }).describe('Sends events to URLs.'),
      enabled: yesNo().default(true).describe('A disabled handler is not started; its position in the journal stays.'),
      name: z.string().default('').describe('Name that people and events see; default: the UUID.'),
      description: z.string().default('').describe('Free text.'),
      target: eventFilter
        .default({ include: [], exclude: [] })
        .describe('Event IDs, comma-separated; empty = all, `!ID` = all but this one.'),
      groups: groupFilter.default({ include: [], exclude: [] }).describe('Event groups; `!` excludes.'),
      usernames: filterList().default({ include: [], exclude: [] }).describe('Account names; `!` excludes.'),
      user_groups: filterList().default({ include: [], exclude: [] }).describe('UUIDs of account groups; `!` excludes.'),
      components: filterList().default({ include: [], exclude: [] }).describe('UUIDs of components; `!` excludes.'),
      source_addresses: addressFilter.default({ include: [], exclude: [] }).describe('Client addresses or CIDR ranges; `!` excludes.'),
      data_filter: dataFilter.default([]).describe('Rules on event data, one per line: member name, expression. All must hold.'),
      url: urlList().describe('URL that receives the events, or several: the next one is tried when one fails.'),
      request_method: z
        .string()
        .toLowerCase()
        .pipe(z.enum(['post', 'put', 'get'], { error: 'must be post, put or get' }))
        .default('post')
        .describe('Request method: post, put or get.'),
      http_content_type: z
        .enum(['json', 'xml', 'soap', 'cloudevents', 'custom'], { error: 'must be json, xml, soap, cloudevents or custom' })
        .default('json')
        .describe(
          'Format of the body: json, xml (SOAP 1.2; soap means the same), cloudevents (1.0, structured; batched with a `batch_size` above 1), or custom with `extra_data` as its template.',
        ),
      cloudevents_type_prefix: z
        .string()
        .min(1, 'must not be empty')
        .default('svc.event')
        .describe('Beginning of the `type` of CloudEvents, before a dot and the event ID; best a domain of yours, reversed.'),
      headers: requestHeaderLines().default([]).describe('Headers sent with every request, `Name: value`.'),
      username: optionalText().default('').describe('User name for HTTP Basic.'),
      password: optionalText().default('').describe('Password for HTTP Basic.'),
      timeout: number(0.1, 3600).default(120).describe('Longest time for one request with its whole reply, in seconds.'),
      ca_certificates_path: optionalText()
        .default('')
        .describe('PEM file of certificate authorities to trust in addition to those of the system.'),
      expected_response: z
        .union([z.literal(''), z.null().transform(() => ''), expressionText()])
        .default('')
        .describe('Expression that the body of a 2xx reply must match.'),
      retry_count: integer(0, 1000).default(0).describe('Number of retries for each URL.'),
      retry_increase: number(0, 86_400).default(0).describe('Seconds of pause before a retry, multiplied by its number.'),
      retry_backoff: z
        .enum(['linear', 'exponential'], { error: 'must be linear or exponential' })
        .default('linear')
        .describe(
          'How long retries wait: linear, the n-th n × `retry_increase`; or exponential, at random up to `retry_increase` × 2^(n−1) (full jitter).',
        ),
      retry_maximum_wait: duration(longestWaitS).default(3600).describe('Longest wait of an exponential retry, in seconds or as `10m`.'),
      retry_for: duration(longestRetryS)
        .default(0)
        .describe(
          'Time from the first request within which it is sent again, in seconds or as `3d`; 0 = only `retry_count` counts. With it `retry_count` 0 means any number.',
        ),
      rate: rate
        .nullable()
        .default(null)
        .describe('Requests that are sent at most: `requests` in `seconds` (1), and `burst` (as `requests`) at once.'),
      fail_after_errors: integer(0, 1_000_000)
        .default(10)
        .describe('Number of consecutive failed deliveries after which the handler stops; 0 = never.'),
      extra_data: z
        .union([z.record(z.string(), z.unknown()), z.string(), z.null().transform(() => ({}))], { error: 'must be a map, or a text' })
        .default({})
        .describe('Members added to the body, with template variables; for `custom` the body itself.'),
      batch_size: integer(1, 10_000).default(1).describe('Maximum events in one request.'),
      concurrency: integer(1, 256).default(1).describe('Maximum concurrent requests; above 1 the order of events is not kept.'),
      signing_secret: signingSecrets
        .default([])
        .describe('Secret for Standard Webhooks signatures (`whsec_` and base64); several during a change of secrets.'),
    })
    .describe('A webhook.')
    .transform((options, context) => {
      const issue = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
      const ours = options.headers.find(([name]) => /^webhook-(id|timestamp|signature)$/i.test(name));
      if (ours && options.signing_secret.length > 0) issue('headers', `"${ours[0]}" is set by the signature; remove it or signing_secret`);
      const { extra_data } = options;
      if (options.http_content_type === 'cloudevents' && !isEmptyExtra(extra_data))
        issue('extra_data', 'must be empty when http_content_type is cloudevents: a CloudEvent has no room for it');
      if (options.http_content_type !== 'custom') return { ...options, custom_body: '', extra_data: parseExtraData(extra_data, context) };
      if (typeof extra_data !== 'string') issue('extra_data', 'must be the text of the body template when http_content_type is custom');
      return { ...options, custom_body: typeof extra_data === 'string' ? extra_data : '', extra_data: {} as Record<string, unknown> };
    }),
);

/** An event handler's options in force. */
export type EventHandlerOptions = z.infer<typeof eventHandlerOptions>;

function isEmptyExtra(value: string | Record<string, unknown>): boolean {
  return typeof value === 'string' ? value.trim() === '' : Object.keys(value).length === 0;
}

function parseExtraData(value: string | Record<string, unknown>, context: z.core.$RefinementCtx): Record<string, unknown> {
  const issue = (message: string) => context.addIssue({ code: 'custom', path: ['extra_data'], message });
  let members = value;
  if (typeof members === 'string') {
    if (members.trim() === '') return {};
    try {
      members = parseJson(members) as Record<string, unknown>;
    } catch (error) {
      issue(`is not usable as JSON: ${(error as Error).message}`);
      return {};
    }
    if (!isObject(members)) {
      issue('must be a JSON object');
      return {};
    }
  }
  for (const reserved of ['events', 'server']) {
    if (Object.hasOwn(members, reserved)) issue(`must not have the member "${reserved}", which the body has itself`);
  }
  return members;
}
