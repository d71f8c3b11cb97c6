import { nearestName } from '../lib/nearest-name.ts';

/** Names of algorithms by kind, in order of preference. */
export interface AlgorithmSet {
  kex: string[];
  hostKey: string[];
  cipher: string[];
  mac: string[];
}

type Kind = keyof AlgorithmSet;
const kinds: readonly Kind[] = ['kex', 'hostKey', 'cipher', 'mac'];

const secure: AlgorithmSet = {
  kex: [
    'mlkem768x25519-sha256',
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group18-sha512',
  ],
  hostKey: ['ssh-ed25519', 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com', 'aes256-ctr', 'aes192-ctr', 'aes128-ctr'],
  mac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'],
};

const nistCurves = ['nistp256', 'nistp384', 'nistp521'];
const nistKex = nistCurves.map((curve) => `ecdh-sha2-${curve}`);
const nistHostKeys = nistCurves.map((curve) => `ecdsa-sha2-${curve}`);

const all: AlgorithmSet = {
  kex: [...secure.kex, ...nistKex, 'diffie-hellman-group14-sha256'],
  hostKey: [...secure.hostKey, ...nistHostKeys],
  cipher: secure.cipher,
  mac: [...secure.mac, 'hmac-sha2-256', 'hmac-sha2-512'],
};

const fips: AlgorithmSet = {
  kex: [...nistKex, 'diffie-hellman-group16-sha512', 'diffie-hellman-group18-sha512'],
  hostKey: [...nistHostKeys, 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: secure.cipher.filter((name) => name.startsWith('aes')),
  mac: secure.mac,
};

const sets: Readonly<Record<string, AlgorithmSet>> = { secure, all, fips };

/** Minimum and maximum size of RSA keys in bits, for servers and clients. */
export const minRsaBits = 2048;
export const maxRsaBits = 16_384;

export const hostKeyTypes = ['ssh-ed25519', 'ssh-rsa', ...nistHostKeys];

/** Returns whether a host key of a type can sign with at least one of the algorithms. */
export function fitsAlgorithms(type: string, { hostKey }: AlgorithmSet): boolean {
  return type === 'ssh-rsa' ? hostKey.some((name) => name.startsWith('rsa-sha2-')) : hostKey.includes(type);
}

/** Signature algorithms that are accepted from clients. SHA-1 and DSA are not accepted. */
export const clientSignatures = ['ssh-ed25519', 'rsa-sha2-512', 'rsa-sha2-256', ...nistHostKeys];

/**
 * Resolves `ssh_cipher_list`, which contains sets (`secure`, `all`, `fips`) and single names. If the list names no algorithm of a kind
 * (such as MACs), the algorithms of this kind in `secure` are used.
 *
 * @param names names for which `algorithmFaults` found no fault
 */
export function resolveAlgorithms(names: readonly string[]): AlgorithmSet {
  const chosen = (kind: Kind) => {
    const found = new Set(names.flatMap((name) => sets[name]?.[kind] ?? all[kind].filter((candidate) => candidate === name)));
    return found.size > 0 ? [...found] : secure[kind];
  };
  return { kex: chosen('kex'), hostKey: chosen('hostKey'), cipher: chosen('cipher'), mac: chosen('mac') };
}

/** Returns a text for each name in `ssh_cipher_list` that cannot be used. */
export function algorithmFaults(names: readonly string[]): string[] {
  const known = [...Object.keys(sets), ...kinds.flatMap((kind) => all[kind])];
  return names
    .filter((name) => !known.includes(name))
    .map((name) => {
      if (isRefused(name)) return `"${name}" is not offered, because it is not safe`;
      const near = nearestName(name, known);
      return near === undefined ? `"${name}" is not a known algorithm` : `"${name}" is not a known algorithm; did you mean "${near}"?`;
    });
}

/** Returns the chosen algorithms that are not in the set `secure`. */
export function algorithmsBeyondSecure(names: readonly string[]): string[] {
  const chosen = resolveAlgorithms(names);
  return kinds.flatMap((kind) => chosen[kind].filter((name) => !secure[kind].includes(name)));
}

function isRefused(name: string): boolean {
  return /sha1$|sha1-|-cbc|arcfour|md5|^ssh-(rsa|dss)$|^3des|blowfish|^cast128/.test(name);
}
