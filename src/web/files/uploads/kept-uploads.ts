import { folderUrl } from '../navigation/folder.ts';
import { currentUserName } from '../sign-in.ts';
import { pauseAfter, tryRequest } from './requests.ts';
import { keptPrefix, type Upload } from './upload.ts';

/**
 * The uploads that this tab sends, with functions that release their locks. If two tabs sent the same upload, they would interrupt each
 * other's requests.
 */
const claims = new Map<string, () => void>();

/**
 * Claims an upload for this tab until `letGo` is called or the tab is closed.
 * @returns false if another tab has claimed the upload. Without the Locks API, which needs HTTPS, the result is always true
 */
export function claim(location: string): Promise<boolean> {
  if (!navigator.locks || claims.has(location)) return Promise.resolve(true);
  return new Promise((resolve) => {
    void navigator.locks.request(keptPrefix + location, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise<void>((release) => claims.set(location, release));
    });
  });
}

/** Waits until no tab, including this one, has claimed an upload. */
export async function whenFree(location: string): Promise<void> {
  await navigator.locks?.request(keptPrefix + location, { mode: 'shared' }, () => {});
}

export interface KeptUpload extends Pick<Upload, 'home' | 'folder' | 'name'> {
  /** Name, size in bytes and modification time identify the file. */
  fileName: string;
  size: number;
  lastModified: number;
  /** URL of the upload at the service. */
  location: string;
}

/** Age in milliseconds at which an upload is removed from `localStorage`. By then, the service has removed the received content. */
const keptMs = 30 * 24 * 60 * 60 * 1000;

function storageKey({ home, folder, fileName, size, lastModified }: Omit<KeptUpload, 'name' | 'location'>): string {
  return keysAt(home) + JSON.stringify([folder, fileName, size, lastModified]);
}

function keysAt(home: string): string {
  return `${keptPrefix}${JSON.stringify([currentUserName(), home])}`;
}

function fileIdentity({ home, folder, file }: Upload) {
  return { home, folder, fileName: file.name, size: file.size, lastModified: file.lastModified };
}

export function keepUpload(upload: Upload): void {
  const { name, location } = upload;
  const kept = { ...fileIdentity(upload), name, location, atMs: Date.now() };
  try {
    localStorage.setItem(storageKey(kept), JSON.stringify(kept));
  } catch {
    // Without storage, the upload can continue only while the page is open.
  }
}

/** Returns the stored unfinished upload of the same file to the same place. */
export function keptUpload(upload: Upload): KeptUpload | undefined {
  return read(storageKey(fileIdentity(upload)));
}

/** Returns the stored uploads of this account that were begun in the current folder. Removes old ones. */
export function keptUploads(): KeptUpload[] {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(keptPrefix));
    for (const key of keys) if (!read(key)) localStorage.removeItem(key);
    return keys.filter((key) => key.startsWith(keysAt(folderUrl()))).flatMap((key) => read(key) ?? []);
  } catch {
    return [];
  }
}

function read(key: string): KeptUpload | undefined {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? '') as KeptUpload & { atMs: number };
    return kept.atMs > Date.now() - keptMs ? kept : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the browser still stores an upload. A tab that finishes the upload removes it from `localStorage`. */
export function isKept(kept: KeptUpload): boolean {
  return read(storageKey(kept))?.location === kept.location;
}

export function forgetUpload(kept: KeptUpload): void {
  if (isKept(kept)) localStorage.removeItem(storageKey(kept));
}

/** Removes the stored URL of an upload that has ended or starts again, and releases its claim. */
export function letGo(upload: Upload): void {
  if (upload.location === undefined) return;
  forgetUpload({ ...fileIdentity(upload), name: upload.name, location: upload.location });
  claims.get(upload.location)?.();
  claims.delete(upload.location);
  upload.location = undefined;
}

/** Makes the service delete an unfinished upload, which otherwise would stay until it expires. */
export async function discardUpload(upload: Upload): Promise<void> {
  const { location } = upload;
  letGo(upload);
  if (location === undefined) return;
  // The request is repeated, because the connection is perhaps lost at this moment. An upload that is not deleted counts towards the quota.
  for (let failures = 0; failures < 3 && !(await tryRequest('DELETE', location)); failures++) await pauseAfter(failures);
}
