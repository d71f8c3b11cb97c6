import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { until } from './receiver.ts';
import { temporaryFolder } from './temp.ts';

/** The EICAR string, which scanners report as a virus. It is split, so that they do not report this file. */
export const eicar = `X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-${'STANDARD-ANTIVIRUS-TEST-FILE'}!$H+H*`;

/** A clamd with one signature. */
export interface TestClamd {
  /** URLs of the forms `unix:…` and `tcp://…`. */
  urls: string[];
  /** Path of a configuration for clamdscan. */
  configPath: string;
  process: ChildProcess;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

/** Starts Debian's clamd with a database of one signature, so that nothing is downloaded. @param maxStream maximum size of a stream */
export async function startClamd(t: TestContext, maxStream = '100M'): Promise<TestClamd> {
  const folder = temporaryFolder(t);
  const database = join(folder, 'database');
  mkdirSync(database);
  writeFileSync(join(database, 'own.ndb'), `Eicar-Test:0:*:${Buffer.from(eicar).toString('hex')}\n`);
  const port = await freePort();
  const socket = join(folder, 'clamd.sock');
  const configPath = join(folder, 'clamd.conf');
  const lines = [
    'Foreground yes',
    `LogFile ${join(folder, 'clamd.log')}`,
    `DatabaseDirectory ${database}`,
    `LocalSocket ${socket}`,
    `TCPSocket ${port}`,
    'TCPAddr 127.0.0.1',
    `TemporaryDirectory ${folder}`,
    `StreamMaxLength ${maxStream}`,
    'MaxScanSize 400M',
    'MaxFileSize 400M',
    'User root',
  ];
  writeFileSync(configPath, `${lines.filter((line) => line !== 'User root' || process.getuid?.() === 0).join('\n')}\n`);
  const child = spawn('clamd', ['--config-file', configPath], { stdio: 'ignore' });
  t.after(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill()) await ended;
  });
  const listens = (target: { path: string } | { port: number; host: string }) =>
    new Promise<boolean>((resolve) => {
      const probe = connect(target);
      probe.once('connect', () => resolve(true));
      probe.once('error', () => resolve(false));
      probe.once('close', () => probe.destroy());
      probe.once('connect', () => probe.end());
    });
  await until('clamd listens', async () => (await listens({ path: socket })) && (await listens({ port, host: '127.0.0.1' })));
  return { urls: [`unix:${socket}`, `tcp://127.0.0.1:${port}`], configPath, process: child };
}
