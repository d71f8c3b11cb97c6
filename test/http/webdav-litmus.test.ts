import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { allowSecrets } from '../support/secret-watch.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Starts a proxy that changes only the User-Agent. @returns its URL */
async function agentProxy(t: TestContext, upstream: string, userAgent: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { hostname, port } = new URL(upstream);
    const headers = { ...incoming.headers, 'user-agent': userAgent };
    const passed = request({ hostname, port, method: incoming.method, path: incoming.url, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const suites = ['basic', 'copymove', 'props', 'locks', 'http'];

const propertiesAreFixed = 'PROPPATCH is always refused (docs/spec/webdav.md#proppatch)';
const foldersAreNotCopied = 'collections are not copied (docs/spec/webdav.md#copy-and-move)';

/** Tests of litmus that a server which follows docs/spec/webdav.md cannot pass, each with its reason. */
const always: Record<string, string> = {
  'copymove 7 copy_coll': foldersAreNotCopied,
  'copymove 8 copy_shallow': 'its folder is left over from copy_coll, which ended early',
  'copymove 10 move_coll': `${foldersAreNotCopied}; it makes a second folder with COPY before it moves`,
  'props 6 propset': propertiesAreFixed,
  'props 26 propmanyns': propertiesAreFixed,
  'props 27 propget': 'it reads what propmanyns should have set',
};

/** Tests that fail without `webdav_compatibility`. */
const expected: Record<string, string> = {
  ...always,
  'copymove 4 copy_overwrite': 'a file never replaces a folder (docs/spec/webdav.md#replacing)',
  'copymove 9 move': 'a file never replaces a folder (docs/spec/webdav.md#replacing)',
};

/** With `webdav_compatibility`, a file may replace a folder. PROPPATCH gets 207, but litmus notices its 403 for each property. */
const expectedInCompatibility: Record<string, string> = { ...always };

/** If the server offers class 2, litmus also runs the tests of locks. */
const expectedWithLocks: Record<string, string> = {
  ...expectedInCompatibility,
  'locks 11 owner_modify': propertiesAreFixed,
  'locks 23 lock_shared': 'there are exclusive locks only (docs/spec/webdav.md#locks)',
  'locks 33 owner_modify': propertiesAreFixed,
};

/** Runs all suites. @returns failed tests as `suite number name`, with the output of litmus, and the number of passed ones */
async function litmus(t: TestContext, url: string): Promise<{ failed: Record<string, string>; passed: number; output: string }> {
  allowSecrets(t, /^debug\.log$/, 'litmus writes its requests there');
  const failed: Record<string, string> = {};
  let passed = 0;
  let whole = '';
  for (const suite of suites) {
    const { output } = await runProgram('litmus', ['-k', `${url}/home/`, 'alice', testPassword], {
      cwd: temporaryFolder(t),
      env: { TESTS: suite },
    });
    whole += output;
    assert.match(output, new RegExp(`<- summary for .${suite}`), output);
    for (const [, number, name, verdict = ''] of output.replaceAll('\r', '\n').matchAll(/^ *(\d+)\. (\w+)\.* *(.*)$/gm)) {
      if (verdict.startsWith('FAIL')) failed[`${suite} ${number} ${name}`] = verdict;
      if (verdict.startsWith('pass')) passed++;
    }
  }
  return { failed, passed, output: whole };
}

function assertExpected(result: { failed: Record<string, string>; output: string }, list: Record<string, string>): void {
  const surprises = Object.entries(result.failed).filter(([name]) => !(name in list));
  assert.deepEqual(surprises, [], 'tests that must pass');
  const better = Object.keys(list).filter((name) => !(name in result.failed));
  assert.deepEqual(better, [], 'expected failures that now pass: remove them from the list');
}

test('without webdav_compatibility, only those tests of litmus fail that docs/spec/webdav.md rules out', {
  timeout: 120_000,
}, async (t) => {
  if (!hasProgram(t, 'litmus')) return;
  const server = await startServer(t);
  const result = await litmus(t, server.url);
  assertExpected(result, expected);
  assert.ok(result.passed >= 40, `${result.passed} passed`);
  assert.ok(!(await server.eventIds()).includes(40003), 'no internal error');
});

test('with webdav_compatibility, locks are offered only to the programs that need them, not to litmus', { timeout: 120_000 }, async (t) => {
  if (!hasProgram(t, 'litmus')) return;
  const server = await startServer(t, { service: { webdav_compatibility: true } });
  const result = await litmus(t, server.url);
  assertExpected(result, expectedInCompatibility);
  assert.match(result.output, /server does not claim Class 2 compliance/);
  assert.ok(!(await server.eventIds()).includes(40003), 'no internal error');
});

test('with webdav_compatibility and the User-Agent of Explorer, litmus also runs the tests of locks', { timeout: 120_000 }, async (t) => {
  if (!hasProgram(t, 'litmus')) return;
  const server = await startServer(t, { service: { webdav_compatibility: true } });
  const result = await litmus(t, await agentProxy(t, server.url, 'Microsoft-WebDAV-MiniRedir/10.0.19045'));
  assertExpected(result, expectedWithLocks);
  assert.ok(result.passed >= 62, `${result.passed} passed`);
  assert.ok(!result.output.includes('server does not claim Class 2 compliance'));
  assert.ok(!(await server.eventIds()).includes(40003), 'no internal error');
});
