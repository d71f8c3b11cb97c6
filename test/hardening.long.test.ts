import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashPassword } from '../src/accounts/passwords.ts';
import { selfSign } from './support/certificates.ts';
import { program, start } from './support/child.ts';
import { freePort } from './support/redis.ts';
import { hasProgram } from './support/requires.ts';
import { temporaryFolder } from './support/temp.ts';

interface Check {
  id: string;
  command: string;
}

const root = process.env.SVC_ROOT ?? '.';
const password = 'of-the-checklist-9';

function checks(): Check[] {
  const page = readFileSync(join(root, 'docs/operate/hardening.md'), 'utf8');
  const lines = [...page.matchAll(/^# (\d\.\d) \(level [12]\) .*Expected: .+\n((?:[^#\n`].*\n)+)/gm)];
  return lines.map(([, id = '', command = '']) => ({ id, command: command.trim() }));
}

/**
 * The expected output of each command on a hardened server. Lines 1.3 and 1.4 are about systemd: test/operations.test.ts checks the unit.
 */
const hardened: Readonly<Record<string, RegExp>> = {
  1.1: new RegExp(`^${userInfo().username}\n$`),
  1.2: /^svc [\d.]+\nNode\.js \d+\./,
  1.5: /^640 files\/alice\/a\n$/,
  2.1: /is valid/,
  2.2: /^600 svc\.config\.yaml\n600 tls\.key\n$/,
  2.3: /^700\n$/,
  2.4: /^(\d+:.*(\$scrypt\$|\$\{file:|password_policy).*\n)+$/,
  2.5: /, 0 failed\n/,
  3.1: /^000\n$/,
  3.2: /alert|no protocols available/,
  3.3: /127\.0\.0\.1:MONITOR/,
  3.4: /192\.0\.2\.1/,
  3.5: /^(?![\s\S]*\[fail\])[\s\S]*\(kex\)/,
  3.6: /^server: svc\r?\n$/i,
  4.1: /refused \(403\)/,
  4.2: /minimum_length: 12/,
  4.3: /^refused/m,
  4.4: /^(507|413)\n$/,
  4.5: /401 .*429 (.*\n)*removed \d ban/,
  5.1: /^ready\n$/,
  5.2: /SUCCESS/,
  5.3: /\t40017\t/,
  5.4: /\t20001\t/,
  5.5: /^Contact: mailto:security@example\.org\r?$/m,
  5.6: /: OK\n/,
};

/** The commands whose output must differ on a server that was not hardened. */
const tellApart = ['1.5', '2.2', '2.4', '2.5', '3.1', '3.6', '4.1', '4.2', '4.3', '4.4', '4.5', '5.5'];

interface Setup {
  cwd: string;
  run(command: string): Promise<string>;
}

async function setUp(t: TestContext, isHardened: boolean): Promise<Setup> {
  const cwd = temporaryFolder(t);
  selfSign(cwd, { key: 'tls.key', cert: 'tls.crt' }, '/CN=localhost', 'DNS:localhost,IP:127.0.0.1', 365);
  chmodSync(join(cwd, 'tls.key'), isHardened ? 0o600 : 0o644);
  const [web, plain, ssh, monitor] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const write = (name: string, text: string) => writeFileSync(join(cwd, name), text, { mode: isHardened ? 0o600 : 0o644 });
  const hash = await hashPassword(password, { ln: 4, r: 8, p: 1 });
  write('hash', hash);
  const server = `server:
  data_folder_path: svc-data
  umask: "027"
  security_contact: mailto:security@example.org
  password_policy:
    minimum_length: 12
`;
  const group = `    required_credentials: both
    quota_size: 1000000
    permissions: [[allow-read, allow-list, allow-write]]
`;
  write(
    'svc.config.yaml',
    `${isHardened ? server : 'server: {umask: "022", security_policy: {ban_after_failures: 0}}\n'}
groups:
  DEFAULT_GROUP:
    home_folder_path: ./files/\${USER}
${isHardened ? group : ''}
accounts:
  alice:
    password: ${isHardened ? `\${file:hash}` : hash}
services:
  web:
    type: https
    port: ${web}
    tls_certificate_path: tls.crt
    tls_key_path: tls.key
    client_forwarded_header: X-Forwarded-For
    trusted_proxies: [192.0.2.1]
    announce_version: ${!isHardened}
  ${isHardened ? '' : `plain: {type: http, port: ${plain}}`}
  sftp: {type: ssh, port: ${ssh}}
  status: {type: monitor, port: ${monitor}}
${isHardened ? '' : 'event_handlers: {crm: {type: http, url: "http://127.0.0.1:9/", target: 20011, password: in-clear}}'}
`,
  );
  write(
    'svc.test.yaml',
    `- { account: alice, request: DELETE /home/a, expect: refused }\n- { account: alice, request: PUT /home/a, expect: allowed }\n`,
  );
  mkdirSync(join(cwd, 'files'));
  copyFileSync(join(root, 'examples/operations/alerts.yaml'), join(cwd, 'alerts.yaml'));
  const file = program.at(-1) as string;
  write('SHA256SUMS', `${createHash('sha256').update(readFileSync(file)).digest('hex')}  ${file}\n`);
  const tools = temporaryFolder(t);
  writeFileSync(join(tools, 'svc'), `#!/bin/sh\nexec ${program.join(' ')} "$@"\n`);
  chmodSync(join(tools, 'svc'), 0o755);
  const { SVC_CONFIG: _, ...inherited } = process.env;
  const env = {
    ...inherited,
    NO_COLOR: '1',
    PATH: `${tools}:${process.env.PATH}`,
    CURL_CA_BUNDLE: join(cwd, 'tls.crt'),
    SVC_ALLOW_ROOT: '1',
  };
  const child = start(t, ['serve', '--log-level', 'error'], { cwd, env: { SVC_ALLOW_ROOT: '1' } });
  for (const name of ['web', 'sftp', 'status']) await child.line(new RegExp(`${name} listening`));
  const filled = (text: string) =>
    text
      .replaceAll('http://HOST', `http://127.0.0.1:${plain}`)
      .replaceAll('-p 22 HOST', `-p ${ssh} 127.0.0.1`)
      .replaceAll('HOST:443', `127.0.0.1:${web}`)
      .replaceAll('HOST', `127.0.0.1:${web}`)
      .replaceAll('NAME', 'alice')
      .replaceAll('PASSWORD', password)
      .replaceAll('RESTORED', 'restored');
  const run = async (command: string) => {
    const shell = spawn('bash', ['-c', filled(command)], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [shell.stdout, shell.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    await new Promise((resolve) => shell.on('close', resolve));
    return output.replaceAll(`:${monitor} `, ':MONITOR ');
  };
  await run('echo x > a; curl -s -u NAME:PASSWORD -T a https://HOST/home/');
  cpSync(join(cwd, 'svc-data/journal'), join(cwd, 'restored/journal'), { recursive: true });
  return { cwd, run };
}

test('each command of the checklist prints the expected output on a hardened server; 12 commands print another output on a bare server', {
  timeout: 120_000,
}, async (t) => {
  for (const name of ['curl', 'openssl', 'ss', 'ssh-audit', 'promtool']) if (!hasProgram(t, name)) return;
  const all = checks();
  assert.deepEqual(
    all.map(({ id }) => id).filter((id) => !['1.3', '1.4'].includes(id)),
    Object.keys(hardened).sort(),
  );
  assert.match(readFileSync(join(root, 'examples/operations/svc.service'), 'utf8'), /^LimitCORE=0$/m, '1.4');
  const good = await setUp(t, true);
  const bare = await setUp(t, false);
  for (const { id, command } of all) {
    const expected = hardened[id];
    if (!expected) continue;
    const printed = await good.run(command);
    assert.match(printed, expected, `${id}: ${command}`);
    if (tellApart.includes(id)) assert.doesNotMatch(await bare.run(command), expected, `${id} on a bare server: ${command}`);
  }
});
