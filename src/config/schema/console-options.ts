import * as z from 'zod';
import { ownPasswordHash } from '../../accounts/options.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { forwardedHeader, proxyRanges, servicePort } from '../../auth/options.ts';
import { tlsOptions } from '../../certificates/options.ts';
import { integer, number, optionalText, originList, yesNo } from '../../lib/option-types.ts';
import type { AdministratorRole } from '../report-shapes.ts';

/** The roles of administrators, from fewer to more rights. A viewer can change nothing. */
const administratorRoles = ['viewer', 'reviewer', 'operator'] as const satisfies AdministratorRole[];

const administratorOptions = z.strictObject({
  password: ownPasswordHash.describe('Password hash, as `svc hash-password` prints it.'),
  role: z
    .enum(administratorRoles, { error: 'must be viewer, reviewer or operator' })
    .default('viewer')
    .describe(
      '`viewer` sees everything and changes nothing; `reviewer` can also download held uploads and decide about them; `operator` may do everything.',
    ),
});

const administratorName = z
  .string()
  .refine(isUserName, 'must be a name of 1 to 150 characters, without control characters, "/" and "\\"')
  .refine((name) => !name.includes(':'), 'must not contain ":", which ends a name in HTTP Basic');

/** A service of type console. */
export const consoleOptions = z.strictObject({
  type: z.literal('console').describe('Pages and API for administrators; no files.'),
  name: z.string().default('').describe('Name shown to people and in events; default: the UUID.'),
  description: z.string().default('').describe('Free text.'),
  enabled: yesNo().default(true).describe('A disabled service is not started.'),
  address: z.string().min(1).default('127.0.0.1').describe('Address to listen on; `0.0.0.0` or `::` means all addresses.'),
  port: servicePort(9101),
  administrators: z
    .record(administratorName, administratorOptions)
    .default({})
    .describe('Administrators who may log in, by name. The accounts that transfer files cannot log in to the console.'),
  idle_connection_timeout: number(1, 86_400).default(900).describe('Seconds without a request after which a session ends.'),
  session_maximum_age: number(1, 31_536_000).default(43_200).describe('Longest lifetime of a session, in seconds.'),
  maximum_concurrent_connections: integer(1, 1_000_000).default(2000).describe('Maximum concurrent connections; further ones are closed.'),
  accepted_origins: originList()
    .default([])
    .describe(
      'Origins under which browsers reach the console, for example behind a proxy that ends TLS. Other host names are refused, except `address`, `localhost` and IP addresses.',
    ),
  client_forwarded_header: forwardedHeader(),
  trusted_proxies: proxyRanges().describe(
    'Addresses and ranges of proxies whose `client_forwarded_header` is trusted. Default: loopback and private ranges.',
  ),
  tls_certificate_path: optionalText()
    .default('')
    .describe(
      'PEM file of the certificate chain; it may have two chains, one for an RSA key and one for an ECDSA key. If set, the console uses https.',
    ),
  tls_key_path: optionalText().default('').describe('PEM file of the private key, or of both keys if there are two chains.'),
  tls_client_ca_path: optionalText()
    .default('')
    .describe('PEM file of authorities; clients need a certificate from one of them in addition to the login.'),
  tls_minimum_version: z
    .enum(['TLSv1.2', 'TLSv1.3'], { error: 'must be TLSv1.2 or TLSv1.3' })
    .default('TLSv1.2')
    .describe('Lowest TLS version.'),
  tls: tlsOptions.prefault({}),
});
export type ConsoleOptions = z.infer<typeof consoleOptions>;

/** Whether the console uses https. */
export function usesTls({
  tls_certificate_path,
  tls_key_path,
  tls,
}: Pick<ConsoleOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls'>): boolean {
  return tls_certificate_path !== '' || tls_key_path !== '' || tls.acme !== undefined;
}
