import * as z from 'zod';
import { credentialKinds, credentialTypes, requiredCredentials } from '../accounts/credential-kinds.ts';
import { eventIds } from '../events/event-ids.ts';

/*
 * The JSON of commands and of the console's API. The console page imports this file, so it must not import modules of Node.js.
 */

export type AdministratorRole = SignedIn['role'];

/** The administrator of a console session. */
export const administrator = z.object({ name: z.string(), role: z.enum(['viewer', 'reviewer', 'operator']) });
export type SignedIn = z.infer<typeof administrator>;

const presented = z.strictObject({
  type: z.enum(credentialKinds),
  outcome: z.enum(['granted', 'partial', 'refused']).describe('partial: accepted as the first of two credentials; nothing is granted yet.'),
  reason: z.string(),
  offered: z.array(z.string()).describe('SSH methods with which the client may continue.'),
});

/** The steps of a login over SSH. `--json` prints them with these member names. */
export const loginReport = z.strictObject({
  service: z.string().describe('UUID of the service.'),
  required_credentials: z.enum(requiredCredentials).nullable().describe('What the group requires; null when no credentials were accepted.'),
  offered: z.array(z.string()).describe('SSH methods that the service offers at first.'),
  credentials: z
    .array(presented)
    .describe('In the order in which a client presents them; credentials after those that complete the login are omitted.'),
});

export type LoginReport = z.infer<typeof loginReport>;

/** The decision whether the configuration allows a request, and the reasons. `--json` prints it with these member names. */
export const decision = z.strictObject({
  user: z.string(),
  method: z.string(),
  path: z.string(),
  allowed: z.boolean(),
  status: z.int().nullable().describe('HTTP or SFTP status of the refusal; null for a login, and for an allowed request.'),
  reason: z.string().nullable().describe('The reason for the refusal.'),
  group: z.string().nullable(),
  real_path: z.string().nullable(),
  rule: z.string().nullable().describe('The set of permissions that decided: general, or the expression of a rule.'),
  steps: z.array(
    z.strictObject({
      step: z.enum([
        'token',
        'request',
        'service',
        'method',
        'account',
        'group',
        'home',
        'mount',
        'rule',
        'permission',
        'inspection',
        'credentials',
      ]),
      ok: z.boolean(),
      text: z.string().describe('For people.'),
    }),
  ),
  inspections: z
    .array(z.string())
    .exactOptional()
    .describe('UUIDs of the inspections that judge the file; missing if the account has no inspections.'),
  login: loginReport.exactOptional().describe('Only for LOGIN.'),
});

export type Decision = z.infer<typeof decision>;

export const methodOutcome = z.enum(['authenticated', 'next', 'rejected']);

/** The answer of one method about credentials. `--json` prints it with these member names. */
export const methodReport = z.strictObject({
  method: z.string().describe('UUID of the authentication method.'),
  type: z.string(),
  credentials: z.enum(credentialTypes).describe('Type of the credentials about which the method was asked.'),
  url: z.string().exactOptional(),
  status: z.int().exactOptional(),
  status_reason: z.string().exactOptional(),
  outcome: methodOutcome,
  invalid: z.boolean().describe('Whether the reply is missing or invalid.'),
  reason: z.string(),
  problems: z.unknown().optional().describe('Faults of the account configuration in a 200 reply.'),
  failure: z.unknown().optional().describe('Body of a 403 reply.'),
  account: z.record(z.string(), z.unknown()).exactOptional().describe('The effective account.'),
  warnings: z.array(z.string()),
  duration_ms: z.number(),
});

export type MethodReport = z.infer<typeof methodReport>;

/** The outcome for all credentials together. It is `partial` if SSH requires a second kind. */
export const loginOutcome = z.enum([...methodOutcome.options, 'partial']);

const maskedRequest = z
  .strictObject({
    method: z.string(),
    endpoints: z
      .array(
        z.strictObject({
          url: z.string(),
          headers: z.record(z.string(), z.string()).describe('Values from the configuration are masked.'),
        }),
      )
      .describe('In the order in which they are asked.'),
    body: z.record(z.string(), z.unknown()).describe('With *** in place of the secret.'),
  })
  .describe('With --show-request: the request with masked secrets.');

