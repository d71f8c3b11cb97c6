/** Seconds over which the speed is averaged. */
const windowSeconds = 8;

export class Speed {
  #samples: { atMs: number; bytes: number }[] = [];

  /** @param bytes all bytes sent so far */
  note(bytes: number, atMs: number): void {
    // A retried file starts from nothing: the count goes back.
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples = [];
    this.#samples.push({ atMs, bytes });
    this.#samples = this.#samples.filter((sample) => sample.atMs > atMs - windowSeconds * 1000);
  }

  /** Bytes a second; undefined while too little is known. */
  get bytesPerSecond(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs - first.atMs < 800) return undefined;
    return ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
  }
}

/** Names that browsers give to copied pictures, such as screenshots. */
const namelessPicture = /^image\.(png|jpe?g|gif|webp|avif|bmp|tiff?)$/i;

/** How old such a picture is at most, in milliseconds: browsers make it when it is pasted. */
const justMadeMs = 5_000;

/** A name for what was pasted: that of the file, or one with the time for a picture that has none. */
export function pastedName({ name, lastModified }: Pick<File, 'name' | 'lastModified'>, nowMs: number, word: string): string {
  const extension = namelessPicture.exec(name)?.[1];
  if (extension === undefined || nowMs - lastModified > justMadeMs) return name;
  const at = new Date(nowMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  // Without colons, which Windows takes in no name.
  const time = `${two(at.getHours())}.${two(at.getMinutes())}.${two(at.getSeconds())}`;
  return `${word} ${date} ${time}.${extension.toLowerCase()}`;
}

/** A file on its way to the service. */
export interface Upload {
  readonly file: File;
  /** URL path of the folder on whose page it was chosen; ends in `/`. */
  readonly home: string;
  /** Folders below that, `/` between them; empty for the folder itself. */
  readonly folder: string;
  /** Name under which it is stored; changes when both files are kept. */
  name: string;
  state: 'waiting' | 'running' | 'paused' | 'done' | 'failed' | 'skipped' | 'cancelled';
  sentBytes: number;
  /** Bytes of `sentBytes` that the service had already: they say nothing about the speed. */
  foundBytes: number;
  reason: string;
  remark: string;
  /** Whether the connection was lost, and is tried again after a pause. */
  isReconnecting: boolean;
  /** Applies when the name is taken. */
  onConflict: 'ask' | 'overwrite' | 'keep-both';
  /** Where the service keeps what has come of a large file (docs/spec/uploads.md). */
  location: string | undefined;
  /** Ends the request that is under way. */
  stop: (() => void) | undefined;
}

/** A file that has just been chosen. */
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
    onConflict,
    location: undefined,
    stop: undefined,
  };
}

/** Larger files are sent in a way that can go on after a break; smaller ones are sent anew sooner than one could ask how far they came. */
const resumableBytes = 8 * 1024 * 1024;

export function isResumable({ file }: Upload): boolean {
  return file.size > resumableBytes;
}

/** Whether content can still be read: a request with a file that was changed or deleted since it was chosen fails as one without a connection does. */
export async function isReadable(content: Blob): Promise<boolean> {
  try {
    await content.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/** Whether an upload has come to its end, one way or the other. */
export function isOver({ state }: Upload): boolean {
  return state !== 'waiting' && state !== 'running' && state !== 'paused';
}

/** Where an upload will be, below the folder of the page. */
export function uploadPath({ folder, name }: Pick<Upload, 'folder' | 'name'>): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** `report.pdf` becomes `report (2).pdf`, and that `report (3).pdf`. */
export function nextName(name: string): string {
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const numbered = /^(.*) \((\d+)\)$/s.exec(stem);
  return numbered ? `${numbered[1]} (${Number(numbered[2]) + 1})${extension}` : `${stem} (2)${extension}`;
}
