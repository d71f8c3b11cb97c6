import * as z from 'zod';
import { actOn, type HeldAction, selectedItems } from '../../control/collection.ts';
import { ServiceError } from '../../lib/errors.ts';
import { contentDisposition } from '../../lib/headers/header-fields.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { answerJson, cutWhenOver, replyHeaders } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { mayReview } from '../login/administrators.ts';
import { readRequest } from '../request-body.ts';
import { describeItems } from './collections.ts';
import { pathPart } from './parameters.ts';

/** Maximum number of held uploads in one request; 1000 IDs fit into a body. */
const maxIds = 1000;

export const heldOrder = z.strictObject({ ids: z.array(z.string()).min(1).max(maxIds) });
export const discardOrder = heldOrder.extend({ reason: z.string().optional().describe('For the event, and for who sent the file.') });
export const heldResults = z.object({
  results: z.array(z.object({ id: z.string(), error: z.string().optional().describe('Why it was not done; absent when it was.') })),
});

/**
 * Answers `POST /api/held/release`, `discard` and `inspect-again`. Event `administratorAction` names the uploads for which the action
 * succeeded.
 */
export function actOnHeld(action: HeldAction): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const order: z.infer<typeof discardOrder> = await readRequest(c, action === 'discard' ? discardOrder : heldOrder);
    const { ids, reason } = order;
    const { held } = c.env.service.sources.collections;
    const named = await selectedItems(held, { ids });
    const results = await actOn(held, action, ids, requireAdministrator(c).name, reason);
    const done = new Set(results.filter(({ error }) => error === undefined).map(({ id }) => id));
    const items = named.filter(({ handle }) => done.has(handle));
    if (items.length > 0) await recordAction(c, `held-${action}`, describeItems(items));
    return answerJson(c, { results });
  };
}

/**
 * Answers `GET /api/held/{id}/content` with the file, for reviewers. Emits `administratorAction`. @throws ServiceError `forbidden` for a
 * viewer
 */
export async function sendHeldContent(c: ConsoleContext): Promise<Response> {
  if (!mayReview(requireAdministrator(c))) throw new ServiceError('forbidden', 'The role viewer may not see the content of files.');
  const { held } = c.env.service.sources.collections;
  const id = pathPart(c, 'id');
  const [item] = await selectedItems(held, { ids: [id] });
  const content = await held.content?.(id);
  if (!item || !content) throw new ServiceError('not-found', 'There is no such held upload.');
  const headers = {
    ...replyHeaders(c),
    'content-type': 'application/octet-stream',
    'content-length': String(content.sizeBytes),
    'content-disposition': contentDisposition('attachment', baseName(content.path)),
  };
  if (c.env.method === 'HEAD') return new Response(null, { headers });
  await recordAction(c, 'held-download', describeItems([item]));
  cutWhenOver(c);
  return new Response(ReadableStream.from(content.chunks()) as ReadableStream<Uint8Array>, { headers });
}
