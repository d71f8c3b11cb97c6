/** Prefix of the keys of unfinished uploads in localStorage. */
export const keptPrefix = 'svc-upload:';

/** Matches names that browsers give to pasted pictures, such as screenshots. */
const namelessPicture = /^image\.(png|jpe?g|gif|webp|avif|bmp|tiff?)$/i;

/**
 * Maximum age, in milliseconds, of a picture that counts as just pasted. It is short, because browsers create the picture when it is
 * pasted.
 */
const justMadeMs = 5_000;

/** Returns the name of a pasted file. A picture without its own name gets a name that contains the time. */
export function pastedName({ name, lastModified }: Pick<File, 'name' | 'lastModified'>, nowMs: number, word: string): string {
  const extension = namelessPicture.exec(name)?.[1];
  if (extension === undefined || nowMs - lastModified > justMadeMs) return name;
  const at = new Date(nowMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  // The time has no colons, because Windows does not allow them in names.
  const time = `${two(at.getHours())}.${two(at.getMinutes())}.${two(at.getSeconds())}`;
  return `${word} ${date} ${time}.${extension.toLowerCase()}`;
}

export interface Upload {
  readonly file: File;
  /** URL path of the folder in which it was chosen. It ends in `/`. */
  readonly home: string;
  /** Path of folders below `home`, separated by `/`; empty for `home` itself. */
  readonly folder: string;
  /** Name under which the file is stored. If the name is taken and both files are to be kept, the upload gets another name. */
  name: string;
  state: 'waiting' | 'running' | 'paused' | 'done' | 'held' | 'failed' | 'skipped' | 'cancelled';
  sentBytes: number;
  /** Number of bytes of `sentBytes` that the service already had. The speed is calculated without them. */
  foundBytes: number;
  reason: string;
  remark: string;
  isReconnecting: boolean;
  /** Whether the upload failed for a reason that a retry would not change. */
  isRefused: boolean;
  onConflict: 'ask' | 'overwrite' | 'keep-both';
  /** URL at which the service keeps the received part of a large file (docs/spec/uploads.md). */
  location: string | undefined;
  /** ID of the event that records the arrival of the file. The page of a shared link needs it for the receipt. */
  eventId: string | undefined;
  /** URL at which the service says whether a held file is still being inspected; undefined for visitors of links. */
  heldAt: string | undefined;
  /** Whether the file is held only because its inspection takes long. */
  isChecking: boolean;
  stop: (() => void) | undefined;
}

/** Creates the upload of a file that was just chosen. */
export function newUpload(file: File, home: string, folder: string, onConflict: Upload['onConflict']): Upload {
  return {
    file,
    home,
    folder,
    name: file.name,
    state: 'waiting',
    sentBytes: 0,
    foundBytes: 0,
    reason: '',
    remark: '',
    isReconnecting: false,
    isRefused: false,
    onConflict,
    location: undefined,
    eventId: undefined,
    heldAt: undefined,
    isChecking: false,
    stop: undefined,
  };
}

/** Files above this size are sent resumably. Sending a smaller file again is faster than asking for its progress. */
const resumableBytes = 8 * 1024 * 1024;

export function isResumable({ file }: Upload): boolean {
  return file.size > resumableBytes;
}

/**
 * Returns whether content can still be read. If a file was changed or deleted after it was chosen, a request with it fails in the same way
 * as without a connection.
 */
export async function isReadable(content: Blob): Promise<boolean> {
  try {
    await content.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/** Returns whether an upload has ended, successfully or not. */
export function isOver({ state }: Upload): boolean {
  return state !== 'waiting' && state !== 'running' && state !== 'paused';
}

/** Returns the path of an upload, relative to the folder in which it was chosen. */
export function uploadPath({ folder, name }: Pick<Upload, 'folder' | 'name'>): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** Returns the next name to try: `report.pdf` becomes `report (2).pdf`, and that becomes `report (3).pdf`. */
export function nextName(name: string): string {
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const numbered = /^(.*) \((\d+)\)$/s.exec(stem);
  return numbered ? `${numbered[1]} (${Number(numbered[2]) + 1})${extension}` : `${stem} (2)${extension}`;
}
