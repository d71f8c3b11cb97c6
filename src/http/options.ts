import * as z from 'zod';
import { forwardedHeader, loginServiceOptions, proxyRanges, servicePort } from '../auth/options.ts';
import { tlsServiceOptions } from '../certificates/options.ts';
import { compileExpression } from '../lib/expression.ts';
import { isHeaderName, refusedPassthroughHeaders } from '../lib/headers/header-fields.ts';
import { parseList } from '../lib/list-values.ts';
import {
  headerLines,
  headerNames,
  integer,
  largestSizeBytes,
  lineList,
  originList,
  readOrIssue,
  uuidText,
  yesNo,
} from '../lib/option-types.ts';
import { appearanceOptions } from './appearance-options.ts';

/** The value of `metadata_fields`: the name of the header and the allowed keys. Without keys, any key is allowed. */
export interface MetadataFields {
  header: string;
  required: boolean;
  keys: { pattern: string; required: boolean }[];
}

const metadataFields = lineList().transform((lines, context): MetadataFields | null => {
  const issue = (message: string) => context.addIssue({ code: 'custom', message });
  const [first, ...keys] = lines.map((line) => {
    const comma = line.lastIndexOf(',');
    const mark = comma < 0 ? 'optional' : line.slice(comma + 1).trim();
    const name = comma < 0 ? line : line.slice(0, comma).trim();
    if (mark !== 'required' && mark !== 'optional') issue(`"${line}" must be "name", "name, required" or "name, optional"`);
    return { name, required: mark === 'required' };
  });
  if (!first) return null;
  if (!isHeaderName(first.name)) issue(`"${first.name}" is not a header name`);
  for (const { name } of keys) readOrIssue(context, () => compileExpression(name));
  return { header: first.name, required: first.required, keys: keys.map((key) => ({ pattern: key.name, required: key.required })) };
});

export const triggerStyles = ['primary', 'secondary', 'success', 'info', 'warning', 'danger'] as const;

/** A named action that accounts can run on members of a folder. */
export interface CustomTrigger {
  name: string;
  style: (typeof triggerStyles)[number];
  /** UUIDs of the groups that may run the action; if the list is empty, all groups may. */
  groups: string[];
}

const builtInActions = [
  'delete',
  'create-folder',
  'create-folder-if-missing',
  'restore',
  'upload-file',
  'delete-members',
  'download-members',
  'confirm-delete',
  'move',
  'copy',
];

const triggers = lineList().transform((lines, context): CustomTrigger[] => {
  const issue = (message: string) => context.addIssue({ code: 'custom', message });
  return lines.map((line) => {
    const [name = '', style = 'secondary', ...groups] = parseList(line).filter((item) => item !== '');
    if (builtInActions.includes(name)) issue(`"${name}" is a built-in action`);
    const known = triggerStyles.find((candidate) => candidate === style);
    if (!known) issue(`"${style}" is not a style; known: ${triggerStyles.join(', ')}`);
    return { name, style: known ?? 'secondary', groups };
  });
});

function publicUrl() {
  return z
    .string()
    .transform((text) => text.trim().replace(/\/+$/, ''))
    .refine(
      (text) => text === '' || (URL.canParse(text) && /^https?:\/\/[^/?#@]+$/.test(text)),
      'must be a URL such as https://files.example.com, without path and credentials',
    );
}

const passthrough = headerNames().superRefine((names, context) => {
  for (const name of names) {
    if (refusedPassthroughHeaders.has(name.toLowerCase()))
      context.addIssue({ code: 'custom', message: `"${name}" must not be copied from the reply of the back-end` });
  }
});

const shared = {
  ...loginServiceOptions,
  maximum_request_size: integer(0, largestSizeBytes).default(0).describe('Largest request body, in bytes; 0 = no limit.'),
  headers: headerLines().default([]).describe('Headers added to every reply.'),
  accepted_origins: originList()
    .default([])
    .describe(
      'Origins under which browsers reach the service, for example behind a proxy. If `https://HOST` is listed, changes that pages of `http://HOST` request are refused.',
    ),
  public_url: publicUrl()
    .default('')
    .describe(
      'URL that links begin with, such as `https://files.example.com`; default: the first of `accepted_origins`, else the address of the service.',
    ),
  client_forwarded_header: forwardedHeader(),
  trusted_proxies: proxyRanges().describe(
    'Addresses and ranges of proxies whose `client_forwarded_header` is trusted. The client is the rightmost address in the header that is not such a proxy. Default: loopback and private ranges.',
  ),
  cors_origins: originList()
    .default([])
    .describe('Other origins whose pages may use the API from a browser. They must send credentials in headers; cookies do not count.'),
  announce_session_authentication: yesNo().default(true).describe('Offer the `session` scheme in the challenges of a 401.'),
  announce_version: yesNo().default(true).describe('Show the version in the `server` header.'),
  webdav_compatibility: yesNo().default(false).describe('Deviate from WebDAV where Finder, Explorer or Office need it.'),
  metadata_fields: metadataFields
    .default(null)
    .describe('Name of the header with upload metadata, then its keys, one per line, each followed by `, required` or `, optional`.'),
  triggers: triggers.default([]).describe('Actions for selected files, one per line: `Name, button style, group…`; no group: everyone.'),
  appearance: appearanceOptions.prefault({}),
  show_api_link: yesNo().default(false).describe('Whether the menu of the pages has a link to the description of the API.'),
  api_backend_uuid: z
    .union([z.literal(''), z.null().transform(() => ''), uuidText])
    .default('')
    .describe('UUID of an event handler. The reply to an upload waits for the reply of the receiver of this handler.'),
  api_passthrough_headers: passthrough
    .default([])
    .describe('Headers that are copied from the reply of the back-end to the reply to the client.'),
  api_partial_success_headers: headerLines().default([]).describe('Headers that the client gets if the back-end gives no valid reply.'),
};

export const httpOptions = z.strictObject({
  type: z.literal('http').describe('Files over HTTP.'),
  ...shared,
  port: servicePort(8080),
  ...tlsServiceOptions,
});
export const httpsOptions = z.strictObject({
  type: z.literal('https').describe('Files over HTTPS.'),
  ...shared,
  port: servicePort(8443),
  ...tlsServiceOptions,
});
export type HttpServiceOptions = z.infer<typeof httpOptions> | z.infer<typeof httpsOptions>;
