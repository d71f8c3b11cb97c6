import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Ending, temporaryFolder } from './temp.ts';

/** A certificate for localhost and 127.0.0.1 that is its own authority, made by openssl. */
export function selfSigned(t: Ending): { key: string; cert: string; certPath: string } {
  const folder = temporaryFolder(t);
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  const subject = ['-subj', '/CN=localhost', '-addext', names, '-days', '2'];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
      ...subject,
    ],
    { cwd: folder, stdio: 'pipe' },
  );
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { key: read('key.pem'), cert: read('cert.pem'), certPath: join(folder, 'cert.pem') };
}

/** The same, with the key in a file. */
export function selfSignedFiles(t: Ending): { cert: string; certPath: string; keyPath: string } {
  const { cert, certPath } = selfSigned(t);
  return { cert, certPath, keyPath: join(dirname(certPath), 'key.pem') };
}
