import { readAsync } from '../lib/disk/descriptors.ts';

const chunkBytes = 1024 * 1024;

/**
 * The content of an open file from its beginning, in chunks that share one buffer: each is used up before the next is asked for.
 */
export async function* contentOf(fd: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (let position = 0; ; ) {
    const { bytesRead } = await readAsync(fd, buffer, 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
