import { headerLines } from '../../lib/option-types.ts';
import type { IsLiteral } from '../../webhooks/replay/shown-request.ts';
import { hasReference } from '../reading/interpolate.ts';
import type { Source } from '../reading/source.ts';

/**
 * Tells the headers of an event handler that a configuration holds word for word.
 *
 * @param source the configuration's file as it was written; without one nothing is known to be literal
 */
export function literalHeaders(source: Source | undefined, handlerUuid: string): IsLiteral {
  const handlers = (source?.value as { event_handlers?: Record<string, { headers?: unknown }> } | undefined)?.event_handlers;
  // A reference in place of a whole line is no header yet: then nothing is shown.
  const written = headerLines().safeParse(handlers?.[handlerUuid]?.headers ?? null);
  const literal = new Set(written.data?.filter(([, value]) => !hasReference(value)).map((pair) => pair.join(': ')));
  return (name, value) => literal.has(`${name}: ${value}`);
}
