import * as z from 'zod';
import { type Account, AccountError, effectiveAccount, narrowAccount } from '../accounts/account.ts';
import { isUserName } from '../accounts/user-names.ts';
import { eventAccount } from '../auth/auth-chain.ts';
import { type Grant, grantChain, grantName, listNarrowings } from '../auth/grants/grant.ts';
import type { Grants, MadeGrant } from '../auth/grants/grants.ts';
import { readLinkOrder } from '../auth/grants/link-order.ts';
import { shownGrant } from '../auth/grants/shown-grant.ts';
import { readTokenOrder } from '../auth/grants/token-order.ts';
import type { Config } from '../config/schema/schema.ts';
import type { Orders } from '../control/control-server.ts';
import type { EventComponent, EventContext } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { AccountFiles } from '../files/account-files.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import { LockGuard } from '../files/locks/lock-guard.ts';
import { requireSharable } from '../files/sharing.ts';
import { ServiceError } from '../lib/errors.ts';
import { readSecret } from '../lib/secrets.ts';
import type { RequestParts } from './parts.ts';

const by = z.string().min(1).max(150);
const kind = z.enum(['token', 'link']);
const order = z.record(z.string(), z.unknown());
const orders = {
  list: z.strictObject({ kind, account: z.string().optional() }),
  end: z.strictObject({ kind, by, ids: z.array(z.string()).optional(), account: z.string().optional(), all: z.boolean().optional() }),
  create: z.strictObject({ by, account: z.string(), order }),
  narrow: z.strictObject({ by, token: z.string(), order }),
  createLink: z.strictObject({ by, account: z.string(), service: z.string().optional(), order }),
  rotate: z.strictObject({ by, id: z.string(), overlap: z.number().min(0) }),
};

/** The parts of the server that are needed for operators' commands about tokens and links. */
export interface GrantOrderParts {
  grants: Grants;
  server: EventComponent;
  files: FilesEnvironment;
  /** Returns the parts of the current configuration. */
  parts: () => RequestParts;
}

/** Carries out operators' commands about tokens and links: `svc tokens`, `svc links`, and the same commands of the console. */
export class OperatorGrants {
  readonly #grants: Grants;
  readonly #server: EventComponent;
  readonly #files: FilesEnvironment;
  readonly #parts: () => RequestParts;

  constructor({ grants, server, files, parts }: GrantOrderParts) {
    this.#files = files;
    this.#grants = grants;
    this.#server = server;
    this.#parts = parts;
  }

