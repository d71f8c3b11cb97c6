import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import type { CertificateStore } from '../../certificates/certificate-store.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';

/** If the node that orders certificates dies, another node takes over after this time, in milliseconds. */
const leaseMs = 20_000;

const [ivBytes, tagBytes] = [12, 16];

/**
 * Stores the certificates, private keys and challenges of all nodes. Each value is encrypted with AES-256-GCM and bound to its name. The
 * key is derived from `server.state.secret`, which is not in Redis. So somebody who can read Redis learns no private key, and somebody who
 * can write to Redis cannot forge a value.
 */
export class RedisCertificates implements CertificateStore {
  readonly #link: RedisLink;
  readonly #secret: string;
  readonly #node = randomUUID();
  #key: Buffer | undefined;

  constructor(link: RedisLink, secret: string) {
    this.#link = link;
    this.#secret = secret;
  }

  isLeader(): Promise<boolean> {
    return holdLease(this.#link, 'certificate-leader', this.#node, leaseMs);
  }

  async get(name: string): Promise<string | undefined> {
    const key = this.#link.key('certificates', name);
    const sealed = await this.#link.call(['GET', key]);
    if (sealed === null) return undefined;
    try {
      const bytes = Buffer.from(String(sealed), 'base64');
      const decipher = createDecipheriv('aes-256-gcm', this.#sealingKey(), bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString();
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      this.#link.values.skip(key, "it is not encrypted with this node's server.state.secret");
      return undefined;
    }
  }

  async put(name: string, text: string, lifetimeMs: number): Promise<void> {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#sealingKey(), iv, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(name));
    const content = Buffer.concat([cipher.update(text), cipher.final()]);
    const sealed = Buffer.concat([iv, cipher.getAuthTag(), content]).toString('base64');
    await this.#link.call(['SET', this.#link.key('certificates', name), sealed, 'PX', String(lifetimeMs)]);
  }

  async remove(name: string): Promise<void> {
    await this.#link.call(['DEL', this.#link.key('certificates', name)]);
  }

  #sealingKey(): Buffer {
    if (this.#secret === '')
      throw new ServiceError(
        'unavailable',
        'Nodes encrypt shared certificates with server.state.secret, but it is not set; set the same random text on all nodes.',
      );
    this.#key ??= Buffer.from(hkdfSync('sha256', this.#secret, '', 'svc certificates', 32));
    return this.#key;
  }
}

const leaseScript = redisScript(`
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`);

/**
 * Takes or extends the lease of a task that one node does for all nodes. For a moment, two nodes may do the task at the same time. The task
 * must tolerate this.
 *
 * @param node unique to this process
 * @returns whether this node has the lease for the next `leaseMs`
 * @throws ServiceError `unavailable`
 */
export async function holdLease(link: RedisLink, name: string, node: string, leaseMs: number): Promise<boolean> {
  return (await link.run(leaseScript, [link.key(name)], [node, leaseMs])) === 1;
}
