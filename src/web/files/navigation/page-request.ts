import { scriptHeaders } from '../server.ts';
import { signInAgain } from '../sign-in.ts';

/** What came of a request for a page. */
export interface PageReply {
  /** 0 when nobody answered. */
  status: number;
  /** Where it was found in the end. */
  url: string;
  page: Document | undefined;
}

/** Fetches a page; asks to sign in again when the session has ended. Never rejects. */
export async function fetchPage(url: URL, signal?: AbortSignal): Promise<PageReply> {
  const reply = await requestPage(url, signal);
  if (reply.status !== 401 || signal?.aborted || !(await signInAgain())) return reply;
  return requestPage(url, signal);
}

// XMLHttpRequest parses the page without running anything in it, and without the DOM's own parser, which the page's policy refuses texts.
function requestPage(url: URL, signal: AbortSignal | undefined): Promise<PageReply> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('GET', url);
    request.responseType = 'document';
    request.setRequestHeader('accept', 'text/html');
    for (const [name, value] of Object.entries(scriptHeaders)) request.setRequestHeader(name, value);
    request.onloadend = () => {
      const { responseURL: found, responseXML, status } = request;
      // Whoever asks for a page is led to the login.
      const isOver = found !== '' && new URL(found).pathname === '/__svc__/login';
      resolve({ status: isOver ? 401 : status, url: found, page: responseXML ?? undefined });
    };
    signal?.addEventListener('abort', () => request.abort());
    request.send();
  });
}
