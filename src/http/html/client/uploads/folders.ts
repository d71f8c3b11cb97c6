import { text } from '../language.ts';
import { folderUrl, reasonOf, send } from '../server.ts';

const known = new Map<string, Promise<string | undefined>>();

/** Forgets which folders there are: until the next upload somebody may delete one. */
export function forgetFolders(): void {
  known.clear();
}

/**
 * Makes a folder below the folder of the page, with its parents. One that is there already is fine.
 *
 * @param folder `/` between names; empty for the page's folder itself
 * @returns what went wrong, for people
 */
export function ensureFolder(folder: string): Promise<string | undefined> {
  if (folder === '') return Promise.resolve(undefined);
  const before = known.get(folder);
  if (before) return before;
  const made = create(folder);
  known.set(folder, made);
  // What failed is tried again with the next file.
  void made.then((problem) => problem !== undefined && known.delete(folder));
  return made;
}

async function create(folder: string): Promise<string | undefined> {
  const slash = folder.lastIndexOf('/');
  const problem = await ensureFolder(slash < 0 ? '' : folder.slice(0, slash));
  if (problem !== undefined) return problem;
  try {
    const reply = await send('PUT', `${folderUrl}${folder.split('/').map(encodeURIComponent).join('/')}/`);
    // 409: it exists. If a file has the name, the uploads into it say so.
    return reply.ok || reply.status === 409 ? undefined : await reasonOf(reply);
  } catch {
    return text('noConnection');
  }
}
