import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { emailAddresses } from '../../src/accounts/account.ts';
import type { AuthResult } from '../../src/auth/auth-method.ts';
import { judgeReply, rememberVerdicts } from '../../src/auth/callout-reply.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { assertLinear } from '../support/doubling.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const everything = [201, 200, 204];
const nothing = [403, 403, 403];
const listing = [403, 200, 403];

/** Tries what an account may do: write a file, list the folder, delete the file. Returns the statuses. */
async function rightsOf(server: TestServer, user: string): Promise<number[]> {
  const name = `/home/${user.split(':')[0]}.txt`;
  return [
    (await server.put(name, 'x', { user })).status,
    (await server.get('/home/', { user, headers: { accept: 'application/json' } })).status,
    (await server.send('DELETE', name, { user })).status,
  ];
}

/** Spellings of `permissions`, and the statuses that an account with each of them gets. The account's group grants everything. */
const spellings: [string, unknown, number[]][] = [
  ['left out', undefined, everything],
  ['an empty list of lists', [], everything],
  ['an empty general list', [[]], nothing],
  ['a general list', [['allow-list']], listing],
  ['one flat list', ['allow-list', 'allow-rename'], listing],
  ['one flat list that denies', ['deny-full-control', 'allow-list'], nothing],
  ['an empty general list and a rule', [[], ['/', 'allow-list']], listing],
];

for (const [name, permissions, expected] of spellings) {
  test(`permissions, ${name}: the callout's reply, the configuration and the accounts file mean the same`, async (t) => {
    const remote = await calloutEndpoint(t, (response, { credentials }) => {
      if (credentials.username === 'remote') response.writeHead(200).end(JSON.stringify({ account: { permissions } }));
      else response.writeHead(401).end();
    });
    const password = await cheapHash(testPassword);
    const accountsFile = join(temporaryFolder(t), 'accounts.yaml');
    writeFileSync(accountsFile, stringify({ filed: { password, ...(permissions === undefined ? {} : { permissions }) } }));
    const server = await startServer(t, {
      accounts: { configured: { password, ...(permissions === undefined ? {} : { permissions }) } },
      authentications: {
        // The callout is the first method, because the local one takes long to refuse an unknown name.
        remote: { type: 'http', url: remote.url },
        local: { type: 'application', accounts_file_path: accountsFile },
      },
    });
    for (const user of ['configured', 'filed', 'remote'])
      assert.deepEqual(await rightsOf(server, `${user}:${testPassword}`), expected, user);
  });
}

test('[[]] as the permissions of a group grants nothing; [] means the default, like an omitted option', async (t) => {
  const password = await cheapHash(testPassword);
  const groups = { none: { permissions: [[]] }, empty: { permissions: [] }, flat: { permissions: ['allow-list'] }, absent: {} };
  const accounts = Object.fromEntries(Object.keys(groups).map((group) => [group, { password, group }]));
  const server = await startServer(t, { groups, accounts });
  const rights = await Promise.all(Object.keys(groups).map((group) => rightsOf(server, `${group}:${testPassword}`)));
  assert.deepEqual(rights, [nothing, everything, listing, everything]);
});

test('the home folder and the permission to create it come from the account, else from its group, else from DEFAULT_GROUP', async (t) => {
  const folder = temporaryFolder(t);
  const password = await cheapHash(testPassword);
  const server = await startServer(t, {
    group: { home_folder_path: join(folder, 'default', '${USER}'), create_home_folder: false },
    groups: {
      INHERITS: { create_home_folder: true },
      OWN: { home_folder_path: join(folder, 'own'), create_home_folder: true },
      SILENT: {},
    },
    accounts: {
      inherits: { password, group: 'INHERITS' },
      own: { password, group: 'OWN' },
      silent: { password, group: 'SILENT' },
      maker: { password, group: 'SILENT', create_home_folder: true },
      mover: { password, group: 'OWN', home_folder_path: join(folder, 'moved') },
    },
  });
  const realPathOf = async (name: string) => {
    const { status } = await server.put('/home/a', name, { user: `${name}:${testPassword}` });
    if (status !== 201) return status;
    const written = (await server.events()).findLast((event) => event.id === '40017');
    return String(written?.data.real_path).slice(folder.length);
  };
  assert.equal(await realPathOf('inherits'), '/default/inherits/a');
  assert.equal(await realPathOf('own'), '/own/a');
  assert.equal(await realPathOf('silent'), 401, 'DEFAULT_GROUP forbids creating the folder');
  assert.equal(await realPathOf('maker'), '/default/maker/a');
  assert.equal(await realPathOf('mover'), '/moved/a');
});

test('the owner of a new home folder can come from DEFAULT_GROUP; an unknown owner prevents the login', async (t) => {
  const password = await cheapHash(testPassword);
  const server = await startServer(t, {
    group: { create_home_folder_owner: 'no-such-owner' },
    groups: { STAFF: { home_folder_path: join(temporaryFolder(t), 'made') } },
    accounts: { bob: { password, group: 'STAFF' } },
  });
  assert.equal((await server.get('/home/', { user: `bob:${testPassword}`, headers: { accept: 'application/json' } })).status, 401);
  const failure = (await server.events()).find((event) => event.id === '20067');
  assert.match(String(failure?.data.details), /"no-such-owner" is not in \/etc\/passwd/);
});

