import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

const folder = join(process.env.SVC_ROOT ?? '.', 'test/golden');

interface Step {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: string;
  expected: string[];
}

/** Reads a sequence of steps, separated by `====`. Each has a request and, after `----`, the expectations about its reply. */
function stepsOf(text: string): Step[] {
  return text.split(/^====\n/m).map((block) => {
    const [request = '', expected = ''] = block
      .replace(/^#.*\n/gm, '')
      .trimStart()
      .split(/^----\n/m);
    const [head = '', ...body] = request.split('\n\n');
    const [line = '', ...headers] = head.trimEnd().split('\n');
    const [method = '', target = ''] = line.split(' ');
    return {
      method,
      target,
      headers: Object.fromEntries(
        headers.map((header) => [header.slice(0, header.indexOf(':')), header.slice(header.indexOf(':') + 1).trim()]),
      ),
      body: body.join('\n\n').replace(/\n$/, ''),
      expected: expected.trimEnd().split('\n'),
    };
  });
}

/**
 * Expectations: the status first; then `contains TEXT`, `matches REGULAR EXPRESSION` and `save NAME REGULAR EXPRESSION` about the
 * body; `Header: text` if the header's value must contain the text.
 */
for (const file of readdirSync(folder).filter((name) => name.endsWith('.http'))) {
  test(`golden sequence: ${file.replace('.http', '')}`, async (t) => {
    const server = await startServer(t, { service: { webdav_compatibility: true } });
    const variables: Record<string, string> = { host: new URL(server.url).host };
    const filled = (text: string) => text.replace(/\{(\w+)\}/g, (whole, name: string) => variables[name] ?? whole);
    const steps = stepsOf(readFileSync(join(folder, file), 'utf8'));
    assert.ok(steps.length > 10);
    for (const [index, step] of steps.entries()) {
      const what = `${file}, step ${index + 1}: ${step.method} ${step.target}`;
      const headers = Object.fromEntries(Object.entries(step.headers).map(([name, value]) => [name.toLowerCase(), filled(value)]));
      const hasBody = step.body !== '' || 'content-length' in headers;
      const reply = await server.send(step.method, step.target, { headers, ...(hasBody ? { body: filled(step.body) } : {}) });
      const [status = '', ...rest] = step.expected;
      assert.equal(reply.status, Number(status), `${what}: ${reply.text}`);
      for (const line of rest.map(filled)) {
        const [verb = '', ...words] = line.split(' ');
        const text = words.join(' ');
        if (verb === 'contains') assert.ok(reply.text.includes(text), `${what}: ${line}\n${reply.text}`);
        else if (verb === 'matches') assert.match(reply.text, new RegExp(text), what);
        else if (verb === 'save') {
          const found = new RegExp(words.slice(1).join(' ')).exec(reply.text)?.[1];
          assert.ok(found, `${what}: ${line}\n${reply.text}`);
          variables[words[0] ?? ''] = found.replaceAll('&quot;', '"');
        } else
          assert.ok(
            String(reply.headers[verb.slice(0, -1).toLowerCase()]).includes(text),
            `${what}: ${line}: ${JSON.stringify(reply.headers)}`,
          );
      }
    }
    assert.deepEqual(await server.names('/home/'), [], 'the sequence leaves no files');
  });
}
