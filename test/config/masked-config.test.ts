import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { maskedChanges, maskedConfig } from '../../src/config/changes.ts';
import { type LoadedConfig, parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { readPlainYaml } from '../../src/lib/yaml-document.ts';
import { configWith, options as table } from '../support/option-table.ts';
import { cheapHash } from '../support/passwords.ts';

function load(value: unknown, env: Record<string, string> = {}): LoadedConfig {
  const source = parseSource('/etc/svc/svc.config.yaml', JSON.stringify(value));
  return { config: parseConfig(source, env), file: source.file, source };
}

/** Secret options: only the type of their value is shown. */
const secretOptions = new Set([
  'account.password',
  'account.ssh_keys',
  'callout.password',
  'console.administrators',
  'handler.password',
  'handler.signing_secret',
  'state.secret',
  'state.sentinel_password',
]);

/** Returns another secret of the same type. */
function otherSecret(value: unknown): unknown {
  if (typeof value === 'string' && value !== '') return value.startsWith('$scrypt') ? value.replace('B', 'C') : `${value}x`;
  if (Array.isArray(value)) return value.map(otherSecret);
  return value;
}

test('every option, except those for headers, is either shown as it is or masked as a secret', async () => {
  const seen = new Set<string>();
  for (const [where, option, good] of table) {
    const key = `${where}.${option}`;
    const values = good.map((text) => readPlainYaml(text));
    const shown = values.map((value) => {
      const loaded = load(configWith(where, option, value));
      return { loaded, masked: maskedConfig(loaded) };
    });
    if (secretOptions.has(key)) {
      for (const [index, value] of values.entries()) {
        if (where === 'console') continue;
        const other = maskedConfig(load(configWith(where, option, otherSecret(value))));
        assert.deepEqual(other, shown[index]?.masked, `${key} shows its secret`);
      }
      seen.add(key);
    } else if (!option.endsWith('headers')) {
      for (const { loaded, masked } of shown)
        for (const other of shown)
          if (!isDeepStrictEqual(loaded.config, other.loaded.config))
            assert.notDeepEqual(masked, other.masked, `${key} hides what is no secret`);
    }
  }
  for (const key of secretOptions) if (!key.startsWith('console')) assert.ok(seen.has(key), `${key} is in no table`);
});

test('a value from a variable is masked in every option', () => {
  let compared = 0;
  for (const [where, option, good] of table) {
    const byForm = new Map<string, Record<string, unknown>>();
    for (const text of good) {
      const env: Record<string, string> = {};
      const hidden = referring(readPlainYaml(text), env);
      if (Object.keys(env).length === 0) continue;
      const form = JSON.stringify(hidden);
      const masked = maskedConfig(load(configWith(where, option, hidden), env));
      const before = byForm.get(form);
      if (before) {
        assert.deepEqual(masked, before, `${where}.${option}: ${text}`);
        compared++;
      }
      byForm.set(form, masked);
    }
  }
  assert.ok(compared > 100, `${compared} pairs`);
});

function referring(value: unknown, env: Record<string, string>): unknown {
  if (typeof value === 'string') {
    const name = `V${Object.keys(env).length}`;
    env[name] = value;
    return `\${env:${name}}`;
  }
  if (Array.isArray(value)) return value.map((item) => referring(item, env));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, referring(member, env)]));
  return value;
}

test('an option that is named like a secret, but limits tokens, is shown', () => {
  const { accounts } = maskedConfig(load({ accounts: { a: { tokens: { services: ['web'] } } } })) as {
    accounts: { a: { tokens: unknown } };
  };
  assert.deepEqual((accounts.a.tokens as { services: unknown }).services, ['web']);
});

