import type { HttpMiddleware } from '../environment.ts';

/** Keeps the session of a request from ending while the request is under way, however long it takes. */
export const holdSession: HttpMiddleware = async ({ env: { client, service } }, next) => {
  if (!client?.session) return next();
  const hold = service.sessions.hold(client.session);
  try {
    await next();
  } finally {
    hold.done();
  }
};
