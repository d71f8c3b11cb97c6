import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileAddressRanges } from '../../src/lib/address-ranges.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { parseTemplate } from '../../src/lib/text-template.ts';

const values: Record<string, string> = { id: '40017', 'account.name': 'alice', brace: '{id}' };
const render = (text: string) => parseTemplate(text).render((name) => values[name.toLowerCase()]);

test('variables are replaced, unknown ones by nothing; doubled braces and braces that open no variable are literal', () => {
  const cases: [string, string][] = [
    ['', ''],
    ['no variables', 'no variables'],
    ['{id}', '40017'],
    ['{ID}{Account.Name}', '40017alice'],
    ['<{unknown}>', '<>'],
    ['{{id}}', '{id}'],
    ['{{{id}}}', '{40017}'],
    ['{"text": "{id}"}', '{"text": "40017"}'],
    ['{}', '{}'],
    ['{ id }', '{ id }'],
    ['{', '{'],
    ['a}b', 'a}b'],
    ['{brace}', '{id}'],
    ['{data.größe.0}x', 'x'],
  ];
  for (const [text, expected] of cases) assert.equal(render(text), expected, text);
});

test('a text whose braces are all doubled is a template for that text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('{', '}', 'a', '"', '.', '\n') }), (text) => {
      const doubled = text.replaceAll('{', '{{').replaceAll('}', '}}');
      return render(doubled) === text;
    }),
  );
});

test('each value is encoded once, according to the literal text before it', () => {
  const seen: string[] = [];
  const template = parseTemplate('a{id}b{{c{account.name}d');
  const text = template.render(
    (name) => values[name],
    (value, name, before) => {
      seen.push(`${name} ${before}`);
      return `[${value}]`;
    },
  );
  assert.equal(text, 'a[40017]b{c[alice]d');
  assert.deepEqual(seen, ['id a', 'account.name ab{c']);
});

test('addresses match CIDR ranges, and invalid ranges are refused', () => {
  const matches = compileAddressRanges(['192.0.2.7', '10.0.0.0/8', '2001:db8::/32', '::1']);
  for (const address of ['192.0.2.7', '10.255.0.1', '::ffff:10.1.2.3', '2001:db8:1::5', '::1'])
    assert.equal(matches(address), true, address);
  for (const address of ['192.0.2.8', '11.0.0.1', '2001:db9::1', '', 'localhost', '::ffff:11.0.0.1'])
    assert.equal(matches(address), false, address);
  for (const item of ['10.0.0.0/33', '10.0.0', 'localhost', '10.0.0.0/', '2001:db8::/129', '10.0.0.0/8/8', '10.0.0.0/-1', ''])
    assert.throws(
      () => compileAddressRanges([item]),
      (error) => isServiceError(error, 'bad-request'),
      item,
    );
});