test('secrets are masked in lists, maps, bodies, URLs and members whose names the user chooses', async () => {
  const marker = 'Marker-1';
  const hash = await cheapHash(marker);
  const { config: _, ...loaded } = load(
    {
      server: {
        state: { type: 'redis', url: `redis+sentinel://user:${marker}'"<x@h1,h2:1/primary?token=${marker}`, secret: marker },
        name: `from http://u:${marker}@h/p?${marker}#${marker} on`,
      },
      authentications: {
        a: { type: 'http', url: `http://h/p?t=${marker}, https://b/#${marker}`, headers: { 'X-A': marker, 'X-B': `b ${marker}` } },
      },
      accounts: { 'password.x': { password: hash, ssh_keys: [`ssh-ed25519 AAAA ${marker}`], description: undefined } },
      services: {
        secret: {
          type: 'http',
          name: 'shown',
          headers: [`X-C: ${marker}`],
          api_partial_success_headers: `x-d: ${marker}`,
          api_passthrough_headers: 'x-e',
          appearance: { footer_links: { A: `https://h/?${marker}` } },
        },
      },
      event_handlers: {
        h: {
          type: 'http',
          url: ['http://a/', `http://b/?${marker}`],
          signing_secret: [marker, `${marker}x`],
          extra_data: { deep: { api_key: marker, list: [{ token: marker }] }, text: '{message}' },
        },
        own: {
          type: 'http',
          url: 'http://a/',
          http_content_type: 'custom',
          extra_data: `{"token": "${marker}", "text": "{message}"}\npassword: ${marker}`,
        },
        env: { type: 'http', url: 'http://a/', http_content_type: 'custom', extra_data: '<x>${env:MARKER}</x>' },
        file: { type: 'http', url: ['', '${env:URL}', 'http://c/'], data_filter: { path: '${env:MARKER}' } },
      },
      // Values from variables are secret, too.
    } as object,
    { MARKER: marker, URL: `http://${marker}/` },
  );
  const masked = maskedConfig({ ...loaded, config: _ });
  const text = JSON.stringify(masked);
  assert.equal(text.includes(marker), false, text);
  assert.equal(text.toLowerCase().includes(marker.toLowerCase()), false, text);
  assert.equal(text.includes(hash), false);
  const { services, event_handlers: handlers } = masked as Record<string, Record<string, Record<string, unknown>>>;
  assert.deepEqual(
    [services?.secret?.name, services?.secret?.headers, services?.secret?.api_passthrough_headers],
    ['shown', [['X-C', '***']], ['x-e']],
    'a service with the UUID `secret` is shown like any other',
  );
  assert.deepEqual(handlers?.h?.url, ['http://a/', 'http://b/?…']);
  assert.deepEqual(handlers?.h?.extra_data, { deep: { api_key: '***', list: [{ token: '***' }] }, text: '{message}' });
  assert.deepEqual([handlers?.file?.url, handlers?.file?.data_filter, handlers?.env?.custom_body], ['***', '***', '***']);
});

test('a changed secret is reported without its value', () => {
  const before = load({
    services: { web: { type: 'http', port: 1, headers: 'X: one' } },
    event_handlers: { h: { type: 'http', url: 'http://a/', password: 'two' } },
  });
  const after = load(
    {
      services: { web: { type: 'http', port: 2, headers: 'X: three' }, more: { type: 'http', headers: 'Y: five' } },
      event_handlers: { h: { type: 'http', url: 'http://${env:H}/', password: 'four' } },
    },
    { H: 'six' },
  );
  const changes = maskedChanges(before, after);
  assert.deepEqual(
    changes.filter(({ path }) => path !== 'services.more'),
    [
      { path: 'services.web.headers', old: [['X', '***']], new: [['X', '***']] },
      { path: 'services.web.port', old: 1, new: 2 },
      { path: 'event_handlers.h.url', old: ['http://a/'], new: '***' },
      { path: 'event_handlers.h.password', old: '***', new: '***' },
    ],
  );
  const more = changes.find(({ path }) => path === 'services.more');
  assert.equal(more?.old, undefined);
  assert.deepEqual(
    Object.entries(more?.new as object).find(([name]) => name === 'headers'),
    ['headers', [['Y', '***']]],
  );
  for (const secret of ['one', 'two', 'three', 'four', 'five', 'six']) assert.equal(JSON.stringify(changes).includes(`"${secret}`), false);
});
