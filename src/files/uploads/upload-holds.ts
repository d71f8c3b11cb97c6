import { NamedCounts } from '../../lib/concurrency/slots.ts';
import { isWithin } from '../../lib/virtual-path.ts';

/** An upload that ends with its connection, so that nobody can continue it. */
export interface PassingUpload {
  readonly accountUuid: string;
  /** Real path of its folder. */
  readonly folder: string;
  /** Called when that folder is removed. */
  readonly onGone: () => void;
}

/** Such uploads under way. */
export class PassingUploads {
  readonly #underWay = new Set<PassingUpload>();
  readonly #counts = new NamedCounts();

  /** @returns reports the end; it may be called again */
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

  /** Reports to the uploads in a folder, or below it, that it is gone. */
  dismiss(realPath: string): void {
    for (const { folder, onGone } of [...this.#underWay]) if (isWithin(folder, realPath)) onGone();
  }
}

/** One request's hold on an upload. */
export interface UploadTurn {
  /** Whether a newer request wants the upload. */
  readonly isWanted: boolean;
  release(): void;
}

interface Hold {
  /** Resolves once this one and all before it have released the upload. */
  readonly over: Promise<void>;
  want(): void;
  release(): void;
}

/** Gives each upload to one request at a time, in the order of the requests, and asks all older ones to end. */
export class UploadHolds {
  /** The holds of each upload, oldest first. */
  readonly #holds = new Map<string, Hold[]>();

  /** Resolves when the request has the upload. @see UploadStore.hold */
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

  /** Ends all requests that hold an upload or wait for it, and resolves when they have ended. */
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
