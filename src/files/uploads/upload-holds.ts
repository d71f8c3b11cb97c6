import type { UploadHold } from './upload-store.ts';

interface Hold<Holder> {
  readonly holder: Holder;
  /** Resolves once this one and all before it have released the upload. */
  readonly over: Promise<void>;
  want(): void;
  release(): void;
}

/**
 * Gives each upload to one request at a time, in the order in which they asked, and has all older ones hurry. `Holder` is who asks: a
 * worker, or a process itself.
 */
export class UploadHolds<Holder> {
  /** Of each upload, oldest first. */
  readonly #holds = new Map<string, Hold<Holder>[]>();

  /** Resolves when it is the holder's turn. @see UploadStore.hold */
  async take(holder: Holder, id: string, onWanted: () => void): Promise<UploadHold> {
    const holds = this.#holds.get(id) ?? [];
    this.#holds.set(id, holds);
    const before = holds.at(-1);
    let release: () => void = () => {};
    let isWanted = false;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const over = (before?.over ?? Promise.resolve()).then(() => released);
    const hold: Hold<Holder> = {
      holder,
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

  /** Whether somebody has an upload, or waits for it. */
  has(id: string): boolean {
    return this.#holds.has(id);
  }

  /** A holder is gone: what it had is free. */
  lose(holder: Holder): void {
    for (const holds of [...this.#holds.values()]) for (const hold of [...holds]) if (hold.holder === holder) hold.release();
  }
}
