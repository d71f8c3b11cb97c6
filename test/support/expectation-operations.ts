import type { TestReply, TestRequest } from './client.ts';

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

/** Gets, for each operation on expectations (the page "Due files"), a reply with every status that the API description names. */
export async function expectationOperations(send: Exercise, asDenied: Exercise, asBanned: Exercise): Promise<void> {
  const path = '/home/__svc__/expectations';
  const [json, html] = [{ accept: 'application/json' }, { accept: 'text/html' }];
  await send('GET', path, path, 200);
  await send('GET', path, path, 302, { user: null, headers: html });
  await send('GET', path, path, 401, { user: null, headers: json });
  await asDenied('GET', path, path, 403);
  await asBanned('GET', path, path, 429, { headers: json });
}
