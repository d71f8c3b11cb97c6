import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import type { LogPosition } from '../../src/events/journal/position.ts';
import { JournalReader } from '../../src/events/journal/reader.ts';
import type { TestReply, TestRequest } from '../support/client.ts';
import { allRights, FileModel, type Operation, type Rights } from '../support/file-model.ts';
import { fuzz } from '../support/fuzz.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { tree } from '../support/tree.ts';

const accounts: Record<string, Rights> = {
  alice: { general: allRights, below: {} },
  bob: { general: ['read', 'list'], below: { '/in': allRights } },
  carol: { general: allRights, below: { '/d': ['read', 'list', 'create-folder', 'rename'], '/in': ['write'] } },
};

function permissionsOf({ general, below }: Rights): string[][] {
  const keywords = (rights: readonly string[]) => rights.map((right) => `allow-${right}`);
  return [keywords(general), ...Object.entries(below).map(([folder, rights]) => [`${folder}/*`, ...keywords(rights)])];
}

const paths = ['/a', '/b', '/d', '/d/a', '/d/e', '/d/e/a', '/in', '/in/a', '/in/e', '/in/e/b', '/a/x'];
const kinds: Operation['kind'][] = [
  'put',
  'put',
  'put-folder',
  'put-folder',
  'mkcol',
  'delete',
  'delete-folder',
  'get',
  'list',
  'copy',
  'copy',
  'copy',
  'move',
  'move',
  'move-folder',
  'move-folder',
  'command-create',
  'command-ensure',
  'command-delete',
  'form-create',
  'form-delete',
  'form-upload',
];
const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(...kinds),
  account: fc.constantFrom('alice', 'alice', 'bob', 'carol'),
  path: fc.constantFrom(...paths),
  destination: fc.constantFrom(...paths),
  overwrite: fc.constantFrom('T', 'F', undefined),
  content: fc.constantFrom('', 'one', 'two\r\n'),
});

const made = (kind: Operation['kind'], path: string): Operation => ({
  kind,
  account: 'alice',
  path,
  destination: path,
  overwrite: undefined,
  content: path,
});

/** The beginning of most sequences, so that there are items to work on. */
const beginning = [
  ...['/d', '/in', '/d/e', '/in/e'].map((path) => made('put-folder', path)),
  ...['/a', '/d/a', '/d/e/a', '/in/a', '/in/e/b'].map((path) => made('put', path)),
];
const sequence = fc
  .tuple(fc.subarray(beginning), fc.array(operation, { minLength: 1, maxLength: 30, size: 'max' }))
  .map((parts) => parts.flat());

