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

export const sshOptions = z.strictObject({
  type: z.literal('ssh').describe('Files over SFTP.'),
  ...loginServiceOptions,
  port: servicePort(2222),
  host_key_paths: textList()
    .default([])
    .describe(
      'Files of private host keys (OpenSSH or PEM); all nodes need the same keys. Default: ed25519 and RSA 3072 keys, created once in the data folder.',
    ),
  before_login_message: optionalText().default('').describe('Text that clients see before they log in.'),
  ssh_cipher_list: cipherList
    .default(['secure'])
    .describe(
      'Algorithms: `secure`, `all` (older ones too), `fips`, or names of key exchanges, host keys, ciphers and MACs. If the list names no algorithm of a kind, such as MACs, those of `secure` apply.',
    ),
  login_grace_time: number(1, 3600)
    .default(60)
    .describe('Seconds within which a client must log in; a running callout is not interrupted.'),
  max_auth_tries: integer(1, 100)
    .default(6)
    .describe('Maximum number of credentials that one connection may try; each key that an agent offers counts.'),
  maximum_unauthenticated_connections: integer(1, 100_000)
    .default(100)
    .describe('Maximum concurrent connections that have not logged in yet; further ones are closed.'),
  maximum_unauthenticated_connections_per_address: integer(1, 100_000)
    .default(10)
    .describe('Maximum concurrent connections from one address that have not logged in yet.'),
  maximum_sessions_per_account: integer(1, 100_000).default(20).describe('Maximum concurrent connections of one account.'),
  maximum_channels: integer(1, 1000).default(10).describe('Maximum concurrent channels of one connection.'),
  maximum_handles: integer(1, 100_000).default(1000).describe('Maximum open files and folders of one channel.'),
  keep_alive_interval: number(1, 3600)
    .default(15)
    .describe(
      'Seconds of silence after which the server sends a keep-alive request. After three unanswered requests, the connection ends.',
    ),
  rekey_bytes: integer(1_048_576, largestSizeBytes)
    .default(1_073_741_824)
    .describe('Transferred bytes after which keys are exchanged again.'),
  rekey_seconds: number(10, 86_400).default(3600).describe('Seconds after which keys are exchanged again.'),
  ignore_create_permissions: yesNo()
    .default(false)
    .describe('Ignore, without an error, the modes that clients set for new files, new folders and open files.'),
  partial_uploads: z
    .enum(['remove', 'keep'], { error: 'must be remove or keep' })
    .default('remove')
    .describe('What happens to an upload whose connection was lost: remove, or keep as `NAME.filepart`.'),
  temporary_names: textList()
    .default(['*.filepart', '*.partial', '*.part', '.in.*'])
    .describe(
      `Temporary names that clients give to uploads. Such files are kept when the connection is lost. Event ${eventIds.sftpFileUploaded} (uploaded) follows only when the client renames the file, and has the new name.`,
    ),
  copy_on_resume_limit: integer(0, largestSizeBytes)
    .default(1_073_741_824)
    .describe(
      'If a client changes only a part of a file, the service changes a copy, which then replaces the file. Files above this size, in bytes, are changed in place instead.',
    ),
  attribute_events: yesNo()
    .default(false)
    .describe(
      `Also emit an event for each request for attributes (${eventIds.sftpAttributesRead}, ${eventIds.sftpAttributesReadFailed}); clients send many.`,
    ),
  checksum_commands: yesNo()
    .default(false)
    .describe('Answer the commands `md5sum PATH`, `sha1sum PATH` and `sha256sum PATH` of one file. rclone uses these commands.'),
  proxy_protocol: yesNo()
    .default(false)
    .describe('Expect the PROXY protocol, version 2, from `trusted_proxies`; it names the address of the client.'),
  trusted_proxies: proxyRanges().describe(
    'Addresses and ranges of proxies whose PROXY header is trusted. Default: loopback and private ranges.',
  ),
});
export type SshServiceOptions = z.infer<typeof sshOptions>;
