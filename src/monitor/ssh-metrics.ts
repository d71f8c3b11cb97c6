import type { Counter } from 'prom-client';
import { eventIds } from '../events/event-ids.ts';

/** Events of transfers that ended, with their direction and outcome (docs/spec/events.md#catalogue). */
const transfers: Readonly<Record<string, { direction: 'download' | 'upload'; outcome: 'done' | 'failed'; bytes: string }>> = {
  [eventIds.sftpFileDownloaded]: { direction: 'download', outcome: 'done', bytes: 'total_read' },
  [eventIds.sftpDownloadFailed]: { direction: 'download', outcome: 'failed', bytes: 'total_read' },
  [eventIds.sftpFileUploaded]: { direction: 'upload', outcome: 'done', bytes: 'total_write' },
  [eventIds.sftpTemporaryFileUploaded]: { direction: 'upload', outcome: 'done', bytes: 'total_write' },
  [eventIds.sftpUploadFailed]: { direction: 'upload', outcome: 'failed', bytes: 'total_write' },
};

/** Figures of SSH services. */
export class SshMetrics {
  readonly #handshakes: Counter;
  readonly #logins: Counter;
  readonly #requests: Counter;
  readonly #transfers: Counter;
  readonly #bytes: Counter;

  constructor(counter: (name: string, help: string, labelNames: string[]) => Counter) {
    this.#handshakes = counter('svc_ssh_handshakes_total', 'Connections that exchanged keys, or failed to.', ['service', 'outcome']);
    this.#logins = counter('svc_ssh_logins_total', 'Connections that logged in.', ['service']);
    this.#requests = counter('svc_sftp_requests_total', 'Requests of SFTP answered.', ['service', 'request', 'status']);
    this.#transfers = counter('svc_sftp_transfers_total', 'Transfers over SFTP that ended.', ['service', 'direction', 'outcome']);
    this.#bytes = counter('svc_sftp_transferred_bytes_total', 'Content of files in transfers that ended.', ['service', 'direction']);
  }

  handshake(service: string, outcome: 'done' | 'failed'): void {
    this.#handshakes.inc({ service, outcome });
  }

  login(service: string): void {
    this.#logins.inc({ service });
  }

  /** @param status of the reply; 0 for replies that are no status */
  request(service: string, request: string, status: number): void {
    this.#requests.inc({ service, request, status });
  }

  event(id: string, service: string, data: Readonly<Record<string, unknown>>): void {
    const transfer = transfers[id];
    // The second event of an upload under a temporary name: it was counted when it was whole.
    if (!transfer || (id === String(eventIds.sftpFileUploaded) && data.uploaded_as !== undefined)) return;
    const { direction, outcome, bytes } = transfer;
    this.#transfers.inc({ service, direction, outcome });
    this.#bytes.inc({ service, direction }, Number(data[bytes]) || 0);
  }
}
