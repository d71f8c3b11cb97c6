import { createHmac, timingSafeEqual } from 'node:crypto';
import { PasswordVerifier } from '../../accounts/passwords.ts';
import { loginSource } from '../../auth/ban-list.ts';
import type { Grant } from '../../auth/grants/grant.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parseBasic, schemeAndValue } from '../../lib/headers/header-fields.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { countedAttempt } from '../middleware/authenticate.ts';
import { respond } from '../reply/respond.ts';
import { cookie, type Exchange, header } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { readSmallForm } from '../request/request-body.ts';
import { linkUrlPath } from '../request/request-target.ts';

/** The cookie of a visitor who has entered the password. */
const passwordCookie = 'SVC_LINK';

const verifier = new PasswordVerifier();

/** Key in `details` of an `unauthorized` fault. It is set if the password of a link is missing or wrong. */
export const linkPasswordDetail = 'link_password';

/**
 * Admits a visitor who has the password of a link (docs/spec/links.md#password). The visitor proves this by the cookie, by Basic
 * authentication with any name, or by the form.
 *
 * @returns the reply to the form, which sets the cookie; undefined for a request that may continue
 * @throws ServiceError `unauthorized` without the password, `too-many-requests` after too many wrong passwords (for the link or from the
 *   address)
 */
export async function unlock(exchange: Exchange, grant: Grant, secret: string): Promise<Response | undefined> {
  const hash = grant.link?.passwordHash;
  if (hash === undefined || hasCookie(exchange, secret, hash)) return undefined;
  const authorization = header(exchange, 'authorization');
  const { scheme, value } = schemeAndValue(authorization ?? '');
  if (scheme === 'basic') {
    await checkPassword(exchange, grant, parseBasic(value).password, hash);
    return undefined;
  }
  const typed = exchange.method === 'POST' ? await typedPassword(exchange) : undefined;
  if (typed === undefined) throw passwordNeeded('missing');
  await checkPassword(exchange, grant, typed, hash);
  const path = linkUrlPath(secret, '/' as VirtualPath, true);
  const { options } = exchange.service;
  const isSecure = options.type === 'https' || options.accepted_origins.length > 0 || options.public_url.startsWith('https:');
  // The cookie is `Lax`, because people open links from mails. It is useless without the secret in the URL.
  const line = `${passwordCookie}=${passwordProof(secret, hash)}; Path=${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return respond(exchange, { status: 303, headers: { location: path, 'set-cookie': line, 'cache-control': 'no-store' } });
}

function passwordNeeded(reason: 'missing' | 'wrong'): ServiceError {
  const message = reason === 'wrong' ? 'The password is not correct.' : 'This link needs a password.';
  return new ServiceError('unauthorized', message, { details: { [linkPasswordDetail]: reason } });
}

async function checkPassword(exchange: Exchange, { id }: Grant, password: string, hash: string): Promise<void> {
  const source = loginSource(exchange.peer.address);
  const isRight = await countedAttempt(
    exchange,
    { type: 'password', username: id, content: password, realm: 'link' },
    (isKnown) => verifier.verify(password, hash, { source, isKnown }),
    (matches) => (matches ? 'succeeded' : 'failed'),
  );
  if (!isRight) throw passwordNeeded('wrong');
}

async function typedPassword(exchange: Exchange): Promise<string | undefined> {
  if (mediaTypeOfRequest(exchange) !== 'application/x-www-form-urlencoded') return undefined;
  return (await readSmallForm(exchange)).get('password') ?? undefined;
}

/** Returns the value of the cookie. Only visitors who entered the password get it. It is valid on all nodes until the link ends. */
function passwordProof(secret: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(secret).digest('base64url');
}

function hasCookie(exchange: Exchange, secret: string, passwordHash: string): boolean {
  const given = Buffer.from(cookie(exchange, passwordCookie) ?? '');
  const right = Buffer.from(passwordProof(secret, passwordHash));
  return given.length === right.length && timingSafeEqual(given, right);
}
