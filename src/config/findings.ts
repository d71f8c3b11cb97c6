import * as z from 'zod';
import { eventIds } from '../events/event-ids.ts';

/** The problems that `svc validate` reports, by stable code. Scripts rely on the codes: removing one is a breaking change. */

export const findingCodes = {
  'not-utf8': 'The file is not valid UTF-8.',
  syntax: 'The file does not parse as YAML or JSON.',
  'duplicate-key': 'A map has the same key twice.',
  aliases: 'YAML anchors and aliases that expand without bounds, or that do not exist.',
  shape: 'The file nests too deep, or has a key that is not allowed anywhere.',
  interpolation: 'A variable `${env:…}` is not set, or a file of `${file:…}` cannot be read.',
  'unknown-option': 'There is no such option; the hint has the nearest name.',
  'missing-option': 'A required option is missing.',
  'bad-value': 'The option does not take this value.',
  'bad-key': 'The key of an entry is no UUID or no account name.',
  'unknown-reference': 'A group, authentication method or event handler that is referred to does not exist.',
  'no-service': 'No service is enabled.',
  'address-in-use': 'Two services listen on the same address and port.',
  'state-url': 'The URL of the shared state is not that of a Redis server.',
  'workers-state': 'Several nodes (`--workers`) need a state that they share.',
  'accounts-file-own':
    'With Redis, an accounts file that each node (with `--workers` each machine) has for itself: password changes would not reach the others.',
  'state-secret': 'With Redis, no `state.secret`: nodes do not share remembered credentials, and each node counts a wrong password again.',
  'state-retention': 'With Redis, events stay in its memory as long as in files.',
  'shutdown-delay': 'With Redis, no shutdown_delay: a node that ends refuses connections before the load balancer notices.',
  'file-unreadable': 'A file that the configuration names cannot be read.',
  'folder-missing': 'A folder does not exist, and the service does not create it.',
  'logo-unusable': 'A logo that cannot be read, is too large, or is no image that pages may show.',
  'tls-unused': 'A TLS option has no effect.',
  'tls-mismatch': 'The private key does not belong to the certificate.',
  'tls-unusable': 'A certificate, key or CA file that cannot be used.',
  'tls-expired': 'A certificate has expired, or is not valid yet.',
  'tls-expires-soon': 'A certificate expires within 30 days.',
  'tls-weak': 'A key or signature is so weak that clients refuse it or that it can be broken.',
  'tls-chain': 'The certificates of a chain are not in order: each must be signed by the next.',
  'host-key-unusable': 'A host key of an ssh service that cannot be used.',
  'host-key-own': 'With Redis, an ssh service without host_key_paths: each machine makes host keys of its own.',
  'ssh-weak': 'An ssh service offers algorithms that are not as safe as those of `secure`.',
  'secret-readable': 'A file with secrets can be read by every user of the machine.',
  'plain-http': 'Passwords or secrets go over plain http to another host.',
  'administrators-missing': 'A console without administrators: nobody can log in.',
  'backend-disabled': 'The event handler that uploads wait for is disabled.',
  'backend-never': `The event handler that uploads wait for excludes their event ${eventIds.fileUploaded}.`,
  'backend-missing': 'An option of the upload back-end has no effect without `api_backend_uuid`.',
  'refused-header': 'A header that replies must not carry: it belongs to the connection or to the body, or is Set-Cookie.',
  'handler-never': 'No event can pass all filters of the event handler.',
  'data-filter-never': 'A rule of `data_filter` names a member that none of the selected events has.',
  'unknown-variable': 'A template names a variable that no event has.',
  'variable-never': 'A template names a variable that none of the selected events has.',
  'no-effect': 'An option has no effect because of another one.',
  'method-unused': 'An authentication method that no enabled service asks.',
  'method-disabled': 'A service names an authentication method that is disabled; it is skipped.',
  'accounts-unused': 'There are accounts, but no enabled method of type application asks for them.',
  'account-unusable': 'An account that cannot log in.',
  'home-collision': 'Two accounts that are meant to be apart share a folder, or one is inside the other.',
  'home-in-data-folder': 'A folder of accounts lies in the data folder, which no account can reach.',
  'virtual-folder-overlap': 'Two virtual folders have the same path, or show the same real folder.',
  'permissions-empty': 'The `permissions` of a group are `[]`, which means the default and not nothing.',
  'add-only-undone': 'Permissions only let files be added, but another right lets them be replaced all the same.',
  'rule-unreachable': 'A permission rule that never applies: an earlier one always matches first.',
  online: 'An endpoint does not answer as required (`--online`).',
} as const;

export type FindingCode = keyof typeof findingCodes;

/** One problem of a configuration; names are those of `--json`. */
export const finding = z
  .strictObject({
    severity: z.enum(['error', 'warning']),
    code: z
      .enum(Object.keys(findingCodes) as [FindingCode, ...FindingCode[]])
      .describe('Stable; docs/reference/findings.md says what each means.'),
    file: z.string(),
    line: z.int().describe('From 1; 0 when the problem has no place.'),
    column: z.int().describe('From 1; 0 when the problem has no place.'),
    path: z.string().describe('Path of the option, for example services.web.port.'),
    message: z.string(),
    hint: z.string().exactOptional(),
  })
  .describe('One problem of a configuration.');

export type Finding = z.infer<typeof finding>;

/** A configuration with errors: nothing is started with it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly findings: readonly Finding[];
  /** The text of the file, for showing the line at fault. */
  readonly source: string;

  constructor(findings: readonly Finding[], source: string) {
    super(`The configuration has ${findings.length === 1 ? 'an error' : `${findings.length} errors`}.`);
    this.findings = findings;
    this.source = source;
  }
}

type Add = (code: FindingCode, path: readonly PropertyKey[], message: string, hint?: string | (() => string | undefined)) => void;

/**
 * Collects problems of a check, with the path of the option at fault. A hint that takes long to find is a function, called only for the
 * first ones.
 */
export type Report = Readonly<Record<Finding['severity'], Add>>;

/** Writes the path of an option: `services.web.triggers[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`)).join('');
}

/** Compares findings by their place in the file. */
export function byPosition(a: Finding, b: Finding): number {
  return a.line - b.line || a.column - b.column;
}

/** The result of a reload; the service leaves it in its data folder for `svc reload`. Names are those of `--json`. */
export const reloadReport = z.strictObject({
  number: z.int().describe('Counts the reloads of the process, from 1.'),
  pid: z.int(),
  time: z.string().describe('When it began.'),
  reloaded: z.boolean(),
  changes: z.array(z.string()).describe('Paths of the options that changed.'),
  ended: z
    .strictObject({ sessions: z.int(), connections: z.int(), transfers: z.int() })
    // Older nodes do not report it.
    .default({ sessions: 0, connections: 0, transfers: 0 })
    .describe('What ended of those whose account or credential is none any more: sessions, SSH connections, transfers.'),
  /** Why the new configuration was refused; null when it is in force. */
  reason: z.string().nullable(),
  findings: z.array(finding),
});

export type ReloadReport = z.infer<typeof reloadReport>;
