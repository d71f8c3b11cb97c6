import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { clientGone } from '../http/reply/outgoing.ts';
import { catching } from '../lib/catching.ts';
import { ServiceError } from '../lib/errors.ts';
import { GatheredBytes } from '../lib/gathered-bytes.ts';
import { isObject, parseJson } from '../lib/json.ts';
import type { ConsoleContext } from './environment.ts';

/** Maximum size, in bytes, of a body that a schema describes. The longest member, a client certificate, is far smaller. */
const questionLimitBytes = 64 * 1024;

/**
 * Reads a body that a schema describes.
 *
 * @throws the errors of `readJsonObject`; ServiceError `bad-request`, which names the wrong member but not its value, because that can be a
 * secret
 */
export async function readRequest<T>(c: ConsoleContext, schema: z.ZodType<T>): Promise<T> {
  const { data, error } = schema.safeParse(await readJsonObject(c, questionLimitBytes));
  const issue = error?.issues[0];
  if (!issue) return data as T;
  const named = issue.code === 'unrecognized_keys' ? issue.keys[0] : issue.path.join('.');
  const fault = issue.code === 'unrecognized_keys' ? 'is not a member of the request' : 'is missing or not valid';
  throw new ServiceError('bad-request', `"${named}" ${fault}.`);
}

const bodyLimitBytes = 1024 * 1024;

/**
 * Reads a JSON object.
 *
 * @throws ServiceError `media-type-unsupported`, `bad-request` if it is not a JSON object, `too-large`, `client-gone`
 */
export async function readJsonObject({ env: { incoming } }: ConsoleContext, limitBytes = bodyLimitBytes): Promise<Record<string, unknown>> {
  // Forms of other origins can send other types without a preflight request (Fetch, CORS-safelisted request-header), so only JSON is
  // accepted.
  if (!/^application\/json(?:\s*;|$)/i.test(incoming.headers['content-type'] ?? ''))
    throw new ServiceError('media-type-unsupported', 'The body must be application/json.');
  const bytes = await readBody(incoming, limitBytes);
  let value: unknown;
  try {
    value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The cause is omitted, because its message quotes the text, which can contain a password.
    throw new ServiceError('bad-request', 'The request body is not valid JSON.');
  }
  if (!isObject(value)) throw new ServiceError('bad-request', 'The request body must be a JSON object.');
  return value;
}

function readBody(incoming: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const bytes = new GatheredBytes();
    const onData = (chunk: Buffer) => {
      if (bytes.sizeBytes + chunk.length <= limitBytes) return bytes.add(chunk);
      incoming.pause();
      throw new ServiceError('too-large', `The request body must not be larger than ${limitBytes} bytes.`);
    };
    incoming.on('data', catching(onData, reject));
    incoming.once(
      'end',
      catching(() => resolve(bytes.whole()), reject),
    );
    const onGone = catching(() => reject(clientGone()), reject);
    incoming.once('close', onGone);
    incoming.once('error', onGone);
  });
}
