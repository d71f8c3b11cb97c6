// What the costliest requests and configurations take that are still allowed, and those that were made to cost much: CPU of the process, at a
// quarter, at half and at all of the size. Twice the size may take twice the time, never four times.
//   node scripts/bench/hostile.mjs [--rounds N] [--smoke] [--write]
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders, publish, readOptions } from './support/benchmark.mjs';
import { single } from './support/load.mjs';
import { cpuSeconds, machineLine, median } from './support/machine.mjs';
import { stopAndRemove } from './support/server-group.mjs';
import { Servers } from './support/servers.mjs';
import { table } from './support/table.mjs';

const { rounds, ...options } = readOptions(7);
const parts = [0.25, 0.5, 1];
const scale = options.smoke ? 0.05 : 1;
const { folder, home } = makeFolders();

const times = (count, text) => Array.from({ length: Math.floor(count * scale) }, (_, index) => text(index)).join('');
const propfindOf = (inner, more = '') => `<propfind xmlns="DAV:"${more}><prop>${inner}</prop></propfind>`;
const lists = (levels) => '['.repeat(levels * scale) + ']'.repeat(levels * scale);
const webdav = { method: 'PROPFIND', path: '/home/', headers: { depth: '0' } };
const command = { method: 'POST', path: '/home/', headers: { 'content-type': 'application/json', accept: 'application/json' } };

/** What is sent, made for a part of the largest size. */
const requests = {
  'PROPFIND, 40,000 declarations and 4,900 elements with one each': {
    ...webdav,
    body: (part) =>
      propfindOf(
        times(4900 * part, (index) => `<a xmlns:q="u${index}"/>`),
        times(40_000 * part, (index) => ` xmlns:p${index}="u"`),
      ),
  },
  'PROPFIND, 1 MiB of empty elements': { ...webdav, body: (part) => propfindOf(times(260_000 * part, () => '<a/>')) },
  'PROPFIND, 4,990 elements': {
    ...webdav,
    body: (part) => `<propfind xmlns="DAV:"><allprop/>${times(4980 * part, () => '<a/>')}</propfind>`,
  },
  'PROPFIND, 990 declarations, 62 an element': {
    ...webdav,
    body: (part) =>
      `<propfind xmlns="DAV:"><allprop/>${times(15 * part, (index) => `<a${times(62, (name) => ` xmlns:p${index}-${name}="u"`)}/>`)}</propfind>`,
  },
  'PROPFIND, 1 MiB of text': {
    ...webdav,
    body: (part) => `<propfind xmlns="DAV:"><allprop/><a>${times(170_000 * part, () => '&amp; ')}</a></propfind>`,
  },
  'folder commands, 500,000 levels': { ...command, body: (part) => `{"commands":${lists(500_000 * part)}}` },
  'folder commands, 1 MiB of values': { ...command, body: (part) => `{"commands":[${times(260_000 * part, () => '1,')}1]}` },
};

/** CPU of the server for one request, in ms. */
async function requestMs(server, { body, ...request }, part) {
  const sent = Buffer.from(body(part));
  const runs = [];
  for (let round = 0; round < rounds; round++) {
    const before = cpuSeconds(server.pid);
    const { status } = await single(server, { ...request, headers: { ...request.headers, 'content-length': sent.length }, body: sent });
    if (status >= 500) throw new Error(`${request.method} gave ${status}`);
    runs.push({ ms: (cpuSeconds(server.pid) - before) * 1000, status });
  }
  return { ms: median(runs.map(({ ms }) => ms)), status: runs[0].status };
}

/** Milliseconds that `svc validate` takes for so many wrong services, its start among them. */
function validateMs(count) {
  const services = Object.fromEntries(
    Array.from({ length: count * scale }, (_, index) => [`s${index}`, { type: 'http', port: 'x', colour: 1 }]),
  );
  const file = join(folder, 'wrong.json');
  writeFileSync(file, JSON.stringify({ services }, null, 1));
  const runs = Array.from({ length: Math.min(rounds, 3) }, () => {
    const started = performance.now();
    const { status } = spawnSync(process.execPath, ['dist/svc.mjs', 'validate', file], { stdio: 'ignore' });
    if (status !== 1) throw new Error(`svc validate ended with ${status}`);
    return performance.now() - started;
  });
  return median(runs);
}

const servers = new Servers(folder, home);
try {
  const server = await servers.svc();
  const rows = [];
  for (const [name, request] of Object.entries(requests)) {
    const cells = [];
    for (const part of parts) cells.push(await requestMs(server, request, part));
    rows.push([name, ...cells.map(({ ms }) => ms.toFixed(1)), cells.at(-1).status]);
    console.error(rows.at(-1).join(', '));
  }
  rows.push(['`svc validate`, 5,000 wrong services (elapsed)', ...parts.map((part) => validateMs(5000 * part).toFixed(0)), 'exit 1']);
  const text = [
    `${machineLine()};`,
    `CPU of the server in ms, medians of ${rounds} rounds.`,
    '',
    table(['what is sent', 'a quarter of it', 'half of it', 'all of it', 'answer to all of it'], rows),
  ].join('\n');
  publish('hostile', text, options.write);
} finally {
  await stopAndRemove(servers, folder);
}
