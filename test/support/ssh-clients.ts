import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runProgram } from './program.ts';
import { hasProgram } from './requires.ts';
import type { SshTestServer } from './ssh.ts';
import { tree } from './tree.ts';

/** Content of a file that is too large for one request of any client. */
export const large = randomBytes(300_000).toString('hex');

/** Returns the tree below a folder. Large contents are replaced by their SHA-256. */
export function digestTree(folder: string): Record<string, string> {
  const digest = (content: string) => (content.length < 1000 ? content : createHash('sha256').update(content).digest('hex'));
  return Object.fromEntries(Object.entries(tree(folder)).map(([path, content]) => [path, digest(content)]));
}

/** Creates the folder `up` in the client's folder, with files whose names are of all kinds. @returns its tree, like `digestTree` */
export function plantLocal(folder: string): Record<string, string> {
  const up = join(folder, 'up');
  mkdirSync(join(up, 'sub folder'), { recursive: true });
  for (const name of ['a', 'b #?%25&', 'ümlaut 😀', 'sub folder/x']) writeFileSync(join(up, name), `content of ${name}`);
  writeFileSync(join(up, 'large'), large);
  return digestTree(up);
}

/** Runs a client in its folder, and asserts that it succeeds. */
export async function succeeds(
  server: SshTestServer,
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { code, output } = await runProgram(program, args, { cwd: server.clientFolder, env });
  assert.equal(code, 0, `${program}: ${output}`);
  return output;
}

/** Returns the command with which programs must call `ssh`. */
export function sshCommand(server: SshTestServer): string[] {
  const options = ['StrictHostKeyChecking=no', `UserKnownHostsFile=${join(server.clientFolder, 'known')}`, 'LogLevel=ERROR'];
  return ['ssh', '-F', '/dev/null', '-p', String(server.sshPort), '-i', server.key, ...options.flatMap((option) => ['-o', option])];
}

/** Returns whether `sshfs` and other programs are installed, and whether this user may use FUSE. */
export function canMount(t: TestContext, ...programs: string[]): boolean {
  for (const program of ['sshfs', 'ssh', ...programs]) if (!hasProgram(t, program)) return false;
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return true;
  } catch {
    console.log(`skipped: ${t.name}: this user may not use FUSE`);
    t.skip('this user may not use FUSE');
    return false;
  }
}

/** Mounts the home folder with `sshfs` and runs a shell script there, which must succeed. @returns its output */
export async function runMounted(server: SshTestServer, script: string): Promise<string> {
  const mount = join(server.clientFolder, 'mount');
  mkdirSync(mount);
  const options = `IdentityFile=${server.key},StrictHostKeyChecking=no,UserKnownHostsFile=${join(server.clientFolder, 'known')}`;
  await succeeds(server, 'sshfs', ['alice@127.0.0.1:/', mount, '-p', String(server.sshPort), '-o', options]);
  try {
    return await succeeds(server, 'bash', ['-c', `cd mount\n${script}`]);
  } finally {
    await runProgram('fusermount', ['-u', mount], { cwd: '/' });
  }
}

/** @returns a function that runs a command of `restic` with a repository on the server */
export function resticOn(server: SshTestServer): (...args: string[]) => Promise<string> {
  const command = `sftp.command=${sshCommand(server).join(' ')} alice@127.0.0.1 -s sftp`;
  const options = ['-o', command, '-r', 'sftp:alice@127.0.0.1:/repository'];
  return (...args) => succeeds(server, 'restic', [...options, ...args], { RESTIC_PASSWORD: 'of-this-test-only' });
}

/** Writes a configuration of rclone with the remote `svc`. @returns name of the file in the client's folder */
export function rcloneConfig(server: SshTestServer): string {
  const config = `[svc]\ntype = sftp\nhost = 127.0.0.1\nport = ${server.sshPort}\nuser = alice\nkey_file = ${server.key}\n`;
  writeFileSync(join(server.clientFolder, 'rclone.conf'), config);
  return 'rclone.conf';
}

/** Returns the result of `rclone test info` with some of its checks. */
export async function rcloneInfo(server: SshTestServer, ...checks: string[]): Promise<string> {
  const output = await succeeds(server, 'rclone', ['--config', rcloneConfig(server), 'test', 'info', ...checks, 'svc:info']);
  return output.split('// svc\n')[1] ?? output;
}

/**
 * The expected result of `rcloneInfo` for the lengths and the normalisation of names, and for streams. With `--all`, rclone precedes this
 * text by a list of the characters that no name can contain.
 */
export const namesAndStreams = `maxFileLength = 255 // for 1 byte unicode characters
maxFileLength = 127 // for 2 byte unicode characters
maxFileLength = 85 // for 3 byte unicode characters
maxFileLength = 63 // for 4 byte unicode characters
canWriteUnnormalized = true
canReadUnnormalized   = true
canReadRenormalized   = false
canStream = true
`;
