import { isAbsolute } from 'node:path';
import * as z from 'zod';
import { integer, largestSizeBytes, number, optionalText, requestHeaderLines, urlList, yesNo } from '../../lib/option-types.ts';
import type { UploadLimits } from '../uploads/upload-store.ts';

const onFailure = z.enum(['hold', 'refuse'], { error: 'must be hold or refuse' });

const common = {
  name: z.string().default('').describe('Name shown to people and in events; default: the UUID.'),
  description: z.string().default('').describe('Free text.'),
  enabled: yesNo().default(true).describe('Whether the inspection can be used. No group or account may refer to a disabled one.'),
  timeout: number(0.1, 3600).default(30).describe('Maximum time for one request in seconds, including the connection.'),
  answer_within: number(0, 3600)
    .default(20)
    .describe('Seconds that a client waits, including the time in the queue; then the upload is held, and the inspection continues.'),
  on_failure: onFailure.default('hold').describe('How a file is treated if the inspection fails: hold or refuse.'),
  maximum_size: integer(1, largestSizeBytes)
    .optional()
    .describe('Maximum size of a file in bytes; larger files are not sent. Default: no limit.'),
  on_larger: z
    .enum(['hold', 'refuse', 'accept'], { error: 'must be hold, refuse or accept' })
    .optional()
    .describe('How a file larger than `maximum_size` is treated: hold, refuse or accept; default: hold.'),
  maximum_concurrent: integer(1, 1000)
    .default(8)
    .describe('Number of files that are inspected at the same time. Others wait; the accounts take turns.'),
  test_at_start: yesNo()
    .default(true)
    .describe('Whether the inspection is tested when it starts, and each minute until the test succeeds.'),
};

const httpInspection = z.strictObject({
  type: z.literal('http').describe('Asks a remote HTTP endpoint.'),
  ...common,
  url: urlList().describe('URL of the endpoint, or several. If one gives no reply, the next one is tried.'),
  content: z
    .enum(['body', 'metadata', 'path'], { error: 'must be body, metadata or path' })
    .default('body')
    .describe(
      'What is sent: body (the file as the body), metadata (only JSON about the file), or path (the same JSON with the real path of the hidden file).',
    ),
  username: optionalText().default('').describe('User name for HTTP Basic.'),
  password: optionalText().default('').describe('Password for HTTP Basic.'),
  headers: requestHeaderLines().default([]).describe('Headers sent with every request, `Name: value`.'),
  ca_certificates_path: optionalText().default('').describe("PEM file of certificate authorities to trust in addition to the system's."),
});
export type HttpInspectionOptions = z.infer<typeof httpInspection>;

/** The address at which clamd listens. */
export type ClamdAddress = { path: string } | { host: string; port: number };

/** Parses `unix:PATH` or `tcp://HOST:PORT`. Returns undefined for any other text. */
export function clamdAddress(text: string): ClamdAddress | undefined {
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(text)?.[1];
  if (path !== undefined) return isAbsolute(path) ? { path } : undefined;
  const [, bracketed, plain, port] = /^tcp:\/\/(?:\[([0-9a-f:.]+)\]|([^\s:/@]+)):(\d{1,5})\/?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host !== undefined && Number(port) >= 1 && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined;
}

const clamdInspection = z.strictObject({
  type: z.literal('clamd').describe('Asks clamd, the daemon of ClamAV (command INSTREAM).'),
  ...common,
  url: z
    .string()
    .refine((text) => clamdAddress(text) !== undefined, 'must be unix:PATH or tcp://HOST:PORT')
    .describe('Where clamd listens: `unix:PATH` or `tcp://HOST:PORT`.'),
});
export type ClamdInspectionOptions = z.infer<typeof clamdInspection>;

/** One entry of `inspections`. The schema is created lazily, because most configurations have no inspections. */
export const inspectionOptions = z.lazy(() =>
  z
    .discriminatedUnion('type', [httpInspection, clamdInspection], { error: 'must have a "type": http or clamd' })
    .describe('An inspection of files before they become visible.'),
);
export type InspectionConfiguration = z.infer<typeof inspectionOptions>;

/** `server.held`: uploads that wait for a decision. */
export const heldOptions = z
  .strictObject({
    days: number(0.001, 30).default(30).describe('Days after which a held upload is discarded.'),
    maximum_per_account: integer(1, 1_000_000)
      .default(100)
      .describe('Maximum number of held uploads of one account; more are refused (429).'),
    answer: z
      .enum(['accept', 'refuse'], { error: 'must be accept or refuse' })
      .default('accept')
      .describe('The reply to a client about a held upload: accept (202, SFTP success), or refuse (422, SFTP failure).'),
  })
  .describe('Uploads that an inspection holds.');
export type HeldOptions = z.infer<typeof heldOptions>;

/** Converts the options into limits. */
export function heldLimits({ days, maximum_per_account }: HeldOptions): UploadLimits {
  return { expireAfterMs: days * 86_400_000, maxPerAccount: maximum_per_account };
}
