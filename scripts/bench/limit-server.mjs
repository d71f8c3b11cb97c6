// What Node.js itself can do: node:http and the system calls of svc for the same promises (nothing is read outside the folder, an upload and
// its event are on disk before the reply), with no accounts, permissions, conditions, quotas or filters. The limit that svc is measured against.
//   node scripts/bench/limit-server.mjs ROOT PORT JOURNAL [PROCESSES]
import cluster from 'node:cluster';
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readdirSync,
  readlinkSync,
  readSync,
  renameSync,
  write,
  writeSync,
  writev,
  writevSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';

const [root, port = '0', journalPath, processes = '1'] = process.argv.slice(2);
const [readAsync, fsyncAsync, fdatasyncAsync, writeAsync, writevAsync] = [read, fsync, fdatasync, write, writev].map((one) =>
  promisify(one),
);

const journal = openSync(journalPath, 'a');
// About as long as an event is.
const line = `{"event":"${'x'.repeat(700)}"}\n`;
const smallBytes = 128 * 1024;
const chunkBytes = 1024 * 1024;
const gatherBytes = 1024 * 1024;

/** Lines of one turn of the event loop, written at once before their replies. */
let turn;
function recorded(lines) {
  if (!turn) {
    turn = { text: '', written: undefined };
    turn.written = new Promise((resolve) =>
      setImmediate(() => {
        const { text } = turn;
        turn = undefined;
        writeSync(journal, text);
        resolve();
      }),
    );
  }
  turn.text += line.repeat(lines);
  return turn.written;
}

/** Callers that come while it runs share the next run. */
function shared(action) {
  let running;
  let next;
  const begin = () => {
    running = action().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (!running) return begin();
    next ??= running.then(() => {
      next = undefined;
      return begin();
    });
    return next;
  };
}

let durableLines = '';
const durable = shared(async () => {
  const text = durableLines;
  durableLines = '';
  await writeAsync(journal, text);
  await fdatasyncAsync(journal);
});

function openVerified(path, flags) {
  const fd = openSync(path, flags);
  if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith(root)) throw new Error('outside');
  return fd;
}

async function get(path, outgoing) {
  const fd = openVerified(path, constants.O_RDONLY);
  const { size } = fstatSync(fd);
  await recorded(1);
  outgoing.writeHead(200, { 'content-length': size });
  if (size <= smallBytes) {
    const body = Buffer.allocUnsafe(size);
    readSync(fd, body, 0, size, 0);
    outgoing.end(body);
  } else await send(fd, size, outgoing);
  closeSync(fd);
  await recorded(1);
}

async function send(fd, size, outgoing) {
  const buffers = [Buffer.allocUnsafeSlow(chunkBytes), Buffer.allocUnsafeSlow(chunkBytes)];
  let reading = readAsync(fd, buffers[0], 0, chunkBytes, 0);
  let sent;
  for (let position = 0, turns = 0; position < size; turns++) {
    const { bytesRead } = await reading;
    await sent;
    position += bytesRead;
    if (position < size) reading = readAsync(fd, buffers[(turns + 1) % 2], 0, chunkBytes, position);
    sent = new Promise((resolve) => outgoing.write(buffers[turns % 2].subarray(0, bytesRead), resolve));
  }
  await sent;
  outgoing.end();
}

/** An archive without names and directory: every member is looked at, opened, read, summed up and sent, as svc does it. */
async function archive(folder, outgoing) {
  const members = readdirSync(folder).map((name) => ({ path: join(folder, name), size: lstatSync(join(folder, name)).size }));
  outgoing.writeHead(200, { 'content-length': members.reduce((sum, { size }) => sum + size, 0) });
  const pages = [Buffer.allocUnsafeSlow(chunkBytes), Buffer.allocUnsafeSlow(chunkBytes)];
  let [used, turns, sent] = [0, 0, undefined];
  const turn = async () => {
    await sent;
    const bytes = pages[turns++ % 2].subarray(0, used);
    sent = new Promise(setImmediate).then(() => new Promise((resolve) => outgoing.write(bytes, resolve)));
    used = 0;
  };
  for (const { path, size } of members) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    fstatSync(fd);
    for (let position = 0, sum = 0; position < size; ) {
      if (used === chunkBytes || (size <= smallBytes && used + size > chunkBytes)) await turn();
      const page = pages[turns % 2];
      const wanted = Math.min(size - position, chunkBytes - used);
      const bytesRead =
        size <= smallBytes ? readSync(fd, page, used, wanted, position) : (await readAsync(fd, page, used, wanted, position)).bytesRead;
      sum = crc32(page.subarray(used, used + bytesRead), sum);
      used += bytesRead;
      position += bytesRead;
    }
    closeSync(fd);
  }
  await turn();
  await sent;
  outgoing.end();
}

const href = (name) => encodeURIComponent(name);
/** A listing by template, of what `readdir` and `lstat` say of each member; nothing is streamed. */
const templates = {
  PROPFIND: {
    type: 'application/xml; charset=utf-8',
    head: '<?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:">',
    member: (name, stats) =>
      `<D:response><D:href>/home/${href(name)}</D:href><D:propstat><D:prop><D:displayname>${name}</D:displayname><D:getlastmodified>${stats.mtime.toUTCString()}</D:getlastmodified><D:getcontentlength>${stats.size}</D:getcontentlength><D:resourcetype/><D:getcontenttype>image/png</D:getcontenttype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>`,
    foot: '</D:multistatus>',
  },
  GET: {
    type: 'text/html; charset=utf-8',
    head: '<!DOCTYPE html><title>listing</title><table>',
    member: (name, stats) =>
      `<tr><td><a href="${href(name)}">${name}</a></td><td>${stats.size}</td><td><time datetime="${stats.mtime.toISOString()}">${stats.mtime.toUTCString()}</time></td></tr>`,
    foot: '</table>',
  },
};

