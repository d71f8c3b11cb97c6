import type * as z from 'zod';
import { ServiceError } from '../../lib/errors.ts';
import type { ConsoleContext } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';

/** Largest body of a question, in bytes: a certificate with room to spare. */
const bodyLimitBytes = 64 * 1024;

/**
 * Reads a request that a schema describes.
 *
 * @throws as `readJsonObject`; ServiceError `bad-request` naming the member at fault: its value, which may be a secret, is never told
 */
export async function readRequest<T>(c: ConsoleContext, schema: z.ZodType<T>): Promise<T> {
  const { data, error } = schema.safeParse(await readJsonObject(c, bodyLimitBytes));
  const issue = error?.issues[0];
  if (!issue) return data as T;
  const named = issue.code === 'unrecognized_keys' ? issue.keys[0] : issue.path.join('.');
  const fault = issue.code === 'unrecognized_keys' ? 'is no member of the request' : 'is missing, or not as it must be';
  throw new ServiceError('bad-request', `"${named}" ${fault}.`);
}
