import { readLines } from '../shared/lines.ts';
import { text } from './language.ts';

/** Thrown if the console refused a request. `message` comes from the reply of the console. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface RequestOptions {
  /** The body, which is sent as JSON. */
  body?: unknown;
  signal?: AbortSignal | undefined;
  accept?: string;
}

/** Sends a request to the console's API. @throws Refused, with status 0 if the console cannot be reached; AbortError */
export async function send(
  method: string,
  path: string,
  { body, signal, accept = 'application/json' }: RequestOptions = {},
): Promise<Response> {
  const reply = await fetch(path, {
    method,
    headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (!(error instanceof TypeError)) throw error;
    document.dispatchEvent(new Event('lost'));
    throw new Refused(0, text('noConnection'));
  });
  if (reply.ok) return reply;
  // In a reply to a login, 401 means a wrong password.
  if (reply.status === 401 && !path.startsWith('/api/login')) document.dispatchEvent(new Event('signedout'));
  throw new Refused(reply.status, await errorMessage(reply));
}

/** Requests a value from the console's API. @throws the same errors as `send` */
export async function ask<T>(method: string, path: string, options?: RequestOptions): Promise<T> {
  const reply = await send(method, path, options);
  return (reply.status === 204 ? undefined : await reply.json()) as T;
}

/** Adds a query to an API path, without undefined or empty fields. */
export function withQuery(path: string, query: URLSearchParams | Record<string, string | undefined>): string {
  const fields = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const used = new URLSearchParams(fields.filter((field): field is [string, string] => field[1] !== undefined && field[1] !== ''));
  return used.size === 0 ? path : `${path}?${used}`;
}

/** Yields the values of an NDJSON reply as they arrive. @throws the same errors as `send` */
export async function* lines<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const reply = await send('GET', path, { signal, accept: 'application/x-ndjson' });
  for await (const line of readLines(reply)) yield JSON.parse(line) as T;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A reason of the API: a message in English, and the code that selects its translation. */
interface Reason {
  message?: string | undefined;
  code?: string | undefined;
}

/** Returns a reason in the language of the page. */
export async function reasonText({ message = '', code }: Reason): Promise<string> {
  if (document.documentElement.lang === 'en' || code === undefined) return message;
  const part = await import('./refusal-words.ts').catch(() => undefined);
  return part?.refusalWords(code, message) ?? message;
}

async function errorMessage(reply: Response): Promise<string> {
  try {
    const { errors } = (await reply.json()) as { errors?: Reason[] };
    const found = errors?.find(({ message }) => message);
    if (found) return await reasonText(found);
  } catch {
    // A proxy does not always send JSON.
  }
  return text(reply.status < 500 ? 'refused' : 'serverError', { status: String(reply.status) });
}
