import { createHmac } from 'node:crypto';
import * as z from 'zod';
import type { AuthResult } from '../../auth/auth-method.ts';
import type { AcceptedCredentials } from '../../auth/callout-cache.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';

const textOption = z.string().nullish();

/** Unknown members of the account are allowed, because a newer version of svc may have written them. */
const acceptedResult = z.object({
  outcome: z.literal('authenticated'),
  account: z.looseObject({
    uuid: textOption,
    email: textOption,
    group: textOption,
    home_folder_path: textOption,
    create_home_folder: z.boolean().nullish(),
    create_home_folder_owner: textOption,
    create_home_folder_group: textOption,
    home_folder_structure: z.array(z.string()).nullish(),
    virtual_folders: z.array(z.tuple([z.string(), z.string()])).nullish(),
    permissions: z
      .object({ general: z.array(z.string()), rules: z.array(z.object({ expression: z.string(), permissions: z.array(z.string()) })) })
      .nullish(),
  }),
});

/**
 * Stores, for all nodes, which credentials the callout (the remote endpoint that checks logins) accepted. Each key is an HMAC under
 * `server.state.secret`. This secret is not in Redis, so somebody who can read Redis cannot test passwords against the keys. While Redis is
 * unreachable, each validation asks the endpoint.
 */
export class RedisAcceptedCredentials implements AcceptedCredentials {
  readonly #link: RedisLink;
  readonly #secret: string;
  readonly #lifetimeMs: number;
  readonly #method: string;

  constructor(link: RedisLink, secret: string, method: string, lifetimeMs: number) {
    this.#link = link;
    this.#secret = secret;
    this.#method = method;
    this.#lifetimeMs = lifetimeMs;
  }

  keyFor(question: string): string {
    return createHmac('sha256', this.#secret).update(`${this.#method} ${question}`).digest('base64url');
  }

  async find(key: string): Promise<AuthResult | undefined> {
    try {
      const name = this.#link.key('accepted', key);
      const text = await this.#link.call(['GET', name]);
      return text === null ? undefined : this.#link.values.read(name, text, (value) => acceptedResult.parse(value) as AuthResult);
    } catch {
      return undefined;
    }
  }

  async keep(key: string, result: AuthResult): Promise<void> {
    try {
      await this.#link.call(['SET', this.#link.key('accepted', key), JSON.stringify(result), 'PX', String(Math.ceil(this.#lifetimeMs))]);
    } catch {
      // The next validation asks the endpoint again.
    }
  }
}
