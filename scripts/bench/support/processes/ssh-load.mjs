// Many connections to an SSH server, of ssh2 in a process of its own; prints `ready` when they stand, or have ended.
//   node ssh-load.mjs '{"what":"idle","count":1000,"port":2222,"user":"bench","key":"id_bench"}'
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';

const { what, count, port, user, key, path } = JSON.parse(process.argv[2]);
const privateKey = readFileSync(key);
const atOnce = 10;
const readBytes = 255 * 1024;
const reads = 2000;

function connected() {
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    client.once('ready', () => resolve(client));
    client.once('error', reject);
    client.connect({
      host: '127.0.0.1',
      port,
      username: user,
      privateKey,
      algorithms: { kex: ['curve25519-sha256'] },
      readyTimeout: 60_000,
    });
  });
}

function packet(type, ...fields) {
  const body = Buffer.concat([Buffer.of(type), ...fields]);
  return Buffer.concat([number(body.length), body]);
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function text(value) {
  return Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(value)]);
}

/** An SFTP session of which nothing but the version was exchanged. */
async function session(client) {
  const channel = await new Promise((resolve, reject) =>
    client.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  channel.write(packet(1, number(3)));
  await reply(channel);
  return channel;
}

function reply(channel) {
  return new Promise((resolve) => channel.once('data', resolve));
}

const actions = {
  async handshakes() {
    const client = await connected();
    await new Promise((resolve) => client.once('close', resolve).end());
  },
  async idle() {
    const channel = await session(await connected());
    channel.resume();
  },
  async slow() {
    const client = await connected();
    const channel = await session(client);
    channel.write(packet(3, number(1), text(path), number(1), number(0)));
    const opened = await reply(channel);
    if (opened[4] !== 102) throw new Error('the file could not be opened');
    const handle = opened.subarray(9);
    client._sock.pause();
    channel.pause();
    const requests = Array.from({ length: reads }, (_, index) => packet(5, number(index + 2), handle, Buffer.alloc(8), number(readBytes)));
    channel.write(Buffer.concat(requests));
  },
};

const action = actions[what];
const workers = what === 'handshakes' ? 1 : Math.min(atOnce, count);
let left = count;
await Promise.all(
  Array.from({ length: workers }, async () => {
    while (left-- > 0) await action();
  }),
);
console.log('ready');
setInterval(() => {}, 60_000);