export type MaskedRequest = z.infer<typeof maskedRequest>;

/** The result for the credentials of one client. */
export const authTestReport = z.strictObject({
  outcome: loginOutcome.describe('partial: accepted over SSH as the first of two credentials, which grants nothing yet.'),
  expected: loginOutcome.optional(),
  met: z.boolean().optional(),
  request: maskedRequest.optional(),
  methods: z.array(methodReport),
  login: loginReport.optional().describe('How an ssh service decides; missing for credentials that no ssh service accepts.'),
});

export type AuthTestReport = z.infer<typeof authTestReport>;

/** The problems that `svc validate` reports, by code. Scripts use the codes, so removing a code is a breaking change. */
export const findingCodes = {
  'not-utf8': 'The file is not valid UTF-8.',
  syntax: 'The file does not parse as YAML or JSON.',
  'duplicate-key': 'A map has the same key twice.',
  aliases: 'YAML anchors and aliases that expand without bounds, or that do not exist.',
  shape: 'Lists and maps are nested too deeply, or a key is `__proto__`, which is forbidden everywhere.',
  interpolation: 'A variable `${env:…}` is not set, or a file of `${file:…}` cannot be read.',
  'unknown-option': 'There is no such option; the hint has the nearest name.',
  'missing-option': 'A required option is missing.',
  'bad-value': 'The option does not take this value.',
  'bad-key': 'The key of an entry is not allowed as a UUID, or as the name of an account or administrator.',
  'unknown-reference': 'An option refers to a group, authentication method, event handler or inspection that does not exist.',
  'no-service': 'No service is enabled.',
  'address-in-use': 'Two services listen on the same address and port.',
  'state-url': 'The URL of the shared state is not the URL of a Redis server.',
  'workers-state': 'Several nodes (`--workers`) need a state that they share.',
  'accounts-file-own':
    'With Redis, each node (with `--workers` each machine) has a separate accounts file: password changes would not reach the others.',
  'state-secret':
    'Redis is used without `state.secret`: nodes do not share remembered credentials, and each node counts the same wrong password again.',
  'state-retention': 'Without `state.retention_days`, Redis keeps events in memory as long as the files do: 30 days or more.',
  'shutdown-delay':
    'Redis is used without `shutdown_delay`: a node that ends refuses connections while the load balancer still sends them.',
  'file-unreadable': 'A file that the configuration names cannot be read.',
  'folder-missing': 'A folder does not exist, and the service does not create it.',
  'logo-unusable': 'A logo that cannot be read, is too large, or is not an image that pages can show.',
  'tls-unused': 'A TLS option has no effect.',
  'tls-mismatch': 'The private key does not belong to the certificate.',
  'tls-unusable': 'A certificate, key or CA file that cannot be used.',
  'tls-expired': 'A certificate has expired, or is not valid yet.',
  'tls-expires-soon': 'A certificate expires within 30 days.',
  'tls-weak': 'A key or signature is so weak that clients refuse it or that it can be broken.',
  'tls-chain': 'The certificates of a chain are not in order: each must be signed by the next.',
  'acme-conflict': 'A service has both certificate files and `tls.acme`.',
  'acme-secret': 'Redis and `tls.acme` are used without `state.secret`: nodes cannot share certificates.',
  'acme-unanswered': 'No service answers the challenges of a certificate.',
  'acme-staging': 'An ACME directory for tests: no client trusts its certificates.',
  'host-key-unusable': 'A host key of an ssh service that cannot be used.',
  'host-key-own': 'Redis is used, and an ssh service has no `host_key_paths`: each machine creates its own host keys.',
  'ssh-weak': 'An ssh service offers algorithms that are less safe than those of `secure`.',
  'secret-readable': 'A file with secrets can be read by every user of the machine.',
  'plain-http': 'Passwords or secrets go over plain http to another host.',
  'administrators-missing': 'A console without administrators: nobody can log in.',
  'inspection-disabled': 'A group or account names an inspection that is disabled.',
  'inspection-larger': 'An inspection with `maximum_size` does not say what happens to larger files (`on_larger`).',
  'inspection-path': 'An inspection gives the path of a file to another machine.',
  'inspection-open':
    'A group writes without inspections to a folder where files of another group are inspected, or an account drops the inspections of its group.',
  'backend-type': 'The event handler for which uploads wait is of type `forward`.',
  'backend-disabled': 'The event handler for which uploads wait is disabled.',
  'backend-never': `Uploads wait for an event handler that excludes event ${eventIds.fileUploaded} (file uploaded).`,
  'backend-missing': 'An option of the upload back-end has no effect without `api_backend_uuid`.',
  'refused-header':
    'A header that the configuration must not add to replies: it belongs to the connection or to the body, or is Set-Cookie.',
  'handler-never': 'No event can pass all filters of the event handler.',
  'forward-same-name': 'The URL to which files are forwarded is the same for all of them.',
  'expectation-never': 'An expectation that no file can meet, or that is never due.',
  'expectation-overlap': 'The grace period of an expectation ends after its next due time.',
  'data-filter-never': 'A rule of `data_filter` names a member that none of the selected events has.',
  'unknown-variable': 'A template names a variable that no event has.',
  'variable-never': 'A template names a variable that none of the selected events has.',
  'no-effect': 'An option has no effect because of another option.',
  'method-unused': 'An authentication method that no enabled service uses.',
  'method-disabled': 'A service names an authentication method that is disabled; it is skipped.',
  'accounts-unused': 'There are accounts, but no enabled method of type application uses them.',
  'account-unusable': 'An account that cannot log in.',
  'weak-password-hash': 'A password hash of another system: somebody who has the file can guess the password fast.',
  'home-collision': 'Two accounts that should be separate share a folder, or the folder of one is inside that of the other.',
  'home-in-data-folder': 'A folder of accounts lies in the data folder, which no account can reach.',
  'virtual-folder-overlap': 'Two virtual folders have the same path, or show the same real folder.',
  'permissions-empty': 'The `permissions` of a group are `[]`. This means the default permissions, not that nothing is granted.',
  'add-only-undone': 'Permissions allow only adding files, but another right allows replacing them.',
  'rule-unreachable': 'A permission rule that never applies: an earlier one always matches first.',
  'tokens-callout':
    'Accounts that an authentication endpoint accepts may create tokens or links, but the endpoint is not asked about these (`tokens`).',
  'links-origin': 'Links begin with an address of the machine: neither `public_url` nor `accepted_origins` is set.',
  online: 'An endpoint does not answer as required (`--online`).',
} as const;

