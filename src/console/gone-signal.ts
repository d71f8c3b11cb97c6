import { clientGone } from '../http/reply/outgoing.ts';
import { guarded } from '../lib/guarded.ts';
import type { ConsoleExchange } from './environment.ts';

/** Aborts once nobody waits for the reply any more: it is finished, or its client is gone. */
export function goneSignal({ outgoing }: ConsoleExchange): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort(clientGone());
  // Who left while the password was checked is not told of again.
  if (outgoing.destroyed) abort();
  else outgoing.once('close', guarded(abort, abort));
  return gone.signal;
}
