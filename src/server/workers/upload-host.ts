import type { FileUploadStore } from '../../files/uploads/file-upload-store.ts';
import type { UploadHold } from '../../files/uploads/upload-store.ts';
import type { Peer } from './peer.ts';
import type { PrimaryApi } from './protocol.ts';

/** The methods that workers call for unfinished uploads. */
export type UploadApi = Pick<
  PrimaryApi,
  | 'addUpload'
  | 'findUpload'
  | 'changeUpload'
  | 'removeUpload'
  | 'holdUpload'
  | 'releaseUpload'
  | 'uploadsWithin'
  | 'enterUpload'
  | 'leaveUpload'
  | 'dismissUploads'
>;

/** The unfinished uploads of all workers, in the primary process. */
export class UploadHost {
  readonly #store: FileUploadStore;

  constructor(store: FileUploadStore) {
    this.#store = store;
  }

  /** What a worker may call. */
  apiFor(peer: Peer): UploadApi {
    const holds = new Map<number, UploadHold>();
    const passing = new Map<number, () => void>();
    return {
      addUpload: (order, lengthBytes) => this.#store.add(order, lengthBytes),
      findUpload: (id) => this.#store.find(id),
      changeUpload: (id, change) => this.#store.change(id, change),
      removeUpload: (id) => this.#store.remove(id),
      holdUpload: async (id, hold) => {
        holds.set(hold, await this.#store.holdFor(peer, id, () => peer.channel.tell('wantUpload', hold)));
      },
      releaseUpload: (hold) => {
        holds.get(hold)?.release();
        holds.delete(hold);
      },
      uploadsWithin: (realPath) => this.#store.within(realPath),
      enterUpload: async (accountUuid, folder, number) => {
        const onGone = () => peer.channel.tell('uploadGone', number);
        passing.set(number, this.#store.enterFor(peer, { accountUuid, folder, onGone }));
      },
      leaveUpload: (number) => {
        passing.get(number)?.();
        passing.delete(number);
      },
      dismissUploads: (realPath) => this.#store.dismiss(realPath),
    };
  }

  /** A worker is gone: what it held is free. */
  lose(peer: Peer): void {
    this.#store.lose(peer);
  }
}
