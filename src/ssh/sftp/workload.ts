/** Requests that are worked on at once, and bytes of their writes. */
const mostRequests = 64;
const mostWriteBytes = 8 * 1024 * 1024;

/** Bytes of replies that wait to be sent or are being made: above the first mark no request is begun until it is below the second. */
const highMarkBytes = 4 * 1024 * 1024;
const lowMarkBytes = 2 * 1024 * 1024;

/** What one session works on, and whether it may begin more. */
export class Workload {
  requests = 0;
  writeBytes = 0;
  /** Bytes that READs under way were promised. */
  readBytes = 0;
  #isHeld = false;

  /** Whether one more request may be begun. @param unsentBytes replies that wait to be sent */
  hasRoom(unsentBytes: number): boolean {
    if (this.requests >= mostRequests || this.writeBytes >= mostWriteBytes) return false;
    const waitingBytes = unsentBytes + this.readBytes;
    if (waitingBytes > highMarkBytes) this.#isHeld = true;
    else if (waitingBytes < lowMarkBytes) this.#isHeld = false;
    return !this.#isHeld;
  }
}
