// Measures how much a console slows down the file service: GETs without a console, with a console that nobody uses, and with ten live
// tails. All are measured in one process, because two processes of the same build differ by more than a console costs. Reloads turn the
// console on and off.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { executable } from '../support/benchmark.mjs';
import { throughput } from '../support/load.mjs';
import { freePort, median } from '../support/machine.mjs';
import { basic, hashOf, svc, userName } from '../support/peers.mjs';

const tails = 10;

/** Opens live tails of all events. @returns a function that ends them and returns the median number of events that a tail received */
async function follow(url) {
  const readers = await Promise.all(
    Array.from(
      { length: tails },
      () =>
        new Promise((resolve, reject) => {
          const request = get(`${url}/api/events/live`, { headers: { authorization: basic }, agent: false }, (incoming) => {
            if (incoming.statusCode !== 200) reject(new Error(`a tail got ${incoming.statusCode}`));
            const reader = { request, told: 0 };
            incoming.on('data', (chunk) => {
              for (let at = chunk.indexOf('\ndata: '); at >= 0; at = chunk.indexOf('\ndata: ', at + 1)) reader.told++;
            });
            incoming.on('error', () => {});
            resolve(reader);
          });
          request.on('error', reject);
        }),
    ),
  );
  return () => {
    for (const { request } of readers) request.destroy();
    return median(readers.map(({ told }) => told));
  };
}

export default async function consolePart({ seconds, folder, group }) {
  const port = await freePort();
  const administrators = { [userName]: { password: hashOf(), role: 'viewer' } };
  const peer = svc();
  const files = peer.files;
  let place;
  const configure = (enabled) => {
    const config = JSON.parse(files(place)['svc.config.json']);
    config.services.console = { type: 'console', enabled, port, administrators };
    return JSON.stringify(config);
  };
  peer.files = (given) => {
    place = given;
    return { 'svc.config.json': configure(false) };
  };
  const turn = (enabled) => {
    writeFileSync(join(place.folder, 'svc.config.json'), configure(enabled), { mode: 0o600 });
    const { status, stderr } = spawnSync(process.execPath, [executable, 'reload'], { cwd: place.folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the reload failed: ${stderr}`);
  };
  const states = [
    { name: 'no console', enter: async () => turn(false) },
    { name: 'a console without users', enter: async () => turn(true) },
    { name: `a console, ${tails} live tails`, enter: () => follow(`http://127.0.0.1:${port}`) },
  ];
  const action = async ({ enter }) => {
    const [server] = await group.all([peer]);
    const leave = await enter();
    const found = await throughput(server, { path: server.at('small'), connections: 32, seconds, folder });
    return leave ? { ...found, note: `${Math.round(leave() / seconds).toLocaleString('en')} events/s received` } : found;
  };
  const workload = { name: 'GET 1 KiB, 32 connections', unit: '/s', on: () => states, action };
  return { each: 'CPU of svc per request', rounds: 9, workloads: [workload] };
}
