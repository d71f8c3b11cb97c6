import { domainToASCII } from 'node:url';
import * as z from 'zod';
import { challengeTypes } from '../lib/acme/acme-client.ts';
import { integer, optionalText, textList, urlList } from '../lib/option-types.ts';

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** Matches a DNS name. The last label must not be a number, so that IP addresses do not match. */
const domainName = new RegExp(`^(?=.{1,253}$)(?:${label}\\.)*(?!\\d+$)${label}$`);

const domains = textList().transform((names, context) => {
  const issue = (message: string) => context.addIssue({ code: 'custom', message });
  if (names.length === 0) issue('must name at least one domain');
  if (names.length > 100) issue('must name at most 100 domains, as many as a certificate may have');
  return [
    ...new Set(
      names.map((name) => {
        const ascii = domainToASCII(name.trim()).toLowerCase();
        if (name.includes('*')) issue(`"${name}": a wildcard needs the challenge dns-01, which svc does not support`);
        else if (/[^\p{L}\p{M}\p{N}.-]/u.test(name.trim()) || !domainName.test(ascii))
          issue(`"${name}" is not a domain such as files.example.com`);
        return ascii;
      }),
    ),
  ];
});

const acmeOptions = z
  .strictObject({
    directory: urlList()
      .refine((urls) => urls.every((url) => url.toLowerCase().startsWith('https:')), 'must be https:// URLs')
      .describe(
        'ACME directory URL of an authority, or several URLs. If an order fails at one, the next one is asked. By naming a directory, you agree to the terms of the authority.',
      ),
    email: optionalText()
      .default('')
      .refine((email) => email === '' || /^[^\s@:,?]+@[^\s@:,?]+$/.test(email), 'must be an e-mail address')
      .describe('E-mail address for messages from the authority.'),
    domains: domains.describe('Host names in the certificate, up to 100.'),
    challenge: z
      .enum(challengeTypes, { error: `must be ${challengeTypes.join(' or ')}` })
      .default('http-01')
      .describe('How the authority verifies that you control the domains: by `http-01` on port 80, or by `tls-alpn-01` on port 443.'),
    http_port: integer(0, 65_535)
      .default(80)
      .describe(
        'Port that answers `http-01` and redirects everything else to https, at the address of the service. Authorities always ask port 80.',
      ),
    external_account: z
      .strictObject({
        key_id: z.string().min(1, 'must not be empty').describe('Identifier of the account.'),
        hmac_secret: z
          .string()
          .regex(/^[\w-]+=*$/, 'must be in base64url')
          .describe('Key of the account, in base64url.'),
      })
      .optional()
      .describe('Account at the authority, if it requires one (external account binding).'),
    ca_certificates_path: optionalText()
      .default('')
      .describe('PEM file of certificate authorities to trust for the directory in addition to those of the system.'),
  })
  .describe('Certificates that svc obtains and renews by itself (ACME, RFC 8555), instead of certificate files.');
export type AcmeOptions = z.infer<typeof acmeOptions>;

/** The option `tls` of a service. It says how svc obtains the certificate, if no other option names certificate files. */
export const tlsOptions = z.strictObject({ acme: acmeOptions.optional() }).describe('How svc obtains certificates by itself (https).');

/** Options of http and https services for TLS. */
export const tlsServiceOptions = {
  tls_certificate_path: optionalText()
    .default('')
    .describe('PEM file of the certificate chain; it may have two chains, one for an RSA key and one for an ECDSA key (https).'),
  tls_key_path: optionalText().default('').describe('PEM file of the private key, or of both keys if there are two chains (https).'),
  tls_client_ca_path: optionalText()
    .default('')
    .describe('PEM file of the authorities whose client certificates are accepted for logins (https).'),
  tls_minimum_version: z
    .enum(['TLSv1.2', 'TLSv1.3'], { error: 'must be TLSv1.2 or TLSv1.3' })
    .default('TLSv1.2')
    .describe('Lowest TLS version (https).'),
  tls: tlsOptions.prefault({}),
};

/** The options of a service that name its TLS files, and the one for the lowest TLS version. */
export type TlsOptions = Omit<z.infer<z.ZodObject<typeof tlsServiceOptions>>, 'tls'>;
