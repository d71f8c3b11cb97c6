/** The groups by which handlers filter events (docs/spec/delivery.md#subscription). */
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
  'expectation',
] as const;
export type EventGroup = (typeof eventGroups)[number];

/** One kind of event. Code, filters and documentation all read this table. */
export interface EventDefinition {
  id: number;
  /** Text about the event for people. It is also the default message. `{member}` is replaced by that member of the event's data. */
  meaning: string;
  /** The parts of `meaning`. Every second part is the name of a member of `data`. */
  texts: readonly string[];
  groups: readonly EventGroup[];
  /** Members of `data` that the event can have, in addition to `pathMembers`. */
  data: readonly string[];
  /** Whether `data` has the path members of file events (`path`, `real_path`, `file_name`, …). */
  isAboutPath: boolean;
}

/** The path members of file events (docs/spec/events.md#file-events). @public read by scripts/docs.mjs */
export const pathMembers = ['path', 'real_path', 'file_name', 'directory_name', 'real_file_name', 'real_directory_name'] as const;

const process = ['process', 'informational'] as const satisfies EventGroup[];
const component = ['process', 'component-activation'] as const satisfies EventGroup[];
const componentSuccess = [...component, 'success'] as const;
const componentFailure = [...component, 'failure'] as const;
const loginFailure = ['authentication', 'failure'] as const;
const processFailure = ['process', 'failure'] as const satisfies EventGroup[];
const sftpSession = ['ssh', 'session', 'authenticated', 'informational'] as const satisfies EventGroup[];
const transferRead = ['duration', 'total_read', 'read_speed'];
const transferWrite = ['duration', 'total_write', 'write_speed', 'metadata', 'api_backend'];
const uploadWrite = [...transferWrite, 'resumed'];
const sftpWrite = ['duration', 'total_write', 'write_speed', 'in_place'];
const attributes = ['modified', 'permissions', 'size'];
/** Members of `data` about the result of a copy or move. */
const arrival = ['destination', 'replaced', 'trashed', 'durable'];
const method = ['username', 'method_uuid', 'method_name', 'method_type'];
const methodDetails = [...method, 'details'];
const delivery = ['event_uuid', 'uuid', 'url', 'status'];
const request = ['method', 'path', 'details', 'status'];

function event(id: number, meaning: string, groups: readonly EventGroup[], data: readonly string[] = []): EventDefinition {
  const texts = meaning.split(/\{(\w+)\}/);
  const named = texts.filter((name, index) => index % 2 === 1 && !pathMembers.some((member) => member === name));
  return { id, meaning, texts, groups, data: [...new Set([...data, ...named])], isAboutPath: false };
}

function fileEvent(id: number, meaning: string, outcome: EventGroup, operation: EventGroup, data?: readonly string[]): EventDefinition {
  return { ...event(id, meaning, ['authenticated', 'http', 'file-operation', operation, outcome], data), isAboutPath: true };
}

function sftpEvent(id: number, meaning: string, outcome: EventGroup, operation: EventGroup, data: readonly string[] = []): EventDefinition {
  const all = ['requested_path', 'mode', ...data];
  return {
    ...event(id, meaning, [...new Set<EventGroup>(['authenticated', 'ssh', 'file-operation', operation, outcome])], all),
    isAboutPath: true,
  };
}

function expected(id: number, meaning: string, outcome: EventGroup, data: readonly string[] = []): EventDefinition {
  return event(id, meaning, ['expectation', outcome], ['expectation', 'opens', 'grace_ends', 'state', 'files', ...data]);
}

/**
 * Defines an event about a token or shared link. Its data contain the ID (`token` or `link`) and the path to which it gives access
 * (`path`).
 */
function grantEvent(id: number, meaning: string, outcome: EventGroup, data: readonly string[] = []): EventDefinition {
  return event(id, meaning, ['authentication', 'http', outcome], ['token', 'link', 'path', 'administrator', ...data]);
}

