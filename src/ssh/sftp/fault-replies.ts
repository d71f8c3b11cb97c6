import type { SshClient } from '../ssh-client.ts';
import { MalformedFields } from './packets/field-reader.ts';
import { statusCodes } from './packets/packets.ts';
import { statusReply } from './packets/replies.ts';
import { statusOf } from './status.ts';

/** Tells that a request of a client cannot be read; event 30016, not for each when there are many. */
export function noteBadRequest({ events, context, badRequests }: SshClient, details: string): void {
  const requests = badRequests.note();
  if (requests !== undefined) events.emit({ id: 30016, context, data: { details, requests } });
}

/** The reply to a request that cannot be read, which is told of. */
export function malformedReply(client: SshClient, id: number, reason: string): Buffer {
  noteBadRequest(client, reason);
  return statusReply(id, statusCodes.badMessage, `The request cannot be read: ${reason}.`);
}

/** The reply to a request that failed. */
export function faultReply(client: SshClient, id: number, error: unknown): Buffer {
  if (error instanceof MalformedFields) return malformedReply(client, id, error.message);
  const { code, message } = statusOf(error, client.log);
  return statusReply(id, code, message);
}
