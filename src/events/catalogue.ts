import { type EventGroup, eventIds } from './event-ids.ts';

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
/** Of what a copy or move made. */
const arrival = ['destination', 'replaced', 'durable'];
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
  event(eventIds.serverStarting, 'The server is starting.', process, ['version']),
  event(eventIds.serverStopping, 'The server is stopping.', process),
  event(
    eventIds.addressRefused,
    'A source address was refused by the security policy: {address}. {details}',
    ['failure', 'http', 'authentication'],
    ['address', 'retry_after', 'username', 'by', 'details'],
  ),
  event(eventIds.testEventSent, 'Test event sent by hand.', ['administration', 'informational'], ['uuid', 'name', 'administrator']),
  event(eventIds.configurationReloaded, 'The configuration was reloaded.', ['administration', 'process', 'success'], ['changes', 'ended']),
  event(
    eventIds.credentialsNotAccepted,
    'No authentication method accepted the credentials of "{username}".',
    ['authentication', 'failure'],
    ['username', 'details'],
  ),
  event(
    eventIds.accountConfigurationBad,
    'The account configuration of "{username}" has bad values.',
    ['authentication', 'failure'],
    [...method, 'details'],
  ),
  event(
    eventIds.homeFolderCreated,
    'The home folder of "{username}" was created.',
    ['authentication', 'success'],
    [...method, 'path', 'real_path', 'created', 'durable'],
  ),
  event(
    eventIds.componentStoppedByFailures,
    'The component "{name}" stopped after too many failures.',
    [...component, 'failure'],
    ['name', 'type', 'uuid', 'failures'],
  ),
  event(
    eventIds.homeFolderUnavailable,
    'The home folder of "{username}" is not available.',
    ['authentication', 'failure'],
    [...method, 'real_path', 'details'],
  ),
  event(
    eventIds.serviceStarted,
    'The service "{name}" started on {address}:{port}.',
    [...component, 'success'],
    ['name', 'type', 'address', 'port'],
  ),
  event(
    eventIds.serviceStartFailed,
    'The service "{name}" failed to start: {reason}',
    [...component, 'failure'],
    ['name', 'type', 'address', 'port', 'reason'],
  ),
  event(eventIds.serviceStopped, 'The service "{name}" stopped.', [...component, 'informational'], ['name', 'type', 'reason']),
  event(eventIds.passwordChanged, 'The password was changed.', ['authenticated', 'administration', 'success'], ['durable']),
  event(eventIds.passwordChangeFailed, 'The password change failed.', ['authenticated', 'administration', 'failure'], ['details']),
  event(
    eventIds.methodSkipped,
    'The authentication method "{method_name}" was skipped because it is stopped.',
    ['authentication', 'informational'],
    method,
  ),
  event(
    eventIds.firstCredentialAccepted,
    'The first of two credentials was accepted: {credentials}.',
    ['authentication', 'ssh', 'authenticated', 'informational'],
    ['credentials'],
  ),
  event(
    eventIds.authenticationForbidden,
    'The authentication method "{method_name}" forbade "{username}".',
    ['authentication', 'failure'],
    [...method, 'details', 'response'],
  ),
  event(
    eventIds.authenticationAccepted,
    'The authentication method "{method_name}" accepted the credentials.',
    ['authentication', 'authenticated', 'success'],
    method.slice(1),
  ),
  event(
    eventIds.authenticationRejected,
    'The authentication method "{method_name}" rejected "{username}": {details}',
    ['authentication', 'failure'],
    [...method, 'details'],
  ),
  event(
    eventIds.accountConfigurationUnknownKeys,
    'The account configuration of "{username}" has unknown keys.',
    ['authentication', 'failure'],
    [...method, 'details'],
  ),
  event(
    eventIds.componentStarted,
    'The component "{name}" started.',
    [...component, 'success'],
    ['uuid', 'family', 'kind', 'name', 'type', 'reason'],
  ),
  event(
    eventIds.componentStopped,
    'The component "{name}" stopped: {reason}',
    [...component, 'failure'],
    ['uuid', 'family', 'kind', 'name', 'type', 'reason'],
  ),
  event(
    eventIds.deliveryFailed,
    'The delivery of event {event_id} by "{name}" failed: {details}',
    ['process', 'failure'],
    ['event_id', 'event_uuid', 'uuid', 'name', 'url', 'details', 'status'],
  ),
  event(eventIds.serverStarted, 'The server started.', process, ['version']),
  event(
    eventIds.eventDelivered,
    'Event {event_id} was delivered by "{name}".',
    ['process', 'success'],
    ['event_id', 'event_uuid', 'uuid', 'name', 'url', 'status'],
  ),
  event(
    eventIds.administratorLogin,
    'The login of the administrator "{administrator}" was {outcome}.',
    ['administration', 'authentication'],
    ['administrator', 'outcome', 'way'],
  ),
  event(
    eventIds.administratorAction,
    'The administrator "{administrator}" did {action}: {target}',
    ['administration', 'success'],
    ['action', 'target', 'administrator'],
  ),
  event(
    eventIds.tlsFilesRefused,
    'New TLS files of "{name}" cannot be used; those before stay in use.',
    [...component, 'failure'],
    ['name', 'type', 'uuid', 'details'],
  ),
  event(
    eventIds.sftpSessionStarted,
    'An SFTP session started.',
    ['ssh', 'session', 'authenticated', 'informational'],
    ['client_version', 'algorithms'],
  ),
  event(
    eventIds.sftpSessionEnded,
    'An SFTP session ended.',
    ['ssh', 'session', 'authenticated', 'informational'],
    ['client_version', 'duration'],
  ),
  event(eventIds.sshKeyExchangeFailed, 'The key exchange with an SSH client failed: {details}', ['ssh', 'failure'], ['client', 'details']),
  event(eventIds.sshClientConnected, 'An SSH client connected: {client}.', ['ssh', 'session', 'informational'], ['client']),
  event(
    eventIds.sshConnectionEnded,
    'An SSH connection ended: {details}',
    ['ssh', 'session', 'informational'],
    ['client', 'algorithms', 'duration', 'bytes_received', 'bytes_sent', 'details'],
  ),
  event(
    eventIds.sshRequestUnreadable,
    'A request could not be read: {details}',
    ['ssh', 'authenticated', 'failure'],
    ['details', 'requests'],
  ),
  sftpEvent(
    eventIds.sftpTemporaryFileUploaded,
    'The file "{path}" was uploaded under a temporary name.',
    'informational',
    'operation-write',
    [...sftpWrite, 'replaced', 'durable'],
  ),
  sftpEvent(eventIds.sftpFolderOpened, 'The folder "{path}" was opened.', 'informational', 'operation-read'),
  sftpEvent(eventIds.sftpFolderListed, 'The folder "{path}" was listed.', 'success', 'operation-read', ['members']),
  sftpEvent(eventIds.sftpListingFailed, 'The folder "{path}" could not be listed: {details}', 'failure', 'operation-read', ['details']),
  sftpEvent(eventIds.sftpFileRemoved, 'The file "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  sftpEvent(eventIds.sftpFileRemovalFailed, 'The file "{path}" could not be removed: {details}', 'failure', 'operation-delete', [
    'details',
  ]),
  sftpEvent(eventIds.sftpRenamed, '"{path}" was renamed to "{destination}".', 'success', 'operation-rename', arrival),
  sftpEvent(eventIds.sftpRenameFailed, '"{path}" could not be renamed: {details}', 'failure', 'operation-rename', [
    'destination',
    'details',
  ]),
  sftpEvent(eventIds.sftpFolderCreated, 'The folder "{path}" was created.', 'success', 'operation-create-folder', ['durable']),
  sftpEvent(
    eventIds.sftpFolderCreationFailed,
    'The folder "{path}" could not be created: {details}',
    'failure',
    'operation-create-folder',
    ['details'],
  ),
  sftpEvent(eventIds.sftpFolderRemoved, 'The folder "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  sftpEvent(eventIds.sftpFolderRemovalFailed, 'The folder "{path}" could not be removed: {details}', 'failure', 'operation-delete', [
    'details',
  ]),
  sftpEvent(eventIds.sftpAttributesRead, 'The attributes of "{path}" were looked at.', 'success', 'operation-read'),
  sftpEvent(
    eventIds.sftpAttributesReadFailed,
    'The attributes of "{path}" could not be looked at: {details}',
    'failure',
    'operation-read',
    ['details'],
  ),
  sftpEvent(eventIds.sftpAttributesSet, 'The attributes of "{path}" were set.', 'success', 'operation-write', attributes),
  sftpEvent(eventIds.sftpAttributesSetFailed, 'The attributes of "{path}" could not be set: {details}', 'failure', 'operation-write', [
    ...attributes,
    'details',
  ]),
  sftpEvent(eventIds.sftpDownloadFailed, 'The download of "{path}" failed: {details}', 'failure', 'operation-read', [
    ...transferRead,
    'details',
  ]),
  sftpEvent(eventIds.sftpUploadFailed, 'The upload of "{path}" failed: {details}', 'failure', 'operation-write', [
    ...sftpWrite,
    'details',
    'kept_as',
    'durable',
  ]),
  sftpEvent(eventIds.sftpFileOpened, 'The file "{path}" was opened.', 'informational', 'file-operation'),
  sftpEvent(eventIds.sftpOpenFailed, 'The file "{path}" could not be opened: {details}', 'failure', 'file-operation', ['details']),
  event(eventIds.sshConnectionRefused, 'An SSH connection was refused: {details}', ['ssh', 'failure'], ['details', 'refused']),
  sftpEvent(eventIds.sftpFileDownloaded, 'The file "{path}" was downloaded.', 'success', 'operation-read', transferRead),
  sftpEvent(eventIds.sftpFileUploaded, 'The file "{path}" was uploaded.', 'success', 'operation-write', [
    ...sftpWrite,
    'replaced',
    'uploaded_as',
    'durable',
  ]),
  event(
    eventIds.requestNotAuthorised,
    'The request is not authorised.',
    ['http', 'authentication', 'failure'],
    ['method', 'path', 'details', 'status'],
  ),
  event(eventIds.internalError, 'Internal error.', ['http', 'failure'], ['method', 'path', 'details', 'status', 'reference']),
  fileEvent(eventIds.fileOpened, 'The file "{path}" was opened for reading.', 'success', 'operation-read'),
  fileEvent(eventIds.fileHead, 'HEAD of the file "{path}".', 'success', 'operation-read'),
  fileEvent(eventIds.folderOpened, 'The folder "{path}" was opened.', 'success', 'operation-read', ['search']),
  fileEvent(eventIds.folderCreated, 'The folder "{path}" was created.', 'success', 'operation-create-folder', ['durable']),
  fileEvent(eventIds.folderCreationFailed, 'The folder "{path}" could not be created: {details}', 'failure', 'operation-create-folder', [
    'details',
  ]),
  fileEvent(eventIds.fileRemoved, 'The file "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  fileEvent(eventIds.fileRemovalFailed, 'The file "{path}" could not be removed: {details}', 'failure', 'operation-delete', ['details']),
  fileEvent(eventIds.listingFailed, 'The folder "{path}" could not be listed: {details}', 'failure', 'operation-read', ['details']),
  event(eventIds.sessionTimedOut, 'The session timed out.', ['session', 'http', 'informational']),
  fileEvent(eventIds.zipStarted, 'The ZIP download of "{path}" started.', 'informational', 'operation-read', ['files']),
  fileEvent(eventIds.fileUploaded, 'The file "{path}" was uploaded.', 'success', 'operation-write', [
    ...uploadWrite,
    'replaced',
    'durable',
  ]),
  fileEvent(eventIds.clientWentAway, 'The client went away in the middle of "{path}".', 'failure', 'operation-read', [
    ...transferRead,
    ...transferWrite,
  ]),
  event(eventIds.badRequest, 'Bad request: {details}', ['http', 'failure'], ['method', 'path', 'details', 'status']),
  fileEvent(eventIds.uploadStarted, 'The upload of "{path}" started.', 'informational', 'operation-write', ['metadata', 'api_backend']),
  fileEvent(eventIds.uploadFailed, 'The upload of "{path}" failed: {details}', 'failure', 'operation-write', [...uploadWrite, 'details']),
  fileEvent(eventIds.zipDone, 'The ZIP download of "{path}" is done.', 'success', 'operation-read', [...transferRead, 'files']),
  fileEvent(eventIds.folderRemoved, 'The folder "{path}" was removed.', 'success', 'operation-delete', ['durable']),
  fileEvent(eventIds.folderRemovalFailed, 'The folder "{path}" could not be removed: {details}', 'failure', 'operation-delete', [
    'details',
  ]),
  fileEvent(eventIds.nameNotUtf8, 'A name in "{path}" is not valid UTF-8 and is not shown.', 'failure', 'operation-read', ['details']),
  fileEvent(eventIds.folderAlreadyThere, 'The folder "{path}" is already there.', 'failure', 'operation-create-folder', ['details']),
  fileEvent(eventIds.openFailed, 'The file "{path}" could not be opened: {details}', 'failure', 'operation-read', ['details']),
  fileEvent(eventIds.folderHead, 'HEAD of the folder "{path}".', 'success', 'operation-read'),
  event(eventIds.sessionLoggedOut, 'The session was logged out.', ['session', 'authenticated', 'http', 'success']),
  fileEvent(eventIds.fileDownloaded, 'The file "{path}" was downloaded.', 'success', 'operation-read', transferRead),
  fileEvent(eventIds.downloadFailed, 'The download of "{path}" failed: {details}', 'failure', 'operation-read', [
    ...transferRead,
    'details',
  ]),
  fileEvent(eventIds.zipFailed, 'The ZIP download of "{path}" failed: {details}', 'failure', 'operation-read', [
    ...transferRead,
    'files',
    'details',
  ]),
  event(
    eventIds.urlSuspended,
    'A URL of "{name}" failed and is suspended: {url}',
    ['process', 'failure'],
    ['uuid', 'name', 'url', 'retry_interval', 'details'],
  ),
  fileEvent(eventIds.triggerRun, 'The custom trigger "{name}" was run in "{path}".', 'success', 'operation-write', ['name', 'files']),
  fileEvent(eventIds.fileRenamed, 'The file "{path}" was renamed to "{destination}".', 'success', 'operation-rename', arrival),
  fileEvent(eventIds.renameFailed, '"{path}" could not be renamed: {details}', 'failure', 'operation-rename', ['destination', 'details']),
  fileEvent(eventIds.backendReplyInvalid, 'The API back-end gave no valid reply for "{path}".', 'failure', 'operation-write', [
    'handler',
    'details',
    'status',
  ]),
  fileEvent(eventIds.copyStarted, 'The copy of "{path}" to "{destination}" started.', 'informational', 'operation-write', ['destination']),
  fileEvent(eventIds.fileMoveStarted, 'The move of the file "{path}" to "{destination}" started.', 'informational', 'operation-rename', [
    'destination',
  ]),
  fileEvent(
    eventIds.folderMoveStarted,
    'The move of the folder "{path}" to "{destination}" started.',
    'informational',
    'operation-rename',
    ['destination'],
  ),
  fileEvent(eventIds.folderRenamed, 'The folder "{path}" was renamed to "{destination}".', 'success', 'operation-rename', arrival),
  fileEvent(eventIds.propertiesDenied, 'Changing the properties of "{path}" was denied.', 'failure', 'operation-write', ['details']),
  fileEvent(eventIds.copyFailed, 'The copy of "{path}" failed: {details}', 'failure', 'operation-write', ['destination', 'details']),
  fileEvent(eventIds.fileCopied, 'The file "{path}" was copied to "{destination}".', 'success', 'operation-write', arrival),
  fileEvent(eventIds.unfinishedUploadEnded, 'The unfinished upload of "{path}" was {reason}.', 'informational', 'operation-write', [
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