/** All events, by their names in the code. */
export const definitions = {
  serverStarting: event(20001, 'The server is starting.', process, ['version']),
  serverStopping: event(20002, 'The server is stopping.', process),
  addressRefused: event(
    20005,
    'A source address was refused by the security policy: {address}. {details}',
    ['failure', 'http', 'authentication'],
    ['retry_after', 'username', 'by'],
  ),
  testEventSent: event(20011, 'Test event sent by hand.', ['administration', 'informational'], ['uuid', 'name', 'administrator']),
  configurationReloaded: event(20012, 'The configuration was reloaded.', ['administration', 'process', 'success'], ['changes', 'ended']),
  credentialsNotAccepted: event(20021, 'No authentication method accepted the credentials of "{username}".', loginFailure, ['details']),
  accountConfigurationBad: event(20031, 'The account configuration of "{username}" has bad values.', loginFailure, methodDetails),
  homeFolderCreated: event(
    20042,
    'The home folder of "{username}" was created.',
    ['authentication', 'success'],
    [...method, 'path', 'real_path', 'created', 'durable'],
  ),
  componentStoppedByFailures: event(20066, 'The component "{name}" stopped after too many failures.', componentFailure, [
    'type',
    'uuid',
    'failures',
  ]),
  homeFolderUnavailable: event(20067, 'The home folder of "{username}" is not available.', loginFailure, [...methodDetails, 'real_path']),
  serviceStarted: event(20076, 'The service "{name}" started on {address}:{port}.', componentSuccess, ['type']),
  serviceStartFailed: event(20077, 'The service "{name}" failed to start: {reason}', componentFailure, ['type', 'address', 'port']),
  serviceStopped: event(20078, 'The service "{name}" stopped.', [...component, 'informational'], ['type', 'reason']),
  passwordChanged: event(20085, 'The password was changed.', ['authenticated', 'administration', 'success'], ['durable']),
  passwordChangeFailed: event(20086, 'The password change failed.', ['authenticated', 'administration', 'failure'], ['details']),
  methodSkipped: event(
    20111,
    'The authentication method "{method_name}" was skipped because it is stopped.',
    ['authentication', 'informational'],
    method,
  ),
  firstCredentialAccepted: event(20126, 'The first of two credentials was accepted: {credentials}.', [
    'authentication',
    'ssh',
    'authenticated',
    'informational',
  ]),
  authenticationForbidden: event(20136, 'The authentication method "{method_name}" forbade the login of "{username}".', loginFailure, [
    ...methodDetails,
    'response',
  ]),
  authenticationAccepted: event(
    20137,
    'The authentication method "{method_name}" accepted the credentials.',
    ['authentication', 'authenticated', 'success'],
    method.slice(1),
  ),
  authenticationRejected: event(
    20142,
    'The authentication method "{method_name}" rejected the login of "{username}": {details}',
    loginFailure,
    method,
  ),
  accountConfigurationUnknownKeys: event(20149, 'The account configuration of "{username}" has unknown keys.', loginFailure, methodDetails),
  componentStarted: event(20156, 'The component "{name}" started.', componentSuccess, ['uuid', 'family', 'kind', 'type', 'reason']),
  componentStopped: event(20157, 'The component "{name}" stopped: {reason}', componentFailure, ['uuid', 'family', 'kind', 'type']),
  deliveryFailed: event(20174, 'The delivery of event {event_id} by "{name}" failed: {details}', processFailure, delivery),
  serverStarted: event(20181, 'The server started.', process, ['version']),
  eventDelivered: event(20189, 'Event {event_id} was delivered by "{name}".', ['process', 'success'], delivery),
  administratorLogin: event(
    20190,
    'The login of the administrator "{administrator}" was {outcome}.',
    ['administration', 'authentication'],
    ['way'],
  ),
  administratorAction: event(
    20191,
    'The administrator "{administrator}" performed the action {action}: {target}',
    ['administration', 'success'],
    ['ids'],
  ),
  tlsFilesRefused: event(20192, 'New TLS files of "{name}" cannot be used; the previous ones stay in use.', componentFailure, [
    'type',
    'uuid',
    'details',
  ]),
  certificateObtained: event(20193, 'A certificate for "{name}" was obtained.', componentSuccess, [
    'type',
    'uuid',
    'domains',
    'directory',
    'expires',
  ]),
  certificateFailed: event(20194, 'No certificate for "{name}" could be obtained: {details}', componentFailure, [
    'type',
    'uuid',
    'domains',
    'failures',
    'days_left',
    'next_try',
  ]),
  journalCheckpoint: event(20201, 'A checkpoint of the journal was signed: segment {segment}, byte {position}.', process, [
    'hash',
    'previous',
    'time',
    'key',
    'removed_to',
    'next_key',
    'signature',
  ]),
  fileForwarded: event(
    20202,
    'The file "{path}" was forwarded by "{name}" to {url}.',
    ['process', 'success'],
    ['event_id', ...delivery, 'path', 'size', 'digest'],
  ),
  sftpSessionStarted: event(30011, 'An SFTP session started.', sftpSession, ['client_version', 'algorithms']),
  sftpSessionEnded: event(30012, 'An SFTP session ended.', sftpSession, ['client_version', 'duration']),
  sshKeyExchangeFailed: event(30013, 'The key exchange with an SSH client failed: {details}', ['ssh', 'failure'], ['client']),
  sshClientConnected: event(30014, 'An SSH client connected: {client}.', ['ssh', 'session', 'informational']),
  sshConnectionEnded: event(
    30015,
    'An SSH connection ended: {details}',
    ['ssh', 'session', 'informational'],
    ['client', 'algorithms', 'duration', 'bytes_received', 'bytes_sent'],
  ),
  sshRequestUnreadable: event(30016, 'A request could not be read: {details}', ['ssh', 'authenticated', 'failure'], ['requests']),
  sftpTemporaryFileUploaded: sftpEvent(
    30017,
    'The file "{path}" was uploaded under a temporary name.',
    'informational',
    'operation-write',
    [...sftpWrite, 'replaced', 'trashed', 'durable'],
  ),
  sftpFolderOpened: sftpEvent(30019, 'The folder "{path}" was opened.', 'informational', 'operation-read'),
  sftpFolderListed: sftpEvent(30020, 'The folder "{path}" was listed.', 'success', 'operation-read', ['members']),
  sftpListingFailed: sftpEvent(30021, 'The folder "{path}" could not be listed: {details}', 'failure', 'operation-read'),
  sftpFileRemoved: sftpEvent(30023, 'The file "{path}" was removed.', 'success', 'operation-delete', ['trashed', 'durable']),
  sftpFileRemovalFailed: sftpEvent(30024, 'The file "{path}" could not be removed: {details}', 'failure', 'operation-delete'),
  sftpRenamed: sftpEvent(30026, '"{path}" was renamed to "{destination}".', 'success', 'operation-rename', arrival),
  sftpRenameFailed: sftpEvent(30027, '"{path}" could not be renamed: {details}', 'failure', 'operation-rename', ['destination']),
  sftpFolderCreated: sftpEvent(30029, 'The folder "{path}" was created.', 'success', 'operation-create-folder', ['durable']),
  sftpFolderCreationFailed: sftpEvent(30030, 'The folder "{path}" could not be created: {details}', 'failure', 'operation-create-folder'),
  sftpFolderRemoved: sftpEvent(30032, 'The folder "{path}" was removed.', 'success', 'operation-delete', ['trashed', 'durable']),
  sftpFolderRemovalFailed: sftpEvent(30033, 'The folder "{path}" could not be removed: {details}', 'failure', 'operation-delete'),
  sftpAttributesRead: sftpEvent(30035, 'The attributes of "{path}" were read.', 'success', 'operation-read'),
  sftpAttributesReadFailed: sftpEvent(30036, 'The attributes of "{path}" could not be read: {details}', 'failure', 'operation-read'),
  sftpAttributesSet: sftpEvent(30038, 'The attributes of "{path}" were set.', 'success', 'operation-write', attributes),
  sftpAttributesSetFailed: sftpEvent(
    30039,
    'The attributes of "{path}" could not be set: {details}',
    'failure',
    'operation-write',
    attributes,
  ),
  sftpDownloadFailed: sftpEvent(30041, 'The download of "{path}" failed: {details}', 'failure', 'operation-read', transferRead),
  sftpUploadFailed: sftpEvent(30042, 'The upload of "{path}" failed: {details}', 'failure', 'operation-write', [
    ...sftpWrite,
    'kept_as',
    'durable',
  ]),
  sftpFileOpened: sftpEvent(30043, 'The file "{path}" was opened.', 'informational', 'file-operation'),
  sftpOpenFailed: sftpEvent(30044, 'The file "{path}" could not be opened: {details}', 'failure', 'file-operation'),
  sshConnectionRefused: event(30051, 'An SSH connection was refused: {details}', ['ssh', 'failure'], ['refused']),
  sftpFileDownloaded: sftpEvent(30067, 'The file "{path}" was downloaded.', 'success', 'operation-read', transferRead),
  sftpFileUploaded: sftpEvent(30068, 'The file "{path}" was uploaded.', 'success', 'operation-write', [
    ...sftpWrite,
    'replaced',
    'trashed',
    'uploaded_as',
    'durable',
  ]),
  requestNotAuthorised: event(40000, 'The request is not authorised.', ['http', 'authentication', 'failure'], request),
  internalError: event(40003, 'Internal error.', ['http', 'failure'], [...request, 'reference']),
  fileOpened: fileEvent(40004, 'The file "{path}" was opened for reading.', 'success', 'operation-read'),
  fileHead: fileEvent(40005, 'HEAD of the file "{path}".', 'success', 'operation-read'),
  folderOpened: fileEvent(40007, 'The folder "{path}" was opened.', 'success', 'operation-read', ['search']),
  folderCreated: fileEvent(40010, 'The folder "{path}" was created.', 'success', 'operation-create-folder', ['durable']),
  folderCreationFailed: fileEvent(40011, 'The folder "{path}" could not be created: {details}', 'failure', 'operation-create-folder'),
  fileRemoved: fileEvent(40012, 'The file "{path}" was removed.', 'success', 'operation-delete', ['trashed', 'durable']),
  fileRemovalFailed: fileEvent(40013, 'The file "{path}" could not be removed: {details}', 'failure', 'operation-delete'),
  listingFailed: fileEvent(40014, 'The folder "{path}" could not be listed: {details}', 'failure', 'operation-read'),
  sessionTimedOut: event(40015, 'The session timed out.', ['session', 'http', 'informational']),
  zipStarted: fileEvent(40016, 'The ZIP download of "{path}" started.', 'informational', 'operation-read', ['files']),
  fileUploaded: fileEvent(40017, 'The file "{path}" was uploaded.', 'success', 'operation-write', [
    ...uploadWrite,
    'replaced',
    'trashed',
    'durable',
    'held_id',
  ]),
  clientWentAway: fileEvent(40018, 'The client went away during the transfer of "{path}".', 'failure', 'operation-read', [
    ...transferRead,
    ...transferWrite,
  ]),
  badRequest: event(40019, 'Bad request: {details}', ['http', 'failure'], request),
  uploadStarted: fileEvent(40021, 'The upload of "{path}" started.', 'informational', 'operation-write', ['metadata', 'api_backend']),
  uploadFailed: fileEvent(40022, 'The upload of "{path}" failed: {details}', 'failure', 'operation-write', [...uploadWrite, 'inspection']),
  zipDone: fileEvent(40025, 'The ZIP download of "{path}" is done.', 'success', 'operation-read', [...transferRead, 'files']),
  folderRemoved: fileEvent(40026, 'The folder "{path}" was removed.', 'success', 'operation-delete', ['trashed', 'durable']),
  folderRemovalFailed: fileEvent(40027, 'The folder "{path}" could not be removed: {details}', 'failure', 'operation-delete'),
  nameNotUtf8: fileEvent(40028, 'A name in "{path}" is not valid UTF-8 and is not shown.', 'failure', 'operation-read', ['details']),
  folderAlreadyThere: fileEvent(40030, 'The folder "{path}" is already there.', 'failure', 'operation-create-folder', ['details']),
  openFailed: fileEvent(40035, 'The file "{path}" could not be opened: {details}', 'failure', 'operation-read'),
  folderHead: fileEvent(40036, 'HEAD of the folder "{path}".', 'success', 'operation-read'),
  sessionLoggedOut: event(40037, 'The session was logged out.', ['session', 'authenticated', 'http', 'success']),
  fileDownloaded: fileEvent(40039, 'The file "{path}" was downloaded.', 'success', 'operation-read', transferRead),
  downloadFailed: fileEvent(40040, 'The download of "{path}" failed: {details}', 'failure', 'operation-read', transferRead),
  zipFailed: fileEvent(40041, 'The ZIP download of "{path}" failed: {details}', 'failure', 'operation-read', [...transferRead, 'files']),
  urlSuspended: event(40042, 'A URL of "{name}" failed and is suspended: {url}', processFailure, ['uuid', 'retry_interval', 'details']),
  triggerRun: fileEvent(40043, 'The custom trigger "{name}" was run in "{path}".', 'success', 'operation-write', ['files']),
  fileRenamed: fileEvent(40055, 'The file "{path}" was renamed to "{destination}".', 'success', 'operation-rename', arrival),
  renameFailed: fileEvent(40056, '"{path}" could not be renamed: {details}', 'failure', 'operation-rename', ['destination']),
  backendReplyInvalid: fileEvent(40060, 'The API back-end gave no valid reply for "{path}".', 'failure', 'operation-write', [
    'handler',
    'details',
    'status',
  ]),
  copyStarted: fileEvent(40061, 'The copy of "{path}" to "{destination}" started.', 'informational', 'operation-write'),
  fileMoveStarted: fileEvent(40062, 'The move of the file "{path}" to "{destination}" started.', 'informational', 'operation-rename'),
  folderMoveStarted: fileEvent(40063, 'The move of the folder "{path}" to "{destination}" started.', 'informational', 'operation-rename'),
  folderRenamed: fileEvent(40065, 'The folder "{path}" was renamed to "{destination}".', 'success', 'operation-rename', arrival),
  propertiesDenied: fileEvent(40066, 'Changing the properties of "{path}" was denied.', 'failure', 'operation-write', ['details']),
  copyFailed: fileEvent(40067, 'The copy of "{path}" failed: {details}', 'failure', 'operation-write', ['destination']),
  fileCopied: fileEvent(40068, 'The file "{path}" was copied to "{destination}".', 'success', 'operation-write', arrival),
  unfinishedUploadEnded: fileEvent(40069, 'The unfinished upload of "{path}" ended: {reason}.', 'informational', 'operation-write', [
    ...uploadWrite,
    'details',
  ]),
  tokenMade: grantEvent(40081, 'The token "{name}" was made.', 'success', ['permissions', 'expires', 'addresses', 'services', 'parent']),
  tokenEnded: grantEvent(40082, 'The token "{name}" ended: {reason}.', 'success'),
  linkMade: grantEvent(40083, 'A link to "{path}" was made.', 'success', ['kind', 'expires', 'maximum_downloads']),
  linkEnded: grantEvent(40084, 'The link to "{path}" ended: {reason}.', 'success', ['kind']),
  linkOpened: grantEvent(40085, 'The link to "{path}" was opened.', 'informational', ['kind']),
  grantRefused: grantEvent(40086, 'A token or link of "{username}" was refused although its secret was right: {reason}.', 'failure', [
    'details',
  ]),
  linkChanged: grantEvent(40087, 'The link to "{path}" was changed.', 'success', [
    'kind',
    'expires',
    'maximum_downloads',
    'has_password',
    'note',
  ]),
  expectationMet: expected(40091, 'The files of "{name}" that were due at {due} have arrived.', 'success'),
  expectationLate: expected(40092, 'The files of "{name}" that were due at {due} came late.', 'failure'),
  expectationMissing: expected(40093, 'The files of "{name}" that were due at {due} are missing.', 'failure'),
  expectationMalformed: expected(40094, 'The files of "{name}" that were due at {due} are not as expected: {reason}', 'failure'),
  expectationExcused: expected(40095, 'The files of "{name}" that were due at {due} are excused: {reason}', 'informational', [
    'administrator',
  ]),
  expectationReopened: expected(
    40096,
    'The files of "{name}" that were due at {due} are expected again, until {grace_ends}.',
    'informational',
    ['administrator'],
  ),
  trashRestored: fileEvent(40101, '"{path}" was restored from the trash.', 'success', 'operation-write', [
    'trashed_path',
    'is_directory',
    'administrator',
    'durable',
  ]),
  trashEnded: fileEvent(40102, '"{path}" was permanently deleted from the trash: {reason}.', 'success', 'operation-delete', [
    'is_directory',
    'size',
    'administrator',
  ]),
  uploadRefused: fileEvent(40071, 'The inspection "{inspection}" refused "{path}".', 'failure', 'operation-write', ['message', 'response']),
  uploadHeld: fileEvent(40072, 'The upload of "{path}" is held: {reason}', 'informational', 'operation-write', [
    'held_id',
    'verdicts',
    'total_write',
    'moved_from',
  ]),
  heldUploadReleased: fileEvent(40073, 'The held upload of "{path}" was released.', 'success', 'operation-write', [
    'held_id',
    'administrator',
  ]),
  heldUploadEnded: fileEvent(40074, 'The held upload of "{path}" ended: {reason}.', 'informational', 'operation-write', [
    ...uploadWrite,
    'held_id',
    'administrator',
    'inspection',
    'details',
  ]),
  inspectionFailed: fileEvent(40075, 'The inspection "{inspection}" of "{path}" failed: {details}', 'failure', 'operation-write'),
};

export const eventCatalogue: readonly EventDefinition[] = Object.values(definitions);

const byId = new Map(eventCatalogue.map((definition) => [definition.id, definition]));

/** Returns the definition of an event. @throws Error for an ID that is not in the catalogue, which only a bug in the service can cause */
export function eventDefinition(id: number): EventDefinition {
  const definition = byId.get(id);
  if (!definition) throw new Error(`Event ${id} is not in the catalogue.`);
  return definition;
}

export function isEventId(id: number): boolean {
  return byId.has(id);
}
