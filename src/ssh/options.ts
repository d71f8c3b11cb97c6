import * as z from 'zod';
import { loginServiceOptions, proxyRanges, servicePort } from '../auth/options.ts';
import { eventIds } from '../events/event-ids.ts';
import { integer, largestSizeBytes, number, optionalText, textList, yesNo } from '../lib/option-types.ts';
import { algorithmFaults } from './algorithms.ts';

const cipherList = textList()
  .transform((names) => (names.length > 0 ? names : ['secure']))
  .superRefine((names, context) => {
    for (const message of algorithmFaults(names)) context.addIssue({ code: 'custom', message });
  });

/** A service of type ssh. */
export const sshOptions = z.strictObject({
  type: z.literal('ssh').describe('Files over SFTP.'),
  ...loginServiceOptions,
  port: servicePort(2222),
  host_key_paths: textList()
    .default([])
    .describe(
      'Files of private host keys (OpenSSH or PEM); default: ed25519 and RSA 3072, made once in the data folder. The same on all nodes.',
    ),
  before_login_message: optionalText().default('').describe('Shown to clients before they log in.'),
  ssh_cipher_list: cipherList
    .default(['secure'])
    .describe(
      'Algorithms: `secure`, `all` (older ones too), `fips`, or names of key exchanges, host keys, ciphers and MACs; a kind without a name in the list is as in `secure`.',
    ),
  login_grace_time: number(1, 3600).default(60).describe('Seconds that a client has to log in; a running callout is not cut.'),
  max_auth_tries: integer(1, 100).default(6).describe('Credentials that a connection may try; each key that an agent offers is one.'),
  maximum_unauthenticated_connections: integer(1, 100_000)
    .default(100)
    .describe('Connections at once that have not logged in yet; more are closed.'),
  maximum_unauthenticated_connections_per_address: integer(1, 100_000).default(10).describe('The same, from one address.'),
  maximum_sessions_per_account: integer(1, 100_000).default(20).describe('Connections at once of one account.'),
  maximum_channels: integer(1, 1000).default(10).describe('Channels at once of one connection.'),
  maximum_handles: integer(1, 100_000).default(1000).describe('Open files and folders at once of one channel.'),
  keep_alive_interval: number(1, 3600)
    .default(15)
    .describe('Seconds of silence after which a client is asked whether it is there; three times.'),
  rekey_bytes: integer(1_048_576, largestSizeBytes).default(1_073_741_824).describe('Bytes after which keys are exchanged again.'),
  rekey_seconds: number(10, 86_400).default(3600).describe('Seconds after which keys are exchanged again.'),
  ignore_create_permissions: yesNo()
    .default(false)
    .describe('Accept and ignore the modes that clients give to new files and folders, and to open files.'),
  partial_uploads: z
    .enum(['remove', 'keep'], { error: 'must be remove or keep' })
    .default('remove')
    .describe('What is done with uploads whose connection was lost: remove, or keep as `NAME.filepart`.'),
  temporary_names: textList()
    .default(['*.filepart', '*.partial', '*.part', '.in.*'])
    .describe('Names that clients give to uploads until they are whole: kept when the connection is lost, told of under their final name.'),
  copy_on_resume_limit: integer(0, largestSizeBytes)
    .default(1_073_741_824)
    .describe('Files of more bytes than this are written in place when a client opens them to change a part.'),
  attribute_events: yesNo()
    .default(false)
    .describe(
      `Tell of requests for the attributes of files and folders, too: events ${eventIds.sftpAttributesRead} and ${eventIds.sftpAttributesReadFailed}; clients send many.`,
    ),
  checksum_commands: yesNo().default(false).describe('Answer `md5sum`, `sha1sum` and `sha256sum` of one path, for rclone.'),
  proxy_protocol: yesNo()
    .default(false)
    .describe('Expect the PROXY protocol, version 2, from `trusted_proxies`; the client is the one it names.'),
  trusted_proxies: proxyRanges().describe(
    'Addresses and ranges of proxies whose PROXY protocol is believed. Default: loopback and private ranges.',
  ),
});
export type SshServiceOptions = z.infer<typeof sshOptions>;
