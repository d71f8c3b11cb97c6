import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ending, temporaryFolder } from './temp.ts';

/** Options of `openssl req` for a new key that is small and fast to create. */
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Runs openssl in a folder. */
export function openssl(folder: string, ...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
}

/**
 * Creates a key and a self-signed certificate.
 *
 * @param files names of the files in the folder
 * @param subject for example `/CN=localhost`
 * @param names for example `DNS:localhost`
 */
export function selfSign(folder: string, files: { key: string; cert: string }, subject: string, names?: string, days = 2): void {
  const extension = names === undefined ? [] : ['-addext', `subjectAltName=${names}`];
  openssl(folder, 'req', '-x509', ...newKey, '-keyout', files.key, '-out', files.cert, '-days', `${days}`, '-subj', subject, ...extension);
}

/** Creates `<name>.key` and `<name>.crt`, signed with `ca.key` and `ca.crt` of the same folder. */
export function signByAuthority(folder: string, name: string, subject: string, extension: string): void {
  writeFileSync(join(folder, `${name}.ext`), extension);
  openssl(folder, 'req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
  const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'];
  openssl(folder, 'x509', '-req', '-in', `${name}.csr`, ...authority, '-days', '2', '-out', `${name}.crt`, '-extfile', `${name}.ext`);
}

/** Creates a self-signed certificate for localhost and 127.0.0.1 in its own folder. */
export function selfSigned(t: Ending): { key: string; cert: string; keyPath: string; certPath: string } {
  const folder = temporaryFolder(t);
  selfSign(folder, { key: 'key.pem', cert: 'cert.pem' }, '/CN=localhost', 'DNS:localhost,IP:127.0.0.1');
  const [keyPath, certPath] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  return { key: readFileSync(keyPath, 'utf8'), cert: readFileSync(certPath, 'utf8'), keyPath, certPath };
}
