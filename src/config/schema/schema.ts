import * as z from 'zod';
import { accountOptions, groupOptions } from '../../accounts/options.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { authenticationOptions } from '../../auth/options.ts';
import { journalOptions } from '../../events/options.ts';
import { expectationOptions } from '../../expectations/options.ts';
import { heldOptions, inspectionOptions } from '../../files/inspections/options.ts';
import { uploadOptions } from '../../files/uploads/options.ts';
import { type HttpServiceOptions, httpOptions, httpsOptions } from '../../http/options.ts';
import { logLevels } from '../../lib/log.ts';
import { integer, number, optionalText, textList, uuidText } from '../../lib/option-types.ts';
import { monitorOptions } from '../../monitor/options.ts';
import { type SshServiceOptions, sshOptions } from '../../ssh/options.ts';
import { eventHandlerOptions } from '../../webhooks/options.ts';
import { consoleOptions } from './console-options.ts';

type Service = Config['services'][string];

/** Whether a service serves files over HTTP or HTTPS. */
export function isHttpService(service: Service): service is HttpServiceOptions {
  return service.type === 'http' || service.type === 'https';
}

/** Whether any service grants WebDAV locks. If so, all services respect them. */
export function takesLocks({ services }: Config): boolean {
  return Object.values(services).some((service) => isHttpService(service) && service.webdav_compatibility);
}

/** Whether a service serves files, over HTTP or SFTP. */
export function isFileService(service: Service): service is HttpServiceOptions | SshServiceOptions {
  return service.type !== 'monitor' && service.type !== 'console';
}

const stateOptions = z
  .strictObject({
    type: z
      .enum(['memory', 'redis'], { error: 'must be memory or redis' })
      .default('memory')
      .describe('Store of sessions, bans, locks and uploads: memory, or redis for several nodes.'),
    url: z
      .string()
      .default('')
      .describe(
        'URL of Redis: `redis://host:6379`, `rediss://` over TLS, `redis+sentinel://host,host/primary`, `redis+cluster://host,host`. `user:password@` may come before the host.',
      ),
    sentinel_username: optionalText().default('').describe('User of Sentinel itself (ACL), if it has users.'),
    sentinel_password: optionalText()
      .default('')
      .describe('Password of Sentinel itself, if it has one; the user and the password in the URL are those of Redis.'),
    prefix: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" and "-"')
      .default('svc')
      .describe('Prefix of all keys, so that several installations can share one Redis.'),
    ca_certificates_path: optionalText()
      .default('')
      .describe('PEM file of certificate authorities to trust in addition to those of the system (rediss).'),
    retention_days: number(0, 36_500)
      .default(0)
      .describe(
        'Days that events stay in Redis; 0 = the same as in `server.events`. The files of each node always follow `server.events`.',
      ),
    secret: optionalText()
      .default('')
      .describe(
        'Secret that is the same on all nodes, so that they share remembered credentials (`cache_seconds`). Without it, each node uses a different secret.',
      ),
  })
  .describe('Shared state.');

