import assert from 'node:assert/strict';
import { XMLParser } from 'fast-xml-parser';
import type { Client, TestReply, TestRequest } from './client.ts';

/** One `response` of a multistatus body: properties by `{namespace}name`, grouped by status. */
export interface DavResponse {
  href: string;
  found: Record<string, string>;
  /** Status of each property that was not found. */
  missing: Record<string, number>;
}

type Node = Record<string, unknown>;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  trimValues: false,
  parseTagValue: false,
});

/** Reads a multistatus body as a client does: it resolves namespaces by their declarations, not by fixed prefixes. */
export function parseMultistatus(text: string): DavResponse[] {
  const [root] = (parser.parse(text, true) as Node[]).filter((node) => !('?xml' in node));
  assert.ok(root, text);
  const tree = resolve(root, {});
  assert.equal(tree.name, '{DAV:}multistatus');
  return tree.children
    .filter((child) => child.name === '{DAV:}response')
    .map((response) => {
      const result: DavResponse = { href: textOf(response, '{DAV:}href'), found: {}, missing: {} };
      for (const propstat of response.children.filter((child) => child.name === '{DAV:}propstat')) {
        const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(textOf(propstat, '{DAV:}status'))?.[1]);
        for (const property of propstat.children.find((child) => child.name === '{DAV:}prop')?.children ?? []) {
          if (status === 200) result.found[property.name] = property.children.map((child) => `<${child.name}>`).join('') + property.text;
          else result.missing[property.name] = status;
        }
      }
      return result;
    });
}

interface Element {
  name: string;
  text: string;
  children: Element[];
}

function resolve(node: Node, outer: Record<string, string>): Element {
  const tag = Object.keys(node).find((key) => key !== ':@') as string;
  const scope = { ...outer };
  for (const [name, value] of Object.entries((node[':@'] ?? {}) as Record<string, string>)) {
    if (name === 'xmlns') scope[''] = value;
    else if (name.startsWith('xmlns:')) scope[name.slice(6)] = value;
  }
  const [prefix, local] = tag.includes(':') ? (tag.split(':') as [string, string]) : ['', tag];
  const children = node[tag] as Node[];
  return {
    name: `{${scope[prefix] ?? ''}}${local}`,
    text: children.map((child) => child['#text'] ?? '').join(''),
    children: children.filter((child) => !('#text' in child)).map((child) => resolve(child, scope)),
  };
}

function textOf(element: Element, name: string): string {
  return element.children.find((child) => child.name === name)?.text ?? '';
}

/** Sends a PROPFIND and reads the 207 reply. */
export async function propfind(
  client: Client,
  target: string,
  depth: string | undefined,
  body = '',
  options: TestRequest = {},
): Promise<{ reply: TestReply; responses: DavResponse[] }> {
  const reply = await client.send('PROPFIND', target, {
    ...options,
    body,
    headers: { ...(depth === undefined ? {} : { depth }), ...options.headers },
  });
  assert.equal(reply.status, 207, reply.text);
  return { reply, responses: parseMultistatus(reply.text) };
}

/** Returns a PROPFIND body that names properties of `DAV:`. */
export function propBody(...names: string[]): string {
  return `<?xml version="1.0"?><propfind xmlns="DAV:"><prop>${names.map((name) => `<${name}/>`).join('')}</prop></propfind>`;
}
