import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { type SshTestServer, startSsh } from '../support/ssh.ts';
import {
  clearPacket,
  limits,
  type Mode,
  modes,
  ssh2LogsIn,
  startManInTheMiddle,
  type Tampering,
} from '../support/ssh-man-in-the-middle.ts';

/** Returns the number of bytes of an encrypted packet. In all of these modes, the length field is not part of the padded data. */
const packetBytes = ({ blockBytes, tagBytes }: Mode, payloadBytes: number) =>
  4 + Math.ceil((1 + payloadBytes + 4) / blockBytes) * blockBytes + tagBytes;

const signatures = 'ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256';
/** Length of the first encrypted packet of each side: EXT_INFO of the server, SERVICE_REQUEST of the client. */
const firstBytes = { server: 1 + 4 + 4 + 'server-sig-algs'.length + 4 + signatures.length, client: 1 + 4 + 'ssh-userauth'.length };

const ignore = clearPacket(Buffer.from([2, 0, 0, 0, 0]));

async function opensshLogsIn(server: SshTestServer, port: number, { cipher, mac }: Mode): Promise<boolean> {
  const options = [...cipher.map((name) => `Ciphers=${name}`), ...mac.map((name) => `MACs=${name}`)];
  const fixed = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'IdentitiesOnly=yes', 'ConnectTimeout=5'];
  const args = ['-F', '/dev/null', '-p', String(port), '-i', server.key, ...[...fixed, ...options].flatMap((option) => ['-o', option])];
  return (await runProgram('ssh', [...args, 'alice@127.0.0.1', 'ls'], { cwd: server.clientFolder })).output.includes('offers no commands');
}

const sides = ['client', 'server'] as const;

test('with strict key exchange, an attacker can neither insert a packet, nor delete one, nor replace one by another', async (t) => {
  const server = await startSsh(t, limits);
  const withOpenssh = hasProgram(t, 'ssh');
  const expectLogins = async (name: string, mode: Mode, side: 'client' | 'server', tampering: Tampering, expected: boolean) => {
    const port = await startManInTheMiddle(t, server.sshPort, { [side]: tampering });
    const [openssh, ssh2] = [withOpenssh && opensshLogsIn(server, port, mode), ssh2LogsIn(t, port, mode, true)];
    const what = `${name}, ${side}: ${Object.keys(tampering).join(', ')}`;
    assert.deepEqual([await openssh, (await ssh2).isIn], [withOpenssh && expected, expected], what);
  };
  const all = Object.entries(modes).flatMap(([name, mode]) =>
    sides.flatMap((side) => {
      const deletedBytes = packetBytes(mode, firstBytes[side]);
      const attacks: Tampering[] = [
        { beforeNewkeys: [ignore], deletedBytes },
        { beforeKexinit: [ignore], deletedBytes },
        { beforeNewkeys: [clearPacket(Buffer.alloc(0))], deletedBytes },
        { deletedBytes },
        { beforeNewkeys: [ignore] },
        { beforeKexinit: [ignore] },
      ];
      return [
        ...attacks.map((attack) => expectLogins(name, mode, side, attack, false)),
        // An attacker who only forwards is not noticed.
        expectLogins(name, mode, side, {}, true),
      ];
    }),
  );
  await Promise.all(all);
});

test('a client without strict key exchange loses at most the list of signature algorithms, and with AES-GCM not even that', async (t) => {
  const server = await startSsh(t, limits);
  const attacked = async (mode: Mode, side: 'client' | 'server') => {
    const tampering = { beforeNewkeys: [ignore], deletedBytes: packetBytes(mode, firstBytes[side]) };
    return ssh2LogsIn(t, await startManInTheMiddle(t, server.sshPort, { [side]: tampering }), mode, false);
  };
  const { 'chacha20-poly1305': chacha20, 'aes128-gcm': gcm } = modes;
  const [plain, ofServer, ofClient, ...withGcm] = await Promise.all([
    ssh2LogsIn(t, server.sshPort, chacha20, false),
    attacked(chacha20, 'server'),
    attacked(chacha20, 'client'),
    ...sides.map((side) => attacked(gcm, side)),
  ]);
  assert.deepEqual(plain, { isIn: true, hasSignatures: true });
  assert.deepEqual(ofServer, { isIn: true, hasSignatures: false });
  assert.equal(ofClient.isIn, false, 'without its first request, the client does not get in');
  for (const { isIn } of withGcm) assert.equal(isIn, false);
});
