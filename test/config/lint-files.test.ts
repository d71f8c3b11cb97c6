import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkSource } from '../../src/config/check.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { openssl, selfSigned } from '../support/certificates.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

function check(folder: string, yaml: string, nowMs?: number): string[] {
  const { findings } = checkSource(parseSource(join(folder, 'svc.config.yaml'), yaml), {}, nowMs === undefined ? {} : { nowMs });
  return findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`);
}

const https = 'services: {web: {type: https, tls_certificate_path: cert.pem, tls_key_path: key.pem}}';

function certificateFolder(t: TestContext): string {
  const folder = temporaryFolder(t);
  const { key, cert } = selfSigned(t);
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'cert.pem'), cert);
  return folder;
}

test('certificates that end soon, have ended or are not valid yet are found', (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const folder = certificateFolder(t);
  const dayMs = 86_400_000;
  const path = 'services.web.tls_certificate_path';
  assert.deepEqual(check(folder, https), [`warning tls-expires-soon ${path}`], 'the certificate is valid for two days');
  assert.deepEqual(check(folder, https, Date.now() + 3 * dayMs), [`warning tls-expired ${path}`]);
  assert.deepEqual(check(folder, https, Date.now() - dayMs), [`warning tls-expired ${path}`]);
});

test('obstacles to certificates that svc obtains are found', (t) => {
  const folder = temporaryFolder(t);
  const acme = (options = '') => `tls: {acme: {directory: "https://ca.example/dir", domains: a.example${options}}}`;
  const found = (services: string, more = '') => check(folder, `services: {${services}}\n${more}`);
  const web = (options = '', more = '') => `web: {type: https, ${acme(options)}${more}}`;
  assert.deepEqual(found(web()), []);
  assert.deepEqual(found(`web: {type: http, ${acme()}}`), ['warning tls-unused services.web.tls']);
  assert.deepEqual(found(web('', ', tls_key_path: x')), ['error acme-conflict services.web.tls.acme']);
  assert.deepEqual(found(`${web()}, plain: {type: http, port: 80}`), ['error address-in-use services.web.tls.acme.http_port']);
  assert.deepEqual(found(`${web()}, plain: {type: http, port: 80, address: 0.0.0.0}`), [
    'error address-in-use services.web.tls.acme.http_port',
  ]);
  assert.deepEqual(found(`${web(', challenge: tls-alpn-01')}, plain: {type: http, port: 80}`), []);
  const desk = (options = '') => `desk: {type: console, ${acme(options)}}`;
  assert.deepEqual(
    found(`${web()}, ${desk()}`),
    ['warning administrators-missing services.desk.administrators'],
    'both services may share port 80 for challenges',
  );
  const alpn = ', challenge: tls-alpn-01';
  assert.ok(found(`${web()}, ${desk(alpn)}`).includes('error acme-unanswered services.desk.tls.acme.challenge'));
  assert.ok(!found(`${web(alpn)}, ${desk(alpn)}`).some((one) => one.includes('acme')));
  assert.deepEqual(found(web(', ca_certificates_path: none.pem')), ['error file-unreadable services.web.tls.acme.ca_certificates_path']);
  const staging = web().replace('ca.example', 'acme-staging-v02.ca.example');
  assert.deepEqual(found(staging), ['warning acme-staging services.web.tls.acme.directory[0]']);
  const redis = (secret: string) =>
    `server: {shutdown_delay: 2, state: {type: redis, url: "redis://127.0.0.1", retention_days: 3${secret}}}`;
  assert.ok(found(web(), redis('')).includes('error acme-secret services.web.tls.acme'));
  assert.ok(!found(web(), redis(', secret: x')).some((one) => one.includes('acme')));
});

test('keys that belong to another certificate, are encrypted, are too small, or can be read by all are found', (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const folder = certificateFolder(t);
  const soon = 'warning tls-expires-soon services.web.tls_certificate_path';
  const withKey = (name: string) => check(folder, https.replace('key.pem', name));
  openssl(folder, 'genpkey', '-algorithm', 'ED25519', '-out', 'other.pem');
  chmodSync(join(folder, 'other.pem'), 0o600);
  assert.deepEqual(withKey('other.pem'), [soon, 'error tls-mismatch services.web.tls_key_path']);
  openssl(folder, 'pkcs8', '-topk8', '-in', 'key.pem', '-passout', 'pass:x', '-out', 'encrypted.pem');
  chmodSync(join(folder, 'encrypted.pem'), 0o600);
  assert.deepEqual(withKey('encrypted.pem'), [soon, 'error tls-unusable services.web.tls_key_path']);
  assert.deepEqual(withKey('cert.pem'), [
    soon,
    'error tls-unusable services.web.tls_key_path',
    'warning secret-readable services.web.tls_key_path',
  ]);
  chmodSync(join(folder, 'key.pem'), 0o644);
  assert.deepEqual(withKey('key.pem'), [soon, 'warning secret-readable services.web.tls_key_path']);
  const request = 'req -x509 -newkey rsa:1024 -nodes -keyout weak-key.pem -out weak.pem -subj /CN=x -days 90';
  openssl(folder, ...request.split(' '));
  const weak = check(folder, https.replace('cert.pem', 'weak.pem').replace('key.pem', 'weak-key.pem'));
  assert.ok(weak.includes('warning tls-weak services.web.tls_certificate_path'), weak.join('\n'));
});

test('each of several certificates and keys in one file is checked', (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const folder = certificateFolder(t);
  const other = selfSigned(t);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const [cert, key] = [read('cert.pem'), read('key.pem')];
  const [certificatePath, keyPath] = ['services.web.tls_certificate_path', 'services.web.tls_key_path'];
  const soon = `warning tls-expires-soon ${certificatePath}`;
  const withFiles = (certificates: string, keys: string) => {
    writeFileSync(join(folder, 'cert.pem'), certificates);
    writeFileSync(join(folder, 'key.pem'), keys);
    return check(folder, https);
  };
  assert.deepEqual(withFiles(cert + other.cert, other.key + key), [soon, soon]);
  assert.ok(withFiles(cert, key + other.key).includes(`error tls-mismatch ${keyPath}`));
  assert.ok(
    withFiles(cert + other.cert, key).includes(`warning tls-chain ${certificatePath}`),
    'with one key, the second certificate must be the issuer of the first',
  );
});

test('certificate files that are not PEM, contain a key, are cut off or have the wrong order are found', (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const folder = certificateFolder(t);
  const path = 'services.web.tls_certificate_path';
  const second = selfSigned(t);
  const { cert } = selfSigned(t);
  writeFileSync(join(folder, 'text.pem'), 'no certificate\n');
  writeFileSync(join(folder, 'cut.pem'), cert.replace(/\n[^\n]+\n(?=-----END)/, '\n'));
  writeFileSync(join(folder, 'two.pem'), cert + second.cert);
  const withCertificate = (name: string) => check(folder, https.replace('cert.pem', name));
  assert.deepEqual(withCertificate('text.pem'), [`error tls-unusable ${path}`]);
  assert.deepEqual(withCertificate('key.pem'), [`error tls-unusable ${path}`]);
  assert.deepEqual(withCertificate('cut.pem'), [`error tls-unusable ${path}`]);
  assert.ok(withCertificate('two.pem').includes(`warning tls-chain ${path}`));
  const handler = `services: {web: {type: http}}\nevent_handlers: {h: {type: http, url: "https://x.example/", ca_certificates_path: `;
  assert.deepEqual(check(folder, `${handler} text.pem}}`), ['error tls-unusable event_handlers.h.ca_certificates_path']);
  assert.deepEqual(check(folder, `${handler} .}}`), ['error file-unreadable event_handlers.h.ca_certificates_path']);
  assert.deepEqual(check(folder, `${handler} cert.pem}}`), ['warning tls-expires-soon event_handlers.h.ca_certificates_path']);
});

test('files with secrets that everybody can read are found', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'svc.config.yaml');
  const services = 'services: {web: {type: http}}\n';
  const handler = (option: string) => `${services}event_handlers: {h: {type: http, url: "https://x.example/", ${option}}}`;
  writeFileSync(join(folder, 'secret'), 'x', { mode: 0o644 });
  writeFileSync(file, '', { mode: 0o644 });
  assert.deepEqual(check(folder, handler('password: x')), ['warning secret-readable event_handlers.h.password']);
  assert.deepEqual(check(folder, handler('headers: {X-Api-Key: x}')), ['warning secret-readable event_handlers.h.headers.X-Api-Key']);
  assert.deepEqual(check(folder, handler('headers: "X-Label: x"')), [], 'X-Label is not named like a secret');
  assert.deepEqual(check(folder, handler('password: "${file:secret}"')), ['warning secret-readable event_handlers.h.password']);
  chmodSync(join(folder, 'secret'), 0o640);
  assert.deepEqual(check(folder, handler('password: "${file:secret}"')), []);
  chmodSync(file, 0o600);
  assert.deepEqual(check(folder, handler('password: x')), []);
});
