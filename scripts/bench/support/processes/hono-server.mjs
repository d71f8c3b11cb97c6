// What a request costs until a handler has it: Hono as svc uses it, one lstat, and a body that is in memory.
//   node hono-server.mjs FILE PORT
import { lstatSync, readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const [path, port] = process.argv.slice(2);
const body = readFileSync(path);
const app = new Hono();
app.get('/home/*', () => {
  const { size, mtime } = lstatSync(path);
  return new Response(body, { headers: { 'content-length': String(size), 'last-modified': mtime.toUTCString() } });
});
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) });
