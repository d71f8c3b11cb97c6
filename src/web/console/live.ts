import { ask, Refused } from './request.ts';

/** Handlers of each kind of message, whose data is JSON, and of the state of the connection. */
interface Listeners {
  messages: Readonly<Record<string, (data: never, id: string) => void>>;
  /** Called when the connection opens or closes. */
  onState?: (isOpen: boolean) => void;
  /** ID of the message to continue after, if messages have IDs. */
  after?: string | undefined;
}

/** Pause before a stream that the console ended is requested again, in milliseconds. */
const pauseMs = 3000;

/** Listens to Server-Sent Events until the signal aborts. The browser reconnects by itself and sends the ID of the last message. */
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
    if (source.readyState !== EventSource.CLOSED || signal.aborted) return;
    // The browser hides the status; another request finds out whether the session has ended.
    const tryAgain = () => {
      timer = window.setTimeout(() => {
        void ask('GET', '/api/me', { signal }).then(
          () => listen(path, signal, { messages, ...(onState && { onState }), after: last }),
          // A session that has ended leads to the login; a server that is away comes back.
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