async function list(folder, method, outgoing) {
  const { type, head, member, foot } = templates[method];
  let text = head;
  for (const name of readdirSync(folder)) text += member(name, lstatSync(join(folder, name)));
  await recorded(1);
  const body = Buffer.from(text + foot);
  outgoing.writeHead(method === 'PROPFIND' ? 207 : 200, { 'content-type': type, 'content-length': body.length });
  outgoing.end(body);
}

let temporaries = 0;
/** Bodies that come in right now: they gather as much together as eight alone. */
let streaming = 0;
/** How the folders are synced, each by the first descriptor of it, which stays open. */
const folders = new Map();

/** Appends a body to a file. @param syncAt after so many bytes a sync begins while more come @returns how many, once that sync is done */
async function receive(incoming, fd, syncAt) {
  let gathered = [];
  let bytes = 0;
  let received = 0;
  let syncing;
  let unsynced = 0;
  streaming++;
  for await (const chunk of incoming) {
    gathered.push(chunk);
    bytes += chunk.length;
    received += chunk.length;
    if (bytes < Math.min(gatherBytes, (8 * gatherBytes) / streaming)) continue;
    await writevAsync(fd, gathered);
    unsynced += bytes;
    [gathered, bytes] = [[], 0];
    if (unsynced >= syncAt && !syncing) {
      unsynced = 0;
      syncing = fdatasyncAsync(fd).then(() => {
        syncing = undefined;
      });
    }
  }
  streaming--;
  if (bytes > smallBytes) await writevAsync(fd, gathered);
  else if (bytes > 0) writevSync(fd, gathered);
  await syncing;
  return received;
}

function openTarget(path) {
  const parent = openVerified(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  const target = `/proc/self/fd/${parent}/${basename(path)}`;
  lstatSync(target, { throwIfNoEntry: false });
  const temporary = `/proc/self/fd/${parent}/.limit-${temporaries++}`;
  return {
    folder: dirname(path),
    parent,
    target,
    temporary,
    fd: openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL),
  };
}

/** Gives a file its name: content, name and event are on disk then. */
async function finish({ folder, parent, target, temporary, fd }) {
  await fsyncAsync(fd);
  renameSync(temporary, target);
  const known = folders.get(folder);
  if (!known)
    folders.set(
      folder,
      shared(() => fsyncAsync(parent)),
    );
  await folders.get(folder)();
  durableLines += line;
  await durable();
  closeSync(fd);
  if (known) closeSync(parent);
}

async function put(path, incoming, outgoing) {
  const opened = openTarget(path);
  await receive(incoming, opened.fd, 32 * 1024 * 1024);
  await finish(opened);
  outgoing.writeHead(201, { 'content-length': 0 });
  outgoing.end();
}

const uploads = new Map();
let uploadsSoFar = 0;
const records = `${journalPath}-uploads`;

/** An upload of tus begins: its record is on disk before the reply. */
async function create(incoming, outgoing) {
  const path = Buffer.from(incoming.headers['upload-metadata'].split(' ')[1], 'base64').toString();
  mkdirSync(records, { recursive: true });
  const id = String(uploadsSoFar++);
  const record = openSync(join(records, id), 'w');
  writeSync(record, '0'.padEnd(128), 0);
  await fsyncAsync(record);
  const folder = openSync(records, constants.O_RDONLY);
  await fsyncAsync(folder);
  closeSync(folder);
  await recorded(1);
  uploads.set(id, { ...openTarget(join(root, path)), record, offset: 0, length: Number(incoming.headers['upload-length']) });
  outgoing.writeHead(201, { 'content-length': 0, location: `${incoming.url}${id}` });
  outgoing.end();
}

/**
 * A piece of an upload of tus: it is on disk before the record says so, and that before the reply; below `/unsynced/` neither is. Files stay
 * open between pieces.
 */
async function append(incoming, outgoing) {
  const id = basename(incoming.url);
  const upload = uploads.get(id);
  const isSynced = !incoming.url.startsWith('/unsynced/');
  upload.offset += await receive(incoming, upload.fd, isSynced ? 4 * 1024 * 1024 : Number.POSITIVE_INFINITY);
  if (upload.offset === upload.length) {
    await finish(upload);
    closeSync(upload.record);
    uploads.delete(id);
  } else if (isSynced) {
    await fdatasyncAsync(upload.fd);
    writeSync(upload.record, String(upload.offset).padEnd(128), 0);
    await fdatasyncAsync(upload.record);
  }
  outgoing.writeHead(204, { 'upload-offset': upload.offset });
  outgoing.end();
}

const server = createServer((incoming, outgoing) => {
  const path = join(root, incoming.url.slice('/home/'.length));
  const writing = {
    PUT: () => put(path, incoming, outgoing),
    POST: () => create(incoming, outgoing),
    PATCH: () => append(incoming, outgoing),
  };
  const reading = () =>
    incoming.headers.accept === 'application/zip'
      ? archive(path, outgoing)
      : path.endsWith('/')
        ? list(path, incoming.method, outgoing)
        : get(path, outgoing);
  (writing[incoming.method] ?? reading)().catch((error) => {
    outgoing.writeHead(500);
    outgoing.end(String(error));
  });
});
// Each process writes its own lines: nobody delivers them.
if (cluster.isPrimary && Number(processes) > 1) {
  for (let one = 0; one < Number(processes); one++) cluster.fork();
  process.on('SIGTERM', () => process.exit());
} else {
  server.listen(Number(port), '127.0.0.1');
}
