import { NamedCounts } from '../../lib/concurrency/slots.ts';
import { isWithin } from '../../lib/virtual-path.ts';

/** An upload that ends with its connection. It cannot be continued, and has no record. */
export interface PassingUpload {
  readonly accountUuid: string;
  readonly folder: string;
  /** Called when the folder is removed. */
  readonly onGone: () => void;
}

/** The running uploads that end with their connections. */
export class PassingUploads {
  readonly #underWay = new Set<PassingUpload>();
  readonly #counts = new NamedCounts();

  /** Counts a running upload. @returns a function that reports the end of the upload; further calls of this function do nothing */
  enter(upload: PassingUpload): () => void {
    this.#underWay.add(upload);
    this.#counts.add(upload.accountUuid, 1);
    return () => {
      if (this.#underWay.delete(upload)) this.#counts.add(upload.accountUuid, -1);
    };
  }

  count(accountUuid: string): number {
    return this.#counts.get(accountUuid);
  }

  /** Reports to the uploads in a folder, or below it, that the folder was removed. */
  dismiss(realPath: string): void {
    for (const { folder, onGone } of [...this.#underWay]) if (isWithin(folder, realPath)) onGone();
  }
}

export interface UploadTurn {
  /** Whether a newer request asks for the upload. */
  readonly isWanted: boolean;
  release(): void;
}

interface Hold {
  /** Resolves when this hold and all earlier ones have released the upload. */
  readonly over: Promise<void>;
  want(): void;
  release(): void;
}

/** Gives each upload to one request at a time, in the order of the requests. A new request asks the older ones to end. */
export class UploadHolds {
  /** The holds of each upload, oldest first. */
  readonly #holds = new Map<string, Hold[]>();

  /** Resolves when the request holds the upload. @see UploadStore.hold */
  async take(id: string, onWanted: () => void): Promise<UploadTurn> {
    const holds = this.#holds.get(id) ?? [];
    this.#holds.set(id, holds);
    const before = holds.at(-1);
    let release: () => void = () => {};
    let isWanted = false;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const over = (before?.over ?? Promise.resolve()).then(() => released);
    const hold: Hold = {
      over,
      release,
      want: () => {
        if (isWanted) return;
        isWanted = true;
        onWanted();
      },
    };
    holds.push(hold);
    void over.then(() => {
      holds.splice(holds.indexOf(hold), 1);
      if (holds.length === 0) this.#holds.delete(id);
    });
    before?.want();
    await before?.over;
    return {
      get isWanted() {
        return isWanted;
      },
      release,
    };
  }

  /** Asks all requests that hold an upload, or wait for it, to end. Resolves when they have ended. */
  async quiet(id: string): Promise<void> {
    const last = this.#holds.get(id)?.at(-1);
    last?.want();
    await last?.over;
  }

  /** Whether a request holds an upload, or waits for it. */
  has(id: string): boolean {
    return this.#holds.has(id);
  }
}
