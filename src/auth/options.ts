import { join } from 'node:path';
import * as z from 'zod';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { isHeaderName } from '../lib/headers/header-fields.ts';
import { integer, number, optionalText, readOrIssue, requestHeaderLines, textList, urlList, uuidText, yesNo } from '../lib/option-types.ts';

/** The options of every service to which accounts log in, over any protocol. */
export const loginServiceOptions = {
  name: z.string().default('').describe('Name shown to people and in events; default: the UUID.'),
  description: z.string().default('').describe('Free text.'),
  enabled: yesNo().default(true).describe('A disabled service is not started.'),
  address: z.string().min(1).default('127.0.0.1').describe('Address to listen on; `0.0.0.0` or `::` means all addresses.'),
  authentications: z
    .union([textList(), z.null()])
    .default(null)
    .describe('UUIDs of the authentication methods, in order; default: every enabled method in file order.'),
  public_error: yesNo().default(false).describe('Show clients the `message` and `public_response` of refusals by endpoints.'),
  idle_connection_timeout: number(1, 86_400)
    .default(300)
    .describe('Seconds without activity after which a connection is closed and a session ends.'),
  session_maximum_age: number(1, 31_536_000).default(43_200).describe('Longest lifetime of a session, in seconds.'),
  maximum_concurrent_connections: integer(1, 1_000_000)
    .default(10_000)
    .describe('Maximum concurrent connections; further ones are closed.'),
};

/** The option for the port to listen on. */
export function servicePort(usual: number) {
  return integer(0, 65_535).default(usual).describe('Port to listen on; 0 = any free one.');
}

/** The option for the header in which proxies send the address of their client. If it is empty, no header is trusted. */
export function forwardedHeader() {
  return z
    .union([z.literal(''), z.null().transform(() => ''), z.string().refine(isHeaderName, 'must be a header name')])
    .default('')
    .describe('Header in which a trusted proxy names the address of its client, for example `X-Forwarded-For`.');
}

/** The loopback and private ranges, in which proxies usually are. */
const nearbyRanges = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/** The option for the addresses and ranges of trusted proxies. */
export function proxyRanges() {
  return textList()
    .transform((items, context) => {
      readOrIssue(context, () => compileAddressRanges(items));
      return items.length > 0 ? items : [...nearbyRanges];
    })
    .default([...nearbyRanges]);
}

const common = {
  enabled: yesNo().default(true).describe('A disabled method is not started and not asked.'),
  name: z.string().default('').describe('Name shown to people and in events; default: the UUID.'),
  description: z.string().default('').describe('Free text.'),
};

/** The options of a method that asks a remote endpoint. */
export const calloutOptions = z.strictObject({
  type: z.literal('http').describe('Asks a remote HTTP endpoint (the authentication callout).'),
  ...common,
  url: urlList().describe('URL of the endpoint, or several. If one does not reply, the next one is tried.'),
  timeout: number(0.1, 3600)
    .default(120)
    .describe('Maximum time in seconds for connecting, sending the request and receiving the whole reply.'),
  username: optionalText().default('').describe('User name for HTTP Basic at the endpoint.'),
  password: optionalText().default('').describe('Password for HTTP Basic at the endpoint.'),
  headers: requestHeaderLines().default([]).describe('Headers sent with every request, `Name: value`.'),
  test_at_start: yesNo()
    .default(true)
    .describe('Send a test request when the method starts; until one succeeds, the method rejects all logins.'),
  ca_certificates_path: optionalText()
    .default('')
    .describe('PEM file of certificate authorities to trust in addition to those of the system.'),
  tokens: yesNo()
    .default(false)
    .describe(
      'Ask the endpoint about access tokens and links of its accounts, with `type` `token`. Without this option, these tokens and links are refused.',
    ),
  cache_seconds: number(0, 86_400).default(0).describe('Seconds for which an accepted credential is remembered; 0 = ask every time.'),
});
export type CalloutOptions = z.infer<typeof calloutOptions>;

export const applicationOptions = z.strictObject({
  type: z.literal('application').describe('Accounts of this configuration and of the accounts file.'),
  ...common,
  accounts_file_path: optionalText()
    .default('')
    .describe(
      'File of further accounts, in YAML or JSON; the service writes password changes to it. Default: `accounts.yaml` in the data folder. For tens of thousands of accounts use JSON, which is read four times as fast.',
    ),
  replace_password_hashes: yesNo()
    .default(true)
    .describe(
      'If another system made the hash of a password (bcrypt and others), replace the hash in the accounts file by one in the format of svc, after a login with that password.',
    ),
});

export type ApplicationOptions = z.infer<typeof applicationOptions>;

export const anonymousOptions = z.strictObject({
  type: z.literal('anonymous').describe('Accepts requests without credentials.'),
  ...common,
  group: uuidText.describe('Group of the account `anonymous`.'),
});

/** An entry of `authentications`. */
export const authenticationOptions = z
  .discriminatedUnion('type', [calloutOptions, applicationOptions, anonymousOptions], {
    error: 'must have a "type": http, application or anonymous',
  })
  .describe('An authentication method.');
export type AuthenticationOptions = z.infer<typeof authenticationOptions>;

/** Returns the path of the accounts file of a local method. */
export function accountsFilePath({ accounts_file_path }: ApplicationOptions, dataFolderPath: string): string {
  return accounts_file_path || join(dataFolderPath, 'accounts.yaml');
}

/** Returns the configured methods by UUID, in order. If none is configured, returns a method for local accounts. */
export function methodsInForce(configured: Readonly<Record<string, AuthenticationOptions>>): [string, AuthenticationOptions][] {
  const entries = Object.entries(configured);
  return entries.length > 0 ? entries : [['application', applicationOptions.parse({ type: 'application' })]];
}
