import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { judgeReply } from '../../src/auth/callout-reply.ts';
import { lintConfig } from '../../src/config/check.ts';
import { ConfigError } from '../../src/config/findings.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { compileExpression } from '../../src/lib/expression.ts';
import { parseTemplate } from '../../src/lib/text-template.ts';
import { damaged, fuzz } from '../support/fuzz.ts';

/** A part of a glob: its text, and the characters that it matches; `some` matches any number of any characters. */
interface GlobPart {
  written: string;
  takes: string | 'any' | 'some';
}

const globPart = fc.constantFrom<GlobPart>(
  { written: '*', takes: 'some' },
  { written: '?', takes: 'any' },
  { written: '[a-c]', takes: 'abcABC' },
  { written: '[!b]', takes: 'acAC-.i/][\u{1f600}ß\n' },
  { written: '[]b]', takes: ']bB' },
  { written: '[[]', takes: '[' },
  { written: '[a-]', takes: 'aA-' },
  ...['a', 'B', '-', '.', '/', ']', '\u{1f600}', 'ß', '\n'].map((literal) => ({
    written: literal,
    takes: `${literal}${literal.toLowerCase()}${literal === 'a' ? 'A' : ''}`,
  })),
);
const textPart = fc.constantFrom('a', 'b', 'B', 'c', '-', '.', '/', ']', '[', '\u{1f600}', 'ß', 'i', '\n');

/** The simplest matcher, which tries every possibility. It is fast enough for short texts. */
function takes(parts: readonly GlobPart[], text: readonly string[]): boolean {
  const [part, ...rest] = parts;
  if (!part) return text.length === 0;
  if (part.takes === 'some') return takes(rest, text) || (text.length > 0 && takes(parts, text.slice(1)));
  return text[0] !== undefined && (part.takes === 'any' || part.takes.includes(text[0])) && takes(rest, text.slice(1));
}

test('globs match the same texts as a matcher that tries every possibility', (t) =>
  fuzz(
    t,
    fc.tuple(fc.array(globPart, { minLength: 1, maxLength: 7 }), fc.array(textPart, { maxLength: 8 })),
    ([parts, text]) => {
      const source = `g/${parts.map((part) => part.written).join('')}/`;
      assert.equal(compileExpression(source).matches(text.join('')), takes(parts, text), source);
    },
    { share: 3 },
  ));

const expressionSeeds = ['*.pdf | a?c', 'e/^(a|b)+[c-e]{1,3}$/i', '!g/[!a-z]*/', 'm/\\d+\\/(?:x)*/', 'e/\\p{L}\\x{41}/'];

test('expressions: compiled or refused, and matching never throws', (t) =>
  fuzz(t, fc.tuple(damaged(expressionSeeds), fc.string({ maxLength: 20 })), ([source, text]) => {
    try {
      compileExpression(source).matches(text);
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'bad-request', String((error as Error).stack));
    }
  }));

const templatePart = fc.oneof(
  fc.record({ text: fc.constantFrom('{{', '}}', ' ', 'a', '{', '"', '\\', 'x{').filter((text) => text !== '{' && text !== 'x{') }),
  fc.record({ variable: fc.constantFrom('id', 'data.path', 'account.name', 'Ü', 'unknown') }),
);

test('templates: each part is rendered by itself, and values are never parsed as templates', (t) =>
  fuzz(
    t,
    fc.tuple(fc.array(templatePart, { maxLength: 8 }), fc.constantFrom('{id}', '}}', '', 'plain')),
    ([parts, value]) => {
      const text = parts.map((part) => ('variable' in part ? `{${part.variable}}` : part.text)).join('');
      const expected = parts.map((part) =>
        'variable' in part ? (part.variable === 'unknown' ? '' : value) : part.text === '{{' ? '{' : part.text === '}}' ? '}' : part.text,
      );
      // Adjacent braces would be other tokens.
      if (/\{\{\{|\}\}\}/.test(text)) return void parseTemplate(text).render(() => value);
      assert.equal(
        parseTemplate(text).render((name) => (name === 'unknown' ? undefined : value)),
        expected.join(''),
      );
    },
    { share: 2 },
  ));