function send(server: TestServer, { kind, account, path, destination, overwrite, content }: Operation): Promise<TestReply> {
  const user = `${account}:${testPassword}`;
  const slash = path.lastIndexOf('/');
  const [folder, name] = [`/home${path.slice(0, slash)}/`, path.slice(slash + 1)];
  const request = (method: string, target: string, options: TestRequest = {}) => server.send(method, target, { user, ...options });
  const command = (text: string) => server.commands(folder, [{ command: text, target: name }], { user });
  const form = (action: string, field: string) => {
    const body = new URLSearchParams({ action, [field]: name }).toString();
    return request('POST', folder, { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  };
  const transfer = { headers: { destination: `/home${destination}`, ...(overwrite === undefined ? {} : { overwrite }) } };
  switch (kind) {
    case 'put':
      return request('PUT', `/home${path}`, { body: content });
    case 'put-folder':
      return request('PUT', `/home${path}/`);
    case 'mkcol':
      return request('MKCOL', `/home${path}/`);
    case 'delete':
      return request('DELETE', `/home${path}`);
    case 'delete-folder':
      return request('DELETE', `/home${path}/`);
    case 'get':
      return request('GET', `/home${path}`);
    case 'list':
      return request('GET', `/home${path}/`, { headers: { accept: 'application/json' } });
    case 'copy':
      return request('COPY', `/home${path}`, transfer);
    case 'move':
      return request('MOVE', `/home${path}`, transfer);
    case 'move-folder':
      return request('MOVE', `/home${path}/`, transfer);
    case 'command-create':
      return command('create-folder');
    case 'command-ensure':
      return command('create-folder-if-missing');
    case 'command-delete':
      return command('delete');
    case 'form-create':
      return form('create-folder', 'new-folder');
    case 'form-delete':
      return form('delete-members', 'selected-members');
    case 'form-upload': {
      const field = (text: string) => `--b\r\nContent-Disposition: form-data; name=${text}\r\n`;
      const body = `${field('"action"')}\r\nupload-file\r\n${field(`"upload-file"; filename="${name}"`)}\r\n${content}\r\n--b--\r\n`;
      return request('POST', folder, { body, headers: { 'content-type': 'multipart/form-data; boundary=b' } });
    }
    default:
      return kind satisfies never;
  }
}

/** Returns a function that reads the file events since its last call from the journal. */
function eventFollower(t: TestContext, server: TestServer): () => Promise<ServiceEvent[]> {
  const reader = new JournalReader(journalFolder(join(server.folder, 'data')), (bad) => assert.fail(bad.reason));
  t.after(() => reader.close());
  let position: LogPosition | undefined;
  return async () => {
    const { events, next } = await reader.next(position);
    position = next;
    return events.map(({ event }) => event).filter(({ id }) => id.startsWith('400'));
  };
}

test('files: any sequence of REST, WebDAV and form operations by several accounts has the results of the model', async (t) => {
  const password = await cheapHash(testPassword);
  const configured = Object.entries(accounts).map(([name, rights]) => [name, { password, permissions: permissionsOf(rights) }]);
  const server = await startServer(t, { accounts: Object.fromEntries(configured) });
  const newEvents = eventFollower(t, server);
  const seen = new Set<string>();
  await fuzz(
    t,
    sequence,
    async (operations) => {
      for (const name of readdirSync(server.home)) rmSync(join(server.home, name), { recursive: true });
      await newEvents();
      const model = new FileModel(accounts);
      for (const current of operations) {
        const expected = model.apply(current);
        const reply = await send(server, current);
        assert.equal(reply.status, expected.status, `${JSON.stringify(current)}: ${reply.text}`);
        seen.add(`${current.kind} ${reply.status}`);
        const names = () => reply.json<{ content: { name: string }[] }>().content.map((entry) => entry.name);
        if (expected.body !== undefined) assert.equal(current.kind === 'list' ? names().join('\n') : reply.text, expected.body);
        const events: ServiceEvent[] = [];
        await until('the expected events are in the journal', async () => {
          events.push(...(await newEvents()));
          return events.length >= expected.events.length;
        });
        assert.deepEqual(
          events.map((event) => Number(event.id)),
          expected.events,
          JSON.stringify(current),
        );
        for (const event of events) {
          // If a move has the event "folder removed", this event is about the replaced folder at the destination.
          const path = current.kind === 'move-folder' && event.id === '40026' ? current.destination : current.path;
          assert.deepEqual([event.account.name, event.data.path], [current.account, path]);
        }
      }
      const files = [...model.tree].filter(([path]) => path !== '/');
      const inModel = Object.fromEntries(
        files.map(([path, content]) => [content === null ? `${path.slice(1)}/` : path.slice(1), content ?? '']),
      );
      assert.deepEqual(tree(server.home), inModel);
    },
    { share: 0.1 },
  );
  console.log(`model: ${seen.size} kinds of answers: ${[...seen].sort().join(', ')}`);
  for (const status of [200, 201, 204, 302, 303, 307, 403, 404, 409, 412, 422])
    assert.ok(
      [...seen].some((kind) => kind.endsWith(` ${status}`)),
      `the status ${status} occurred`,
    );
});
