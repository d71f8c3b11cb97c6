import * as z from 'zod';
import { type Credentials, parseKeyBlob } from '../../auth/credentials.ts';
import { configTarget } from '../../config/probe/method-probe.ts';
import { certificateCommonName, probeLogin } from '../../config/probe/probe-report.ts';
import { peerAt } from '../../events/event-factory.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parseAddressPort } from '../../lib/headers/forwarded-header.ts';
import { answerJson, goneSignal } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readRequest } from '../request-body.ts';

/** Maximum number of concurrent tests, of all administrators together. */
export const testsAtOnce = 4;

/** Maximum duration of a test in seconds. The methods' own time limits apply, too. */
export const longestTestS = 30;

const text = z.string().max(32_768);

/** Credentials, and the client that presents them. The members have the names of the options of `svc auth-test`. */
export const authTestRequest = z.strictObject({
  username: text.optional().describe('Name of the account; default: the name in the certificate.'),
  password: text.optional(),
  ssh_key: text.optional().describe('Line of an OpenSSH public key.'),
  certificate: text.optional().describe('Client certificate in PEM.'),
  method: text.optional().describe('UUID of the only method to ask; default: all, in their order.'),
  peer: text.optional().describe('`ADDRESS` or `ADDRESS:PORT` of the client; default: 127.0.0.1.'),
  creator_type: text
    .optional()
    .describe('Type of the service that the client logs in to; default: `ssh` if a key is given, otherwise `https`.'),
});
type AuthTestRequest = z.infer<typeof authTestRequest>;

const turns = new FairQueue({ concurrency: testsAtOnce, maxWaitingPerParty: 4, maxWaiting: 16 });

/**
 * Answers `POST /api/auth-test`: asks the authentication methods of the running configuration whether they accept the given credentials.
 * The credentials are not stored: event `administratorAction` contains only the name of the account.
 */
export async function testLogin(c: ConsoleContext): Promise<Response> {
  const asked = await readRequest(c, authTestRequest);
  const presented = presentedBy(asked);
  const { config } = c.env.service.sources.configuration.running();
  // An endpoint can repeat the credentials in its reply, so they are masked in the outcome.
  const secrets = [...presented.map(({ content }) => content), asked.ssh_key ?? ''];
  const target = { ...configTarget(config, asked.method, creatorType(asked) === 'ssh'), secrets };
  if (presented.length > 1 && target.sshService === undefined)
    throw new ServiceError('bad-request', 'Only an ssh service accepts a password and a key together.');
  await recordAction(c, 'auth-test', (presented[0] as Credentials).username);
  const endTurn = await turns.take(requireAdministrator(c).name);
  try {
    const { outcome, methods, login } = await withinTime(c, (signal) => probeLogin(target, presented, signal));
    return answerJson(c, { outcome, methods, login });
  } finally {
    endTurn();
  }
}

async function withinTime<T>({ env }: ConsoleContext, test: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const giveUp = () => late.abort(new ServiceError('unavailable', `The authentication methods did not answer within ${longestTestS} s.`));
  const timer = env.service.clock.after(longestTestS * 1000, giveUp);
  try {
    return await test(AbortSignal.any([late.signal, goneSignal(env)]));
  } finally {
    timer.cancel();
  }
}

function creatorType({ creator_type, ssh_key }: AuthTestRequest): string {
  return creator_type ?? (ssh_key === undefined ? 'https' : 'ssh');
}

/** Returns the credentials of a request. @throws ServiceError `bad-request` */
function presentedBy(asked: AuthTestRequest): Credentials[] {
  const { username, password, ssh_key, certificate } = asked;
  if (certificate === undefined ? password === undefined && ssh_key === undefined : password !== undefined || ssh_key !== undefined)
    throw new ServiceError('bad-request', 'Give one of "password", "ssh_key" and "certificate", or a key and a password.');
  const client = parseAddressPort(asked.peer ?? '127.0.0.1:0');
  if (!client) throw new ServiceError('bad-request', '"peer" must be ADDRESS or ADDRESS:PORT, IPv6 addresses in brackets.');
  const common = { peer: peerAt(client.address, client.port), creator: { uuid: 'svc-auth-test', type: creatorType(asked) } };
  if (certificate !== undefined)
    return [{ type: 'ssl-certificate', username: username ?? nameIn(certificate), content: certificate, ...common }];
  if (username === undefined) throw new ServiceError('bad-request', '"username" is missing.');
  const presented: Credentials[] = [];
  if (ssh_key !== undefined) presented.push({ type: 'ssh-key', username, content: readKeyBlob(ssh_key), ...common });
  if (password !== undefined) presented.push({ type: 'password', username, content: password, ...common });
  return presented;
}

function readKeyBlob(line: string): string {
  const blob = parseKeyBlob(line);
  if (blob === undefined) throw new ServiceError('bad-request', '"ssh_key" is not an OpenSSH public key.');
  return blob;
}

function nameIn(certificate: string): string {
  let name: string | undefined;
  try {
    name = certificateCommonName(certificate);
  } catch (error) {
    throw new ServiceError('bad-request', '"certificate" is not a certificate in PEM.', { cause: error });
  }
  if (name === undefined) throw new ServiceError('bad-request', 'The certificate has no common name; give "username".');
  return name;
}
