import { createHash } from 'node:crypto';
import { readContent } from './sftp/extensions.ts';
import { OpenFile } from './sftp/open-file.ts';
import { requestedPath } from './sftp/request-operations.ts';
import { toStatus } from './sftp/status.ts';
import type { SshChannel, SshClient } from './ssh-client.ts';

const hashes: Readonly<Record<string, string>> = { md5sum: 'md5', sha1sum: 'sha1', sha256sum: 'sha256' };

/** The command with which rclone detects the shell. The answer is the one that a Unix shell would give. */
const shellQuestion = ['echo', '${ShellId}%ComSpec%'];
const shellAnswer = '%ComSpec%\n';

/**
 * Answers a command. It refuses it with exit status 1 or, with `checksum_commands`, returns the checksum of one file in the format of
 * coreutils. Never rejects.
 *
 * @param command undefined if the client requests a shell
 */
export async function answerCommand(channel: SshChannel, client: SshClient, command: string | undefined): Promise<void> {
  const { status, text } = await answer(client, command);
  (status === 0 ? channel : channel.stderr).write(text);
  channel.exit(status);
  channel.end();
}

async function answer(client: SshClient, command: string | undefined): Promise<{ status: number; text: string }> {
  const words = command === undefined || !client.options.checksum_commands ? undefined : shellWords(command);
  if (words?.join(' ') === shellQuestion.join(' ')) return { status: 0, text: shellAnswer };
  const [name = '', ...paths] = words ?? [];
  const algorithm = hashes[name];
  if (algorithm === undefined || paths.length > 1) return { status: 1, text: refusal(client) };
  try {
    return { status: 0, text: await checksumLine(client, algorithm, paths[0]) };
  } catch (error) {
    return { status: 1, text: `${name}: ${toStatus(error, client).message}\n` };
  }
}

function refusal({ options }: SshClient): string {
  const others = options.checksum_commands ? `, besides ${Object.keys(hashes).join(', ')} of one file` : '';
  return `This service takes no commands, only SFTP (with OpenSSH 9 or newer \`scp\` uses it too, with older ones \`scp -s\`)${others}.\r\n`;
}

/** @param path if it is undefined, the checksum of empty content is returned. rclone uses that to detect the command */
async function checksumLine(client: SshClient, algorithm: string, path: string | undefined): Promise<string> {
  const hash = createHash(algorithm);
  if (path === undefined) return `${hash.digest('hex')}  -\n`;
  const file = new OpenFile(client.files.forRequest({ requested_path: path, mode: 'read' }), requestedPath(path));
  try {
    for await (const piece of readContent(file, 0, 0, client.ended)) {
      client.noteActivity();
      hash.update(piece);
    }
  } finally {
    await (client.ended.aborted ? file.lose() : file.close());
  }
  // coreutils puts a backslash before a line in which it escaped characters of the name.
  const name = path.replace(/[\\\n\r]/g, (character) => ({ '\\': '\\\\', '\n': '\\n' })[character] ?? '\\r');
  return `${name === path ? '' : '\\'}${hash.digest('hex')}  ${name}\n`;
}

/**
 * Splits a command into words as a Unix shell does. It handles `'`, `"` and backslashes, but expands nothing.
 *
 * @returns undefined if a quotation is not closed, or if a shell would do more than run one command
 */
export function shellWords(command: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  const pattern = /'([^']*)'|"((?:[^"\\`]|\\[\s\S])*)"|\\([\s\S])|([^\S\n]+)|([^\s'"\\;&|<>()`\n*?[\]])/gy;
  while (pattern.lastIndex < command.length) {
    const match = pattern.exec(command);
    if (!match) return undefined;
    const [, single, double, escaped, space, plain] = match;
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '');
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