  /** Returns the valid tokens or links, newest first. @param account name of an account; undefined for all accounts */
  async list(kind: Grant['kind'], account?: string): Promise<Grant[]> {
    return (await this.#grants.list(kind)).filter((grant) => account === undefined || grant.account.name === account);
  }

  /** Ends tokens or links. IDs of the other kind are ignored. @returns the tokens or links that ended */
  async end(kind: Grant['kind'], ids: readonly string[], by: string): Promise<Grant[]> {
    const own = ids.filter((id) => this.#grants.inForce(id)?.kind === kind);
    return this.#grants.end(own, 'revoked', by, this.#context());
  }

  /** The commands that the control socket accepts, by name. */
  get orders(): Orders {
    const grants = this.#grants;
    return {
      'list-grants': async (given) => {
        const { kind, account } = read(orders.list, given);
        return (await this.list(kind, account)).map(shownGrant);
      },
      'end-grants': async (given) => {
        const { kind, by, ids, account, all } = read(orders.end, given);
        if (!ids && account === undefined && !all) throw new ServiceError('bad-request', 'Name the tokens or links to revoke.');
        const wanted = ids ?? (await this.list(kind, account)).map(({ id }) => id);
        return (await this.end(kind, wanted, by)).map(shownGrant);
      },
      'create-token': async (given) => {
        const { by, account: name, order } = read(orders.create, given);
        const account = this.#account(name);
        return [
          shownMade(await grants.make(account, readTokenOrder(order, account.tokens, grants.clock.nowMs()), by, this.#context(account))),
        ];
      },
      'create-link': async (given) => {
        const { by, account: name, service, order } = read(orders.createLink, given);
        const origin = linkOrigin(this.#parts().config, service);
        const account = this.#account(name, 'links');
        const context = this.#context(account);
        const wanted = await readLinkOrder(order, account.links, grants.clock.nowMs());
        const locks = new LockGuard(this.#files.locks, account.uuid, undefined);
        requireSharable(new AccountFiles(account, this.#files, context, locks), wanted.paths[0], wanted.link.kind);
        const { grant, secret } = await grants.make(account, wanted, by, context);
        const { id, ...shown } = shownGrant(grant);
        return [{ id, url: `${origin}/__svc__/s/${secret}/`, ...shown }];
      },
      'narrow-token': async (given) => {
        const { by, token, order } = read(orders.narrow, given);
        const secret = readSecret(token);
        const grant = secret && secret !== 'mistyped' && secret.kind === 'token' ? await grants.store.find(secret.hash) : undefined;
        if (!grant || !grants.isInForce(grant)) throw new ServiceError('bad-request', 'This is not a valid token.');
        const account = this.#account(grant.account.name, 'tokens', grant);
        return [
          shownMade(await grants.make(account, readTokenOrder(order, account.tokens, grants.clock.nowMs()), by, this.#context(account))),
        ];
      },
      'rotate-token': async (given) => {
        const { by, id, overlap } = read(orders.rotate, given);
        const grant = grants.inForce(id);
        if (grant?.kind !== 'token') throw new ServiceError('not-found', `There is no token ${id}.`);
        const account = this.#account(grant.account.name);
        const { maximum, maximum_days } = account.tokens;
        const limits = { overlapMs: overlap * 1000, maximum, maximumMs: maximum_days * 86_400_000 };
        return [shownMade(await grants.rotate(id, limits, by, this.#context(account)))];
      },
    };
  }

  /** Returns an account that svc itself stores, with its rights in the running configuration. @param grant limits these rights */
  #account(name: string, option: 'tokens' | 'links' = 'tokens', grant?: Grant): Account {
    const { methods, groups } = this.#parts();
    for (const method of isUserName(name) ? methods.values() : []) {
      const configuration = method.tokenConfiguration?.(name, undefined);
      if (!configuration) continue;
      try {
        const account = effectiveAccount(name, configuration, groups, method);
        if (!account[option].enabled)
          throw new ServiceError('unprocessable', `The account "${name}" may not have ${option} (option "${option}").`);
        return grant
          ? narrowAccount(account, listNarrowings(grantChain(grant, (id) => this.#grants.store.get(id))), grantName(grant))
          : account;
      } catch (error) {
        if (error instanceof AccountError) throw new ServiceError('bad-request', `The account "${name}" cannot be used: ${error.message}`);
        throw error;
      }
    }
    throw new ServiceError(
      'not-found',
      `There is no account "${name}" here, or it is disabled. Accounts of a callout create their tokens and links themselves, over REST.`,
    );
  }

  #context(account?: Account): EventContext {
    const { peer } = processAccount();
    return { account: account ? eventAccount(account, peer) : processAccount(), component: this.#server };
  }
}

/**
 * Returns the origin for URLs of new links (docs/spec/links.md#url).
 *
 * @param uuid UUID of a service; without it, the first http or https service is used
 */
function linkOrigin({ services }: Config, uuid?: string): string {
  const web = Object.entries(services).filter(([, { type, enabled }]) => enabled && (type === 'http' || type === 'https'));
  const [, options] = (uuid === undefined ? web[0] : web.find(([candidate]) => candidate === uuid)) ?? [];
  if (options?.type !== 'http' && options?.type !== 'https')
    throw new ServiceError('bad-request', 'There is no such http or https service.');
  const { type, public_url: publicUrl, accepted_origins: accepted, address, port } = options;
  const host = address.includes(':') ? `[${address}]` : address;
  return publicUrl || accepted[0] || `${type}://${host}:${port}`;
}

function shownMade({ grant, secret }: MadeGrant): object {
  const { id, ...shown } = shownGrant(grant);
  return { id, token: secret, ...shown };
}

function read<T>(schema: z.ZodType<T>, given: unknown): T {
  const { data, error } = schema.safeParse(given);
  if (data !== undefined) return data;
  const [issue] = error?.issues ?? [];
  throw new ServiceError('bad-request', `The command cannot be read: ${issue?.path.join('.')}: ${issue?.message}.`);
}
