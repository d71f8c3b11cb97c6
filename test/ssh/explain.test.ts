import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { decide } from '../../src/config/cases/decision.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets.ts';
import { sftpOperations } from '../../src/ssh/sftp/request-operations.ts';
import { type RawSftp, testFiles, testSession } from '../support/sftp-session.ts';

const { read, write, create } = openFlags;

const opened = async (opening: Promise<Buffer>): Promise<number> => opening.then(() => 0).catch((error) => error.status);

/** Asks for what a name of `svc explain` means. @returns the status */
const asked: Record<string, (client: RawSftp) => Promise<number>> = {
  'OPEN-READ': (client) => opened(client.open('/file', read)),
  'OPEN-WRITE': (client) => opened(client.open('/new', write | create)),
  OPENDIR: (client) => opened(client.opendir('/')),
  STAT: async (client) => {
    const found = await client.stat('/file');
    return typeof found === 'number' ? found : 0;
  },
  SETSTAT: (client) => client.status(packetTypes.setstat, (fields) => fields.text('/file').attributes({ mode: 0o600 })),
  MKDIR: (client) => client.status(packetTypes.mkdir, (fields) => fields.text('/made').attributes({})),
  RMDIR: (client) => client.onPath(packetTypes.rmdir, '/empty'),
  REMOVE: (client) => client.onPath(packetTypes.remove, '/file'),
  RENAME: (client) => client.rename('/file', '/other'),
  'POSIX-RENAME': (client) =>
    client.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('/file').text('/other')),
};
const paths: Record<string, string> = { 'OPEN-WRITE': '/new', OPENDIR: '/', MKDIR: '/made', RMDIR: '/empty' };

test('what svc explain says of a request of SFTP is what a session answers, with each right alone', async (t) => {
  assert.deepEqual(Object.keys(asked), Object.keys(sftpOperations));
  const rights = ['read', 'write', 'list', 'traverse', 'rename', 'delete-file', 'delete-folder', 'create-folder', 'set-attributes'];
  for (const right of rights) {
    const general = [`allow-${right}`];
    const files = testFiles(t, { permissions: { general, rules: [] } });
    const { client } = testSession(t, {}, {}, files);
    const text = JSON.stringify({
      groups: { DEFAULT_GROUP: { home_folder_path: files.home, permissions: [general] } },
      accounts: { alice: {} },
    });
    const config = parseConfig(parseSource('/nowhere/svc.config.json', text), {});
    for (const [method, ask] of Object.entries(asked)) {
      rmSync(join(files.home), { recursive: true });
      mkdirSync(join(files.home, 'empty'), { recursive: true });
      writeFileSync(join(files.home, 'file'), 'x');
      const path = paths[method] ?? '/file';
      const { allowed, status } = decide(config, { user: 'alice', method, path, destination: '/other' });
      const answer = await ask(client);
      assert.equal(answer === statusCodes.permissionDenied, !allowed, `${method} with ${right}: ${answer}, explained: ${status}`);
      if (!allowed) assert.equal(status, answer);
    }
  }
});

test('fixed folders, reserved names and paths that lead upward are explained, too', () => {
  const text = JSON.stringify({
    groups: { DEFAULT_GROUP: { home_folder_path: '/home', virtual_folders: [['/a/b', '/srv']] } },
    accounts: { alice: {} },
  });
  const config = parseConfig(parseSource('/nowhere/svc.config.json', text), {});
  const status = (method: string, path: string) => decide(config, { user: 'alice', method, path, destination: '/x' }).status;
  assert.equal(status('RMDIR', '/a/b'), statusCodes.permissionDenied);
  assert.equal(status('MKDIR', '/a'), statusCodes.failure);
  assert.equal(status('OPEN-WRITE', '/.svc-0123456789abcdef01234567.part'), statusCodes.permissionDenied);
  assert.equal(decide(config, { user: 'alice', method: 'open-read', path: '/../etc/a b' }).real_path, '/home/etc/a b');
});
