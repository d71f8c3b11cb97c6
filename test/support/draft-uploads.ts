import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestServer } from './server.ts';

export const uploads = '/home/__svc__/uploads/';
export const newest = { 'upload-draft-interop-version': '9' };
export const whole = { ...newest, 'upload-complete': '?1' };
export const part = { ...newest, 'upload-complete': '?0' };
export const append = (offset: number, isLast: boolean) => ({
  'upload-offset': String(offset),
  'upload-complete': isLast ? '?1' : '?0',
  'content-type': 'application/partial-upload',
});
export const content = randomBytes(300_000);
export const sha256 = (data: Buffer) => `sha-256=:${createHash('sha256').update(data).digest('base64')}:`;

/** Begins an upload with its first bytes. @returns its URL */
export async function begin(server: TestServer, name: string, first: Buffer, headers: Record<string, string> = {}): Promise<string> {
  const reply = await server.put(`/home/${name}`, first, { headers: { ...part, ...headers } });
  assert.equal(reply.status, 201, reply.text);
  assert.equal(reply.headers['upload-complete'], '?0');
  assert.equal(reply.headers['upload-offset'], String(first.length));
  assert.match(String(reply.headers['upload-limit']), /(^|, )max-age=\d+$/);
  return String(reply.headers.location);
}

export const hidden = (server: TestServer) => readdirSync(server.home).filter((name) => name.startsWith('.svc-'));
export const stored = (server: TestServer, name: string) => readFileSync(join(server.home, name));
