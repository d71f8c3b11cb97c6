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
    this.#countOf.set(upload.accountUuid, this.countOf(upload.accountUuid) + 1);
    return () => this.#leave(upload);
  }

  /** How many an account has. */
  countOf(accountUuid: string): number {
    return this.#countOf.get(accountUuid) ?? 0;
  }

  /** Tells those in a folder, or below it, that it is gone. */
  dismiss(realPath: string): void {
    for (const { folder, onGone } of [...this.#underWay]) if (folder === realPath || isWithin(folder, realPath)) onGone();
  }

  #leave(upload: PassingUpload): void {
    if (!this.#underWay.delete(upload)) return;
    const count = this.countOf(upload.accountUuid) - 1;
    if (count === 0) this.#countOf.delete(upload.accountUuid);
    else this.#countOf.set(upload.accountUuid, count);
  }
}
