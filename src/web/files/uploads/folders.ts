import { text } from '../language.ts';
import { replyReason, send } from '../server.ts';

/**
 * The result of creating each folder, by URL; undefined if there was no problem. Cleared after each batch, because folders may be deleted
 * later.
 */
export const knownFolders = new Map<string, Promise<string | undefined>>();

/**
 * Creates a folder and its missing parents below an existing one, unless it exists.
 * @param home URL path of an existing folder; ends in `/`
 * @param folder names separated by `/`; empty for `home` itself
 * @returns the problem as a message
 */
export function ensureFolder(home: string, folder: string): Promise<string | undefined> {
  if (folder === '') return Promise.resolve(undefined);
  const url = `${home}${folder.split('/').map(encodeURIComponent).join('/')}/`;
  const before = knownFolders.get(url);
  if (before) return before;
  const made = create(home, folder, url);
  knownFolders.set(url, made);
  // After a failure, the next file of the folder tries again.
  void made.then((problem) => problem !== undefined && knownFolders.delete(url));
  return made;
}

async function create(home: string, folder: string, url: string): Promise<string | undefined> {
  const slash = folder.lastIndexOf('/');
  const problem = await ensureFolder(home, slash < 0 ? '' : folder.slice(0, slash));
  if (problem !== undefined) return problem;
  try {
    const reply = await send('PUT', url);
    // 409 means that the name is taken. If a file has it, uploads to the folder will fail with a message.
    return reply.ok || reply.status === 409 ? undefined : await replyReason(reply);
  } catch {
    return text('noConnection');
  }
}