const configSeeds = [
  `server: {data_folder_path: data, log: {level: info}}
groups:
  DEFAULT_GROUP: {home_folder_path: "/srv/\${USER}", permissions: [[allow-read], [/in/*, allow-write]]}
accounts:
  alice: {password: "$scrypt$ln=14,r=8,p=5$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
authentications:
  callout: {type: http, url: "https://x.example/", timeout: 5}
services:
  web: &web {type: http, port: 8080, triggers: "Sign, primary", metadata_fields: ["x-labels", "k*, required"]}
  tls: {<<: *web, type: https}
event_handlers:
  crm: {type: http, target: "40017, 4000*", url: "https://x.example/a, https://y.example/", data_filter: api_backend, extra_data: {a: "{id}"}}
`,
  '{"services": {"web": {"type": "http", "port": "${env:PORT:-8080}"}}, "server": {"uuid": "${file:/nothing}"}}',
  'a: &a [*a, *a]\nb: !!binary aGk=\n? {c: d}\n: e\n',
];

test('a configuration is valid, or it is refused with the place of every error', (t) =>
  fuzz(
    t,
    damaged(configSeeds),
    (text) => {
      try {
        const source = parseSource('/x/svc.config.yaml', text);
        const config = parseConfig(source, {});
        for (const finding of lintConfig({ config, file: source.file, source })) assert.ok(finding.message !== '');
      } catch (error) {
        assert.ok(error instanceof ConfigError, String((error as Error).stack));
        const lines = text.split(/\r\n|\r|\n/).length;
        assert.ok(error.findings.length > 0);
        for (const { line, column, message } of error.findings)
          assert.ok(line >= 1 && line <= lines + 1 && column >= 1 && message !== '', JSON.stringify(error.findings));
      }
    },
    { share: 0.05 },
  ));

const replySeeds = [
  '{"account":{"home_folder_path":"/srv/a","group":"g","permissions":[["allow-read"],["/in/*","allow-write"]],"virtual_folders":[["/v","/srv/v"]]}}',
  '{"account":{"uuid":"u","email":"a@b","create_home_folder":true,"home_folder_structure":["a",["b"]]}}',
  '{"account":{}}',
  '{"code":1,"message":"no","extra":"private","public_response":{"a":1}}',
  '',
];
const accountValue = fc.record({
  account: fc.dictionary(
    fc.constantFrom(
      'home_folder_path',
      'group',
      'permissions',
      'virtual_folders',
      'uuid',
      'email',
      'create_home_folder',
      'home_folder_structure',
    ),
    fc.jsonValue({ maxDepth: 2 }),
    { maxKeys: 3 },
  ),
});

test('callout replies: every reply has a verdict, and only 200 or 204 can authenticate', (t) =>
  fuzz(
    t,
    fc.record({
      status: fc.oneof(fc.constantFrom(200, 204, 401, 403), fc.integer({ min: 100, max: 599 })),
      body: fc.oneof(
        damaged(replySeeds).map((text) => Buffer.from(text)),
        accountValue.map((value) => Buffer.from(JSON.stringify(value))),
        fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      ),
    }),
    ({ status, body }) => {
      const verdict = judgeReply({ status, body }, new Set(['g']));
      if (verdict.outcome === 'authenticated') {
        assert.ok(status === 204 || status === 200);
        // A byte order mark is skipped. A blank body or an empty object counts as no body.
        const text = new TextDecoder().decode(body);
        if (status === 200 && text.trim() !== '') for (const key of Object.keys(JSON.parse(text))) assert.equal(key, 'account');
        assert.ok(verdict.account.home_folder_path === undefined || verdict.account.home_folder_path?.startsWith('/'));
      }
      assert.equal(verdict.outcome === 'next', status === 401);
    },
    { share: 2 },
  ));
