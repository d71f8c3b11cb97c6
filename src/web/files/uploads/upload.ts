/** Prefix of the keys of unfinished uploads in localStorage. */
export const keptPrefix = 'svc-upload:';

/** Matches names that browsers give to pasted pictures, such as screenshots. */
const namelessPicture = /^image\.(png|jpe?g|gif|webp|avif|bmp|tiff?)$/i;

/** Maximum age of a picture that counts as just pasted. Browsers create the picture when it is pasted. */
const justMadeMs = 5_000;

/** Returns the name of a pasted file. A picture without a name of its own is named after the time. */
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
  /** URL path of the folder in which it was chosen, ending in `/`. */
  readonly home: string;
  /** Path of folders below `home`, separated by `/`; empty for `home` itself. */
  readonly folder: string;
  /** Name under which the file is stored. It changes if the name is taken and both files are kept. */
  name: string;
  state: 'waiting' | 'running' | 'paused' | 'done' | 'held' | 'failed' | 'skipped' | 'cancelled';
  sentBytes: number;
  /** The part of `sentBytes` that the service already had. It does not count for the speed. */
  foundBytes: number;
  reason: string;
  remark: string;
  isReconnecting: boolean;
  /** Whether a retry would be refused, too. */
  isRefused: boolean;
  onConflict: 'ask' | 'overwrite' | 'keep-both';
  /** URL at which the service keeps the received part of a large file (docs/spec/uploads.md). */
  location: string | undefined;
  /** ID of the event of its arrival, for the receipt. */
  eventId: string | undefined;
  /** URL of the verdict on a held file; undefined for visitors of links. */
  heldAt: string | undefined;
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

const windowSeconds = 8;

export class Speed {
  #samples: { atMs: number; bytes: number }[] = [];

  /** @param bytes number of all bytes sent so far */
  note(bytes: number, atMs: number): void {
    // A file that is retried starts again, so the number of bytes decreases.
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples = [];
    this.#samples.push({ atMs, bytes });
    this.#samples = this.#samples.filter((sample) => sample.atMs > atMs - windowSeconds * 1000);
  }

  /** Number of bytes per second; undefined while too little is known. */
  get bytesPerSecond(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs - first.atMs < 800) return undefined;
    return ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
  }
}

/** Larger files are sent resumably. Sending a smaller file again is faster than asking for its progress. */
const resumableBytes = 8 * 1024 * 1024;

export function isResumable({ file }: Upload): boolean {
  return file.size > resumableBytes;
}

/** Returns whether content can still be read. A request with a changed or deleted file fails as if there were no connection. */
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
