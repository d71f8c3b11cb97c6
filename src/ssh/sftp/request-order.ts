import { announcedExtensions } from './extensions.ts';

/** Extensions that take their turn among the requests about paths. */
const inOrder = new Set(['posix-rename@openssh.com', 'lsetstat@openssh.com']);
/** Others that name a path. */
const withPath = new Set(['statvfs@openssh.com', 'expand-path@openssh.com', 'check-file-name']);
const known = new Set<string>([...announcedExtensions.map(([name]) => name), ...withPath, 'check-file-handle']);
/** Those that read whole files: one after the other, as all at once would keep everybody else waiting. */
const long = new Set(['check-file', 'check-file-handle', 'check-file-name', 'copy-data']);

/** Whether an extension begins with a path; others with a handle, or nothing. */
export function isAboutPath(extension: string): boolean {
  return inOrder.has(extension) || withPath.has(extension);
}

/** Whether an extension is there: a client may ask for any. */
export function isKnown(extension: string): boolean {
  return known.has(extension);
}

/** Has requests of one session wait for one another where their order matters. */
export class RequestOrder {
  #lastOnPath: Promise<unknown> = Promise.resolve();
  #lastLong: Promise<unknown> = Promise.resolve();

  /** Runs what a request about a path does, after those before it. */
  onPath<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#lastOnPath.then(action);
    this.#lastOnPath = result.catch(() => {});
    return result;
  }

  /** Runs what an extension does, after those that it must wait for. */
  ofExtension<T>(name: string, action: () => Promise<T>): Promise<T> {
    if (inOrder.has(name)) return this.onPath(action);
    if (!long.has(name)) return action();
    const result = this.#lastLong.then(action);
    this.#lastLong = result.catch(() => {});
    return result;
  }
}
