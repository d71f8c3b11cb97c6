import { openFlags, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import type { Client, TestReply } from './client.ts';
import { multipart } from './multipart.ts';
import type { RawSftp } from './sftp-session.ts';

const { write, create, truncate } = openFlags;
const uploads = '/home/__svc__/uploads/';
const draft = { 'upload-draft-interop-version': '9' };
const tus = { 'tus-resumable': '1.0.0' };

/** Returns the URL of a path below the home folder. */
export const urlOf = (path: string) => `/home${path.split('/').map(encodeURIComponent).join('/')}`;

/**
 * The target of a door: a name in an existing folder (`/` or `/d`).
 * A door is a request that creates a name or changes a file.
 */
export interface DoorTarget {
  folder: string;
  name: string;
  headers?: Record<string, string>;
}

const pathOf = ({ folder, name }: DoorTarget) => `${folder === '/' ? '' : folder}/${name}`;
const folderUrl = ({ folder }: DoorTarget) => (folder === '/' ? '/home/' : `${urlOf(folder)}/`);

/** Sends folder commands. */
export function command(client: Client, at: DoorTarget, item: Record<string, unknown>): Promise<TestReply> {
  const headers = { 'content-type': 'application/json', ...at.headers };
  return client.send('POST', folderUrl(at), { headers, body: JSON.stringify({ commands: [item] }) });
}

/** Sends a form with its fields. A file is sent as `upload-file`. */
export function form(client: Client, at: DoorTarget, fields: Record<string, string>, fileName?: string): Promise<TestReply> {
  const files = fileName === undefined ? [] : ([['upload-file', 'new', fileName]] as [string, string, string][]);
  const { body, type } = multipart([...Object.entries(fields), ...files]);
  return client.send('POST', folderUrl(at), { body, headers: { 'content-type': type, accept: 'application/json', ...at.headers } });
}

/** Creates an upload with tus and metadata. */
export function createTus(client: Client, pairs: Record<string, string>, headers: Record<string, string> = {}): Promise<TestReply> {
  const metadata = Object.entries(pairs).map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`);
  return client.send('POST', uploads, { headers: { ...tus, 'upload-length': '3', 'upload-metadata': metadata.join(','), ...headers } });
}

/** Sends the content `new` to an upload of tus. */
export function fillTus(client: Client, url: string, headers: Record<string, string> = {}): Promise<TestReply> {
  const own = { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
  return client.send('PATCH', url, { body: 'new', headers: { ...own, ...headers } });
}

/** Begins an upload of the draft with the first two bytes of `new`. */
export function beginDraft(client: Client, at: DoorTarget): Promise<TestReply> {
  return client.send('PUT', urlOf(pathOf(at)), { body: 'ne', headers: { ...draft, 'upload-complete': '?0', ...at.headers } });
}

/** Sends the last byte of an upload that `beginDraft` began. */
export function completeDraft(client: Client, url: string, headers: Record<string, string> = {}): Promise<TestReply> {
  const own = { ...draft, 'upload-offset': '2', 'upload-complete': '?1', 'content-type': 'application/partial-upload' };
  return client.send('PATCH', url, { body: 'w', headers: { ...own, ...headers } });
}

/**
 * All HTTP requests that create a file or store the content `new` under a name, and those that begin an upload of this content. `/spare` is
 * a file that only MOVE removes.
 */
export const httpDoors: Readonly<Record<string, (client: Client, at: DoorTarget) => Promise<TestReply>>> = {
  PUT: (client, at) => client.send('PUT', urlOf(pathOf(at)), { body: 'new', headers: at.headers ?? {} }),
  'draft, PUT': beginDraft,
  'draft, POST': (client, at) => {
    const file = `inline; filename*=UTF-8''${encodeURIComponent(at.name)}`;
    const headers = { ...draft, 'upload-complete': '?1', 'content-disposition': file, ...at.headers };
    return client.send('POST', `${uploads}?folder=${encodeURIComponent(at.folder)}`, { body: 'new', headers });
  },
  'tus, path': (client, at) => createTus(client, { path: pathOf(at) }, at.headers),
  'tus, filename': (client, at) => createTus(client, { filename: at.name, folder: at.folder }, at.headers),
  COPY: (client, at) => client.send('COPY', '/home/spare', { headers: { destination: urlOf(pathOf(at)), ...at.headers } }),
  MOVE: (client, at) => client.send('MOVE', '/home/spare', { headers: { destination: urlOf(pathOf(at)), ...at.headers } }),
  'form, file': (client, at) => form(client, at, { action: 'upload-file' }, at.name),
};

/** All HTTP requests that create a folder. */
export const httpFolderDoors: typeof httpDoors = {
  MKCOL: (client, at) => client.send('MKCOL', `${urlOf(pathOf(at))}/`, { headers: at.headers ?? {} }),
  'PUT folder': (client, at) => client.send('PUT', `${urlOf(pathOf(at))}/`, { headers: at.headers ?? {} }),
  'form, folder': (client, at) => form(client, at, { action: 'create-folder', 'new-folder': at.name }),
  'command create-folder': (client, at) => command(client, at, { command: 'create-folder', target: at.name }),
  'command create-folder-if-missing': (client, at) => command(client, at, { command: 'create-folder-if-missing', target: at.name }),
};

/** All SFTP requests that create a name or replace its content. Each function returns the status code. `spare` is a file. */
export const sftpDoors: Readonly<Record<string, (sftp: RawSftp, path: string) => Promise<number>>> = {
  OPEN: async (sftp, path) => {
    const reply = await sftp.ask(packetTypes.open, (fields) =>
      fields
        .text(path)
        .uint32(write | create | truncate)
        .attributes({}),
    );
    if (reply.kind !== 'handle') return (reply as { code: number }).code;
    const codes = [await sftp.write(reply.handle, 0, 'new'), await sftp.close(reply.handle)];
    return codes.find((code) => code !== 0) ?? 0;
  },
  RENAME: (sftp, path) => sftp.rename('spare', path),
  'posix-rename': (sftp, path) =>
    sftp.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('spare').text(path)),
  'RENAME of an upload': async (sftp, path) => {
    const handle = await sftp.open('fresh', write | create);
    const code = await sftp.rename('fresh', path);
    await sftp.onPath(packetTypes.remove, code === 0 ? path : 'fresh');
    await sftp.close(handle);
    return code;
  },
  'posix-rename of an upload': async (sftp, path) => {
    const handle = await sftp.open('fresh', write | create);
    const code = await sftp.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('fresh').text(path));
    if (code !== 0) await sftp.onPath(packetTypes.remove, 'fresh');
    await sftp.close(handle);
    return code;
  },
  MKDIR: (sftp, path) => sftp.status(packetTypes.mkdir, (fields) => fields.text(path).attributes({})),
};
