import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A fault of a PATCH on its way to the server. */
export type Trouble =
  /** The connection is cut after this number of bytes. */
  | { cutAfterBytes: number }
  /** After this number of bytes nothing more of the request is passed on, but the connections stay open. */
  | { holdAfterBytes: number }
  /** Nothing of the content is passed on, as by a proxy that waits for the whole request. The connection is cut after this number of bytes. */
  | { keepsBackBytes: number }
  /** The server receives the whole request, but its reply is lost. */
  | { swallowsReply: true };

/** A proxy to a server. It makes PATCH requests fail. */
export interface UnreliableProxy {
  url: string;
  /** The faults of the next PATCH requests, in order. Later requests pass. */
  troubles: Trouble[];
  /** `Upload-Offset` of the PATCH requests so far. If a request is repeated for the same upload and offset, it is listed once. */
  offsets: number[];
  /** Lengths of the content of the PATCH requests so far, with repeated ones. */
  sizes: number[];
  /** Cuts all connections and accepts no new ones. */
  goDown: () => Promise<void>;
  /** Accepts connections again. */
  comeBack: () => Promise<void>;
}

/** Starts a proxy on a free port. It is stopped at the end of the test. @param port port of the server */
export async function startUnreliableProxy(t: TestContext, port: number): Promise<UnreliableProxy> {
  const sockets = new Set<Socket>();
  const troubles: Trouble[] = [];
  const offsets: number[] = [];
  const sizes: number[] = [];
  const last = new Map<string, string>();
  const keptBack = new Map<string, Trouble>();
  const accept = (client: Socket) => {
    const server = connect(port, '127.0.0.1');
    let trouble: Trouble | undefined;
    let passedBytes = 0;
    const end = () => {
      for (const socket of [client, server]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (chunk: Buffer) => {
      const head = chunk.subarray(0, 4096).toString('latin1');
      const [, url = '', offset] = /^PATCH (\S+) [^\0]*?\r\nupload-offset: (\d+)\r\n/i.exec(head) ?? [];
      if (offset !== undefined) {
        // If a request is cut off on a connection that was used before, browsers repeat the request by themselves.
        const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
        const isRepeated = last.get(url) === `${offset} ${length}`;
        last.set(url, `${offset} ${length}`);
        sizes.push(Number(length));
        if (!isRepeated) offsets.push(Number(offset));
        trouble = isRepeated ? keptBack.get(url) : troubles.shift();
        if (trouble && 'keepsBackBytes' in trouble) keptBack.set(url, trouble);
        else keptBack.delete(url);
        passedBytes = 0;
      }
      passedBytes += chunk.length;
      if (!(trouble && 'keepsBackBytes' in trouble)) server.write(chunk);
      else if (passedBytes >= trouble.keepsBackBytes) end();
      if (trouble && 'cutAfterBytes' in trouble && passedBytes >= trouble.cutAfterBytes) end();
      if (trouble && 'holdAfterBytes' in trouble && passedBytes >= trouble.holdAfterBytes) client.pause();
    });
    server.on('data', (chunk: Buffer) => {
      if (trouble && 'swallowsReply' in trouble) end();
      else client.write(chunk);
    });
  };
  let proxy: Server;
  const listen = async (at: number) => {
    proxy = createServer(accept);
    await new Promise<void>((resolve) => proxy.listen(at, '127.0.0.1', resolve));
    return (proxy.address() as AddressInfo).port;
  };
  const goDown = async () => {
    const closed = new Promise((resolve) => proxy.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const ownPort = await listen(0);
  t.after(() => (proxy.listening ? goDown() : undefined));
  return { url: `http://127.0.0.1:${ownPort}`, troubles, offsets, sizes, goDown, comeBack: async () => void (await listen(ownPort)) };
}
