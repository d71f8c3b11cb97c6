import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { Client } from './client.ts';

/** What the world was told so far; what was answered must hold after every crash. */
export class Promised {
  /** Virtual paths of small files whose upload was answered. */
  readonly uploads: string[] = [];
  /** For each overwritten file: the last answered version, and the last one that was sent. */
  readonly versions = new Map<string, { answered: number; sent: number }>();
  /** The password that was answered last, and the one under way. */
  password = 'first-password';
  nextPassword: string | undefined = undefined;
  answered = { moves: 0, passwords: 0, overwrites: 0, archives: 0 };
  number = 0;
}

/** Size of an overwritten file: large enough to be hit half-way. */
export const versionBytes = 400_000;

/** The whole content of one version of a file. */
export function versionContent(path: string, version: number): Buffer {
  return Buffer.alloc(versionBytes, createHash('sha256').update(`${path} ${version}`).digest());
}

type Actor = (client: Client, promised: Promised) => Promise<void>;

function authorization(promised: Promised): string {
  return `Basic ${Buffer.from(`alice:${promised.password}`).toString('base64')}`;
}

async function uploadNew(client: Client, promised: Promised): Promise<void> {
  const path = `/new/${++promised.number}`;
  const reply = await client.put(`/home${path}`, path, { headers: { authorization: authorization(promised) } });
  if (reply.status === 201) promised.uploads.push(path);
}

async function overwrite(client: Client, promised: Promised, path: string): Promise<void> {
  const known = promised.versions.get(path) ?? { answered: 0, sent: 0 };
  promised.versions.set(path, known);
  const version = ++known.sent;
  const reply = await client.put(`/home${path}`, versionContent(path, version), { headers: { authorization: authorization(promised) } });
  if (reply.status !== 201) return;
  known.answered = version;
  promised.answered.overwrites++;
}

async function moveTree(client: Client, promised: Promised): Promise<void> {
  for (const [from, to] of [
    ['/home/tree/', '/home/disk/tree/'],
    ['/home/disk/tree/', '/home/tree/'],
  ] as const) {
    const reply = await client.send('MOVE', from, { headers: { authorization: authorization(promised), destination: to } });
    if (reply.status < 300) promised.answered.moves++;
  }
}

/** Reads an archive without keeping it. */
function readArchive(client: Client, promised: Promised): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: authorization(promised), accept: 'application/zip' };
    const outgoing = request(`${client.url}/home/`, { headers, agent: false }, (incoming) => {
      incoming.on('end', () => {
        promised.answered.archives++;
        resolve();
      });
      incoming.on('error', reject);
      incoming.resume();
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function changePassword(client: Client, promised: Promised): Promise<void> {
  const session = await client.login('alice', promised.password);
  promised.nextPassword = `password-${++promised.number}`;
  const reply = await client.send('POST', '/home/__svc__/password-update', {
    headers: { authorization: `session ${session}`, 'content-type': 'application/json' },
    body: JSON.stringify({ current_password: promised.password, new_password: promised.nextPassword }),
  });
  if (reply.status !== 204) return;
  promised.password = promised.nextPassword;
  promised.nextPassword = undefined;
  promised.answered.passwords++;
}

const actors: readonly Actor[] = [
  uploadNew,
  uploadNew,
  (client, promised) => overwrite(client, promised, '/a'),
  (client, promised) => overwrite(client, promised, '/disk/b'),
  moveTree,
  readArchive,
  changePassword,
];

/** Lets all actors work until the service is gone; resolves when the last has noticed. */
export async function actUntilGone(url: string, promised: Promised, isOver: () => boolean): Promise<void> {
  const client = new Client(url);
  await Promise.all(
    actors.map(async (act) => {
      while (!isOver()) await act(client, promised).catch(() => {});
    }),
  );
}
