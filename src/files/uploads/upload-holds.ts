import { isWithin } from '../../lib/virtual-path.ts';

/** An upload that nobody can go on with: it ends with its connection, and with its process. */
export interface PassingUpload {
  readonly accountUuid: string;
  /** Real path of the folder that it writes in. */
  readonly folder: string;
  /** Told when that folder is removed. */
  readonly onGone: () => void;
}

/** The uploads of this kind that are under way. */
export class PassingUploads {
  readonly #underWay = new Set<PassingUpload>();
  readonly #countOf = new Map<string, number>();

  /** @returns tells that it has ended, once or more often */
  enter(upload: PassingUpload): () => void {
    this.#underWay.add(upload);
    this.#countOf.set(upload.accountUuid, this.count(upload.accountUuid) + 1);
    return () => this.#leave(upload);
  }

  /** How many an account has. */
  count(accountUuid: string): number {
    return this.#countOf.get(accountUuid) ?? 0;
  }

  /** Tells those in a folder, or below it, that it is gone. */
  dismiss(realPath: string): void {
    for (const { folder, onGone } of [...this.#underWay]) if (folder === realPath || isWithin(folder, realPath)) onGone();
  }

  #leave(upload: PassingUpload): void {
    if (!this.#underWay.delete(upload)) return;
    const count = this.count(upload.accountUuid) - 1;
    if (count === 0) this.#countOf.delete(upload.accountUuid);
    else this.#countOf.set(upload.accountUuid, count);
  }
}

/** The turn of one request. */
export interface UploadTurn {
  /** Whether a newer request wants it. */
  readonly isWanted: boolean;
  release(): void;
}

interface Hold {
  /** Resolves once this one and all before it have released the upload. */
  readonly over: Promise<void>;
  want(): void;
  release(): void;
}

/** Gives each upload to one request at a time, in the order in which they asked, and has all older ones hurry. */
export class UploadHolds {
  /** Of each upload, oldest first. */
  readonly #holds = new Map<string, Hold[]>();

  /** Resolves when it is the request's turn. @see UploadStore.hold */
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

  /** Has all come to their end that have an upload, or wait for it now, and waits until they have. */
  async quiet(id: string): Promise<void> {
    const last = this.#holds.get(id)?.at(-1);
    last?.want();
    await last?.over;
  }

  /** Whether somebody has an upload, or waits for it. */
  has(id: string): boolean {
    return this.#holds.has(id);
  }
}
