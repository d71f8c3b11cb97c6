// Compares the cost of GETs that use Basic authentication to the cost of the same GETs in a session. With Basic, svc asks the
// authentication endpoint at each GET. The endpoint runs in a separate process and answers 204.
import { started } from '../support/exchange.mjs';
import { throughput } from '../support/load.mjs';
import { basic, svc } from '../support/peers.mjs';

const source = `require('node:http').createServer((q, s) => { q.resume(); q.on('end', () => { s.statusCode = 204; s.end(); }); })
  .listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port + '/'); });`;

export default async function callout({ seconds, folder, group, builds }) {
  const [url] = await started(['-e', source], folder).line(/http:\S+/);
  const on = async () => {
    const servers = await group.all(builds.map((build) => svc({ ...build, config: { authentications: { c: { type: 'http', url } } } })));
    return servers.flatMap((server) => [
      { ...server, name: `${server.name}, with a session` },
      { ...server, name: `${server.name}, with Basic, one callout per request`, headers: { authorization: basic } },
    ]);
  };
  const action = (server) => throughput(server, { path: server.at('small'), connections: 32, seconds, folder });
  return { each: 'CPU of svc per request', workloads: [{ name: 'GET 1 KiB, 32 connections', unit: '/s', on, action }] };
}
