/** The groups that handlers filter events by (docs/spec/delivery.md#subscription). */
export const eventGroups = [
  'authenticated',
  'session',
  'process',
  'success',
  'failure',
  'informational',
  'http',
  'ssh',
  'file-operation',
  'operation-read',
  'operation-write',
  'operation-delete',
  'operation-rename',
  'operation-create-folder',
  'authentication',
  'administration',
  'component-activation',
] as const;
export type EventGroup = (typeof eventGroups)[number];

/** One kind of event: the one table that code, filters and documentation read. */
export interface EventDefinition {
  id: number;
  /** What happened, for people; also the default message, with `{member}` of the event's data put in. */
  meaning: string;
  groups: readonly EventGroup[];
  /** Members of `data` that the event may carry, besides those of file events. */
  data: readonly string[];
  /** Whether `data` has the path members of file events (`path`, `real_path`, `file_name`, …). */
  isAboutPath: boolean;
}

/** Path members of file events (docs/spec/events.md#file-events). @public read by scripts/docs.mjs */
export const pathMembers = ['path', 'real_path', 'file_name', 'directory_name', 'real_file_name', 'real_directory_name'] as const;

const process = ['process', 'informational'] as const satisfies EventGroup[];
const component = ['process', 'component-activation'] as const satisfies EventGroup[];
const transferRead = ['duration', 'total_read', 'read_speed'];
const transferWrite = ['duration', 'total_write', 'write_speed', 'metadata', 'api_backend'];
const uploadWrite = [...transferWrite, 'resumed'];
const sftpWrite = ['duration', 'total_write', 'write_speed', 'in_place'];
const attributes = ['modified', 'permissions', 'size'];
const method = ['username', 'method_uuid', 'method_name', 'method_type'];

function event(id: number, meaning: string, groups: readonly EventGroup[], data: readonly string[] = []): EventDefinition {
  return { id, meaning, groups, data, isAboutPath: false };
}

function fileEvent(id: number, meaning: string, outcome: EventGroup, operation: EventGroup, data: readonly string[] = []): EventDefinition {
  const groups: EventGroup[] = ['authenticated', 'http', 'file-operation', operation, outcome];
  return { id, meaning, groups, data, isAboutPath: true };
}

function sftpEvent(id: number, meaning: string, outcome: EventGroup, operation: EventGroup, data: readonly string[] = []): EventDefinition {
  const groups: EventGroup[] = ['authenticated', 'ssh', 'file-operation', operation, outcome];
  return { id, meaning, groups, data: ['requested_path', 'mode', ...data], isAboutPath: true };
}

