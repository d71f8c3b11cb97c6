import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { excerptLines, findingText, sarifLog } from '../../src/cli/findings-output.ts';
import { checkSource } from '../../src/config/check.ts';
import { ConfigError } from '../../src/config/findings.ts';
import { maskedSource } from '../../src/config/reading/masked-source.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import type { Finding } from '../../src/config/report-shapes.ts';
import { checkedConfig } from '../support/checked-config.ts';
import { cheapHash } from '../support/passwords.ts';

function findingsOf(text: string, file = '/nowhere/svc.config.yaml'): readonly Finding[] {
  try {
    return checkSource(parseSource(file, text), {}).findings;
  } catch (error) {
    if (error instanceof ConfigError) return error.findings;
    throw error;
  }
}

/** Returns all that `svc validate` prints about a file, in each output format. */
function allSaid(text: string, file?: string): string {
  const findings = findingsOf(text, file);
  const excerpts = excerptLines(text);
  const texts = findings.map((finding) => findingText(finding, excerpts, { isTTY: false } as NodeJS.WriteStream));
  // Every line is printed as if it had a finding.
  return [...texts, JSON.stringify(findings), JSON.stringify(sarifLog(findings)), maskedSource(text)].join('\n');
}

test('a password hash is masked to its end in any option, and so is text that looks like a token or a private key', async () => {
  const hash = await cheapHash('x');
  const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.Sfl${'KxwRJSMeKKF2QT4fwpMeJf36POk6yJV'}_adQssw5c`;
  const pem = '-----BEGIN OPENSSH PRIVATE KEY-----';
  for (const secret of [hash, jwt, pem, 'plain, te$xt']) {
    for (const key of ['password', 'passwrd', 'email'].slice(0, secret.startsWith('plain') ? 2 : 3)) {
      const text = `accounts:\n  alice: {enabled: maybe, ${key}: "${secret}"}\n  bob:\n    ${key}: ${secret}\n    enabled: maybe\n`;
      const said = allSaid(text);
      assert.match(said, /accounts\.alice\.enabled: must be yes or no/);
      for (const part of secret.split(/[,.$ ]+/).filter((one) => one.length > 3))
        assert.equal(said.includes(part), false, `${key}: ${part} in\n${said}`);
    }
  }
});

test('values that are not secret are shown, so that a finding can be understood', () => {
  const said = checkedConfig(`# a note
server:
  name: My files  # the name
services:
  web: {type: http, port: 99999, address: 127.0.0.1, headers: "X-Key: sesame"}
  odd: {type: http, prot: 1}
`);
  assert.match(said, /\n {6}web: \{type: http, port: 99999, address: 127\.0\.0\.1, headers: "X-Key:\*+\}\n/);
  assert.match(said, /\n {6}odd: \{type: http, prot: \*\}\n/);
  assert.match(said, /unknown option "prot" \(did you mean "port"\?\)/);
  const masked = maskedSource('# a note\nserver:\n  name: My files  # the name\n');
  assert.equal(masked, `${'*'.repeat(8)}\nserver:\n  name: My files  ${'*'.repeat(10)}\n`);
});

test('the rest of a secret that needed quotes is not reported as the name of an option', () => {
  const said = allSaid('accounts:\n  alice: {password: plain, te$xt, group: x}\n');
  assert.equal(said.includes('te$xt'), false, said);
  assert.match(said, /accounts\.alice: unknown option, whose name is not shown/);
  assert.match(allSaid('accounts:\n  alice: {group: x, te$xt: 1}\n'), /unknown option \\?"te\$xt/);
});

test('of a configuration in package.json, values are shown and secrets are masked, as in other files', () => {
  const text = JSON.stringify({ name: 'x', svc: { accounts: { alice: { password: 'marker-1', enabled: 'maybe' } } } });
  const said = allSaid(text, '/nowhere/package.json');
  assert.match(said, /must be yes or no/);
  assert.match(said, /"enabled": ?"maybe"|"enabled":"maybe"/);
  assert.equal(said.includes('marker-1'), false, said);
});

/** Words that form the secrets. The test searches the output for each of them. */
const words = ['Zq7hunter', 'Zq8sesame', 'Zq9swordfish', 'Zq5correct', 'Zq4battery'];
const joints = [
  ', ',
  ': ',
  ' #',
  "'",
  '"',
  '$',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ' ',
  '\t',
  '&',
  '*',
  '!',
  '|',
  '>',
  '%',
  '@',
  '`',
  '=',
  '-',
  ' - ',
  '?',
  '\n',
  '\n\n  ',
  '~',
];

const secretTexts = fc
  .array(fc.tuple(fc.constantFrom('', ...joints), fc.constantFrom(...words)), { minLength: 1, maxLength: 4 })
  .chain((parts) => fc.constantFrom('', ...joints).map((end) => parts.map(([joint, word]) => joint + word).join('') + end));

const inPlace = (place: string, secret: string) => (place === 'headers as text' ? `X-Access: ${secret.replaceAll('\n', ' ')}` : secret);

const indented = (text: string, by: string) => text.split('\n').join(`\n${by}`);

/** Styles of writing a scalar. YAML may read a plain scalar as something else. */
const styles: Record<string, (secret: string, by: string) => string> = {
  plain: (secret, by) => indented(secret, by),
  single: (secret, by) => `'${indented(secret.replaceAll("'", "''"), by)}'`,
  double: (secret) => JSON.stringify(secret),
  'double over lines': (secret, by) =>
    `"${indented(secret.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n\\\n'), by)}"`,
  literal: (secret, by) => `|\n${by}${indented(secret, by)}`,
  'literal, kept': (secret, by) => `|2+ # ${words[0]}\n${by}  ${indented(secret, `${by}  `)}`,
  folded: (secret, by) => `>-\n${by}${indented(secret, by)}`,
  anchored: (secret) => `&anchor ${JSON.stringify(secret)}`,
  tagged: (secret) => `!!str ${JSON.stringify(secret)}`,
  'with a comment': (secret) => `${JSON.stringify(secret)} # it was ${words[1]} before`,
  'a list': (secret) => `[${JSON.stringify(secret)}, ${words[2]}]`,
  'a block list': (secret, by) => `\n${by}- ${JSON.stringify(secret)}\n${by}- ${words[3]}`,
  'an alias': () => `*${words[4]}`,
  'a map': (secret) => `{a: ${JSON.stringify(secret)}, b: ${words[0]}}`,
  'unquoted in a block of text': (secret, by) => `|x${words[3]}\n${by}${indented(secret, by)}`,
};

const places: Record<string, (scalar: (by: string) => string) => string> = {
  'a password of a block': (scalar) => `accounts:\n  alice:\n    password: ${scalar('      ')}\n    enabled: maybe\n`,
  'a mistyped password': (scalar) => `accounts:\n  alice:\n    passwrd: ${scalar('      ')}\n    enabled: maybe\n`,
  'a flow map': (scalar) => `accounts:\n  alice: {password: ${scalar('    ')}, enabled: maybe}\n`,
  'a header': (scalar) => `services:\n  web:\n    type: http\n    port: 99999\n    headers:\n      X-Access: ${scalar('        ')}\n`,
  'headers as text': (scalar) => `services:\n  web:\n    type: http\n    headers: ${scalar('        ')}\n    port: 99999\n`,
  'a secret of the server': (scalar) => `server:\n  state:\n    type: redos\n    secret: ${scalar('      ')}\n`,
  'a member of a body': (scalar) =>
    `event_handlers:\n  h:\n    type: http\n    url: http://127.0.0.1/\n    retry_count: many\n    extra_data:\n      api_token: ${scalar('        ')}\n`,
  'an unknown section': (scalar) => `acounts:\n  alice:\n    password: ${scalar('      ')}\n`,
  'a quoted key': (scalar) => `"accounts":\n  "alice":\n    "password": ${scalar('      ')}\n    enabled: maybe\n`,
  'in JSON': (scalar) => `{"accounts": {"alice": {"password": ${scalar('  ')}, "enabled": "maybe"}}}`,
};

test('no finding shows any part of a secret, in any style and place', () => {
  fc.assert(
    fc.property(secretTexts, fc.constantFrom(...Object.keys(styles)), fc.constantFrom(...Object.keys(places)), (secret, style, place) => {
      const text = (places[place] as (scalar: (by: string) => string) => string)((by) =>
        (styles[style] as (secret: string, by: string) => string)(inPlace(place, secret), by),
      );
      const said = allSaid(text);
      for (const word of words) assert.equal(said.includes(word), false, `${style}, ${place}:\n${text}\n----\n${said}`);
    }),
    { numRuns: 3000, seed: 11 },
  );
});

test('no finding about a broken file shows any part of a secret', () => {
  const breaks = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    put: fc.constantFrom('"', "'", '{', '}', '[', ']', ':', '\t', '\n', '- ', '|', '#', '%', ''),
  });
  fc.assert(
    fc.property(
      secretTexts,
      fc.constantFrom(...Object.keys(styles)),
      fc.constantFrom(...Object.keys(places)),
      fc.array(breaks, { minLength: 1, maxLength: 3 }),
      (secret, style, place, faults) => {
        let text = (places[place] as (scalar: (by: string) => string) => string)((by) =>
          (styles[style] as (secret: string, by: string) => string)(inPlace(place, secret), by),
        );
        for (const { at, put } of faults) {
          const index = Math.floor(at * text.length);
          // Leave words and keys whole: a part of a cut word cannot be recognised as a secret.
          const around = text.slice(Math.max(0, index - 12), index + 12);
          if (/\w/.test(text.charAt(index - 1)) && /\w/.test(text.charAt(index))) continue;
          if (around.includes('Zq') && /\w/.test(text.charAt(index))) continue;
          text = text.slice(0, index) + put + text.slice(index + (put === '' ? 1 : 0));
        }
        const said = allSaid(text);
        for (const word of words) assert.equal(said.includes(word), false, `${style}, ${place}:\n${text}\n----\n${said}`);
      },
    ),
    { numRuns: 3000, seed: 12 },
  );
});

test('hashes of other systems are masked in any option', () => {
  const hashes = [
    '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a',
    '$apr1$h4YOHAT.$gE5XEeqvbon2DhOPwYqGo1',
    '$y$j9T$abcdefghijklmnop$3dL1LkYnZM.OVXuVdnnaKVDlLYT92dRwOzDZ5XiVCe.',
    '$argon2id$v=19$m=16384,t=2,p=1$c2FsdA$lp3hg62ibBi8',
    '$pbkdf2-b64salt-sha256$1000$c2FsdA$R5J62hsSq',
    'pbkdf2_sha256$1000$salt$R5J62hsSq',
    '{SSHA}gVK8WC9YyFT1gMsQHTGCgT3s',
    '{SHA}5en6G6MezRroT3XKqkdPOmY',
  ];
  for (const hash of hashes) {
    const said = allSaid(`services: {web: {type: http, name: "${hash}"}}\ngroups:\n  G: {name: '${hash}', home_folder_path: 3}\n`);
    const part = hash.slice(-12);
    assert.equal(said.includes(part), false, `${hash}\n${said}`);
  }
});
