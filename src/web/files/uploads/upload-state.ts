import type { Upload } from './upload.ts';

/** Time in seconds over which the speed is averaged. */
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

/** Returns the path of an upload, relative to the folder of the page. */
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
