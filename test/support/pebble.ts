import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { selfSign } from './certificates.ts';
import { until } from './receiver.ts';
import { freePort } from './redis.ts';
import { hasProgram } from './requires.ts';
import { temporaryFolder } from './temp.ts';

/** An ACME authority for tests (Let's Encrypt's Pebble), with a DNS that resolves every name to 127.0.0.1. */
export interface Pebble {
  /** URL of the authority's directory. */
  directory: string;
  /** Certificate of the CA that signed the TLS certificate of the directory. */
  caPath: string;
  /** Ports to which the authority connects for `http-01` and for `tls-alpn-01`. */
  httpPort: number;
  tlsPort: number;
  /** Returns the root of the certificates that the authority issues, as PEM. */
  root(): Promise<string>;
  stop(): void;
}

/** The existing account that `needsExternalAccount` requires. */
export const externalAccount = { key_id: 'kid-1', hmac_secret: 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W' };

/** Starts Pebble. It refuses a third of all valid nonces. @returns undefined if it is not installed; in that case the test is skipped */
export async function startPebble(t: TestContext, options: { needsExternalAccount?: boolean } = {}): Promise<Pebble | undefined> {
  if (!hasProgram(t, 'pebble') || !hasProgram(t, 'pebble-challtestsrv')) return undefined;
  const folder = temporaryFolder(t);
  const [port, managementPort, httpPort, tlsPort, dnsPort, dnsManagementPort] = (await Promise.all(
    Array.from({ length: 6 }, () => freePort()),
  )) as [number, number, number, number, number, number];
  selfSign(folder, { key: 'key.pem', cert: 'cert.pem' }, '/CN=localhost', 'DNS:localhost');
  const { needsExternalAccount = false } = options;
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: join(folder, 'cert.pem'),
    privateKey: join(folder, 'key.pem'),
    httpPort,
    tlsPort,
    externalAccountBindingRequired: needsExternalAccount,
    externalAccountMACKeys: needsExternalAccount ? { [externalAccount.key_id]: externalAccount.hmac_secret } : {},
  };
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble }));
  const env = { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '33', PEBBLE_AUTHZREUSE: '0' };
  const dns = ['-dns01', `127.0.0.1:${dnsPort}`, '-management', `127.0.0.1:${dnsManagementPort}`, '-defaultIPv6', ''];
  const children = [
    spawn('pebble-challtestsrv', [...dns, '-http01', '', '-https01', '', '-tlsalpn01', ''], { stdio: 'ignore' }),
    spawn('pebble', ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`], { env, stdio: 'ignore' }),
  ];
  const stop = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  t.after(stop);
  const ca = readFileSync(join(folder, 'cert.pem'), 'utf8');
  const directory = `https://localhost:${port}/dir`;
  await until('Pebble answers', () =>
    get(directory, ca).then(
      () => true,
      () => false,
    ),
  );
  return {
    directory,
    caPath: join(folder, 'cert.pem'),
    httpPort,
    tlsPort,
    root: () => get(`https://localhost:${managementPort}/roots/0`, ca),
    stop,
  };
}

function get(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ca, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.on('end', () => (incoming.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    });
    outgoing.on('error', reject).end();
  });
}
