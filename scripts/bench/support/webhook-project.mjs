// Creates the folder of a server that has events to deliver, with its journal and configuration.
import { appendFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

function eventOf(index) {
  const name = `file-${index}.txt`;
  return {
    id: '40017',
    uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    message: `The file "/inbox/${name}" was uploaded.`,
    timestamp: { timestamp: '1795000000.123456', cwa_14051: '2026-11-18 12:26:40' },
    data: {
      path: `/inbox/${name}`,
      real_path: `/srv/files/alice/inbox/${name}`,
      file_name: name,
      directory_name: '/inbox',
      real_file_name: name,
      real_directory_name: '/srv/files/alice/inbox',
      duration: 0.002913,
      total_write: 1024,
      write_speed: 351527,
    },
    account: { uuid: 'alice', name: 'alice', peer: { address: '127.0.0.1', port: 40000, protocol: 'TCP', family: 'IPv4' } },
    component: { uuid: 'web', type: 'https', name: 'Files' },
    server: { uuid: 'cc5c804d-0a3c-4c4c-b651-eba6fc3b5902', type: 'server', name: 'files.example.com' },
  };
}

/** Writes a journal of `count` lines, in files as svc writes them. The last file is new; each file is an hour older than the next one. */
export function writeJournal(folder, count, lineOf, fileBytes = 64 * 1024 * 1024) {
  mkdirSync(folder, { recursive: true });
  const paths = [];
  for (let index = 0, sizeBytes = fileBytes; index < count; ) {
    if (sizeBytes >= fileBytes) {
      paths.push(join(folder, `events-${String(paths.length + 1).padStart(8, '0')}.ndjson`));
      sizeBytes = 0;
    }
    let text = '';
    for (const end = Math.min(count, index + 10_000); index < end; index++) text += lineOf(index);
    appendFileSync(paths.at(-1), text, { encoding: 'latin1', mode: 0o600 });
    sizeBytes += text.length;
  }
  for (const [index, path] of paths.entries()) {
    const atS = Date.now() / 1000 - (paths.length - 1 - index) * 3600;
    utimesSync(path, atS, atS);
  }
}

/**
 * Creates the folder of a server whose journal contains `count` events. None of them has been delivered yet.
 *
 * @param handler options of the event handler; without it, there is no handler
 */
export function makeProject(cwd, count, receiverUrl, handler) {
  writeJournal(join(cwd, 'data/journal'), count, (index) => `${JSON.stringify(eventOf(index))}\n`);
  mkdirSync(join(cwd, 'data/deliveries'), { recursive: true });
  if (count > 0) writeFileSync(join(cwd, 'data/deliveries/positions.json'), JSON.stringify({ handlers: { crm: '00000001:0' } }));
  const config = {
    server: { data_folder_path: './data', log: { level: 'error' } },
    groups: { DEFAULT_GROUP: { home_folder_path: './files', create_home_folder: true } },
    authentications: { open: { type: 'anonymous', group: 'DEFAULT_GROUP' } },
    services: { web: { type: 'http', port: 0 } },
    event_handlers: handler ? { crm: { type: 'http', target: '40017', url: `${receiverUrl}hook`, ...handler } } : {},
  };
  writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(config));
}
