import * as z from 'zod';
import { eventGroups, isEventId } from '../events/catalogue.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { compileExpression } from '../lib/expression.ts';
import { duration, type Filter, filterList, integer, lineList, number, readOrIssue, yesNo } from '../lib/option-types.ts';

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

/** A rule on an event's data: the name of a member of `data`, with dots for nested members, and an expression for its value. */
export interface DataRule {
  name: string;
  expression: string;
}

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

const addressFilter = filterList().superRefine(({ include, exclude }, context) => {
  readOrIssue(context, () => compileAddressRanges([...include, ...exclude]));
});

const longestWaitS = 86_400;
const longestRetryS = 30 * 86_400;

const rate = z
  .strictObject({ requests: integer(1, 1_000_000), seconds: number(0.001, 86_400).default(1), burst: integer(1, 1_000_000).optional() })
  .transform(({ burst, ...rest }) => ({ ...rest, burst: burst ?? rest.requests }));

/** Options that every handler has: its name, and the events that it gets. */
export const commonOptions = {
  enabled: yesNo().default(true).describe('A disabled handler does not run, but keeps its position in the journal.'),
  name: z.string().default('').describe('Name shown to people and in events; default: the UUID.'),
  description: z.string().default('').describe('Free text.'),
  target: eventFilter.default({ include: [], exclude: [] }).describe('Event IDs, comma-separated; empty = all, `!ID` = all but this one.'),
  groups: groupFilter.default({ include: [], exclude: [] }).describe('Event groups; `!` excludes.'),
  usernames: filterList().default({ include: [], exclude: [] }).describe('Account names; `!` excludes.'),
  user_groups: filterList().default({ include: [], exclude: [] }).describe('UUIDs of account groups; `!` excludes.'),
  components: filterList().default({ include: [], exclude: [] }).describe('UUIDs of components; `!` excludes.'),
  source_addresses: addressFilter.default({ include: [], exclude: [] }).describe('Client addresses or CIDR ranges; `!` excludes.'),
  data_filter: dataFilter.default([]).describe('Rules on event data, one per line: member name, expression. All must hold.'),
};

/** Options that every handler has: retries, and limits of requests. */
export const retryOptions = {
  retry_count: integer(0, 1000).default(0).describe('Number of retries for each URL.'),
  retry_increase: number(0, 86_400).default(0).describe('Seconds from which the pause before a retry is calculated, see `retry_backoff`.'),
  retry_backoff: z
    .enum(['linear', 'exponential'], { error: 'must be linear or exponential' })
    .default('linear')
    .describe(
      'Pause before the n-th retry. `linear`: n × `retry_increase`. `exponential`: a random time up to `retry_increase` × 2^(n−1) (full jitter).',
    ),
  retry_maximum_wait: duration(longestWaitS)
    .default(3600)
    .describe('Longest pause before a retry with `exponential`, in seconds or as `10m`.'),
  retry_for: duration(longestRetryS)
    .default(0)
    .describe(
      'Time after the first request within which retries are made, in seconds or as `3d`; 0 = only `retry_count` applies. With `retry_for`, `retry_count` 0 means any number of retries.',
    ),
  rate: rate
    .nullable()
    .default(null)
    .describe(
      'Maximum rate: `requests` in `seconds` (default 1). After a pause, up to `burst` (default: `requests`) are sent without delay.',
    ),
  fail_after_errors: integer(0, 1_000_000)
    .default(10)
    .describe('Number of consecutive failed deliveries after which the handler stops; 0 = never.'),
  concurrency: integer(1, 256).default(1).describe('Maximum concurrent requests. Above 1, the order of events is not kept.'),
};
