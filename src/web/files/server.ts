import { type ScriptTextName, text } from './language.ts';
import { folderUrl } from './navigation/folder.ts';
import { signInAgain, signInCount } from './sign-in.ts';

export interface PageReply {
  /** HTTP status; 0 without an answer. */
  status: number;
  /** URL of the page after redirects. */
  url: string;
  page: Document | undefined;
}

interface PageRequest {
  signal?: AbortSignal;
  fields?: URLSearchParams;
}

/** Fetches a page, or sends a form to it. If the session has ended, it asks the user to sign in again. Never rejects. */
export function fetchPage(url: URL | string, request: PageRequest = {}): Promise<PageReply> {
  return signedIn(() => requestPage(url, request), request.signal);
}

/** Repeats a request as long as it is refused because the session has ended, and the user signs in again. */
async function signedIn<T extends { status: number }>(request: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const before = signInCount();
  const reply = await request();
  return reply.status === 401 && !signal?.aborted && (await signInAgain(before)) ? signedIn(request, signal) : reply;
}

async function requestPage(url: URL | string, { signal, fields }: PageRequest): Promise<PageReply> {
  const headers = { accept: 'text/html', ...scriptHeaders, ...(fields && { 'content-type': 'application/x-www-form-urlencoded' }) };
  const sent = { headers, signal, ...(fields && { body: fields.toString() }) };
  const { responseURL: found, responseXML, status } = await requestDocument(fields ? 'POST' : 'GET', url, sent);
  // Without a session, the service redirects to the login page.
  const isOver = found !== '' && new URL(found).pathname === '/__svc__/login';
  return { status: isOver ? 401 : status, url: found, page: responseXML ?? undefined };
}

/**
 * Requests HTML or XML. XMLHttpRequest parses the reply without running its scripts. DOMParser could do that, too, but the page's content
 * security policy forbids it. Never rejects.
 */
export function requestDocument(
  method: string,
  url: string | URL,
  { headers = {}, body, signal }: { headers?: Readonly<Record<string, string>>; body?: string; signal?: AbortSignal | undefined } = {},
): Promise<XMLHttpRequest> {
  const request = new XMLHttpRequest();
  request.open(method, url);
  request.responseType = 'document';
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  signal?.addEventListener('abort', () => request.abort());
  request.send(body ?? null);
  return new Promise((resolve) => {
    request.onloadend = () => resolve(request);
  });
}

/** Headers of requests by scripts. Because of them, a 401 opens no password dialog of the browser, and the service translates messages. */
export const scriptHeaders = { 'x-requested-with': 'XMLHttpRequest', prefer: 'translated-messages' } as const;

/** Returns the URL path of a member of a folder. The default is the shown folder. */
export function memberUrl(name: string, isFolder = false, folder = folderUrl()): string {
  return folder + encodeURIComponent(name) + (isFolder ? '/' : '');
}

/** Returns the URL path of the file or folder at a virtual path. */
export function homeUrl(path: string): string {
  return `/home${path.split('/').map(encodeURIComponent).join('/')}`;
}

interface ErrorItem {
  target?: string;
  message: string | null;
}

/**
 * Sends a request. If the session has ended, it asks the user to sign in again and repeats the request.
 * @throws TypeError if the service is unreachable, or the signal's reason if the signal is aborted first
 */
export function send(
  method: string,
  url: string,
  options: { headers?: Record<string, string>; body?: BodyInit; signal?: AbortSignal } = {},
): Promise<Response> {
  const headers = { accept: 'application/json', ...scriptHeaders, ...options.headers };
  return signedIn(() => fetch(url, { ...options, method, headers }));
}

const reasons: Readonly<Record<number, ScriptTextName>> = {
  403: 'refused403',
  404: 'refused404',
  409: 'refused409',
  413: 'refused413',
  429: 'tooManyAttempts',
  507: 'refused507',
};

/** Returns whether a failure can pass by itself: no answer, a lock, or a service that is not ready. */
export function isPassing(status = 422): boolean {
  return [0, 423, 502, 503, 504].includes(status);
}

/**
 * Returns a message with the reason of a refusal: the message of the service, or else an explanation of the status. For example, a reply
 * from a proxy has no message.
 */
export function reasonFor(status: number, message: string | null | undefined): string {
  if (message) return message;
  const known = reasons[status];
  return known === undefined ? text('refused', { status: String(status) }) : text(known);
}

/**
 * Sends a request when only its success matters.
 * @param known messages for certain statuses
 * @returns the problem as a message; undefined if the request succeeded
 */
export async function trySend(
  method: string,
  url: string,
  known: Readonly<Record<number, string>> = {},
  headers: Record<string, string> = {},
): Promise<string | undefined> {
  try {
    const reply = await send(method, url, { headers });
    return reply.ok ? undefined : (known[reply.status] ?? (await replyReason(reply)));
  } catch {
    return text('noConnection');
  }
}

/**
 * Checks a file or folder before the browser requests it. This request lets the user sign in; the browser's own request would not.
 * @returns the problem as a message; undefined if there is none
 */
export function obstacle(url = folderUrl()): Promise<string | undefined> {
  return trySend('HEAD', url, { 404: text('gone') });
}

/** Returns the reason of a refused request, as a message. */
export async function replyReason(reply: Response): Promise<string> {
  const items = await errorItems(reply);
  return reasonFor(reply.status, items.find((item) => item.message !== null)?.message);
}

async function errorItems(reply: Response): Promise<ErrorItem[]> {
  try {
    const { errors } = (await reply.json()) as { errors?: ErrorItem[] };
    return errors ?? [];
  } catch {
    return [];
  }
}

/** A member of a folder in a reply of the API. */
export interface ListedMember {
  name: string;
  is_directory: boolean;
  size: number;
  /** Unix time in seconds, with a fraction. */
  modified: number;
}

/** Returns the items of the trash, newest first, or a message that says why they cannot be listed. */
export async function listTrash(): Promise<{ id: string; path: string }[] | string> {
  try {
    const reply = await send('GET', '/home/__svc__/trash');
    if (!reply.ok) return await replyReason(reply);
    return ((await reply.json()) as { trash: { id: string; path: string }[] }).trash;
  } catch {
    return text('noConnection');
  }
}

/** Returns the members of a folder, or a message that says why it cannot be listed. @param url path of the folder's URL */
export async function listMembers(url: string): Promise<ListedMember[] | string> {
  try {
    const reply = await send('GET', url);
    if (!reply.ok) return await replyReason(reply);
    return ((await reply.json()) as { content: ListedMember[] }).content;
  } catch {
    return text('noConnection');
  }
}
