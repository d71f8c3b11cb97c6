import { folderUrl } from '../navigation/folder.ts';
import { currentUserName } from '../sign-in.ts';
import { pauseAfter, tryRequest } from './requests.ts';
import { keptPrefix, type Upload } from './upload.ts';

/** Uploads that this tab continues: each request for one cuts the request of another tab. */
const claims = new Map<string, () => void>();

/**
 * Takes an upload for this tab until `letGo`, or until the tab is closed.
 * @returns false when another tab has it. Without locks (they need https) every tab may have it
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

/** Waits until no tab, this one included, continues an upload. */
export async function whenFree(location: string): Promise<void> {
  await navigator.locks?.request(keptPrefix + location, { mode: 'shared' }, () => {});
}

/** A remembered unfinished upload: enough to recognise its file, and to continue. */
export interface KeptUpload extends Pick<Upload, 'home' | 'folder' | 'name'> {
  /** Name, size in bytes and time of the file, by which it is recognised. */
  fileName: string;
  size: number;
  lastModified: number;
  /** URL of the upload at the service. */
  location: string;
}

/** Age at which an upload is forgotten: the service has done so before. */
const keptMs = 30 * 24 * 60 * 60 * 1000;

function keyOf({ home, folder, fileName, size, lastModified }: Omit<KeptUpload, 'name' | 'location'>): string {
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
    localStorage.setItem(keyOf(kept), JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing for pages goes on for as long as the page is open.
  }
}

/** The unfinished upload of the same file to the same place. */
export function keptUpload(upload: Upload): KeptUpload | undefined {
  return read(keyOf(fileIdentity(upload)));
}

/** Unfinished uploads of this account from the shown folder. Old ones are forgotten. */
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

/** Whether an upload is still remembered: another tab may have come to its end. */
export function isKept(kept: KeptUpload): boolean {
  return read(keyOf(kept))?.location === kept.location;
}

export function forgetUpload(kept: KeptUpload): void {
  if (isKept(kept)) localStorage.removeItem(keyOf(kept));
}

/** Forgets the URL of an upload, which is over or starts again. */
export function letGo(upload: Upload): void {
  if (upload.location === undefined) return;
  forgetUpload({ ...fileIdentity(upload), name: upload.name, location: upload.location });
  claims.get(upload.location)?.();
  claims.delete(upload.location);
  upload.location = undefined;
}

/** Makes the service drop an upload. Uploads that it is not told about expire. */
export async function discardUpload(upload: Upload): Promise<void> {
  const { location } = upload;
  letGo(upload);
  if (location === undefined) return;
  // Repeated, because the connection may be lost just now, and an upload that is not dropped counts towards the quota.
  for (let failures = 0; failures < 3 && !(await tryRequest('DELETE', location)); failures++)
    await pauseAfter(failures, new AbortController().signal);
}
