/** A started process that answers requests, as the primary process holds it. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** Gives it a message. Never throws: a process that is gone gets nothing. */
  send(message: unknown[]): void;
  onMessage(listener: (message: unknown) => void): void;
  /** @param listener told once how it ended, for example `signal SIGKILL` */
  onEnd(listener: (how: string) => void): void;
  /** Lets it end by itself: nobody talks to it any more. */
  disconnect(): void;
  /** Ends it at once. */
  kill(): void;
}

/** Starts such a process. */
export type Fork = () => WorkerProcess;
