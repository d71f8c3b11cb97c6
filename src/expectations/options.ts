import * as z from 'zod';
import { ServiceError } from '../lib/errors.ts';
import { compileExpression } from '../lib/expression.ts';
import { integer, largestSizeBytes, readOrIssue, yesNo } from '../lib/option-types.ts';
import { isTimeZone } from '../lib/time-zones.ts';
import { dataFilter } from '../webhooks/common-options.ts';
import { checkSchedule, durationSeconds, pathOfDay } from './schedule.ts';

function duration(longest: string) {
  return z.union([z.number(), z.string()], { error: 'must be a time such as 30m, 8h or 3d' }).transform((value, context) => {
    const seconds = durationSeconds(value);
    if (seconds === undefined || seconds > (durationSeconds(longest) as number)) {
      context.addIssue({ code: 'custom', message: `must be seconds, or a time such as 30m, 8h or 3d, up to ${longest}` });
      return z.NEVER;
    }
    return seconds;
  });
}

/** A number of files, such as `1..`, `3` or `2..5`. */
const countRange = z.union([z.number().transform(String), z.string()]).transform((text, context): { minimum: number; maximum: number } => {
  const match = /^\s*(\d{1,6})(\.\.(\d{1,6})?)?\s*$/.exec(text);
  const minimum = Number(match?.[1]);
  const maximum = match?.[2] === undefined ? minimum : match[3] === undefined ? Number.POSITIVE_INFINITY : Number(match[3]);
  if (!match || minimum < 1 || maximum < minimum)
    context.addIssue({ code: 'custom', message: 'must be a number of files such as "3", "1.." or "2..5"' });
  return { minimum, maximum };
});

/** The options of an expectation: a file that is due at certain times (docs/spec/expectations.md). */
export const expectationOptions = z
  .strictObject({
    name: z.string().default('').describe('Name for people; default: the UUID.'),
    enabled: yesNo().default(true).describe('Whether the expectation is watched.'),
    account: z
      .string()
      .optional()
      .describe('Name of the account that the file comes from. Without `account` and `group`, any account counts.'),
    group: z.string().optional().describe('UUID of a group; the file may come from any of its accounts.'),
    path: z
      .string()
      .regex(/^\//, 'must begin with "/"')
      .superRefine((path, context) => void readOrIssue(context, () => compileExpression(pathOfDay(path, new Date(0)), 'paths')))
      .describe(
        'Virtual path of the file, as a glob. `{yyyy}`, `{yy}`, `{MM}`, `{dd}` and `{HH}` are parts of the due time in `time_zone`.',
      ),
    schedule: z.string().optional().describe('When the file is due: cron with five fields, such as `0 6 * * 1-5`.'),
    every: duration('366d')
      .optional()
      .describe('Instead of `schedule`: time from one due time to the next, such as `1d`, by the clock of `time_zone`.'),
    from: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time such as "06:00"')
      .optional()
      .describe('With `every`: a time of day at which the file is due; default `00:00`.'),
    time_zone: z
      .string()
      .default('UTC')
      .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
      .describe('Time zone of the schedule (IANA name).'),
    opens: duration('366d')
      .optional()
      .describe('How long before the due time a file already counts; default: since the previous due time.'),
    grace: duration('366d').default(0).describe('How long after the due time a file is still in time.'),
    count: countRange
      .default({ minimum: 1, maximum: Number.POSITIVE_INFINITY })
      .describe('How many files are expected: `3`, `1..` (default) or `2..5`.'),
    minimum_size: integer(0, largestSizeBytes).default(0).describe('Smallest size of each file, in bytes.'),
    metadata: dataFilter.default([]).describe('Rules on the metadata of the upload, one per line: member name, expression. All must hold.'),
    holidays: z.string().default('').describe('File of days on which nothing is due: one YYYY-MM-DD per line; `#` begins a comment.'),
  })
  .superRefine((options, context) => {
    const { schedule, every, from, account, group } = options;
    const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if ((schedule === undefined) === (every === undefined)) issue('schedule', 'needs either "schedule" or "every"');
    if (from !== undefined && every === undefined) issue('from', 'can be used only with "every"');
    if (every !== undefined && every < 60) issue('every', 'must be at least a minute');
    if (account !== undefined && group !== undefined) issue('group', 'cannot be given together with "account"');
    const fault = schedule === undefined ? undefined : checkSchedule(schedule);
    if (fault) issue('schedule', fault);
  })
  .describe('A file that is due at certain times.');
export type ExpectationOptions = z.infer<typeof expectationOptions>;

/** Parses the days in a holiday file. @throws ServiceError `bad-request` with the number of the malformed line */
export function parseHolidays(text: string): Set<string> {
  const days = text.split('\n').map((line) => line.replace(/#.*/, '').trim());
  for (const [index, day] of days.entries())
    if (day !== '' && !/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/.test(day))
      throw new ServiceError('bad-request', `line ${index + 1} must be a day such as 2026-12-25`);
  return new Set(days.filter((day) => day !== ''));
}
