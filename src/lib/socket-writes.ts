import type { Socket } from 'node:net';

/** With so much unsent, nothing more is read. Channels stop far below; what a library answers by itself does not. */
const maxUnsentBytes = 8 * 1024 * 1024;

/**
 * Sends what is written in one turn of the event loop together, as a library may write a message in pieces, and reads nothing
 * more from a client that does not take its replies.
 */
export function shapeWrites(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isCorked = false;
  const uncork = () => {
    isCorked = false;
    socket.uncork();
  };
  socket.write = ((...args: unknown[]) => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(uncork);
    }
    const hasRoom = write(...args);
    if (socket.writableLength > maxUnsentBytes && !socket.isPaused()) {
      socket.pause();
      socket.once('drain', () => socket.resume());
    }
    return hasRoom;
  }) as Socket['write'];
}
