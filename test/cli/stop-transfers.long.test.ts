import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { openFlags, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { selfSigned } from '../support/certificates.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { append, part } from '../support/draft-uploads.ts';
import { readEvents } from '../support/journal.ts';
import { until } from '../support/receiver.ts';
import { basicOf, testUser } from '../support/secrets.ts';
import { writeConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { temporaryFolder } from '../support/temp.ts';

const preload = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/planted-faults.cjs');
const authorization = basicOf(testUser);
/** svc closes deleted files of this size (4 MiB or more) in another thread, which frees their space. */
const piece = Buffer.alloc(5_000_000, 'p');
const length = { 'content-length': String(2 * piece.length) };

async function startServices(t: TestContext, shutdownTimeoutS: number) {
  const folder = temporaryFolder(t);
  const { cert, certPath, keyPath } = selfSigned(t);
  const services = {
    plain: { type: 'http', port: 0 },
    tls: { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath },
    sftp: { type: 'ssh', port: 0 },
  };
  await writeConfig(folder, { services, server: { shutdown_timeout: shutdownTimeoutS } });
  const home = join(folder, 'home');
  writeFileSync(join(home, 'large'), '');
  truncateSync(join(home, 'large'), 500_000_000);
  mkdirSync(join(home, 'folder'));
  writeFileSync(join(home, 'folder/large'), '');
  truncateSync(join(home, 'folder/large'), 500_000_000);
  const begin = async () => {
    const running = start(t, ['serve', '--log-format', 'json'], { cwd: folder, env: { NODE_OPTIONS: `--require ${preload}` } });
    const [, plain = ''] = await running.line(/plain listening on (\S+)\/\n/);
    const [, tls = ''] = await running.line(/tls listening on (\S+)\/\n/);
    const [, sshPort = ''] = await running.line(/listening on sftp:\/\/[^:]+:(\d+)/);
    return { running, plain, tls, sshPort: Number(sshPort) };
  };
  const events = async () => {
    const all: ServiceEvent[] = [];
    const journal = journalFolder(join(folder, 'data'));
    for await (const { event } of readEvents(journal, undefined, (bad) => assert.fail(bad.reason))) all.push(event);
    return all;
  };
  /** Writes a configuration with another address for the service `plain`. */
  const move = () =>
    writeConfig(folder, {
      services: { ...services, plain: { ...services.plain, address: '127.0.0.2' } },
      server: { shutdown_timeout: shutdownTimeoutS },
    });
  return { ...(await begin()), begin, move, events, home, cert };
}

/** Begins an HTTP/1 request whose client stalls after it has sent a piece of the body, or read a piece of the reply. */
function stall(url: string, method: string, target: string, headers: Record<string, string>, body?: Buffer): Promise<void> {
  return new Promise((begun, fail) => {
    const outgoing = request(`${url}${target}`, { method, headers: { authorization, ...headers }, agent: false }, (incoming) => {
      incoming.on('error', () => {});
      incoming.once('data', () => {
        incoming.pause();
        begun();
      });
    });
    outgoing.on('error', fail);
    if (!body) return void outgoing.end();
    outgoing.write(body, () => begun());
  });
}

/** Starts transfers of each kind, stops the service so that it cuts them, and asserts the events of their ends in the journal. */
async function cutAll(t: TestContext, { shutdownTimeoutS, signals }: { shutdownTimeoutS: number; signals: 1 | 2 }): Promise<void> {
  const { running, plain, tls, sshPort, begin, events, home, cert } = await startServices(t, shutdownTimeoutS);
  await stall(plain, 'PUT', '/home/put1', length, piece);
  const form =
    '--b\r\ncontent-disposition: form-data; name="action"\r\n\r\nupload-file\r\n--b\r\ncontent-disposition: form-data; name="upload-file"; filename="form1"\r\n\r\n';
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
  await stall(plain, 'POST', '/home/', { ...length, ...multipart }, Buffer.concat([Buffer.from(form), piece]));
  await stall(plain, 'GET', '/home/large', {});
  await stall(plain, 'GET', '/home/folder/', { accept: 'application/zip' });
  const begun = await new Client(plain).put('/home/draft1', piece, { headers: part });
  assert.equal(begun.status, 201, begun.text);
  const draft = String(begun.headers.location);
  await stall(plain, 'PATCH', draft, { ...length, ...append(piece.length, false) }, piece);

  const session = connectHttp2(tls, { ca: cert, settings: { initialWindowSize: 65_535 } });
  session.on('error', () => {});
  t.after(() => session.destroy());
  const over2 = (method: string, path: string, more: Record<string, string> = {}) => {
    const stream = session.request({ ':method': method, ':path': path, authorization, ...more }, { endStream: method === 'GET' });
    stream.on('error', () => {});
    return stream;
  };
  over2('PUT', '/home/put2', length).write(piece);
  await new Promise<void>((resolve) => over2('GET', '/home/large').once('response', () => resolve()));
  await new Promise<void>((resolve) => over2('GET', '/home/folder/', { accept: 'application/zip' }).once('response', () => resolve()));

  writeFileSync(join(home, 'planted-slow'), '');
  const { sftp } = await loginSftp(t, sshPort);
  const written = await sftp.open('sftp1', openFlags.write | openFlags.create);
  for (let at = 0; at < piece.length; at += 200_000)
    assert.equal(await sftp.write(written, at, piece.subarray(at, at + 200_000)), statusCodes.ok);
  const read = await sftp.open('large', openFlags.read);
  assert.equal((await sftp.read(read, 0, 1000))?.length, 1000);

  const parts = () => readdirSync(home).filter((name) => name.startsWith('.svc-'));
  await until('all transfers are running', async () => {
    const ids = (await events()).map(({ id }) => Number(id));
    const count = (id: number) => ids.filter((other) => other === id).length;
    return count(40021) === 4 && count(40004) === 2 && count(40016) === 2 && count(30043) === 2 && parts().length === 5;
  });
  running.child.kill('SIGTERM');
  if (signals === 2) {
    await until('the service is stopping', () => running.stderr().includes('"stopping"'));
    running.child.kill('SIGTERM');
  }
  assert.equal((await running.ended).code, 143);
  assert.doesNotMatch(running.stderr(), /could not be journalled|is closed|"level":"(error|fatal)"/);

  const told = (await events()).filter(({ id }) =>
    [40017, 40018, 40022, 40025, 40039, 40040, 40041, 30042, 30067, 30068, 30041].includes(Number(id)),
  );
  const tellings = told.map(({ id, data }) => `${id} ${data.path}`).sort();
  assert.deepEqual(tellings, [
    '30041 /large',
    '30042 /sftp1',
    '40018 /draft1',
    '40018 /form1',
    '40018 /large',
    '40018 /large',
    '40018 /put1',
    '40018 /put2',
    '40022 /form1',
    '40022 /put1',
    '40022 /put2',
    '40040 /large',
    '40040 /large',
    '40041 /folder',
    '40041 /folder',
  ]);
  const left = parts();
  assert.equal(left.length, 1, 'only the content of the resumable upload is left');
  // The resumable upload has all bytes that were sent, and the restart deletes nothing.
  const again = await begin();
  const head = await new Client(again.plain).send('HEAD', draft, { headers: { 'upload-draft-interop-version': '9' } });
  assert.deepEqual([head.status, head.headers['upload-offset']], [204, String(2 * piece.length)]);
  assert.deepEqual(parts(), left);
}

test('after the grace period of a stop, every transfer that is cut has its end in the journal', { timeout: 120_000 }, (t) =>
  cutAll(t, { shutdownTimeoutS: 1, signals: 1 }),
);

test('a second signal cuts every transfer immediately, and each has its end in the journal', { timeout: 120_000 }, (t) =>
  cutAll(t, { shutdownTimeoutS: 60, signals: 2 }),
);

test('a cut upload on a listener that a reload replaced has its end in the journal', { timeout: 60_000 }, async (t) => {
  const { running, plain, home, move, events } = await startServices(t, 1);
  await stall(plain, 'PUT', '/home/put1', length, piece);
  await until('the upload is running', () => readdirSync(home).some((name) => name.startsWith('.svc-')));
  writeFileSync(join(home, 'planted-slow'), '');
  await move();
  running.child.kill('SIGHUP');
  await until('the listener is replaced', async () => (await events()).some(({ id }) => id === '20012'));
  running.child.kill('SIGTERM');
  assert.equal((await running.ended).code, 143);
  const told = (await events()).map(({ id }) => id).filter((id) => ['40021', '40018', '40022'].includes(id));
  assert.deepEqual(told, ['40021', '40018', '40022']);
});