test('a home folder with a control character in its path is not created; an existing one is used', async (t) => {
  const home = join(temporaryFolder(t), 'a\nb');
  const server = await startServer(t, { group: { home_folder_path: home } });
  const get = async () => (await server.get('/home/', { headers: { accept: 'application/json' } })).status;
  assert.equal(await get(), 401);
  assert.equal(existsSync(home), false);
  mkdirSync(home);
  assert.equal(await get(), 200);
});

const accountOf = (member: string, value: unknown) =>
  judgeReply({ status: 200, body: Buffer.from(JSON.stringify({ account: { [member]: value } })) }, new Set(['DEFAULT_GROUP']));

test('each item of home_folder_structure in a reply must be a text or a list of one text', () => {
  const structure = (value: unknown) => {
    const verdict = accountOf('home_folder_structure', value);
    return verdict.outcome === 'authenticated' ? verdict.account.home_folder_structure : verdict.outcome;
  };
  assert.deepEqual(structure(['in', ['out'], '/deep/er']), ['in', 'out', '/deep/er']);
  for (const wrong of [[5], [true], ['a', 5], [null], [[]], [['a', 'b']], [[5]], 'a, b', 5, null, { a: 'b' }])
    assert.equal(structure(wrong), 'rejected', JSON.stringify(wrong));
});

test('a member of a reply with a value of the wrong type is never used', () => {
  const isText = (value: unknown) => typeof value === 'string';
  const isListOf = (isItem: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(isItem);
  const types: Record<string, (value: unknown) => boolean> = {
    home_folder_path: isText,
    uuid: isText,
    email: isText,
    group: isText,
    create_home_folder: (value) => typeof value === 'boolean',
    create_home_folder_owner: isText,
    create_home_folder_group: isText,
    home_folder_structure: isListOf((item) => isText(item) || (isListOf(isText)(item) && (item as unknown[]).length === 1)),
    virtual_folders: isListOf((item) => isListOf(isText)(item) && (item as unknown[]).length === 2),
    permissions: (value) => isListOf(isText)(value) || isListOf(isListOf(isText))(value),
  };
  const scalar = fc.oneof(fc.constantFrom('', 'a', '/a', 'allow-read', 'DEFAULT_GROUP'), fc.integer(), fc.boolean(), fc.constant(null));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 1 }),
    ),
  }));
  let accepted = 0;
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(types)), value, (member, content) => {
      if (accountOf(member, content).outcome !== 'authenticated') return;
      accepted++;
      assert.ok(types[member]?.(content), `${member}: ${JSON.stringify(content)}`);
    }),
    { numRuns: 5000 },
  );
  assert.ok(accepted > 100, 'more than 100 of the values are accepted');
});

test('lists of email addresses with names, also quoted ones with commas, are parsed in linear time', async () => {
  const pairs = (email: string) => emailAddresses(email).map(({ name, address }) => [name, address]);
  assert.deepEqual(pairs('Bob B <bob@z.org>, c@z.org'), [
    ['Bob B', 'bob@z.org'],
    ['', 'c@z.org'],
  ]);
  assert.deepEqual(pairs('"Doe, \\"J\\" Jane" <jane@z.org>,<x@z.org>, , Nobody <>'), [
    ['Doe, "J" Jane', 'jane@z.org'],
    ['', 'x@z.org'],
  ]);
  assert.deepEqual(pairs(''), []);
  for (const piece of ['"', '\\"', '<', ',', '"a\\', 'a <b>,', '>"<']) {
    await assertLinear(`addresses of ${piece}`, (size) => piece.repeat(size), emailAddresses, 400_000);
  }
});

test('the account in events has its first email address, and all its addresses with their names', async (t: TestContext) => {
  const server = await startServer(t, { account: { email: 'Bob B <bob@z.org>, c@z.org' } });
  await server.put('/home/a', 'x');
  const { account } = (await server.events()).find((event) => event.id === '40017') as { account: object };
  assert.deepEqual(
    { ...account, peer: undefined },
    {
      uuid: 'alice',
      name: 'alice',
      email: 'bob@z.org',
      emails: [
        ['Bob B', 'bob@z.org'],
        ['', 'c@z.org'],
      ],
      peer: undefined,
    },
  );
});

test('an identical reply for the same name reuses the account; a different reply takes effect immediately', () => {
  const judge = rememberVerdicts(new Set(['DEFAULT_GROUP']));
  const of = (username: string, status: number, body = '') => judge(username, { status, body: Buffer.from(body) });
  const accountOf = (result: AuthResult) => (result.outcome === 'authenticated' ? result.account : undefined);
  const first = accountOf(of('alice', 200, '{"account":{"email":"a@example.com"}}'));
  assert.deepEqual(first, { email: 'a@example.com' });
  assert.equal(accountOf(of('alice', 200, '{"account":{"email":"a@example.com"}}')), first);
  assert.notEqual(accountOf(of('bob', 200, '{"account":{"email":"a@example.com"}}')), first);
  assert.deepEqual(accountOf(of('alice', 200, '{"account":{"email":"b@example.com"}}')), { email: 'b@example.com' });
  assert.equal(of('alice', 401).outcome, 'next');
  assert.equal(of('alice', 403).outcome, 'rejected');
  assert.notEqual(accountOf(of('alice', 200, '{"account":{"email":"a@example.com"}}')), first);
  assert.equal(accountOf(of('alice', 204)), accountOf(of('alice', 204)));
});
