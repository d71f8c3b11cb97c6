import { text } from '../language.ts';
import { replyReason, send } from '../server.ts';

/** Folders that were made, or why not, by their URL. To be cleared after some uploads: until the next one somebody may delete them. */
export const knownFolders = new Map<string, Promise<string | undefined>>();

/**
 * Makes a folder below another, with its parents, unless it exists.
 * @param home URL path of an existing folder; ends in `/`
 * @param folder `/` between names; empty for `home` itself
 * @returns the problem, for people
 */
export function ensureFolder(home: string, folder: string): Promise<string | undefined> {
  if (folder === '') return Promise.resolve(undefined);
  const url = `${home}${folder.split('/').map(encodeURIComponent).join('/')}/`;
  const before = knownFolders.get(url);
  if (before) return before;
  const made = create(home, folder, url);
  knownFolders.set(url, made);
  // The next file tries again after a failure.
  void made.then((problem) => problem !== undefined && knownFolders.delete(url));
  return made;
}

async function create(home: string, folder: string, url: string): Promise<string | undefined> {
  const slash = folder.lastIndexOf('/');
  const problem = await ensureFolder(home, slash < 0 ? '' : folder.slice(0, slash));
  if (problem !== undefined) return problem;
  try {
    const reply = await send('PUT', url);
    // 409: it exists. If a file has the name, the uploads into it say so.
    return reply.ok || reply.status === 409 ? undefined : await replyReason(reply);
  } catch {
    return text('noConnection');
  }
}
