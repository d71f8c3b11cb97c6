// What the ciphers of SSH cost in Node.js, without a server: packets of 32 KiB enciphered as SSH wants it, in turns. The floor under the CPU
// of a large transfer; OpenSSH does the same in C.
//   node scripts/bench/ssh-ciphers.mjs [ROUNDS]
import { createCipheriv, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { machineLine, median } from './support/machine.mjs';
import { table } from './support/table.mjs';

const rounds = Number(process.argv[2] ?? 7);
const packets = 2000;
const packet = randomBytes(32 * 1024 + 16);
const length = packet.subarray(0, 4);
const content = packet.subarray(4);
const [gcmKey, key, lengthKey] = [randomBytes(16), randomBytes(32), randomBytes(32)];
const [nonce, counter] = [Buffer.alloc(12), Buffer.alloc(16)];
const zeros = Buffer.alloc(64);
// Poly1305 of ssh2: Node.js has it only joined to the cipher, over other bytes than SSH wants.
const wasm = await createRequire(import.meta.url)('ssh2/lib/protocol/crypto/poly1305.js')();
const result = wasm._malloc(16);
const poly1305 = wasm.cwrap('poly1305_auth', null, ['number', 'array', 'number', 'array', 'number', 'array']);

function chacha20() {
  const cipher = createCipheriv('chacha20', key, counter);
  const polyKey = cipher.update(zeros);
  const encipheredLength = createCipheriv('chacha20', lengthKey, counter).update(length);
  return { polyKey, encipheredLength, enciphered: cipher.update(content) };
}

function joined(name, cipherKey) {
  const cipher = createCipheriv(name, cipherKey, nonce, { authTagLength: 16 });
  cipher.setAAD(length);
  cipher.update(content);
  cipher.final();
  cipher.getAuthTag();
}

const { polyKey } = chacha20();
const steps = {
  'aes128-gcm@openssh.com': () => joined('aes-128-gcm', gcmKey),
  'chacha20-poly1305@openssh.com': () => {
    const { polyKey: own, encipheredLength, enciphered } = chacha20();
    poly1305(result, encipheredLength, encipheredLength.length, enciphered, enciphered.length, own);
    Buffer.from(wasm.HEAPU8.subarray(result, result + 16));
  },
  '… of it the cipher': chacha20,
  '… of it Poly1305, in WebAssembly': () => poly1305(result, length, length.length, content, content.length, polyKey),
  'chacha20-poly1305 as TLS has it, all in OpenSSL': () => joined('chacha20-poly1305', key),
};

const costs = new Map(Object.keys(steps).map((name) => [name, []]));
for (let round = 0; round <= rounds; round++)
  for (const [name, step] of Object.entries(steps)) {
    const before = process.cpuUsage();
    for (let index = 0; index < packets; index++) step();
    const { user, system } = process.cpuUsage(before);
    // The first round compiles.
    if (round > 0) costs.get(name).push(((user + system) / 1e6) * (2 ** 30 / (packets * packet.length)));
  }
const rows = [...costs].map(([name, values]) => [name, `${median(values).toFixed(2)} s`, `${(1073.7 / median(values)).toFixed(0)}`]);
console.log(`${machineLine()}\n\n${table(['packets of 32 KiB', 'CPU a GiB', 'MB/s of one core'], rows)}`);
