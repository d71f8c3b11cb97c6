import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { readHostKey } from '../../src/ssh/host-keys.ts';
import { type ProgramEnd, runProgram } from './program.ts';
import { testPassword } from './secrets.ts';
import { startServer, type TestConfig, type TestServer } from './server.ts';
import { temporaryFolder } from './temp.ts';

/** A running server with an SSH service, and everything that OpenSSH's programs need to reach it. */
export interface SshTestServer extends TestServer {
  sshPort: number;
  /** Folder of the client, with its keys and the host keys that it knows. */
  clientFolder: string;
  /** Path of a private key with which `alice` may log in. */
  key: string;
  /** Runs one of OpenSSH's programs. `options` are passed with `-o`. If the program asks for a password, it gets `password`. */
  openssh(program: string, args: readonly string[], how?: OpensshOptions): Promise<ProgramEnd>;
}

interface OpensshOptions {
  options?: readonly string[];
  password?: string;
  input?: string;
  identity?: string;
}

/** Creates an Ed25519 key in OpenSSH's format, without OpenSSH's programs. @returns path of the private key; the public one is at `.pub` */
export function makeKey(folder: string, name: string): string {
  const path = join(folder, name);
  writeFileSync(path, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(path, readHostKey(path).text);
  writeFileSync(`${path}.pub`, `${publicKey(path)}\n`);
  return path;
}

/** Lets OpenSSH create a key without a passphrase. @returns path of the private key; the public one is at `.pub` */
export async function makeOpensshKey(folder: string, name: string, ...kind: string[]): Promise<string> {
  const path = join(folder, name);
  const { code, output } = await runProgram('ssh-keygen', ['-q', ...kind, '-N', '', '-f', path], { cwd: folder });
  if (code !== 0) throw new Error(output);
  return path;
}

/** Returns the public part of a private key in the form that the option `ssh_keys` accepts. */
export function publicKey(path: string): string {
  const { utils } = installedPackage<{ utils: { parseKey(text: Buffer): { type: string; getPublicSSH(): Buffer } } }>('ssh2');
  const key = utils.parseKey(readFileSync(path));
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

/**
 * Starts a server in this process: `web` over HTTP, and `sftp` on a free port, with a host key that is fast to create.
 *
 * @param service options of the SSH service
 */
export async function startSsh(t: TestContext, service: Record<string, unknown> = {}, config: TestConfig = {}): Promise<SshTestServer> {
  const clientFolder = temporaryFolder(t);
  const key = makeKey(clientFolder, 'id_alice');
  const hostKey = join(clientFolder, 'host_key');
  writeFileSync(hostKey, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const server = await startServer(t, {
    ...config,
    account: { ssh_keys: [publicKey(key)], ...config.account },
    services: { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0, host_key_paths: [hostKey], ...service }, ...config.services },
  });
  const url = server.service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '';
  const sshPort = Number(new URL(url).port);
  const askpass = join(clientFolder, 'askpass');
  writeFileSync(askpass, '#!/bin/sh\nprintf "%s\\n" "$TEST_PASSWORD"\n');
  chmodSync(askpass, 0o700);
  const openssh = (program: string, args: readonly string[], { options = [], password, input, identity = key }: OpensshOptions = {}) =>
    runProgram(
      program,
      [
        ...['-F', '/dev/null', ...(program === 'ssh' ? ['-p', String(sshPort)] : ['-P', String(sshPort)])],
        ...[
          'StrictHostKeyChecking=no',
          `UserKnownHostsFile=${join(clientFolder, 'known')}`,
          'IdentitiesOnly=yes',
          `IdentityFile=${identity}`,
        ]
          .concat(options)
          .flatMap((option) => ['-o', option]),
        ...args,
      ],
      {
        cwd: clientFolder,
        env: { SSH_ASKPASS: askpass, SSH_ASKPASS_REQUIRE: 'force', TEST_PASSWORD: password ?? testPassword },
        ...(input === undefined ? {} : { input }),
      },
    );
  return Object.assign(server, { sshPort, clientFolder, key, openssh });
}

/** Loads an installed package that is not bundled with the tests. */
export function installedPackage<T>(name: string): T {
  return createRequire(join(process.env.SVC_ROOT ?? process.cwd(), 'package.json'))(name) as T;
}

/** Credentials of one login attempt with ssh2. `username` may differ from one attempt to the next. */
export type LoginAttempt = Record<string, unknown> & { type: string; username: string };

interface ClientOfSsh2 {
  on(event: string, listener: (...args: never[]) => void): ClientOfSsh2;
  connect(options: Record<string, unknown>): void;
  setNoDelay(): void;
  end(): void;
}

/**
 * Logs in with the client of ssh2, which can make attempts that OpenSSH would refuse to make.
 *
 * @returns the client if it logged in; otherwise the number of attempts that were refused before the connection ended
 */
export function tryLogins(
  t: TestContext,
  port: number,
  attempts: readonly LoginAttempt[],
  options: Record<string, unknown> = {},
  onBanner: (text: string) => void = () => {},
): Promise<{ client: ClientOfSsh2 | undefined; refused: number }> {
  const { Client } = installedPackage<{ Client: new () => ClientOfSsh2 }>('ssh2');
  return new Promise((resolve) => {
    const client = new Client();
    t.after(() => client.end());
    let asked = 0;
    client.on('ready', () => {
      client.setNoDelay();
      resolve({ client, refused: asked - 1 });
    });
    client.on('error', () => {});
    client.on('banner', onBanner as (text: never) => void);
    client.on('close', () => resolve({ client: undefined, refused: Math.max(asked - 1, 0) }));
    const authHandler = () => attempts[asked++] ?? false;
    client.connect({ host: '127.0.0.1', port, username: attempts[0]?.username, authHandler, ...options });
  });
}
