import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countAnswers, protocolOf } from '../support/raw-channel.ts';
import { testPassword } from '../support/secrets.ts';
import { startSsh, tryLogins } from '../support/ssh.ts';
import { clearPacket, limits, modes, ssh2LogsIn, startManInTheMiddle } from '../support/ssh-man-in-the-middle.ts';

const text = (value: string) => Buffer.concat([Buffer.from([0, 0, 0, value.length]), Buffer.from(value)]);

test('no inserted unencrypted packet is accepted, neither before the KEXINIT of the client nor before its NEWKEYS', async (t) => {
  const server = await startSsh(t, limits);
  const password = Buffer.concat([
    Buffer.from([50]),
    text('alice'),
    text('ssh-connection'),
    text('password'),
    Buffer.from([0]),
    text(testPassword),
  ]);
  const packets = {
    empty: Buffer.alloc(0),
    IGNORE: Buffer.from([2, 0, 0, 0, 0]),
    UNIMPLEMENTED: Buffer.from([3, 0, 0, 0, 0]),
    DEBUG: Buffer.from([4, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    SERVICE_REQUEST: Buffer.concat([Buffer.from([5]), text('ssh-userauth')]),
    EXT_INFO: Buffer.concat([Buffer.from([7, 0, 0, 0, 1]), text('no-flow-control'), text('p')]),
    NEWKEYS: Buffer.from([21]),
    USERAUTH_REQUEST: password,
    CHANNEL_OPEN: Buffer.concat([Buffer.from([90]), text('session'), Buffer.alloc(12, 1)]),
  };
  const attack = async (name: string, payload: Buffer, place: 'beforeKexinit' | 'beforeNewkeys') => {
    const port = await startManInTheMiddle(t, server.sshPort, { client: { [place]: [clearPacket(payload)] } });
    assert.equal((await ssh2LogsIn(t, port, modes['chacha20-poly1305'], true)).isIn, false, `${name} ${place}`);
  };
  await Promise.all(
    Object.entries(packets).flatMap(([name, payload]) => [attack(name, payload, 'beforeKexinit'), attack(name, payload, 'beforeNewkeys')]),
  );
  assert.deepEqual(
    (await server.events()).filter(({ id }) => id === '20137' || id === '40003'),
    [],
  );
  assert.ok((await tryLogins(t, server.sshPort, [{ type: 'password', username: 'alice', password: testPassword }])).client);
});

test('during a later key exchange, IGNORE, DEBUG and UNIMPLEMENTED are accepted', async (t) => {
  const server = await startSsh(t);
  const { client } = await tryLogins(t, server.sshPort, [{ type: 'password', username: 'alice', password: testPassword }]);
  const isLost = new Promise<boolean>((resolve) => client?.on('close', () => resolve(true)));
  const protocol = protocolOf(client) as ReturnType<typeof protocolOf> & {
    _cipher: { encrypt(packet: Buffer): void };
    _packetRW: PacketMaker;
  };
  const { write } = protocol._packetRW;
  const answers = countAnswers(client);
  protocol.rekey();
  for (const payload of [Buffer.from([2, 0, 0, 0, 0]), Buffer.from([4, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Buffer.from([3, 0, 0, 0, 0])]) {
    const packet = write.alloc(payload.length, true);
    payload.copy(packet, write.allocStartKEX);
    protocol._cipher.encrypt(write.finalize(packet, true));
  }
  assert.equal(await Promise.race([answers.settled(), isLost]), undefined);
});

interface PacketMaker {
  write: { allocStartKEX: number; alloc(bytes: number, force: boolean): Buffer; finalize(packet: Buffer, force: boolean): Buffer };
}
