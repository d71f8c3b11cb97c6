import type { Client, TestReply, TestRequest } from './client.ts';
import { expectationOperations } from './expectation-operations.ts';
import { linkOperations } from './links.ts';
import { trashOperations } from './trash.ts';

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

/** Gets a reply with every described status of each operation on expectations, the trash and links. */
export async function accountOperations(main: Client, send: Exercise, asDenied: Exercise, asBanned: Exercise): Promise<void> {
  await expectationOperations(send, asDenied, asBanned);
  await trashOperations(main, send, asBanned);
  await linkOperations(send, asDenied, asBanned);
}
