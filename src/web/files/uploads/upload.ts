/** Prefix of the keys of unfinished uploads in localStorage. */
export const keptPrefix = 'svc-upload:';

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
  state: 'waiting' | 'running' | 'paused' | 'done' | 'held' | 'failed' | 'skipped' | 'cancelled';
  sentBytes: number;
  /** Bytes of `sentBytes` that the service had already: they say nothing about the speed. */
  foundBytes: number;
  reason: string;
  remark: string;
  /** Whether the connection was lost, and is tried again after a pause. */
  isReconnecting: boolean;
  /** Whether a failed one is refused each time. */
  isRefused: boolean;
  /** Applies when the name is taken. */
  onConflict: 'ask' | 'overwrite' | 'keep-both';
  /** Where the service keeps what has come of a large file (docs/spec/uploads.md). */
  location: string | undefined;
  /** ID of the event of its arrival, by which a receipt names it; links alone tell it. */
  eventId: string | undefined;
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
    isRefused: false,
    onConflict,
    location: undefined,
    eventId: undefined,
    stop: undefined,
  };
}
