/** A file on its way to the service. */
export interface Upload {
  readonly file: File;
  /** Folders below the folder of the page, `/` between them; empty for the folder itself. */
  readonly folder: string;
  /** Name under which it is stored; changes when both files are kept. */
  name: string;
  state: 'waiting' | 'running' | 'done' | 'failed' | 'skipped' | 'cancelled';
  sentBytes: number;
  /** Why it failed, for people. */
  reason: string;
  /** What happens when the name is taken. */
  onConflict: 'ask' | 'overwrite' | 'keep-both';
  cancel: (() => void) | undefined;
}

/** A file that has just been chosen. */
export function newUpload(file: File, folder: string): Upload {
  return { file, folder, name: file.name, state: 'waiting', sentBytes: 0, reason: '', onConflict: 'ask', cancel: undefined };
}

/** Whether an upload has come to its end, one way or the other. */
export function isOver({ state }: Upload): boolean {
  return state !== 'waiting' && state !== 'running';
}

/** `report.pdf` becomes `report (2).pdf`, and that `report (3).pdf`. */
export function nextName(name: string): string {
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const numbered = /^(.*) \((\d+)\)$/s.exec(stem);
  return numbered ? `${numbered[1]} (${Number(numbered[2]) + 1})${extension}` : `${stem} (2)${extension}`;
}