/** All events, by ID. */
export const eventCatalogue: readonly EventDefinition[] = [
  event(20001, 'The server is starting.', process, ['version']),
  event(20002, 'The server is stopping.', process),
  event(
    20005,
    'A source address was refused by the security policy: {address}. {details}',
    ['failure', 'http', 'authentication'],
    ['address', 'retry_after', 'username', 'by', 'details'],
  ),
  event(20011, 'Test event sent by hand.', ['administration', 'informational'], ['uuid', 'name', 'administrator']),
  event(20012, 'The configuration was reloaded.', ['administration', 'process', 'success'], ['changes', 'ended']),
  event(
    20021,
    'No authentication method accepted the credentials of "{username}".',
    ['authentication', 'failure'],
    ['username', 'details'],
  ),
  event(20031, 'The account configuration of "{username}" has bad values.', ['authentication', 'failure'], [...method, 'details']),
  event(
    20042,
    'The home folder of "{username}" was created.',
    ['authentication', 'success'],
    [...method, 'path', 'real_path', 'created', 'durable'],
  ),
  event(20066, 'The component "{name}" stopped after too many failures.', [...component, 'failure'], ['name', 'type', 'uuid', 'failures']),
  event(20067, 'The home folder of "{username}" is not available.', ['authentication', 'failure'], [...method, 'real_path', 'details']),
  event(20076, 'The service "{name}" started on {address}:{port}.', [...component, 'success'], ['name', 'type', 'address', 'port']),
  event(20077, 'The service "{name}" failed to start: {reason}', [...component, 'failure'], ['name', 'type', 'address', 'port', 'reason']),
  event(20078, 'The service "{name}" stopped.', [...component, 'informational'], ['name', 'type', 'reason']),
  event(20085, 'The password was changed.', ['authenticated', 'administration', 'success'], ['durable']),
  event(20086, 'The password change failed.', ['authenticated', 'administration', 'failure'], ['details']),
  event(20111, 'The authentication method "{method_name}" was skipped because it is stopped.', ['authentication', 'informational'], method),
  event(
    20126,
    'The first of two credentials was accepted: {credentials}.',
    ['authentication', 'ssh', 'authenticated', 'informational'],
    ['credentials'],
  ),
  event(
    20136,
    'The authentication method "{method_name}" forbade "{username}".',
    ['authentication', 'failure'],
    [...method, 'details', 'response'],
  ),
  event(
    20137,
    'The authentication method "{method_name}" accepted the credentials.',
    ['authentication', 'authenticated', 'success'],
    method.slice(1),
  ),
  event(
    20142,
    'The authentication method "{method_name}" rejected "{username}": {details}',
    ['authentication', 'failure'],
    [...method, 'details'],
  ),
  event(20149, 'The account configuration of "{username}" has unknown keys.', ['authentication', 'failure'], [...method, 'details']),
  event(20156, 'The component "{name}" started.', [...component, 'success'], ['uuid', 'family', 'kind', 'name', 'type', 'reason']),
  event(20157, 'The component "{name}" stopped: {reason}', [...component, 'failure'], ['uuid', 'family', 'kind', 'name', 'type', 'reason']),
  event(
    20174,
    'The delivery of event {event_id} by "{name}" failed: {details}',
    ['process', 'failure'],
    ['event_id', 'event_uuid', 'uuid', 'name', 'url', 'details', 'status'],
  ),
  event(20181, 'The server started.', process, ['version']),
  event(
    20189,
    'Event {event_id} was delivered by "{name}".',
    ['process', 'success'],
    ['event_id', 'event_uuid', 'uuid', 'name', 'url', 'status'],
  ),
  event(
    20190,
    'The login of the administrator "{administrator}" was {outcome}.',
    ['administration', 'authentication'],
    ['administrator', 'outcome', 'way'],
  ),
  event(
    20191,
    'The administrator "{administrator}" did {action}: {target}',
    ['administration', 'success'],
    ['action', 'target', 'administrator'],
  ),
  event(
    20192,
    'New TLS files of "{name}" cannot be used; those before stay in use.',
    [...component, 'failure'],
    ['name', 'type', 'uuid', 'details'],
  ),
  event(30011, 'An SFTP session started.', ['ssh', 'session', 'authenticated', 'informational'], ['client_version', 'algorithms']),
  event(30012, 'An SFTP session ended.', ['ssh', 'session', 'authenticated', 'informational'], ['client_version', 'duration']),
  event(30013, 'The key exchange with an SSH client failed: {details}', ['ssh', 'failure'], ['client', 'details']),
  event(30014, 'An SSH client connected: {client}.', ['ssh', 'session', 'informational'], ['client']),
  event(
    30015,
    'An SSH connection ended: {details}',
    ['ssh', 'session', 'informational'],
    ['client', 'algorithms', 'duration', 'bytes_received', 'bytes_sent', 'details'],
  ),
  event(30016, 'A request could not be read: {details}', ['ssh', 'authenticated', 'failure'], ['details', 'requests']),
  sftpEvent(30017, 'The file "{path}" was uploaded under a temporary name.', 'informational', 'operation-write', [
    ...sftpWrite,
    'replaced',
    'durable',
  ]),
  sftpEvent(30019, 'The folder "{path}" was opened.', 'informational', 'operation-read'),
  sftpEvent(30020, 'The folder "{path}" was listed.', 'success', 'operation-read', ['members']),
  sftpEvent(30021, 'The folder "{path}" could not be listed: {details}', 'failure', 'operation-read', ['details']),
  sftpEvent(30023, 'The file "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  sftpEvent(30024, 'The file "{path}" could not be removed: {details}', 'failure', 'operation-delete', ['details']),
  sftpEvent(30026, '"{path}" was renamed to "{destination}".', 'success', 'operation-rename', ['destination', 'replaced', 'durable']),
  sftpEvent(30027, '"{path}" could not be renamed: {details}', 'failure', 'operation-rename', ['destination', 'details']),
  sftpEvent(30029, 'The folder "{path}" was created.', 'success', 'operation-create-folder', ['durable']),
  sftpEvent(30030, 'The folder "{path}" could not be created: {details}', 'failure', 'operation-create-folder', ['details']),
  sftpEvent(30032, 'The folder "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  sftpEvent(30033, 'The folder "{path}" could not be removed: {details}', 'failure', 'operation-delete', ['details']),
  sftpEvent(30035, 'The attributes of "{path}" were looked at.', 'success', 'operation-read'),
  sftpEvent(30036, 'The attributes of "{path}" could not be looked at: {details}', 'failure', 'operation-read', ['details']),
  sftpEvent(30038, 'The attributes of "{path}" were set.', 'success', 'operation-write', attributes),
  sftpEvent(30039, 'The attributes of "{path}" could not be set: {details}', 'failure', 'operation-write', [...attributes, 'details']),
  sftpEvent(30041, 'The download of "{path}" failed: {details}', 'failure', 'operation-read', [...transferRead, 'details']),
  sftpEvent(30042, 'The upload of "{path}" failed: {details}', 'failure', 'operation-write', [
    ...sftpWrite,
    'details',
    'kept_as',
    'durable',
  ]),
  sftpEvent(30043, 'The file "{path}" was opened.', 'informational', 'file-operation'),
  sftpEvent(30044, 'The file "{path}" could not be opened: {details}', 'failure', 'file-operation', ['details']),
  event(30051, 'An SSH connection was refused: {details}', ['ssh', 'failure'], ['details', 'refused']),
  sftpEvent(30067, 'The file "{path}" was downloaded.', 'success', 'operation-read', transferRead),
  sftpEvent(30068, 'The file "{path}" was uploaded.', 'success', 'operation-write', [...sftpWrite, 'replaced', 'uploaded_as', 'durable']),
  event(40000, 'The request is not authorised.', ['http', 'authentication', 'failure'], ['method', 'path', 'details', 'status']),
  event(40003, 'Internal error.', ['http', 'failure'], ['method', 'path', 'details', 'status', 'reference']),
  fileEvent(40004, 'The file "{path}" was opened for reading.', 'success', 'operation-read'),
  fileEvent(40005, 'HEAD of the file "{path}".', 'success', 'operation-read'),
  fileEvent(40007, 'The folder "{path}" was opened.', 'success', 'operation-read', ['search']),
  fileEvent(40010, 'The folder "{path}" was created.', 'success', 'operation-create-folder', ['durable']),
  fileEvent(40011, 'The folder "{path}" could not be created: {details}', 'failure', 'operation-create-folder', ['details']),
  fileEvent(40012, 'The file "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  fileEvent(40013, 'The file "{path}" could not be removed: {details}', 'failure', 'operation-delete', ['details']),
  fileEvent(40014, 'The folder "{path}" could not be listed: {details}', 'failure', 'operation-read', ['details']),
  event(40015, 'The session timed out.', ['session', 'http', 'informational']),
  fileEvent(40016, 'The ZIP download of "{path}" started.', 'informational', 'operation-read', ['files']),
  fileEvent(40017, 'The file "{path}" was uploaded.', 'success', 'operation-write', [...uploadWrite, 'replaced', 'durable']),
  fileEvent(40018, 'The client went away in the middle of "{path}".', 'failure', 'operation-read', [...transferRead, ...transferWrite]),
  event(40019, 'Bad request: {details}', ['http', 'failure'], ['method', 'path', 'details', 'status']),
  fileEvent(40021, 'The upload of "{path}" started.', 'informational', 'operation-write', ['metadata', 'api_backend']),
  fileEvent(40022, 'The upload of "{path}" failed: {details}', 'failure', 'operation-write', [...uploadWrite, 'details']),
  fileEvent(40025, 'The ZIP download of "{path}" is done.', 'success', 'operation-read', [...transferRead, 'files']),
  fileEvent(40026, 'The folder "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  fileEvent(40027, 'The folder "{path}" could not be removed: {details}', 'failure', 'operation-delete', ['details']),
  fileEvent(40028, 'A name in "{path}" is not valid UTF-8 and is not shown.', 'failure', 'operation-read', ['details']),
  fileEvent(40030, 'The folder "{path}" is already there.', 'failure', 'operation-create-folder', ['details']),
  fileEvent(40035, 'The file "{path}" could not be opened: {details}', 'failure', 'operation-read', ['details']),
  fileEvent(40036, 'HEAD of the folder "{path}".', 'success', 'operation-read'),
  event(40037, 'The session was logged out.', ['session', 'authenticated', 'http', 'success']),
  fileEvent(40039, 'The file "{path}" was downloaded.', 'success', 'operation-read', transferRead),
  fileEvent(40040, 'The download of "{path}" failed: {details}', 'failure', 'operation-read', [...transferRead, 'details']),
  fileEvent(40041, 'The ZIP download of "{path}" failed: {details}', 'failure', 'operation-read', [...transferRead, 'files', 'details']),
  event(
    40042,
    'A URL of "{name}" failed and is suspended: {url}',
    ['process', 'failure'],
    ['uuid', 'name', 'url', 'retry_interval', 'details'],
  ),
  fileEvent(40043, 'The custom trigger "{name}" was run in "{path}".', 'success', 'operation-write', ['name', 'files']),
  fileEvent(40055, 'The file "{path}" was renamed to "{destination}".', 'success', 'operation-rename', [
    'destination',
    'replaced',
    'durable',
  ]),
  fileEvent(40056, '"{path}" could not be renamed: {details}', 'failure', 'operation-rename', ['destination', 'details']),
  fileEvent(40060, 'The API back-end gave no valid reply for "{path}".', 'failure', 'operation-write', ['handler', 'details', 'status']),
  fileEvent(40061, 'The copy of "{path}" to "{destination}" started.', 'informational', 'operation-write', ['destination']),
  fileEvent(40062, 'The move of the file "{path}" to "{destination}" started.', 'informational', 'operation-rename', ['destination']),
  fileEvent(40063, 'The move of the folder "{path}" to "{destination}" started.', 'informational', 'operation-rename', ['destination']),
  fileEvent(40065, 'The folder "{path}" was renamed to "{destination}".', 'success', 'operation-rename', [
    'destination',
    'replaced',
    'durable',
  ]),
  fileEvent(40066, 'Changing the properties of "{path}" was denied.', 'failure', 'operation-write', ['details']),
  fileEvent(40067, 'The copy of "{path}" failed: {details}', 'failure', 'operation-write', ['destination', 'details']),
  fileEvent(40068, 'The file "{path}" was copied to "{destination}".', 'success', 'operation-write', [
    'destination',
    'replaced',
    'durable',
  ]),
  fileEvent(40069, 'The unfinished upload of "{path}" was {reason}.', 'informational', 'operation-write', [
    ...uploadWrite,
    'reason',
    'details',
  ]),
];

const byId = new Map(eventCatalogue.map((definition) => [definition.id, definition]));

/**
 * The definition of an event.
 *
 * @throws Error for an ID outside the catalogue, which is a fault of the service
 */
export function eventDefinition(id: number): EventDefinition {
  const definition = byId.get(id);
  if (!definition) throw new Error(`Event ${id} is not in the catalogue.`);
  return definition;
}

/** Whether an ID is in the catalogue. */
export function isEventId(id: number): boolean {
  return byId.has(id);
}

/** The message of an event: its meaning with members of `data` put in. */
export function messageOf(id: number, data: Readonly<Record<string, unknown>>): string {
  const parts = messageParts.get(id) ?? eventDefinition(id).meaning.split(/\{(\w+)\}/);
  let message = parts[0] as string;
  for (let index = 1; index < parts.length; index += 2) {
    const value = data[parts[index] as string];
    const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
    message += text + (parts[index + 1] as string);
  }
  return message;
}

/** The texts of each meaning and, between them, the members of `data` that it names. */
const messageParts = new Map(eventCatalogue.map(({ id, meaning }) => [id, meaning.split(/\{(\w+)\}/)]));
