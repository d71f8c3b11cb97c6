// Compares the cost of GETs that use an access token to the cost of the same GETs in a session. With a token, a GET should need at most
// 1.05 times the CPU time of a GET in a session.
import { throughput } from '../support/load.mjs';
import { basic, svc } from '../support/peers.mjs';

/** Creates a token of the account that all benchmarks use. @returns the header that contains it */
async function bearerOf({ port }) {
  const reply = await fetch(`http://127.0.0.1:${port}/home/__svc__/tokens`, {
    method: 'POST',
    headers: { authorization: basic, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench' }),
  });
  if (reply.status !== 201) throw new Error(`The token was not created: ${reply.status} ${await reply.text()}`);
  const { token } = await reply.json();
  return { authorization: `Bearer ${token}` };
}

export default function tokens({ seconds, folder, group, builds }) {
  const on = async () => {
    const servers = await group.all(builds.map((build) => svc(build)));
    const pairs = servers.map(async (server) => [
      { ...server, name: `${server.name}, with a session` },
      { ...server, name: `${server.name}, with a token`, headers: await bearerOf(server) },
    ]);
    return (await Promise.all(pairs)).flat();
  };
  const action = (server) => throughput(server, { path: server.at('small'), connections: 32, seconds, folder });
  return { each: 'CPU of svc per request', workloads: [{ name: 'GET 1 KiB, 32 connections', unit: '/s', on, action }] };
}
