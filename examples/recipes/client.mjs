// Logs in, uploads a file and lists its folder: node client.mjs https://HOST FILE /home/FOLDER/
// The account is in the variables SVC_USER and SVC_PASSWORD.
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [base, file, folder] = process.argv.slice(2);
if (!/^(https:|http:\/\/127\.0\.0\.1:)/.test(base)) throw new Error('the password travels by https only');
const maxReply = 16 * 1024 * 1024;
let session;

async function call(method, path, { body, headers } = {}) {
  const signal = AbortSignal.timeout(3_600_000); // one hour, which must also be enough for a whole upload
  const fields = { Accept: 'application/json', ...(session && { Authorization: `session ${session}` }), ...headers };
  const reply = await fetch(new URL(path, base), { method, body, headers: fields, redirect: 'error', signal });
  const chunks = [];
  let length = 0;
  for await (const chunk of reply.body ?? []) {
    length += chunk.length;
    if (length > maxReply) throw new Error('the reply is too large');
    chunks.push(chunk);
  }
  if (!reply.ok) throw Object.assign(new Error(`${method} ${path}: ${reply.status}`), { status: reply.status });
  return { headers: reply.headers, text: Buffer.concat(chunks).toString('utf8') };
}

/** Uploads the file. After an interruption, it continues where it stopped. */
async function upload(path, attempts = 10) {
  const content = await openAsBlob(file);
  const begin = { 'Upload-Complete': '?0', 'Upload-Length': String(content.size) };
  const place = (await call('PUT', path, { headers: begin })).headers.get('location');
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const told = (await call('HEAD', place)).headers;
      if (told.get('upload-complete') === '?1') return;
      const offset = told.get('upload-offset');
      const type = 'application/partial-upload';
      const headers = { 'Content-Type': type, 'Upload-Offset': offset, 'Upload-Complete': '?1' };
      await call('PATCH', place, { body: content.slice(Number(offset)), headers });
      return;
    } catch (error) {
      if ([401, 403, 404, 410, 413, 507].includes(error.status)) throw error;
      console.error(error.message);
      await sleep(Math.min(2 ** attempt * 100, 30_000));
    }
  }
  throw new Error(`${path}: given up after ${attempts} attempts`);
}

const form = new URLSearchParams({ username: process.env.SVC_USER, password: process.env.SVC_PASSWORD });
session = JSON.parse((await call('POST', '/__svc__/login', { body: form })).text).results[0].session;
try {
  await upload(encodeURI(folder) + encodeURIComponent(basename(file)));
  console.log((await call('GET', encodeURI(folder))).text);
} finally {
  await call('POST', '/__svc__/logout');
}
