import * as z from 'zod';
import { number, optionalText, readOrIssue, requestHeaderLines, textList } from '../../lib/option-types.ts';
import { isTimeZone } from '../../lib/time-zones.ts';
import { commonOptions, retryOptions } from '../common-options.ts';
import { parseTargetUrl, type TargetUrl } from './address.ts';
import { parseWindow } from './window.ts';

const longestS = 7 * 86_400;

const afterSending = z
  .string()
  .regex(/^(?:keep|delete|move:\/.+)$/, 'must be keep, delete or move:/folder/{path}')
  .superRefine((text, context) => {
    if (!text.startsWith('move:')) return;
    // The path is checked as a target URL, because the same rules apply.
    readOrIssue(context, () => parseTargetUrl(`sftp://account@service${text.slice('move:'.length)}`));
    if (!/\{[^}]*\}/.test(text))
      context.addIssue({ code: 'custom', message: 'must have a variable, such as {path}; otherwise all files would get the same name' });
  });

const forwardShape = () =>
  z
    .strictObject({
      type: z.literal('forward').describe('Sends the files themselves: to an HTTPS server, to S3 or to an SFTP server.'),
      ...commonOptions,
      url: textList().describe(
        'URL to which files are sent: `https://host/folder/{path}`, `s3://bucket/folder/{path}` or `sftp://user@host/folder/{path}`, with variables of events. If there are several URLs and one fails, the next one is tried.',
      ),
      headers: requestHeaderLines().default([]).describe('Headers sent with every PUT, `Name: value`.'),
      username: optionalText().default('').describe('User name for HTTP Basic.'),
      password: optionalText().default('').describe('Password for HTTP Basic, or of the user at the SFTP server.'),
      timeout: number(0.1, longestS).default(3600).describe('Longest time in seconds for one file, or for one request to S3.'),
      ca_certificates_path: optionalText()
        .default('')
        .describe('PEM file of certificate authorities to trust in addition to those of the system.'),
      endpoint: optionalText().default('').describe('URL of S3-compatible storage; default: AWS in the region.'),
      region: z.string().min(1, 'must not be empty').default('us-east-1').describe('Region of the bucket, for the signature.'),
      access_key_id: optionalText().default('').describe('ID of the access key for S3.'),
      secret_access_key: optionalText().default('').describe('Secret access key for S3.'),
      key_path: optionalText().default('').describe('Private key of the user at the SFTP server, without a passphrase.'),
      known_hosts_path: optionalText().default('').describe('File with the host keys of the SFTP server, in the format of OpenSSH.'),
      after: afterSending
        .default('keep')
        .describe('What happens to a file after it was sent: `keep`, `delete`, or `move:/sent/{path}`, a path of the account.'),
      window: z.string().default('').describe('Time of the day in which files are sent, such as `22:00-05:00`; empty = always.'),
      time_zone: z
        .string()
        .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
        .default('UTC')
        .describe('Time zone of `window`.'),
      ...retryOptions,
    })
    .describe('Sends finished files.');

/** The options that can be used with only one kind of URL. */
const ofKind = {
  put: ['headers', 'username'],
  s3: ['endpoint', 'access_key_id', 'secret_access_key'],
  sftp: ['key_path', 'known_hosts_path'],
} as const satisfies Record<TargetUrl['kind'], readonly (keyof z.infer<ReturnType<typeof forwardShape>>)[]>;

/** An entry of type `forward`. Options that have a meaning only for requests with events get fixed values. */
export const forwardOptions = () =>
  forwardShape().transform((options, context) => {
    const issue = (member: string, message: string) => void context.addIssue({ code: 'custom', path: [member], message });
    const urls = options.url.flatMap((text) => readTargetUrl(text, issue));
    if (options.url.length === 0) issue('url', 'must name at least one URL');
    if (new Set(urls.map(({ kind }) => kind)).size > 1) issue('url', 'must all be of one kind: https://, s3:// or sftp://');
    const kind = urls[0]?.kind;
    if (kind) checkKind(kind, options, issue);
    if (options.window !== '' && !parseWindow(options.window, options.time_zone)) issue('window', 'must be two times such as 22:00-05:00');
    return {
      ...options,
      request_method: 'put' as const,
      http_content_type: 'json' as const,
      cloudevents_type_prefix: '',
      expected_response: '',
      extra_data: {} as Record<string, unknown>,
      custom_body: '',
      batch_size: 1,
      signing_secret: [] as string[],
    };
  });

export type ForwardOptions = z.infer<ReturnType<typeof forwardOptions>>;

function readTargetUrl(text: string, issue: (member: string, message: string) => void): TargetUrl[] {
  try {
    return [parseTargetUrl(text)];
  } catch (error) {
    issue('url', (error as Error).message);
    return [];
  }
}

function checkKind(
  kind: TargetUrl['kind'],
  options: z.infer<ReturnType<typeof forwardShape>>,
  issue: (member: string, message: string) => void,
): void {
  const scheme = { put: 'https://', s3: 's3://', sftp: 'sftp://' } as const;
  for (const [other, members] of Object.entries(ofKind))
    for (const member of members)
      if (other !== kind && options[member].length > 0) issue(member, `can be used only with ${scheme[other as TargetUrl['kind']]} URLs`);
  if (kind === 's3') {
    if (options.password !== '') issue('password', 'can be used only with https:// and sftp:// URLs');
    for (const member of ['access_key_id', 'secret_access_key'] as const)
      if (options[member] === '') issue(member, 'is needed for s3:// URLs');
    if (options.endpoint !== '' && !/^https?:\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/i.test(options.endpoint))
      issue('endpoint', 'must be an http:// or https:// URL');
  }
  if (kind === 'sftp') {
    if (options.known_hosts_path === '')
      issue('known_hosts_path', 'is needed for sftp:// URLs: without it, any server could receive the files');
    if ((options.key_path === '') === (options.password === '')) issue('key_path', 'give either key_path or password');
  }
}
