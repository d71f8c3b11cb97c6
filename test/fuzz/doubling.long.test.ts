import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseAccountsFile } from '../../src/accounts/accounts-file.ts';
import { judgeReply } from '../../src/auth/callout-reply.ts';
import { parseEvent } from '../../src/events/journal/reader.ts';
import { readForm } from '../../src/http/request/form-fields.ts';
import { readJsonBody } from '../../src/http/request/request-body.ts';
import { parseRequestTarget } from '../../src/http/request/request-target.ts';
import { parseMetadata } from '../../src/http/request/upload-metadata.ts';
import { parseFolderCommands } from '../../src/http/rest/members.ts';
import { propfindRequest } from '../../src/http/webdav/propfind.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { compileExpression } from '../../src/lib/expression.ts';
import { namesType, preferredLanguage, preferredType } from '../../src/lib/headers/accept-header.ts';
import { parseRange } from '../../src/lib/headers/byte-ranges.ts';
import { evaluateConditions } from '../../src/lib/headers/conditional-request.ts';
import { parseExpectedDigests, wantsReprDigest } from '../../src/lib/headers/digest-fields.ts';
import { clientBehindProxies, forwardedHost } from '../../src/lib/headers/forwarded-header.ts';
import { cookieValue } from '../../src/lib/headers/header-fields.ts';
import { parseIfHeader } from '../../src/lib/headers/if-header.ts';
import { parseTraceparent } from '../../src/lib/headers/trace-context.ts';
import { parseKeyValueList, parseList } from '../../src/lib/list-values.ts';
import { parseTemplate } from '../../src/lib/text-template.ts';
import { parseXml } from '../../src/lib/xml/xml-parser.ts';
import { readPlainYaml } from '../../src/lib/yaml-document.ts';
import { checkedConfig } from '../support/checked-config.ts';
import { assertLinear } from '../support/doubling.ts';
import { exchangeOf } from '../support/exchange.ts';
import { fuzz } from '../support/fuzz.ts';

interface Parser {
  parse: (text: string) => unknown;
  seeds: readonly string[];
  /** Maximum size of the input in characters. It is within the limits of the service. */
  size: number;
}

const form = (type: string) => (text: string) =>
  readForm(exchangeOf({ headers: { 'content-type': type }, body: [Buffer.from(text)] }), async ({ content }) => {
    for await (const _ of content);
  });
const groups = new Set(['g']);
const kib = 1024;
const account =
  '{"account":{"home_folder_path":"/srv/a","home_folder_structure":["a"],"permissions":[["allow-read"],["/in/*","allow-write"]],"virtual_folders":[["/v","/srv/v"]]}}';
const config =
  'server: {data_folder_path: d}\ngroups: {G: {home_folder_path: "/srv/${USER}", permissions: [[allow-read], [/in/*, allow-write]]}}\naccounts: {al: {group: G}}\nservices: {web: &w {type: http, port: 8080, triggers: "Sign, primary", authentications: [x, y]}}\nevent_handlers: {crm: {type: http, target: "40017", url: "https://x.example/", components: "x, y"}}\n';

