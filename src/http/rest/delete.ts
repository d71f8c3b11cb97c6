import type { Entry } from '../../files/entry.ts';
import { isServiceError } from '../../lib/errors.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { messageFor } from '../html/problem-message.ts';
import { errorsReply } from '../reply/error-reply.ts';
import { respond } from '../reply/respond.ts';
import { clientOf } from '../request/exchange.ts';
import { preconditions } from '../request/preconditions.ts';
import { redirectFolder } from './member-redirect.ts';

/** DELETE of a file: 204 (docs/spec/files.md#deletion). */
export async function deleteFile(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const conditions = await preconditions(exchange, path);
  const verify = (current: Entry) => {
    if (!current.isFolder) conditions(current);
  };
  try {
    await clientOf(exchange).files.deleteFile(path, verify);
  } catch (error) {
    // Explorer and others name folders without the final slash and do not follow redirects.
    if (isServiceError(error, 'is-folder') && exchange.service.options.webdav_compatibility) return deleteFolder(c);
    throw redirectFolder(path, error);
  }
  return respond(c, { status: 204 });
}

/** DELETE of a folder, recursive: 204, or 422 with an item for each path left (docs/spec/files.md#deletion). */
export async function deleteFolder(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const left = await clientOf(exchange).files.deleteFolder(path, { verify: await preconditions(exchange, path) });
  if (left.length === 0) return respond(c, { status: 204 });
  const items = left.map(({ relativePath, code, message }) => ({ target: relativePath, message: messageFor(exchange, { code, message }) }));
  return respond(c, errorsReply(422, items));
}
