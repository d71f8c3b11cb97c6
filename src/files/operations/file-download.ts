import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { KeptFile } from '../disk/file-cache.ts';
import { closeFile } from '../disk/freeing.ts';
import type { OpenedFile } from '../disk/opened.ts';
import { type Entry, entryOf } from '../entry.ts';
import type { FileScope } from '../file-scope.ts';

/** A file that is read by somebody, who calls `end` or `release` once. */
interface Reading {
  readonly entry: Entry;
  /**
   * @param readBytes bytes that were handed to the client
   * @param fault nothing when the download is complete
   */
  end(readBytes: number, fault?: 'client-gone' | 'failed'): void;
  /** Nothing was asked of the content after all (304, 416). */
  release(): void;
}

/** A file opened for reading; `end` and `release` close it. */
export interface OpenDownload extends Reading {
  readonly fd: number;
  readonly kept?: undefined;
}

/** A small file whose whole content is at hand. */
export interface KeptDownload extends Reading {
  readonly kept: KeptFile;
}

export type FileDownload = OpenDownload | KeptDownload;

/** Makes a download of a verified file, which it closes; event 40004. */
export function startDownload(files: FileScope, path: VirtualPath, { fd, stats }: OpenedFile): OpenDownload {
  return { fd, ...startReading(files, path, entryOf(baseName(path), stats), () => void closeFile(fd, stats.size)) };
}

/** Makes a download of a file whose content is kept; event 40004. */
export function startKeptDownload(files: FileScope, path: VirtualPath, kept: KeptFile): KeptDownload {
  const { entry } = kept;
  const name = baseName(path);
  return { kept, ...startReading(files, path, name === entry.name ? entry : { ...entry, name }, () => {}) };
}

function startReading(files: FileScope, path: VirtualPath, entry: Entry, close: () => void): Reading {
  const { clock, events } = files.environment;
  const startedMs = clock.monotonicMs();
  const draft = files.draft(40004, path);
  events.emitGrouped(draft);
  const emit = (ofHttp: number, data: Record<string, unknown>) => {
    const id = files.eventId(ofHttp);
    if (id !== undefined) events.emitGrouped({ id, context: draft.context, data: Object.assign({}, draft.data, data) });
  };
  let isOpen = true;
  const closeOnce = () => {
    if (isOpen) close();
    const wasOpen = isOpen;
    isOpen = false;
    return wasOpen;
  };
  return {
    entry,
    end(readBytes, fault) {
      if (!closeOnce()) return;
      const durationS = (clock.monotonicMs() - startedMs) / 1000;
      const data = transferData(durationS, readBytes, 'read');
      if (fault === 'client-gone') emit(40018, data);
      if (fault) emit(40040, { ...data, details: fault === 'client-gone' ? 'The client went away.' : 'The file could not be read.' });
      else emit(40039, data);
    },
    release() {
      closeOnce();
    },
  };
}

/** The members that events of transfers carry (docs/spec/events.md#file-events): seconds, bytes, bytes a second. */
export function transferData(durationS: number, bytes: number, direction: 'read' | 'write'): Record<string, number> {
  const duration = Math.round(durationS * 1e6) / 1e6;
  return { duration, [`total_${direction}`]: bytes, [`${direction}_speed`]: Math.round(bytes / Math.max(durationS, 1e-6)) };
}