/** All parsers of input from outside. They may refuse the growing input. */
const parsers: Record<string, Parser> = {
  'WebDAV bodies': {
    parse: (text) => propfindRequest(parseXml(text)),
    seeds: [
      '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><x xmlns="urn:x" a="1">&amp;&#65;</x></prop></propfind>',
      '<a><![CDATA[x]]><!-- c --><?pi?><b xmlns:p="u"/></a>',
    ],
    size: 512 * kib,
  },
  'multipart forms': {
    parse: form('multipart/form-data; boundary=XbX'),
    seeds: [
      '--XbX\r\nContent-Disposition: form-data; name="action"\r\n\r\nx\r\n--XbX\r\nContent-Disposition: form-data; name="upload-file"; filename="a"\r\n\r\nhello\r\n--XbX--\r\n',
    ],
    size: 512 * kib,
  },
  'urlencoded forms': { parse: form('application/x-www-form-urlencoded'), seeds: ['a=b&c=%C3%BC+d&a=%zz'], size: 512 * kib },
  'folder commands': {
    parse: async (text) => parseFolderCommands(await readJsonBody(exchangeOf({ body: [Buffer.from(text)] }))),
    seeds: ['{"commands":[{"command":"delete","target":["a","b\\"["]}]}', '{"commands":[[[{}]]]}'],
    size: 512 * kib,
  },
  'callout replies, 200': {
    parse: (text) => judgeReply({ status: 200, body: Buffer.from(text) }, groups),
    seeds: [account],
    size: 512 * kib,
  },
  'callout replies, 403': {
    parse: (text) => judgeReply({ status: 403, body: Buffer.from(text) }, groups),
    seeds: ['{"code":1,"message":"no","extra":"private","public_response":{"a":[1]}}'],
    size: 512 * kib,
  },
  'journal lines': {
    parse: (text) => parseEvent(Buffer.from(text)),
    seeds: ['{"id":"40017","uuid":"u","message":"m","timestamp":{"timestamp":"1.5"},"data":{"a":[{}]}}'],
    size: 512 * kib,
  },
  configurations: {
    parse: (text) => checkedConfig(text),
    seeds: [config, '{"services": {"web": {"type": "http", "port": "${env:PORT:-8080}"}}}', 'a: &a [*a, *a]\n? {c: d}\n: e\n- - x\n'],
    size: 64 * kib,
  },
  'accounts files': {
    parse: (text) => parseAccountsFile(text, 'a.yaml'),
    seeds: ['accounts: {al: {group: G}}\npassword_history: {al: [x]}\n'],
    size: 16 * kib,
  },
  suites: { parse: readPlainYaml, seeds: ['cases:\n- {username: a, expect: next}\n'], size: 64 * kib },
  targets: {
    parse: parseRequestTarget,
    seeds: ['/home/a/b%20c/../d;x?y=z&w', 'http://files.example/__svc__/login?next=%2Fhome%2F', '//x/./home/'],
    size: 128 * kib,
  },
  expressions: {
    parse: (text) => compileExpression(text).matches('/in/some.pdf'),
    seeds: ['*.pdf | a?c', '!g/[!a-z]*/', 'e/^(a|b)+[c-e]{1,3}$/i', 'm/\\d+\\/(?:x)*/'],
    size: 2 * kib,
  },
  templates: { parse: (text) => parseTemplate(text).render(() => 'x'), seeds: ['{id} {{x}} {data.path}'], size: 128 * kib },
  Accept: {
    parse: (text) => [preferredType(text, ['text/html']), namesType(text, 'text/html')],
    seeds: ['text/html;q=0.5, */*;q=0.1'],
    size: 128 * kib,
  },
  'Accept-Language': { parse: (text) => preferredLanguage(text, ['en', 'de']), seeds: ['de-AT;q=0.5, en, *;q=0.1'], size: 128 * kib },
  Range: { parse: (text) => parseRange(text, 100), seeds: ['bytes=0-1, 5-, -3'], size: 128 * kib },
  conditions: {
    parse: (text) =>
      evaluateConditions({
        method: 'GET',
        headers: { 'if-match': text, 'if-none-match': text, 'if-modified-since': text, 'if-unmodified-since': undefined },
        current: { etag: '"z"', lastModifiedMs: 0 },
      }),
    seeds: ['"a", W/"b", *', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    size: 128 * kib,
  },
  Forwarded: {
    parse: (text) => [
      clientBehindProxies('Forwarded', text, () => true),
      clientBehindProxies('X-Forwarded-For', text, () => true),
      forwardedHost(text),
    ],
    seeds: ['for="[2001:db8::17]:4711";proto=https;host="files.example", for=10.0.0.1', '203.0.113.7:4711, 10.0.0.1'],
    size: 128 * kib,
  },
  digests: {
    parse: (text) => [
      wantsReprDigest(text),
      ...['content-digest', 'oc-checksum', 'content-md5'].map((name) => refusedOr(() => parseExpectedDigests({ [name]: text }))),
    ],
    seeds: ['sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:;x=1, md5=x', 'MD5:d41d8cd98f00b204e9800998ecf8427e SHA1:x'],
    size: 128 * kib,
  },
  If: { parse: parseIfHeader, seeds: ['<http://x/home/a> (Not <urn:uuid:1> ["etag"]) (["W/x"] <DAV:no-lock>)'], size: 128 * kib },
  metadata: {
    parse: (text) => parseMetadata({ header: 'x', required: true, keys: [{ pattern: 'k*', required: true }] }, text),
    seeds: ['key=a, key="b, c", "k2=x ""y"""'],
    size: 128 * kib,
  },
  lists: {
    parse: (text) => [refusedOr(() => parseList(text)), refusedOr(() => parseKeyValueList(text))],
    seeds: ['a, "b, c", d=e'],
    size: 128 * kib,
  },
  Cookie: { parse: (text) => cookieValue(text, 'session'), seeds: ['a=b; session="x"; c'], size: 128 * kib },
  traceparent: { parse: parseTraceparent, seeds: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'], size: 128 * kib },
};

/** Returns the value or the refusal. @throws any other error */
function refusedOr(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    if (isServiceError(error) && error.code !== 'internal') return error;
    throw error;
  }
}

/** A text that grows in one place: a seed in which a part, or some characters, are repeated. */
interface Growing {
  before: string;
  repeated: string;
  after: string;
}

const odd = [
  '"',
  "'",
  '\\',
  '\\"',
  ' ',
  '\t',
  '\r\n',
  '\n',
  ',',
  ';',
  ':',
  '=',
  '&',
  '%',
  '/',
  '//',
  '../',
  '<',
  '<a ',
  '(',
  '[',
  '{',
  '*',
  '?',
  '|',
  '- ',
  'a',
  '0',
  '\ufffd',
];

function growing(seeds: readonly string[]): fc.Arbitrary<Growing> {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  return fc
    .tuple(fc.constantFrom(...seeds), share, share, fc.option(fc.constantFrom(...odd)), fc.boolean())
    .map(([seed, one, other, character, isCut]) => {
      const [start, end] = [one, other].map((part) => Math.round(part * seed.length)).sort((a, b) => a - b) as [number, number];
      return { before: seed.slice(0, start), repeated: character ?? (seed.slice(start, end) || 'x'), after: isCut ? '' : seed.slice(end) };
    });
}

const textOf = ({ before, repeated, after }: Growing, size: number) => before + repeated.repeat(Math.ceil(size / repeated.length)) + after;

test('assertLinear detects quadratic growth and accepts linear growth', async () => {
  const texts = (size: number) => Array.from({ length: size }, (_, index) => String(index));
  await assertLinear('sorting', texts, (all) => all.toSorted(), 40_000);
  await assert.rejects(
    assertLinear('each with each', texts, (all) => all.filter((text) => all.some((other) => text.length > 9 + other.length)), 20_000),
    /each with each: an eighth of the input took/,
  );
});

for (const [name, { parse, seeds, size }] of Object.entries(parsers)) {
  test(`the work of a parser grows at most linearly with its input: ${name}`, (t) =>
    fuzz(
      t,
      growing(seeds),
      (text) =>
        assertLinear(
          `${JSON.stringify(text)} of ${size} characters`,
          (length) => textOf(text, length),
          async (input) => {
            try {
              await parse(input);
            } catch (error) {
              if (isServiceError(error) && error.code !== 'internal') return;
              // The parser of suites throws plain errors, not a ServiceError.
              assert.ok(name === 'suites' && error instanceof Error && !(error instanceof RangeError), String((error as Error).stack));
            }
          },
          size,
        ),
      { share: 0.025, most: 300 },
    ));
}
