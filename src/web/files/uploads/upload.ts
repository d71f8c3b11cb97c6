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
  /** Why it failed, for people. */
  reason: string;
  /** What else is worth knowing, for people. */
  remark: string;
  /** Whether the connection was lost, and is tried again after a pause. */
  isReconnecting: boolean;
  /** What happens when the name is taken. */
  onConflict: 'ask' | 'overwrite' | 'keep-both';
  /** Where the service keeps what has come of a large file (docs/spec/uploads.md). */
  location: string | undefined;
  /** Ends the request that is under way. */
  stop: (() => void) | undefined;
}

/** A file that has just been chosen. @param mayLook whether the account may be told that its name is taken */
export function newUpload(file: File, home: string, folder: string, mayLook: boolean): Upload {
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
    onConflict: mayLook ? 'ask' : 'overwrite',
    location: undefined,
    stop: undefined,
  };
}

/** Larger files are sent in a way that can go on after a break; smaller ones are sent anew sooner than one could ask how far they came. */
const resumableBytes = 8 * 1024 * 1024;

/** Whether an upload can be interrupted, and go on. */
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
export function pathOf({ folder, name }: Pick<Upload, 'folder' | 'name'>): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** `report.pdf` becomes `report (2).pdf`, and that `report (3).pdf`. */
export function nextName(name: string): string {
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const numbered = /^(.*) \((\d+)\)$/s.exec(stem);
  return numbered ? `${numbered[1]} (${Number(numbered[2]) + 1})${extension}` : `${stem} (2)${extension}`;
}
