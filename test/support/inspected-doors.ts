import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestReply } from './client.ts';
import { command, form } from './doors.ts';
import type { TestServer } from './server.ts';

/** A door is a request that stores a content at `/d/NAME`. A move or copy takes the content from `/SOURCE` or `/SOURCE/NAME`. */
type InspectedDoor = (server: TestServer, name: string, content: string, source?: string) => Promise<TestReply>;

/** All HTTP requests that give a file its final name, except those of tus, whose replies differ. */
export const inspectedDoors: Readonly<Record<string, InspectedDoor>> = {
  PUT: (server, name, content) => server.put(`/home/d/${name}`, content),
  'PUT without a length': (server, name, content) =>
    server.send('PUT', `/home/d/${name}`, { body: content, headers: { 'transfer-encoding': 'chunked' } }),
  'draft, one request': (server, name, content) =>
    server.send('PUT', `/home/d/${name}`, { body: content, headers: { 'upload-draft-interop-version': '9', 'upload-complete': '?1' } }),
  'draft, two requests': async (server, name, content) => {
    const headers = { 'upload-draft-interop-version': '9', 'upload-complete': '?0' };
    const begun = await server.send('PUT', `/home/d/${name}`, { body: content.slice(0, 2), headers });
    assert.equal(begun.status, 201);
    return server.send('PATCH', String(begun.headers.location), {
      body: content.slice(2),
      headers: {
        'upload-draft-interop-version': '9',
        'upload-offset': '2',
        'upload-complete': '?1',
        'content-type': 'application/partial-upload',
      },
    });
  },
  'draft, POST': (server, name, content) =>
    server.send('POST', '/home/__svc__/uploads/?folder=%2Fd', {
      body: content,
      headers: { 'upload-draft-interop-version': '9', 'upload-complete': '?1', 'content-disposition': `inline; filename="${name}"` },
    }),
  COPY: (server, name, content, source = 'spare') => {
    writeFileSync(join(server.home, source), content);
    return server.send('COPY', `/home/${source}`, { headers: { destination: `/home/d/${name}` } });
  },
  MOVE: (server, name, content, source = 'spare') => {
    writeFileSync(join(server.home, source), content);
    return server.send('MOVE', `/home/${source}`, { headers: { destination: `/home/d/${name}` } });
  },
  'form, file': (server, name, content) => {
    const body = [
      '--b\r\ncontent-disposition: form-data; name="action"\r\n\r\nupload-file\r\n',
      `--b\r\ncontent-disposition: form-data; name="upload-file"; filename="${name}"\r\n\r\n${content}\r\n--b--\r\n`,
    ].join('');
    const headers = { 'content-type': 'multipart/form-data; boundary=b', accept: 'application/json' };
    return server.send('POST', '/home/d/', { body, headers });
  },
  'command move': (server, name, content, source = 's') => {
    mkdirSync(join(server.home, source), { recursive: true });
    writeFileSync(join(server.home, source, name), content);
    return command(server, { folder: `/${source}`, name }, { command: 'move', target: name, destination: '/home/d', overwrite: true });
  },
  'command copy': (server, name, content, source = 's') => {
    mkdirSync(join(server.home, source), { recursive: true });
    writeFileSync(join(server.home, source, name), content);
    return command(server, { folder: `/${source}`, name }, { command: 'copy', target: name, destination: '/home/d', overwrite: true });
  },
  'form, move': (server, name, content, source = 's') => {
    mkdirSync(join(server.home, source), { recursive: true });
    writeFileSync(join(server.home, source, name), content);
    const fields = { action: 'move', 'selected-members': name, destination: '/home/d', overwrite: 'true' };
    return form(server, { folder: `/${source}`, name }, fields);
  },
};
