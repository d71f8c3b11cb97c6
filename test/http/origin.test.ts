import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

interface Case {
  what: string;
  accepted?: string[];
  /** The Host of the request, as the client or the proxy in front sends it. */
  host: string;
  taken: string[];
  refused: string[];
}

const cases: Case[] = [
  {
    what: 'without accepted_origins, only the host and port of the request are accepted, with either scheme',
    host: 'files.example',
    taken: [
      'http://files.example',
      'https://files.example',
      'HTTP://Files.Example',
      'https://files.example:443',
      'http://files.example/home/d/?x',
    ],
    refused: [
      'http://files.example:8080',
      'https://files.example:80',
      'http://files.example:443',
      'https://files.example.evil.example',
      'https://evil.example',
      'https://evil.example/files.example',
      'https://files.example@evil.example',
      'ftp://files.example',
      'ws://files.example',
      'null',
      'files.example',
      '',
    ],
  },
  {
    what: 'a port in the Host of the request must be that of the origin',
    host: 'files.example:8080',
    taken: ['http://files.example:8080', 'https://files.example:8080'],
    refused: ['http://files.example', 'https://files.example', 'http://files.example:8081'],
  },
  {
    what: 'if https is listed for the host of the request, http is refused',
    accepted: ['https://files.example'],
    host: 'files.example',
    taken: ['https://files.example', 'https://files.example/home/'],
    refused: ['http://files.example', 'http://files.example:80', 'https://files.example:8443', 'http://files.example:443'],
  },
  {
    what: 'listed origins are accepted, and so is the Host that a proxy sends',
    accepted: ['https://files.example', 'http://intranet.example:8080'],
    host: '127.0.0.1:3000',
    taken: ['https://files.example', 'http://intranet.example:8080', 'http://127.0.0.1:3000', 'https://127.0.0.1:3000'],
    refused: [
      'http://files.example',
      'https://intranet.example:8080',
      'http://intranet.example',
      'https://files.example:3000',
      'http://127.0.0.1',
    ],
  },
  {
    what: 'if https is listed with a port, http and other ports are refused',
    accepted: ['https://files.example:8443'],
    host: 'files.example:8443',
    taken: ['https://files.example:8443'],
    refused: ['http://files.example:8443', 'https://files.example'],
  },
  {
    what: 'both schemes are accepted if both are listed',
    accepted: ['https://files.example', 'http://files.example'],
    host: 'files.example',
    taken: ['https://files.example', 'http://files.example'],
    refused: ['http://files.example:8080'],
  },
];

for (const { what, accepted = [], host, taken, refused } of cases) {
  test(`changes from other origins are refused: ${what}`, async (t) => {
    const server = await startServer(t, { service: { accepted_origins: accepted } });
    const session = await server.login();
    const changes: [method: string, target: string, headers: Record<string, string>, body?: string][] = [
      ['PUT', '/home/f', {}, 'x'],
      [
        'POST',
        '/home/',
        { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        'action=create-folder&new-folder=f',
      ],
      ['POST', '/__svc__/login', { 'content-type': 'application/x-www-form-urlencoded' }, `username=alice&password=${testPassword}`],
      ['POST', '/__svc__/logout', {}],
      ['GET', '/__svc__/logout', {}],
      ['MKCOL', '/home/d/', { authorization: `session ${session}` }],
      ['DELETE', '/home/f', {}],
    ];
    const statuses = (headers: Record<string, string>) =>
      Promise.all(
        changes.map(async ([method, target, more, body]) => {
          const reply = await server.send(method, target, {
            headers: { host, ...headers, ...more },
            ...(body === undefined ? {} : { body }),
          });
          return reply.status === 400 ? 'refused' : 'taken';
        }),
      );
    for (const [origins, expected] of [
      [taken, 'taken'],
      [refused, 'refused'],
    ] as const) {
      for (const origin of origins) {
        for (const headers of [{ origin }, { referer: origin }])
          assert.deepEqual(new Set(await statuses(headers)), new Set([expected]), `${JSON.stringify(headers)} at ${host}`);
      }
    }
    assert.equal((await server.get('/home/', { headers: { host, origin: 'https://evil.example' } })).status, 200, 'reading is not refused');
    assert.deepEqual(new Set(await statuses({ origin: 'https://evil.example', referer: `https://${host}/` })), new Set(['refused']));
  });
}
