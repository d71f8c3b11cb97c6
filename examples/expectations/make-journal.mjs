// Writes a journal with a partner's uploads of the last 30 days: `node make-journal.mjs DATA_FOLDER`. The data folder must not have a
// journal. Most files are in time. From 13 to 7 days ago, the orders are late on Tuesday, empty on Wednesday, and missing on Thursday.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder = 'data'] = process.argv.slice(2);
const days = 30;
const dayMs = 86_400_000;
const server = { uuid: '6d5f2f0e-6f0d-4d5a-9c1e-0f4f3d0c7b11', type: 'server', name: 'files.example.com' };
const peer = { address: '192.0.2.17', port: 50_000, protocol: 'TCP', family: 'IPv4' };
const account = { uuid: 'c0a2b6de-3c5d-4a38-8a11-7c1d9e7f5a10', name: 'acme', peer };
const component = { uuid: 'files', type: 'http', name: 'files' };
const berlin = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' });

/** Returns the time at which a clock in Berlin shows `HH:MM` on a day. */
function at(day, clock) {
  const wanted = Date.parse(`${day}T${clock}:00Z`);
  const shown = Date.parse(`${berlin.format(wanted).replace(' ', 'T')}:00Z`);
  return wanted - (shown - wanted);
}

function arrival(timeMs, path, size) {
  const timestamp = { timestamp: (timeMs / 1000).toFixed(6), cwa_14051: new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ') };
  const data = { path, file_name: path.slice(path.lastIndexOf('/') + 1), total_write: size };
  const message = `The file "${path}" was uploaded.`;
  return { timeMs, line: JSON.stringify({ id: '40017', uuid: randomUUID(), message, timestamp, data, account, component, server }) };
}

const nowMs = Date.now();
const arrivals = [];
for (let index = days; index >= 0; index--) {
  const date = new Date(nowMs - index * dayMs);
  const day = date.toISOString().slice(0, 10);
  const name = day.replaceAll('-', '');
  const weekday = date.getUTCDay();
  const isBadWeek = index >= 7 && index < 14;
  const minute = (index * 7) % 20;
  if (weekday >= 1 && weekday <= 5 && !(isBadWeek && weekday === 4)) {
    const clock = isBadWeek && weekday === 2 ? '07:10' : `05:${String(40 + minute).padStart(2, '0')}`;
    arrivals.push(arrival(at(day, clock), `/in/orders-${name}.csv`, isBadWeek && weekday === 3 ? 0 : 20_000 + index));
  }
  if (weekday === 4) for (const part of ['a', 'b']) arrivals.push(arrival(at(day, '15:00'), `/in/bills-${name}-${part}.pdf`, 90_000));
  for (const hour of ['08', '18'])
    arrivals.push(arrival(at(day, `${Number(hour) - 1 < 10 ? '0' : ''}${Number(hour) - 1}:50`), `/in/stock-${name}-${hour}.json`, 4000));
}
arrivals.sort((one, other) => one.timeMs - other.timeMs);
const lines = arrivals.filter(({ timeMs }) => timeMs <= nowMs).map(({ line }) => `${line}\n`);
const journal = join(folder, 'journal');
mkdirSync(journal, { recursive: true, mode: 0o700 });
writeFileSync(join(journal, 'events-00000001.ndjson'), lines.join(''), { mode: 0o600, flag: 'wx' });
console.log(`${lines.length} uploads`);
