// Opens many connections to an SSH server with ssh2, in a separate process.
// Prints `ready` when all connections are open (if `what` is `idle`) or closed (`handshakes`).
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';

const { what, count, port, user, key } = JSON.parse(process.argv[2]);
const privateKey = readFileSync(key);
const atOnce = 10;

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

/** Opens an SFTP session, in which only the version is exchanged. */
async function session(client) {
  const channel = await new Promise((resolve, reject) =>
    client.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  // SSH_FXP_INIT, version 3.
  channel.write(Buffer.of(0, 0, 0, 5, 1, 0, 0, 0, 3));
  await new Promise((resolve) => channel.once('data', resolve));
  return channel;
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
