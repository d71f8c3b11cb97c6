// Measures https: small files with HTTP/1.1 and HTTP/2 (h2load), large files in both directions (curl), handshakes (openssl), and the
// memory of idle connections.
import { join } from 'node:path';
import { isInstalled } from '../../installed.mjs';
import { memoryOfConnections } from '../support/connections.mjs';
import { versionOf } from '../support/machine.mjs';
import { svc } from '../support/peers.mjs';
import { handshakes, small, transfer } from '../support/tls-load.mjs';

export default function tls({ isSmoke, seconds, gibibyte, folder, group, builds, fillBig }) {
  const requests = isSmoke ? 500 : 40_000;
  const idle = isSmoke ? 20 : 10_000;
  const upload = join(folder, 'upload');
  const workloads = [
    ['h2load', 'GET 1 KiB, HTTP/1.1, 64 connections', '/s', (server) => small(server, { requests, isHttp1: true })],
    ['h2load', 'GET 1 KiB, HTTP/2, 8 connections of 16 streams', '/s', (server) => small(server, { requests })],
    ['curl', 'GET 1 GiB', 'MB/s', (server) => transfer(server, { path: 'big', bytes: gibibyte })],
    ['curl', 'PUT 1 GiB', 'MB/s', (server) => transfer(server, { path: 'put/big', bytes: gibibyte, upload }), 'put'],
    ['openssl', 'handshakes, full', '/s', (server) => handshakes(server, { seconds })],
    ['openssl', 'handshakes, full, RSA 2048', '/s', (server) => handshakes(server, { seconds }), 'rsa'],
    ['openssl', 'handshakes, resumed', '/s', (server) => handshakes(server, { seconds, isResumed: true })],
    [
      'openssl',
      `memory of a connection, ${idle} idle`,
      'KiB',
      (server) => memoryOfConnections(server, { kind: 'idle', path: server.at('small'), count: idle }),
    ],
  ];
  const withRsa = () => group.all(builds.map((build) => svc({ ...build, scheme: 'https', certificate: 'rsa' })));
  return {
    load: `h2load ${versionOf('h2load', '--version')}, curl, openssl`,
    each: 'server CPU per request, handshake or GiB; keys ECDSA P-256 unless stated',
    missing: ['h2load', 'curl'].filter((program) => !isInstalled(program)),
    fill() {
      fillBig();
      fillBig(upload);
    },
    workloads: workloads
      .filter(([program]) => isInstalled(program))
      .map(([, name, unit, action, can = 'get']) =>
        can === 'rsa' ? { name, unit, on: withRsa, action } : { name, unit, scheme: 'https', can, action },
      ),
  };
}
