import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FormFields, readForm } from '../../src/http/request/form-fields.ts';
import { readJsonBody } from '../../src/http/request/request-body.ts';
import { parseFolderCommands } from '../../src/http/rest/members.ts';
import { propfindRequest } from '../../src/http/webdav/propfind.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { parseXml, type XmlElement } from '../../src/lib/xml/xml-parser.ts';
import { escapeXml } from '../../src/lib/xml/xml-writer.ts';
import { exchangeOf } from '../support/exchange.ts';
import { assertRefusal, damaged, fuzz } from '../support/fuzz.ts';

/** Cuts bytes into pieces as a network might. */
function pieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const result: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < bytes.length; index++) {
    const size = sizes.length === 0 ? bytes.length : (sizes[index % sizes.length] as number);
    result.push(bytes.subarray(at, at + size));
    at += size;
  }
  return result;
}

interface ReadForm {
  fields: FormFields;
  files: { name: string | undefined; content: string }[];
}

async function read(contentType: string, body: readonly Buffer[]): Promise<ReadForm> {
  const files: ReadForm['files'] = [];
  const fields = await readForm(exchangeOf({ headers: { 'content-type': contentType }, body }), async ({ fileName, content }) => {
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk as Buffer);
    files.push({ name: fileName, content: Buffer.concat(chunks).toString('latin1') });
  });
  return { fields, files };
}

const boundary = 'XbX';
const content = fc.oneof(
  fc.constantFrom('', '\r\n', '--XbX', '\r\n--XbY', '\r\n--', '--', '\r', '\n--XbX--', 'a'),
  fc.string({ maxLength: 20 }),
);
const part = fc.record({
  name: fc.constantFrom('action', 'upload-file', 'x'),
  fileName: fc.option(fc.constantFrom('a.txt', '../b', 'C:\\c')),
  content,
});
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 4 });

test('multipart: every form is read unchanged, wherever the network cuts it', (t) =>
  fuzz(
    t,
    fc.record({ parts: fc.array(part, { minLength: 1, maxLength: 4 }), sizes }),
    async ({ parts, sizes }) => {
      const usable = parts.filter((item) => !item.content.includes(`--${boundary}`));
      const text = usable.map(
        (item) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${item.name}"${item.fileName === null ? '' : `; filename="${item.fileName.replaceAll('\\', '\\\\')}"`}\r\n\r\n${item.content}\r\n`,
      );
      const { fields, files } = await read(
        `multipart/form-data; boundary=${boundary}`,
        pieces(Buffer.from(`${text.join('')}--${boundary}--\r\n`, 'utf8'), sizes),
      );
      for (const name of ['action', 'upload-file', 'x'])
        assert.deepEqual(
          fields.all(name),
          usable.filter((item) => item.fileName === null && item.name === name).map((item) => item.content),
        );
      assert.deepEqual(
        files.map((file) => Buffer.from(file.content, 'latin1').toString('utf8')),
        usable.filter((item) => item.fileName !== null).map((item) => item.content),
      );
    },
    { share: 0.5 },
  ));

const multipartSeeds = [
  `--${boundary}\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n--${boundary}\r\nContent-Disposition: form-data; name="upload-file"; filename="a"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--${boundary}--\r\n`,
  `--${boundary}\r\n\r\n\r\n--${boundary}--`,
];

test('multipart: damaged forms are read or refused', (t) =>
  fuzz(
    t,
    fc.record({
      text: damaged(multipartSeeds),
      type: damaged([`multipart/form-data; boundary=${boundary}`, `multipart/form-data; boundary="${boundary}"`]),
      sizes,
    }),
    async ({ text, type, sizes }) => {
      try {
        await read(type, pieces(Buffer.from(text), sizes));
      } catch (error) {
        assertRefusal(error);
      }
    },
    { share: 0.5 },
  ));

test('a form of half a million fields is refused, and one of 19,000 fields is read, within seconds', async () => {
  const startedMs = performance.now();
  await assert.rejects(read('application/x-www-form-urlencoded', [Buffer.from('a&'.repeat(500_000))]), ServiceError);
  const most = await read('application/x-www-form-urlencoded', [Buffer.from('a&'.repeat(19_000))]);
  assert.equal(most.fields.all('a').length, 19_000);
  assert.ok(performance.now() - startedMs < 10_000, 'it would take an hour if each field copied all earlier fields');
});

const propfindSeeds = [
  '<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop><D:getetag/><x xmlns="urn:x" a="1">&amp;</x></D:prop></D:propfind>',
  '<propfind xmlns="DAV:"><allprop/><include><a:b xmlns:a="urn:a"/></include></propfind>',
  '<a:propfind xmlns:a="DAV:"><a:propname/></a:propfind>',
  '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>',
  '<![CDATA[x]]><!-- c --><?pi?>&#65;&#x41;&lt;',
];

test('PROPFIND: damaged bodies are read or refused', (t) =>
  fuzz(t, damaged(propfindSeeds), (text) => {
    try {
      propfindRequest(parseXml(text));
    } catch (error) {
      assertRefusal(error);
    }
  }));

const xmlName = fc.constantFrom('a', 'prop', 'x-y', 'Ü', '_1');
const xmlText = fc.oneof(fc.constantFrom('', '&<>"', ' \n', ']]>', '\u{1f600}'), fc.string({ maxLength: 10 }));
const leaf: fc.Arbitrary<XmlElement> = elementWith(fc.constant([]));
const element = elementWith(fc.array(elementWith(fc.array(leaf, { maxLength: 3 })), { maxLength: 3 }));

function elementWith(children: fc.Arbitrary<XmlElement[]>): fc.Arbitrary<XmlElement> {
  return fc.record(
    { namespace: fc.constantFrom('', 'DAV:', 'urn:x&y'), name: xmlName, children, text: xmlText },
    { noNullPrototype: true },
  );
}

function write({ namespace, name, children, text }: XmlElement): string {
  return `<${name} xmlns="${escapeXml(namespace)}">${escapeXml(text)}${children.map(write).join('')}</${name}>`;
}

test('XML: every tree of elements is read as it was written', (t) =>
  fuzz(t, element, (tree) => assert.deepEqual(parseXml(write(tree)), tree)));

const commandSeeds = [
  '{"commands":[{"command":"delete","target":["a","b"]},{"command":"create-folder","target":"c"}]}',
  '{"commands":[{"command":"x","target":"__proto__"}]}',
  '[[[[{}]]]]',
  '{"commands":{"length":1,"0":{}}}',
];

test('folder commands: an accepted command has the specified members; anything else is refused', (t) =>
  fuzz(t, fc.record({ text: damaged(commandSeeds), sizes }), async ({ text, sizes }) => {
    try {
      const commands = parseFolderCommands(await readJsonBody(exchangeOf({ body: pieces(Buffer.from(text), sizes) })));
      assert.ok(commands.length > 0);
      for (const { command, targets } of commands) {
        assert.ok(typeof command === 'string' && targets.length > 0);
        for (const target of targets) assert.equal(typeof target, 'string');
      }
    } catch (error) {
      assertRefusal(error);
    }
  }));

test('folder commands: any JSON value is read or refused', (t) =>
  fuzz(
    t,
    fc.oneof(
      fc.jsonValue(),
      fc.record({ commands: fc.array(fc.record({ command: fc.jsonValue({ maxDepth: 0 }), target: fc.jsonValue({ maxDepth: 1 }) })) }),
    ),
    (value) => {
      try {
        parseFolderCommands(value);
      } catch (error) {
        assertRefusal(error);
      }
    },
  ));
