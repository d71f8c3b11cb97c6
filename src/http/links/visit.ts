import type { Account } from '../../accounts/account.ts';
import { loginSource } from '../../auth/ban-list.ts';
import type { Grant } from '../../auth/grants/grant.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { ServiceError } from '../../lib/errors.ts';
import { readSecret } from '../../lib/secrets.ts';
import { baseName, memberPath, pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import { accept, checkBan, countedAttempt } from '../middleware/authenticate.ts';
import { type Exchange, type HttpMiddleware, signedIn, type Visit } from '../request/exchange.ts';
import { inlineQuery, type RequestTarget, reservedName } from '../request/request-target.ts';
import { unlock } from './password.ts';

type LinkTarget = Extract<RequestTarget, { kind: 'link' }>;

/**
 * Lets a visitor act as the creator of a link, within the limits of the link (docs/spec/links.md#visitors). Sets `exchange.client` and
 * `exchange.visit`.
 *
 * @throws ServiceError `not-found` for a wrong secret, `gone` for a link that has ended, `unauthorized` without the link's password,
 * `too-many-requests` after too many guesses
 */
export const visit: HttpMiddleware = async ({ env: exchange }, next) => {
  const { target } = exchange;
  if (target.kind !== 'link') throw new Error('The request is not about a link.');
  const grant = await findLink(exchange, target.secret);
  await enter(exchange, grant);
  const reply = await unlock(exchange, grant, target.secret);
  if (reply) return reply;
  exchange.visit = makeVisit(exchange, grant, target);
  await noteOpened(exchange, grant);
  return next();
};

/**
 * Looks up the current state of the creator's account, and limits the account's rights to the rights of the link. Sets `exchange.client`.
 *
 * @throws ServiceError `gone` for a link that has ended, `unavailable` while the account cannot be looked up
 */
async function enter(exchange: Exchange, grant: Grant): Promise<void> {
  const { chain, uuid, component } = exchange.service;
  const asked = { peer: exchange.peer, creator: { uuid, type: component.type }, request: exchange.request };
  const result = await chain.authenticateGrant(grant, asked);
  if (result.outcome === 'unanswered') throw new ServiceError('unavailable', 'The link cannot be checked at present; try again later.');
  if (result.outcome !== 'authenticated') throw new ServiceError('gone', result.outcome === 'over' ? result.reason : 'The link has ended.');
  accept(exchange, grant.link?.kind === 'drop' ? numbering(result.account) : result.account, result.identity, undefined);
}

const numberingAccounts = new WeakMap<Account, Account>();

/** Returns a copy of the account whose uploads get a number if their name is taken, because visitors cannot see which names are taken. */
function numbering(account: Account): Account {
  const known = numberingAccounts.get(account) ?? { ...account, onNameTaken: 'number' };
  numberingAccounts.set(account, known);
  return known;
}

/** Counts the visit and emits event `linkOpened`, at most once an hour for each visitor. @throws the errors of `countVisit` */
async function noteOpened(exchange: Exchange, { id, link, paths }: Grant): Promise<void> {
  const { events, grants } = exchange.service;
  if (!(await grants.store.countVisit(id, loginSource(exchange.peer.address)))) return;
  events.emit({ id: eventIds.linkOpened, context: signedIn(exchange).context, data: { path: paths?.[0], kind: link?.kind } });
}

/** Finds the link of a secret. A wrong secret counts as a guess from the client's address. A banned address can still use valid secrets. */
async function findLink(exchange: Exchange, secret: string): Promise<Grant> {
  const read = readSecret(secret);
  // A secret whose check characters are wrong was mistyped. It is neither looked up nor counted as a guess.
  if (read === undefined || read === 'mistyped' || read.kind !== 'link') throw noLink();
  const grant = await exchange.service.grants.store.find(read.hash);
  if (grant) return grant;
  await checkBan(exchange, 'link');
  await countedAttempt(
    exchange,
    { type: 'password', username: '', content: secret, realm: 'link' },
    async () => false,
    () => 'failed',
  );
  throw noLink();
}

/** Limits concurrent archives and digests, whose cost grows with the size of the files. Anybody with a link can request them. */
const turns = new FairQueue({ concurrency: 2, maxWaitingPerParty: 8, maxWaiting: 100 });

function noLink(): ServiceError {
  return new ServiceError('not-found', 'There is no such link.');
}

function makeVisit(exchange: Exchange, link: Grant, target: LinkTarget): Visit {
  const { secret, below, query } = target;
  const root = link.paths?.[0] ?? ('/' as VirtualPath);
  const { files } = signedIn(exchange);
  const kind = link.link?.kind;
  const isFile = kind === 'download' && isFileAt(files, root);
  const maximum = link.link?.maximumDownloads;
  const usedUp = () => new ServiceError('gone', exchange.service.chain.refuseUsedUp(link, signedIn(exchange).context));
  const targetOf = (name: VirtualPath) => {
    const [only, ...others] = pathSegments(name);
    if (kind !== 'drop' || only === undefined || others.length > 0) throw new ServiceError('not-found', 'Path not found.');
    return inside(root, [only]);
  };
  return {
    link,
    secret,
    root,
    isFile,
    path: kind === 'drop' ? (exchange.method === 'PUT' ? targetOf(below) : root) : sharedPath(root, target, isFile),
    targetOf,
    belowOf: (path) => (path.slice(root === '/' ? 0 : root.length) || '/') as VirtualPath,
    takeTurn: () => turns.take(link.id),
    async countDownload() {
      if (maximum === undefined && inlineQuery(query) !== null) return;
      if (!(await exchange.service.grants.store.countDownload(link.id, maximum))) throw usedUp();
    },
    requireDownloads() {
      if (maximum !== undefined && (link.downloads ?? 0) >= maximum) throw usedUp();
    },
  };
}

/** Returns whether a link leads to a file. @throws ServiceError `gone` if the file or folder does not exist any more */
function isFileAt(files: AccountFiles, root: VirtualPath): boolean {
  const entry = files.inspect(root);
  if (!entry) throw new ServiceError('gone', 'The file or folder of this link no longer exists.');
  return !entry.isFolder;
}

function sharedPath(root: VirtualPath, { below, isFolder: isFolderUrl }: LinkTarget, isFile: boolean): VirtualPath {
  if (below === '/') return root;
  if (!isFile) return inside(root, pathSegments(below));
  if (isFolderUrl || below !== `/${baseName(root)}`) throw new ServiceError('not-found', 'Path not found.');
  return root;
}

/** Returns a path below `root`. @throws ServiceError `not-found` for the service's reserved name in the home folder */
function inside(root: VirtualPath, names: readonly string[]): VirtualPath {
  if (root === '/' && names[0] === reservedName) throw new ServiceError('not-found', 'Path not found.');
  return names.reduce<VirtualPath>(memberPath, root);
}

/** Whether the visitor's link is for uploads. */
export function isDrop({ visit }: Exchange): boolean {
  return visit?.link.link?.kind === 'drop';
}