export type FindingCode = keyof typeof findingCodes;

/** A problem of a configuration. `--json` prints it with these member names. */
export const finding = z
  .strictObject({
    severity: z.enum(['error', 'warning']),
    code: z
      .enum(Object.keys(findingCodes) as [FindingCode, ...FindingCode[]])
      .describe('Stable; docs/reference/findings.md says what each means.'),
    file: z.string(),
    line: z.int().describe('From 1; 0 if the problem has no position.'),
    column: z.int().describe('From 1; 0 if the problem has no position.'),
    path: z.string().describe('Path of the option, for example services.web.port.'),
    message: z.string(),
    hint: z.string().exactOptional(),
  })
  .describe('One problem of a configuration.');

export type Finding = z.infer<typeof finding>;

/** The result of a reload. `--json` prints it with these member names. The service writes it to its data folder for `svc reload`. */
export const reloadReport = z.strictObject({
  number: z.int().describe('Counts the reloads of the process, from 1.'),
  pid: z.int(),
  time: z.string().describe('Time at which the reload began.'),
  reloaded: z.boolean(),
  changes: z.array(z.string()).describe('Paths of the options that changed.'),
  ended: z
    .strictObject({ sessions: z.int(), connections: z.int(), transfers: z.int() })
    // The default is for reports of older nodes, which do not have this member.
    .default({ sessions: 0, connections: 0, transfers: 0 })
    .describe('Sessions, SSH connections and transfers that ended because their account or credential is no longer valid.'),
  /** The reason why the new configuration was refused; null if it was applied. */
  reason: z.string().nullable(),
  findings: z.array(finding),
});

export type ReloadReport = z.infer<typeof reloadReport>;
