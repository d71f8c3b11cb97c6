import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../clock.ts';
import { ServiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { RedisConnection } from './redis-connection.ts';
import { type RedisArguments, within } from './redis-connector.ts';
import { dataRemoved, type RedisScript, redisScript } from './redis-script.ts';
import { describeRedisAddress, parseRedisUrl, type RedisAddress } from './redis-url.ts';
import { RedisValues, setForeignKeysAside } from './redis-values.ts';

/** Interval of heartbeats in milliseconds. */
const heartbeatMs = 500;

/** Time in milliseconds after which a command without an answer fails. The request that needed the command gets 503. */
const commandTimeoutMs = 2000;

/** Time in milliseconds after which a connection without replies is replaced, because the server may have disappeared. */
const renewAfterMs = 8000;

/**
 * Maximum number of attempts if the key of a command has the wrong type. A scan renames such keys. One scan may not be enough, because a
 * scan that was already under way may have passed the place of the key before the key existed.
 */
const maxTries = 3;

/**
 * Time in milliseconds that nodes wait after Redis lost data, so that each node can restore its essential data. Meanwhile, no node serves
 * requests.
 */
const defaultSettleMs = 2000;

/** Sends the commands of the stores to Redis. */
export interface RedisCaller {
  /**
   * Sends a command.
   *
   * @throws ServiceError `unavailable` if Redis is not reachable or does not answer in time; Redis may have executed the command anyway.
   *   `internal` if Redis refuses the command
   */
  call(command: RedisArguments): Promise<unknown>;
  /** Runs a script atomically. @throws the errors of `call` */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown>;
}

export interface RedisLinkOptions {
  url: string;
  /** Prefix of all keys, so that several installations can share one Redis. */
  prefix: string;
  caPem?: string | undefined;
  sentinel?: { username: string; password: string };
  /** Time in milliseconds that nodes wait for each other after Redis lost data. Tests use a shorter time. */
  settleMs?: number;
  clock: Clock;
  log: Log;
}

/**
 * Version of the data's format in Redis. It is increased with each change that older nodes cannot read, so that these nodes refuse to use
 * the data. This svc reads all earlier formats. Data without the key `form` has format 1 (svc 0.1.0).
 */
const currentForm = 2;

/** KEYS: form. ARGV: current version. Raises the format version to the current one. */
const raiseFormScript = redisScript(`
if (tonumber(redis.call('GET', KEYS[1]) or 0) or 0) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end`);

/**
 * A monitored connection to Redis. While Redis does not answer, commands fail immediately and do not pile up. When Redis answers again, the
 * nodes first restore the data that Redis may have lost.
 */
export class RedisLink implements RedisCaller {
  readonly #options: RedisLinkOptions;
  readonly #address: RedisAddress;
  readonly #settleMs: number;
  readonly #recoverHooks: ((caller: RedisCaller) => Promise<void>)[] = [];
  readonly #heartbeat: Timer;
  readonly values: RedisValues;
  #connection: RedisConnection | undefined;
  #isReady = false;
  #isBeating = false;
  #isSettling = false;
  #isClosed = false;
  #lastError = 'not connected yet';
  #losses = 0;
  #lastReplyMs: number;
  #runId: string | undefined;
  #marker: string | undefined;
  #settingAside: Promise<boolean> | undefined;

  /** @throws ServiceError `bad-request` for an invalid URL */
  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.values = new RedisValues(options.log);
    this.#address = parseRedisUrl(options.url);
    this.#settleMs = options.settleMs ?? defaultSettleMs;
    this.#lastReplyMs = options.clock.monotonicMs();
    this.#heartbeat = options.clock.every(heartbeatMs, () => void this.#beat());
  }

  /** Connects, and waits a short time for Redis. Does not fail if Redis cannot be reached, because the link keeps trying. */
  async start(): Promise<void> {
    this.#connect();
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + commandTimeoutMs;
    while (!this.#isReady && (this.#isSettling || clock.monotonicMs() < deadlineMs)) {
      await clock.sleep(20);
      await this.#beat();
    }
    if (!this.#isReady)
      this.#options.log.error('Redis is away; the server is up, but not ready until Redis answers', {
        redis: describeRedisAddress(this.#address),
        reason: this.#lastError,
      });
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Identifies the data in Redis, and changes when Redis loses its data. Undefined before the first connection. */
  get marker(): string | undefined {
    return this.#marker;
  }

  /** Treats Redis as unreachable after a suspicious answer, until the data has been checked and restored. */
  doubt(reason: string): void {
    this.#lost(reason);
    void this.#beat();
  }

  /** Returns true if Redis can be used, and otherwise the reason why it cannot. */
  check(): true | string {
    return this.#isReady || `Redis (${describeRedisAddress(this.#address)}) is away: ${this.#lastError}`;
  }

  /** Builds a key. The hash tag in it puts all keys of an installation into one cluster slot, so that a script can use several of them. */
  key(...parts: readonly string[]): string {
    return `{${this.#options.prefix}}:${parts.join(':')}`;
  }

  /** Adds a hook. It runs after the first connection, and each time that Redis can be reached again, before the link is ready. */
  onRecover(hook: (caller: RedisCaller) => Promise<void>): void {
    this.#recoverHooks.push(hook);
  }

  async call(command: RedisArguments): Promise<unknown> {
    if (!this.#isReady) throw this.#away();
    return this.#send(command);
  }

  async run(script: RedisScript, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    if (!this.#isReady) throw this.#away();
    if (!script.checksMarker) return this.#eval(script, keys, args);
    return this.#eval(script, [...keys, this.key('marker')], [...args, this.#marker ?? '']);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isReady = false;
    this.#heartbeat.cancel();
    this.#destroy();
  }

  #connect(): void {
    const { caPem, clock, sentinel } = this.#options;
    const connection = new RedisConnection(this.#address, {
      slotKey: this.key(''),
      caPem,
      sentinel,
      clock,
      onError: (error) => {
        if (this.#connection === connection) this.#lost(error.message || error.name);
      },
    });
    this.#connection = connection;
    this.#lastReplyMs = clock.monotonicMs();
    connection.connect();
  }

  #destroy(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  async #send(command: RedisArguments): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendOnce(command);
      } catch (error) {
        const isForeign = /^WRONGTYPE|\bWRONGTYPE /.test(String(((error as Error).cause as Error | undefined)?.message));
        if (!isForeign || attempt === maxTries) throw error;
        // The command is tried again even if this node finds no such key, because another node may have renamed the key first.
        await this.#setForeignKeysAside();
      }
    }
  }

  #setForeignKeysAside(): Promise<boolean> {
    this.#settingAside ??= setForeignKeysAside(this.key(''), (command) => this.#sendOnce(command), this.values).finally(() => {
      this.#settingAside = undefined;
    });
    return this.#settingAside;
  }

  async #sendOnce(command: RedisArguments): Promise<unknown> {
    const connection = this.#connection;
    if (!connection) throw this.#away();
    const { clock } = this.#options;
    try {
      const reply = await within(clock, commandTimeoutMs, connection.send(command));
      this.#lastReplyMs = clock.monotonicMs();
      return reply;
    } catch (error) {
      throw this.#failure(error as Error);
    }
  }

  async #eval(script: RedisScript, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map((arg) => (typeof arg === 'number' ? String(arg) : arg))];
    try {
      return await this.#send(['EVALSHA', script.sha, ...rest]);
    } catch (error) {
      if (!/NOSCRIPT/.test(String((error as Error).cause))) throw error;
      return this.#send(['EVAL', script.text, ...rest]);
    }
  }

  // The errors that match this pattern concern one command. If `#send` and `#eval` do not handle such an error, it is a bug of svc. All
  // other errors mean that Redis cannot execute commands at present.
  #failure(error: Error): ServiceError {
    if (/^(NOSCRIPT|ERR|WRONGTYPE|BUSYGROUP|NOGROUP)/.test(error.message))
      return new ServiceError('internal', 'Redis refused a command.', { cause: error });
    this.#lost(error.message);
    return this.#away({ may_be_done: true });
  }

  /** @param details `may_be_done` if Redis may have executed the command */
  #away(details: Record<string, unknown> = {}): ServiceError {
    const cause = new Error(this.#lastError);
    return new ServiceError('unavailable', 'The state of the service cannot be reached at present.', { cause, details });
  }

  #lost(reason: string): void {
    this.#lastError = reason;
    this.#losses++;
    if (!this.#isReady) return;
    this.#isReady = false;
    this.#options.log.error('Redis is away', { redis: describeRedisAddress(this.#address), reason });
  }

  async #beat(): Promise<void> {
    if (this.#isBeating || this.#isClosed) return;
    this.#isBeating = true;
    try {
      const [marker, form] = (await this.#send(['MGET', this.key('marker'), this.key('form')])) as (string | null)[];
      if (Number(form) > currentForm) return this.#lost(`a newer svc uses it (format ${form}; this one knows up to ${currentForm})`);
      // If the marker is missing or has changed, the data was removed (FLUSHALL), although the connection still works.
      if (this.#isReady && marker !== this.#marker) this.#lost(dataRemoved);
      if (!this.#isReady) await this.#recover();
    } catch (error) {
      if (this.#options.clock.monotonicMs() - this.#lastReplyMs > renewAfterMs && !this.#isClosed) {
        this.#destroy();
        this.#connect();
      }
      this.#options.log.debug('Redis did not answer the heartbeat', { reason: error });
    } finally {
      this.#isBeating = false;
    }
  }

  async #recover(): Promise<void> {
    const losses = this.#losses;
    const info = String(await this.#send(['INFO', 'server']));
    const runId = /run_id:(\w+)/.exec(info)?.[1] ?? '';
    await this.#eval(raiseFormScript, [this.key('form')], [currentForm]);
    await this.#send(['SET', this.key('marker'), randomUUID(), 'NX']);
    const [marker, usedRunId] = (await this.#send(['MGET', this.key('marker'), this.key('run')])) as [string | null, string | null];
    if (marker === null) await this.#setForeignKeysAside();
    if (marker === null) return;
    const isOther = this.#runId !== undefined && (runId !== this.#runId || marker !== this.#marker);
    const caller: RedisCaller = {
      call: (command) => this.#send(command),
      run: (script, keys, args) => this.#eval(script, keys, args),
    };
    for (const hook of this.#recoverHooks) await hook(caller);
    // A node that has just started has no earlier run ID to compare. The key `run` shows whether any node has used this Redis process.
    if (isOther || usedRunId !== runId) {
      this.#isSettling = true;
      await this.#options.clock.sleep(this.#settleMs);
      this.#isSettling = false;
      await this.#send(['SET', this.key('run'), runId]);
    }
    if (this.#isClosed || this.#losses !== losses) return;
    const isFirst = this.#runId === undefined;
    this.#runId = runId;
    this.#marker = marker;
    this.#isReady = true;
    this.#options.log.info(isFirst ? 'Redis is there' : 'Redis is back', {
      redis: describeRedisAddress(this.#address),
      ...(isOther ? { lost: 'Redis was restarted, failed over or emptied; this node has written its state to Redis again' } : {}),
    });
  }
}
