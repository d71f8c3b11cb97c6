import type { Client, TestReply, TestRequest } from './client.ts';
import { expectationOperations } from './expectation-operations.ts';
import { linkOperations } from './links.ts';
import { trashOperations } from './trash.ts';

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

/** Gets, for each operation on expectations, the trash and links, a reply with every status that the API description names. */
export async function accountOperations(main: Client, send: Exercise, asDenied: Exercise, asBanned: Exercise): Promise<void> {
  await expectationOperations(send, asDenied, asBanned);
  await trashOperations(main, send, asBanned);
  await linkOperations(send, asDenied, asBanned);
}
