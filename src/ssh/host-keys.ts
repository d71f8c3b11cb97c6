import { createHash, createPrivateKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFileAtomically } from '../lib/disk/durable-files.ts';
import { readingFault, readSecretFile } from '../lib/disk/named-file.ts';
import { ServiceError } from '../lib/errors.ts';
import { hostKeyTypes, minRsaBits } from './algorithms.ts';
import { bitLength, readStrings, sshString, toMpint } from './public-keys.ts';

/** A host key, by which clients recognise this server. */
export interface HostKey {
  readonly path: string;
  /** Type of the key, such as `ssh-ed25519`. */
  readonly type: string;
  /** The fingerprint as `ssh-keygen -l` shows it, `SHA256:…`. */
  readonly fingerprint: string;
  /** The private key. Never logged. */
  readonly text: string;
}

const makeKeyPair = promisify(generateKeyPair);

const opensshBegin = 'BEGIN OPENSSH PRIVATE KEY';
const opensshMark = Buffer.from('openssh-key-v1\0');

/** File names of the keys that the first start creates. */
const defaultKeyNames = { ed25519: 'ssh_host_ed25519_key', rsa: 'ssh_host_rsa_key' };

/** Returns the paths of the host keys for a service without `host_key_paths`. The files need not exist. */
export function defaultKeyPaths(dataFolderPath: string): string[] {
  return Object.values(defaultKeyNames).map((name) => join(dataFolderPath, name));
}

/** Returns the path in the data folder for a key. @param type such as `ssh-ed25519` */
export function keyPathFor(type: string, dataFolderPath: string): string {
  const name = type.startsWith('ecdsa-') ? 'ssh_host_ecdsa_key' : type === 'ssh-rsa' ? defaultKeyNames.rsa : defaultKeyNames.ed25519;
  return join(dataFolderPath, name);
}

/**
 * Loads the host keys of a service: the files of `host_key_paths` or, without that option, an Ed25519 and an RSA key in the data folder.
 * The keys in the data folder are created if they are missing.
 *
 * @throws ServiceError `unavailable`, which names the file that cannot be used
 */
export async function loadHostKeys(paths: readonly string[], dataFolderPath: string): Promise<HostKey[]> {
  if (paths.length > 0) return paths.map(readHostKey);
  const [ed25519 = '', rsa = ''] = defaultKeyPaths(dataFolderPath);
  if (!existsSync(ed25519)) await writeFileAtomically(ed25519, ed25519Text((await makeKeyPair('ed25519')).privateKey), { mode: 0o600 });
  if (!existsSync(rsa)) {
    const { privateKey } = await makeKeyPair('rsa', { modulusLength: 3072 });
    await writeFileAtomically(rsa, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  }
  return [readHostKey(ed25519), readHostKey(rsa)];
}

/**
 * Reads a private key without a passphrase, in OpenSSH's format or as PEM.
 *
 * @throws ServiceError `unavailable`, which names the file and its fault
 */
export function readHostKey(path: string): HostKey {
  let text: string;
  try {
    text = readSecretFile(path).toString('utf8');
  } catch (error) {
    throw unusable(path, readingFault(path, error), error);
  }
  let key: { blob: Buffer; text: string };
  try {
    key = text.includes(opensshBegin) ? { blob: readPublicPart(text), text } : readPem(createPrivateKey(text));
  } catch (error) {
    const { message } = error as Error;
    throw unusable(path, /^error:|DECODER/.test(message) ? 'it is not a private key without a passphrase' : message);
  }
  const [type, ...fields] = readStrings(key.blob);
  const name = type?.toString('latin1') ?? '';
  if (!hostKeyTypes.includes(name)) throw unusable(path, `keys of type ${name} are not supported`);
  const bits = name === 'ssh-rsa' ? bitLength(fields[1]) : Number.POSITIVE_INFINITY;
  if (bits < minRsaBits) throw unusable(path, `an RSA key needs at least ${minRsaBits} bits`);
  const digest = createHash('sha256').update(key.blob).digest('base64').replace(/=+$/, '');
  return { path, type: name, fingerprint: `SHA256:${digest}`, text: key.text };
}

/** Returns the public key in a private key of OpenSSH's format. @throws Error if the private key is damaged or has a passphrase */
function readPublicPart(text: string): Buffer {
  const bytes = Buffer.from(text.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  if (!bytes.subarray(0, opensshMark.length).equals(opensshMark)) throw new Error('it is damaged');
  const [cipher, kdf, kdfOptions] = readStrings(bytes.subarray(opensshMark.length), 3);
  if (cipher?.toString('latin1') !== 'none') throw new Error('it has a passphrase');
  const numberAt = opensshMark.length + 12 + cipher.length + (kdf?.length ?? 0) + (kdfOptions?.length ?? 0);
  const [blob] = readStrings(bytes.subarray(numberAt + 4), 1);
  if (!blob) throw new Error('it is damaged');
  return blob;
}

/** Returns the public key, and the private key in a format that ssh2 reads. */
function readPem(key: KeyObject): { blob: Buffer; text: string } {
  const { n = '', e = '', x = '', y = '', crv = '' } = key.export({ format: 'jwk' });
  const bytes = (value: string) => Buffer.from(value, 'base64url');
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return {
        blob: Buffer.concat([sshString('ssh-rsa'), sshString(toMpint(bytes(e))), sshString(toMpint(bytes(n)))]),
        text: key.export({ type: 'pkcs1', format: 'pem' }) as string,
      };
    case 'ec': {
      const curve = crv.replace('P-', 'nistp');
      const point = Buffer.concat([Buffer.from([4]), bytes(x), bytes(y)]);
      return {
        blob: Buffer.concat([sshString(`ecdsa-sha2-${curve}`), sshString(curve), sshString(point)]),
        text: key.export({ type: 'sec1', format: 'pem' }) as string,
      };
    }
    case 'ed25519':
      return { blob: Buffer.concat([sshString('ssh-ed25519'), sshString(bytes(x))]), text: ed25519Text(key) };
    default:
      throw new Error(`keys of type ${key.asymmetricKeyType} are not supported`);
  }
}

function unusable(path: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('unavailable', `The host key ${path} cannot be used: ${reason}.`, { cause });
}

/** Returns a private Ed25519 key in OpenSSH's format (OpenSSH PROTOCOL.key). OpenSSH's programs read Ed25519 keys in no other format. */
function ed25519Text(key: KeyObject): string {
  const { d = '', x = '' } = key.export({ format: 'jwk' });
  const [secret, open] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  const check = randomBytes(4);
  const name = sshString('ssh-ed25519');
  const unpadded = Buffer.concat([check, check, name, sshString(open), sshString(Buffer.concat([secret, open])), sshString('svc')]);
  const padding = Buffer.from(Array.from({ length: (8 - (unpadded.length % 8)) % 8 }, (_, index) => index + 1));
  const whole = Buffer.concat([
    opensshMark,
    sshString('none'),
    sshString('none'),
    sshString(''),
    Buffer.from([0, 0, 0, 1]),
    sshString(Buffer.concat([name, sshString(open)])),
    sshString(Buffer.concat([unpadded, padding])),
  ]);
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
}
