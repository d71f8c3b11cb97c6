/** What an SSH service tells of what it does; the services know nothing of metrics. */
export interface SshObserver {
  /** Keys were exchanged for the first time on a connection, or could not be. */
  handshake(outcome: 'done' | 'failed'): void;
  /** A client has logged in. */
  login(): void;
  /**
   * A request of SFTP was answered.
   *
   * @param request its name as in the protocol, or that of the extension
   * @param status of the reply; 0 for replies that are no status
   */
  request(request: string, status: number): void;
}
