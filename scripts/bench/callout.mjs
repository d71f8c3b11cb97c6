// GETs with Basic, each of which asks the authentication endpoint, against the same GETs with a session, interleaved.
//   node scripts/bench/callout.mjs [--rounds N] [--node OPTION…] [--smoke] [--write]   --node=--cpu-prof profiles the server
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../installed.mjs';
import { executable, makeFolders, medians, node, publish, readOptions, remove } from './support/benchmark.mjs';
import { endAll, send, sessionOf, started } from './support/exchange.mjs';
import { loader, throughput } from './support/load.mjs';
import { freePort, machineLine } from './support/machine.mjs';
import { cell, ratio, table, verdict } from './support/table.mjs';

const { rounds, ...options } = readOptions(3, { node });
const seconds = options.smoke ? 1 : 4;
const connections = 32;
const { folder, home } = makeFolders();

/** An endpoint that answers 204, in a process of its own: nginx where it is installed, which takes less of the cores that all share. */
async function startEndpoint() {
  if (!isInstalled('nginx')) {
    const source = `require('node:http').createServer((q, s) => { q.resume(); q.on('end', () => { s.statusCode = 204; s.end(); }); })
      .listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port + '/'); });`;
    return { name: 'Node.js', ...(await startedAt(['-e', source])) };
  }
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
  const config = `daemon off; pid ${folder}/pid; error_log stderr crit; events {}
http { access_log off; keepalive_requests 100000000; ${temporary} server { listen 127.0.0.1:${port}; return 204; } }\n`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  started(['-p', folder, '-c', join(folder, 'nginx.conf')], folder, 'nginx');
  const url = `http://127.0.0.1:${port}`;
  while (!(await send(url).catch(() => undefined))) await new Promise((resolve) => setTimeout(resolve, 20));
  return { name: 'nginx', url };
}

const startedAt = async (args) => {
  const program = started(args, folder);
  return { ...program, url: (await program.line(/(http:\/\/[^\s/]+)\//))[1] };
};
const endpoint = await startEndpoint();
writeFileSync(
  join(folder, 'svc.config.json'),
  JSON.stringify({
    authentications: { c: { type: 'http', url: `${endpoint.url}/auth` } },
    groups: { DEFAULT_GROUP: { home_folder_path: home } },
    services: { web: { type: 'http', port: 0 } },
  }),
);
const svc = await startedAt([...options.node, executable, 'serve', '--log-level', 'error']);

const server = { name: 'svc', pid: svc.child.pid, port: Number(new URL(svc.url).port) };
const measure = (authorization) => throughput(server, { path: '/home/small', connections, seconds, headers: { authorization }, folder });

const { authorization: session } = await sessionOf(svc.url, 'u', 'p');
const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;
const results = { 'with a session': [], 'with Basic, one callout each': [] };
for (let round = 0; round <= rounds; round++)
  for (const [name, authorization] of [
    ['with a session', session],
    ['with Basic, one callout each', basic],
  ]) {
    const run = await measure(authorization);
    // The first round warms up.
    if (round > 0) results[name].push(run);
  }
await endAll();
remove(folder);

const [ofSession, ofCallout] = Object.values(results);
const rows = Object.entries(results).map(([name, runs]) => [`GET 1 KiB, ${connections} connections, ${name}, /s`, cell(runs)]);
const found = ratio(ofCallout, ofSession);
const text = `${machineLine()};
load by ${loader}, endpoint ${endpoint.name}. ${medians(rounds)}, CPU of svc for each request.

${table(['workload', 'svc'], rows)}

| of | to | aim | measured | met |
|---|---|---|---|---|
| with Basic, one callout each | with a session | ≥ 0.4 (8,000/s where a session has 20,000) | ${found.toFixed(2)} | ${verdict(found, '≥', 0.4)} |`;
publish('callout', text, options.write);
