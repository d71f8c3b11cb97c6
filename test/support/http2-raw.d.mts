import type { TLSSocket } from 'node:tls';

/** Numbers of the types of frames (RFC 9113 §6). */
export const frameTypes: Record<'data' | 'headers' | 'rstStream' | 'settings' | 'ping' | 'goaway' | 'continuation', number>;

export function frame(type: number, flags: number, stream: number, payload?: Buffer): Buffer;

export function requestFrame(stream: number, fields: readonly (readonly [string, string])[]): Buffer;

/** A hostile action that a flooding client repeats. */
export type Act = 'requests' | 'small' | 'resets' | 'settings' | 'pings';

export interface RawHttp2 {
  socket: TLSSocket;
  ready: Promise<void>;
  goaway: number | undefined;
  replies200: number;
  resets: { stream: number; code: number }[];
  isOver: boolean;
  write(...frames: Buffer[]): void;
  /** Returns a request in the session: the number of its stream, and its first frame. */
  get(path: string): [stream: number, frame: Buffer];
  giveUp(path: string): void;
  cutShort(path: string, authorization: string, content: string): void;
  acts: Record<Act, () => void>;
}

export function connectRaw(url: string, ca: string, session?: string): RawHttp2;
