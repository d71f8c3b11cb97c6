import type { Entry } from '../../files/entry.ts';
import { isServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { errorsReply } from '../reply/error-reply.ts';
import type { Reply } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { preconditions } from '../request/preconditions.ts';
import { redirectFolder } from './member-redirect.ts';

/** DELETE of a file: 204 (docs/spec/files.md#deletion). */
export async function deleteFile(exchange: Exchange, path: VirtualPath): Promise<Reply> {
  const conditions = await preconditions(exchange, path);
  const verify = (current: Entry) => {
    if (!current.isFolder) conditions(current);
  };
  try {
    await clientOf(exchange).files.deleteFile(path, verify);
  } catch (error) {
    // Explorer and others name folders without the final slash and do not follow redirects.
    if (isServiceError(error, 'is-folder') && exchange.service.options.webdav_compatibility) return deleteFolder(exchange, path);
    throw redirectFolder(path, error);
  }
  return { status: 204 };
}

/** DELETE of a folder, recursive: 204, or 422 with an item for each path left (docs/spec/files.md#deletion). */
export async function deleteFolder(exchange: Exchange, path: VirtualPath): Promise<Reply> {
  const left = await clientOf(exchange).files.deleteFolder(path, await preconditions(exchange, path));
  if (left.length === 0) return { status: 204 };
  return errorsReply(
    422,
    left.map((item) => ({ target: item.relativePath, message: item.message })),
  );
}
