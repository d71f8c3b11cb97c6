import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { systemClock } from '../../lib/clock.ts';
import { isObject } from '../../lib/json.ts';
import { writeNamedFile } from '../file-fault.ts';
import { readBody, serveMock } from '../mock-servers.ts';
import { print, visible } from '../output.ts';

/** Options of `svc mock inspection`. */
export interface MockInspectionOptions {
  port: number;
  reply: number;
  delay: number;
  body?: string;
  record?: string;
  json?: boolean;
}

/** Maximum size, in bytes, of a file that is accepted. */
const maxFileBytes = 64 * 1024 * 1024;

/** Runs the endpoint of an inspection until a signal ends it. It answers the test that svc sends at the start with 204. */
export async function mockInspection(options: MockInspectionOptions): Promise<number> {
  const { record, reply, delay, body: answer } = options;
  if (record !== undefined) writeNamedFile(`--record ${record}`, record, '', { flag: 'a' });
  const server = createServer(async (incoming, response) => {
    const body = await readBody(incoming, maxFileBytes).catch(() => undefined);
    if (!body) return;
    const facts = factsOf(incoming.headers.inspection, body);
    if (isObject(facts) && facts.test === true) return void response.writeHead(204).end();
    if (delay > 0) await systemClock.sleep(delay * 1000);
    const { path = '' } = (isObject(facts) && isObject(facts.file) ? facts.file : {}) as { path?: string };
    print(options.json ? JSON.stringify({ status: reply, request: facts ?? null }) : `${reply} ${visible(String(path))}`);
    if (record !== undefined) appendFileSync(record, `${JSON.stringify({ status: reply, size: body.length, request: facts ?? null })}\n`);
    const headers = answer === undefined ? {} : { 'content-type': 'application/json' };
    response.writeHead(reply, headers).end(reply === 204 ? undefined : (answer ?? ''));
  });
  return serveMock(server, { name: 'mock inspection', port: options.port, path: '/', json: options.json ?? false });
}

/** Returns the JSON about the file, from the header or the body; undefined if there is none. */
function factsOf(field: string | string[] | undefined, body: Buffer): unknown {
  const text = typeof field === 'string' ? Buffer.from(field.replace(/^:|:$/g, ''), 'base64').toString() : body.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
