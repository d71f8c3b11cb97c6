/** Two buffers that take turns: one is read into while the other is on its way to the socket. */
export interface SendBuffers {
  readonly pair: readonly [Buffer, Buffer];
  /** Must be called once. @param isFree whether nothing uses them any more, so that another download can have them */
  release(isFree: boolean): void;
}

/** What large bodies are sent in, fastest (docs/design/costs.md); room for a member of an archive with its header. */
const largeBytes = 1024 * 1024 + 64 * 1024;

/** What is enough for one of very many, or for a stream of HTTP/2: as much as its window is at first (RFC 9113 §6.9.2). */
const smallBytes = 64 * 1024;

/** So many downloads at once have large buffers: a client that reads slowly keeps its own for as long as it likes. */
const maxLargePairs = 32;

const maxIdlePairs = 8;
const idlePairs: [Buffer, Buffer][] = [];
let largePairs = 0;

/**
 * Buffers for one download of a file or an archive. Large ones for the first of those at work, small ones for the others, so that a thousand
 * clients that read slowly take 200 MiB rather than 2 GiB.
 *
 * @param isStream whether the download is one of many on a connection
 */
export function takeSendBuffers(isStream: boolean): SendBuffers {
  if (isStream || largePairs >= maxLargePairs) return { pair: newPair(smallBytes), release() {} };
  largePairs++;
  const pair = idlePairs.pop() ?? newPair(largeBytes);
  return {
    pair,
    release(isFree) {
      largePairs--;
      if (isFree && idlePairs.length < maxIdlePairs) idlePairs.push(pair);
    },
  };
}

function newPair(sizeBytes: number): [Buffer, Buffer] {
  return [Buffer.allocUnsafeSlow(sizeBytes), Buffer.allocUnsafeSlow(sizeBytes)];
}
