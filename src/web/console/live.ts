import { ask, Refused } from './request.ts';

/** Listeners for messages by type, and for the state of the connection. The data of messages is JSON. */
interface Listeners {
  messages: Readonly<Record<string, (data: never, id: string) => void>>;
  onState?: (isOpen: boolean) => void;
  /** ID of the message after which the stream continues, if messages have IDs. */
  after?: string | undefined;
}

/** Pause in milliseconds before a closed stream, or a server that is unreachable, is requested again. */
export const pauseMs = 3000;

/** Listens to Server-Sent Events until the signal is aborted. The browser reconnects by itself and sends the ID of the last message. */
export function listen(path: string, signal: AbortSignal, { messages, onState, after }: Listeners): void {
  if (signal.aborted) return;
  const url = new URL(path, location.href);
  if (after) url.searchParams.set('last_event_id', after);
  const source = new EventSource(url);
  let last = after;
  for (const [type, take] of Object.entries(messages))
    source.addEventListener(type, ({ data, lastEventId }: MessageEvent<string>) => {
      last = lastEventId || last;
      take(JSON.parse(data) as never, lastEventId);
    });
  source.addEventListener('open', () => onState?.(true));
  let timer = 0;
  source.addEventListener('error', () => {
    onState?.(false);
    document.dispatchEvent(new Event('lost'));
    if (source.readyState !== EventSource.CLOSED || signal.aborted) return;
    // The browser hides the HTTP status, so another request checks whether the session has ended.
    const tryAgain = () => {
      timer = window.setTimeout(() => {
        void ask('GET', '/api/me', { signal }).then(
          () => listen(path, signal, { messages, ...(onState && { onState }), after: last }),
          // If the session has ended, `ask` shows the login. If the server is unreachable, try again.
          (error: unknown) => !signal.aborted && !(error instanceof Refused && error.status === 401) && tryAgain(),
        );
      }, pauseMs);
    };
    tryAgain();
  });
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    source.close();
  });
}
