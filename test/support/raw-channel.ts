import { packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import type { FieldWriter } from '../../src/ssh/sftp/packets/replies.ts';
import { readReply, requestPacket, type SftpReply } from './sftp-requests.ts';

/** Messages that the client of ssh2 sends without checking whether a server may receive them. */
export interface RawProtocol {
  session(id: number, windowBytes: number, packetBytes: number): void;
  exec(id: number, command: string, wantsReply: boolean): void;
  shell(id: number, wantsReply: boolean): void;
  pty(id: number, rows: number, columns: number, height: number, width: number, term: string, modes: null, wantsReply: boolean): void;
  env(id: number, name: string, value: string, wantsReply: boolean): void;
  subsystem(id: number, name: string, wantsReply: boolean): void;
  channelData(id: number, data: Buffer): void;
  channelEOF(id: number): void;
  channelClose(id: number): void;
  tcpipForward(address: string, port: number, wantsReply: boolean): void;
  rekey(): void;
  service(name: string): void;
  ping(): void;
  _decipher: { _onPayload: (payload: Buffer) => void };
  _handlers: Record<string, (protocol: unknown, ...args: never[]) => void>;
}

export function protocolOf(client: unknown): RawProtocol {
  return (client as { _protocol: RawProtocol })._protocol;
}

/** The replies of a server to requests about channels. */
export interface ChannelAnswers {
  /** The server's numbers of the opened channels. */
  opened: number[];
  refused: number;
  /** Number of granted requests on channels. */
  granted: number;
  denied: number;
  /** The client's numbers of the channels that the server has closed. */
  closed: number[];
  /** Resolves when all requests sent so far have been answered. */
  settled(): Promise<void>;
}

/** Handles replies in place of the client, and counts them. The client would treat replies on unknown channels as an error. */
export function countAnswers(client: unknown): ChannelAnswers {
  const protocol = protocolOf(client);
  let onPong: () => void = () => {};
  const answers: ChannelAnswers = {
    ...{ opened: [], refused: 0, granted: 0, denied: 0, closed: [] },
    settled: () =>
      new Promise((resolve) => {
        onPong = resolve;
        protocol.ping();
      }),
  };
  Object.assign(protocol._handlers, {
    CHANNEL_OPEN_CONFIRMATION: (_protocol: unknown, { sender }: { sender: number }) => answers.opened.push(sender),
    CHANNEL_OPEN_FAILURE: () => answers.refused++,
    CHANNEL_SUCCESS: () => answers.granted++,
    CHANNEL_FAILURE: () => answers.denied++,
    CHANNEL_CLOSE: (_protocol: unknown, id: number) => answers.closed.push(id),
    REQUEST_FAILURE: () => onPong(),
  });
  return answers;
}

/** A channel with the SFTP subsystem. The test chooses the size of its window, which is never enlarged. */
export interface RawChannel {
  send(type: number, build?: (fields: FieldWriter) => unknown): void;
  /** Returns the next reply that has not been returned yet. */
  reply(): Promise<SftpReply>;
  close(): void;
}

/** Opens a channel that the client of ssh2 does not know about. @param id client's number of the channel, which ssh2 must not use itself */
export async function openRawChannel(client: unknown, id: number, windowBytes: number, packetBytes = 32_768): Promise<RawChannel> {
  const protocol = protocolOf(client);
  const before = { ...protocol._handlers };
  let received = Buffer.alloc(0);
  const replies: SftpReply[] = [];
  let onReply: (() => void) | undefined;
  const opened = new Promise<number>((resolve) => {
    protocol._handlers.CHANNEL_OPEN_CONFIRMATION = (_protocol, info: { recipient: number; sender: number }) => {
      if (info.recipient === id) resolve(info.sender);
      else before.CHANNEL_OPEN_CONFIRMATION?.(_protocol, info as never);
    };
  });
  protocol._handlers.CHANNEL_DATA = (_protocol, recipient: number, data: Buffer) => {
    if (recipient !== id) return before.CHANNEL_DATA?.(_protocol, recipient as never, data as never);
    received = Buffer.concat([received, data]);
    while (received.length >= 4 && received.length >= 4 + received.readUInt32BE(0)) {
      const end = 4 + received.readUInt32BE(0);
      if (received[4] !== packetTypes.version) replies.push(readReply(received.subarray(4, end)));
      received = received.subarray(end);
    }
    onReply?.();
  };
  protocol.session(id, windowBytes, packetBytes);
  const theirs = await opened;
  protocol.subsystem(theirs, 'sftp', false);
  protocol.channelData(theirs, requestPacket(packetTypes.init, 3));
  let lastId = 0;
  return {
    send: (type, build) => protocol.channelData(theirs, requestPacket(type, ++lastId, build)),
    close: () => protocol.channelClose(theirs),
    async reply() {
      while (replies.length === 0) await new Promise<void>((resolve) => (onReply = resolve));
      return replies.shift() as SftpReply;
    },
  };
}
