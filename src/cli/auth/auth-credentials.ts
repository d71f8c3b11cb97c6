import { type Credentials, parseKeyBlob } from '../../auth/credentials.ts';
import { certificateCommonName } from '../../config/probe/probe-report.ts';
import type { EventPeer } from '../../events/event.ts';
import { peerAt } from '../../events/event-factory.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parseAddressPort } from '../../lib/headers/forwarded-header.ts';
import { keyLineFault } from '../../ssh/public-keys.ts';
import { readNamedFile } from '../file-fault.ts';
import { readLine } from '../prompt.ts';

/** Options that name a client and its credentials. */
export interface CredentialOptions {
  username?: string;
  password?: string;
  passwordStdin?: boolean;
  sshKey?: string;
  certificate?: string;
  peer?: string;
  creatorType?: string;
}

/** Type of the service that the credentials would reach. */
export function creatorTypeOf({ creatorType, sshKey }: CredentialOptions): string {
  return creatorType ?? (sshKey ? 'ssh' : 'https');
}

/**
 * The credentials that options of `svc auth-test` name: one, or a key and then a password.
 *
 * @throws ServiceError `bad-request` for others
 */
export async function readCredentials(options: CredentialOptions): Promise<Credentials[]> {
  const { certificate, sshKey, username } = options;
  const hasPassword = options.password !== undefined || options.passwordStdin === true;
  const isTwice = options.password !== undefined && options.passwordStdin === true;
  const isNothing = certificate === undefined && sshKey === undefined && !hasPassword;
  if (isTwice || isNothing || (certificate !== undefined && (sshKey !== undefined || hasPassword)))
    throw new ServiceError(
      'bad-request',
      'Give one of --password, --password-stdin, --ssh-key and --certificate, or a key and a password.',
    );
  const common = { peer: parsePeer(options.peer), creator: { uuid: 'svc-auth-test', type: creatorTypeOf(options) } };
  if (certificate !== undefined) {
    const pem = readNamedFile(`--certificate ${certificate}`, certificate);
    return [{ type: 'ssl-certificate', username: username ?? commonName(pem), content: pem, ...common }];
  }
  if (username === undefined) throw new ServiceError('bad-request', '--username is missing.');
  const presented: Credentials[] = [];
  if (sshKey !== undefined) {
    const line = readNamedFile(`--ssh-key ${sshKey}`, sshKey);
    const fault = common.creator.type === 'ssh' ? keyLineFault(line) : undefined;
    if (fault !== undefined) process.stderr.write(`svc: warning: --ssh-key ${fault}\n`);
    presented.push({ type: 'ssh-key', username, content: keyBlob(line), ...common });
  }
  if (hasPassword) {
    const content = options.password ?? (await readLine(process.stdin));
    presented.push({ type: 'password', username, content, ...common });
  }
  return presented;
}

function keyBlob(line: string): string {
  const blob = parseKeyBlob(line);
  if (blob === undefined) throw new ServiceError('bad-request', '--ssh-key: the file is no OpenSSH public key.');
  return blob;
}

function commonName(pem: string): string {
  let name: string | undefined;
  try {
    name = certificateCommonName(pem);
  } catch (error) {
    throw new ServiceError('bad-request', `--certificate: ${(error as Error).message}`, { cause: error });
  }
  if (name === undefined) throw new ServiceError('bad-request', '--certificate: the certificate has no common name; give --username.');
  return name;
}

/** The address of `--peer`. @throws ServiceError `bad-request` */
export function parsePeer(text: string | undefined): EventPeer {
  const client = parseAddressPort(text ?? '127.0.0.1:0');
  if (!client) throw new ServiceError('bad-request', '--peer takes ADDRESS or ADDRESS:PORT, IPv6 addresses in brackets.');
  return peerAt(client.address, client.port);
}
