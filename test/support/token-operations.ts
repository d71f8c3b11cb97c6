import type { TestReply, TestRequest } from './client.ts';

const json = { accept: 'application/json' };
const asJson = { ...json, 'content-type': 'application/json' };

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

/** Covers the replies about tokens. */
export async function tokenOperations(send: Exercise, asDenied: Exercise, asBanned: Exercise): Promise<void> {
  const [all, one, rotation] = ['/home/__svc__/tokens', '/home/__svc__/tokens/{id}', '/home/__svc__/tokens/{id}/rotate'] as const;
  const order = (body: object) => ({ headers: asJson, body: JSON.stringify(body) });
  const made = await send('POST', all, all, 201, order({ name: 'a', path: ['/in', '/out'], permissions: ['allow-read'] }));
  const { id } = made.json<{ id: string }>();
  await send('GET', all, all, 200, { headers: json });
  const asPage = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
  await send('GET', all, all, 200, { headers: { accept: 'text/html' } });
  const form = (fields: Record<string, string>) => ({ headers: asPage, body: new URLSearchParams(fields).toString() });
  const shown = await send('POST', all, all, 201, form({ action: 'create', name: 'by form', days: '7' }));
  const selected = String(shown.headers.location).split('/').at(-1) ?? '';
  await send('POST', all, all, 200, form({ action: 'confirm-revoke', selected }));
  await send('POST', all, all, 303, form({ action: 'revoke', selected }));
  await send('POST', all, all, 400, order({}));
  await send('POST', all, all, 415, { headers: { ...json, 'content-type': 'text/plain' }, body: 'a' });
  await send('POST', all, all, 422, order({ name: 'a', expires: 1e9 }));
  const [url, unknown] = [`${all}/${id}`, `${all}/000000000000`];
  await send('POST', rotation, `${url}/rotate`, 400, order({ overlap: -1 }));
  await send('POST', rotation, `${url}/rotate`, 415, { headers: { ...json, 'content-type': 'text/plain' }, body: 'a' });
  await send('POST', rotation, `${url}/rotate`, 201, order({ overlap: 60 }));
  await send('POST', rotation, `${unknown}/rotate`, 404, order({}));
  await send('DELETE', one, url, 204, { headers: json });
  await send('DELETE', one, url, 404, { headers: json });
  for (const [method, path, target] of [
    ['GET', all, all],
    ['POST', all, all],
    ['DELETE', one, unknown],
    ['POST', rotation, `${unknown}/rotate`],
  ] as const) {
    const options = method === 'POST' ? order({ name: 'a' }) : { headers: json };
    await send(method, path, target, 401, { ...options, user: null });
    await asDenied(method, path, target, 403, options);
    await asBanned(method, path, target, 429, options);
  }
}