const logOptions = z
  .strictObject({
    level: z
      .enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` })
      .default('info')
      .describe('Lowest level to log.'),
    format: z.enum(['pretty', 'json'], { error: 'must be pretty or json' }).default('json').describe('Format of the log.'),
  })
  .describe('The log, on stderr.');

const passwordPolicyOptions = z
  .strictObject({
    minimum_length: integer(1, 150).default(8).describe('Minimum length of a new password, in characters.'),
    character_requirements: textList()
      .pipe(z.array(z.enum(['lowercase', 'uppercase', 'digit', 'symbol'], { error: 'must be lowercase, uppercase, digit or symbol' })))
      .default([])
      .describe('Kinds of characters that a new password must have: lowercase, uppercase, digit, symbol.'),
    history: integer(0, 100).default(0).describe('Number of previous passwords that must not be used again.'),
  })
  .describe('Requirements for new passwords.');

const securityPolicyOptions = z
  .strictObject({
    ban_after_failures: integer(0, 10_000)
      .default(10)
      .describe('Number of different wrong credentials after which an address is banned; 0 = no protection at all.'),
    ban_seconds: number(1, 31_536_000).default(300).describe('Length of a ban, in seconds.'),
    ban_window_seconds: number(1, 31_536_000).default(600).describe('Time within which failures count, in seconds.'),
  })
  .describe('Protection against guessing passwords.');

const serverOptions = z
  .strictObject({
    uuid: uuidText.optional().describe('UUID of this server; default: created once and kept in the data folder.'),
    name: z.string().default('').describe('Name of this server in events; default: the host name.'),
    data_folder_path: z
      .string()
      .min(1)
      .default('./svc-data')
      .describe('Folder of the journal, the identity of the server and the positions of event handlers.'),
    shutdown_timeout: number(0, 86_400)
      .default(30)
      .describe('Seconds within which running transfers and deliveries may finish when the server stops.'),
    shutdown_delay: number(0, 3600)
      .default(0)
      .describe(
        'Seconds between the first 503 of `/ready` and the moment when no more connections are accepted, so that load balancers notice in time.',
      ),
    user: z
      .string()
      .default('')
      .describe(
        'OS account for a server that is started as root: it changes to this account once all addresses are bound. `root` means that it stays root.',
      ),
    group: z.string().default('').describe('OS group to which the server changes; default: the group of the account.'),
    umask: z
      .string()
      .regex(/^(0?[0-7]{3})?$/, 'must be an octal number in quotes, such as "027"')
      .default('')
      .describe(
        'Permission bits that new files and folders never get: octal, in quotes, such as `"027"`; default: the umask at the start.',
      ),
    security_contact: z
      .string()
      .regex(
        /^([^\s@:,]+@[^\s@:,]+|mailto:[^\s,]+|https:\/\/[^\s,]+|tel:[^\s,]+)?$/,
        'must be an e-mail address, or a URI of mailto:, https: or tel:',
      )
      .transform((contact) => (contact === '' || /^(mailto|https|tel):/.test(contact) ? contact : `mailto:${contact}`))
      .default('')
      .describe('E-mail address or URI for reports of vulnerabilities in this installation; published in `/.well-known/security.txt`.'),
    state: stateOptions.prefault({}),
    log: logOptions.prefault({}),
    events: journalOptions.prefault({}),
    file_cache_size: integer(0, 2 ** 34)
      .default(32 * 1024 * 1024)
      .describe('Bytes of memory for a cache of small files (up to 128 KiB) on local disks; 0 = no cache.'),
    uploads: uploadOptions.prefault({}),
    held: heldOptions.prefault({}),
    password_policy: passwordPolicyOptions.prefault({}),
    security_policy: securityPolicyOptions.prefault({}),
  })
  .describe('The server as a whole.');

const serviceOptions = z
  .discriminatedUnion('type', [httpOptions, httpsOptions, sshOptions, monitorOptions, consoleOptions], {
    error: 'must have a "type": http, https, ssh (SFTP), monitor or console',
  })
  .describe('A service that listens on an address.');

const accountName = z.string().refine(isUserName, 'must be an account name: 1 to 150 characters, without control characters, "/" and "\\"');

/** The whole configuration. At every level, unknown keys are errors. */
export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('JSON Schema for editors; ignored.'),
  server: serverOptions.prefault({}),
  authentications: z.record(uuidText, authenticationOptions).default({}).describe('Authentication methods by UUID.'),
  inspections: z.record(uuidText, inspectionOptions).default({}).describe('Inspections of files, by UUID.'),
  groups: z.record(uuidText, groupOptions).default({}).describe('Groups by UUID.'),
  accounts: z.record(accountName, accountOptions).default({}).describe('Accounts of the `application` method by name.'),
  services: z.record(uuidText, serviceOptions).default({}).describe('Services by UUID.'),
  event_handlers: z.record(uuidText, eventHandlerOptions).default({}).describe('Event handlers by UUID.'),
  expectations: z.record(uuidText, expectationOptions).default({}).describe('Files that are expected by certain times, by UUID.'),
});
export type Config = z.infer<typeof configSchema>;
