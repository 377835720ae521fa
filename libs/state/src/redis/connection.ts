import { setTimeout as delay } from 'node:timers/promises';
import { WriteCoalescer, type Logger, silentLogger } from '@caribou/core';
import { type RedisSecurity, UnavailableError, omitUndefined } from '@caribou/contracts';
import { LRUCache } from 'lru-cache';
import type { Redis } from 'ioredis';
import { connectRedis } from './connect-redis.js';
import { storeKeys } from './keys.js';
import type { StoreKeys } from './store-keys.js';
import { asAppError } from './redis-errors.js';
import { type ScriptArgument, ScriptCommand } from './script-command.js';
import type { Script } from './scripts.js';
import { withTexts } from './stored-text.js';

export interface RedisOptions extends RedisSecurity {
  /** Of one server, or of Sentinels (`redis+sentinel:`). */
  readonly url: string;
  /** Begins every key; default `caribou:`. */
  readonly keyPrefix?: string;
  /** Longest wait for a connection plus a reply, default 3000. */
  readonly commandTimeoutMs?: number;
  /** Upper bound of the growing pause between reconnects, default 1000. */
  readonly maxReconnectDelayMs?: number;
  /** Whether the files of threads are in an object store, so that checkpoints name their generations; default false. */
  readonly storesFiles?: boolean;
  readonly logger?: Logger;
  /** Called after each script that Redis answered, with the milliseconds from the request to the reply. */
  readonly onScript?: (name: string, durationMs: number) => void;
}

/** `noEffect`: the command certainly changed nothing. */
const NOT_SENT = { dependency: 'redis', noEffect: true };
/** Under load the commands of a millisecond share a write. A single turn makes fewer than ten. */
const WRITES_PER_SECOND = 1_000;

/** Sends commands to Redis, shared by all parts of a connection. */
export interface RedisLink {
  /** @throws {UnavailableError} when Redis does not answer in time; a write may then have taken effect */
  use<Reply>(command: (client: Redis) => Promise<Reply>): Promise<Reply>;
  /** Closes after the commands under way; later ones throw UnavailableError. */
  close(): Promise<void>;
}

class SocketLink implements RedisLink {
  private readonly client: Redis;
  private readonly timeoutMs: number;
  private readonly writes = new WriteCoalescer({ sustainedPerSecond: WRITES_PER_SECOND });
  private closed = false;

  constructor(options: RedisOptions) {
    this.timeoutMs = options.commandTimeoutMs ?? 3000;
    const { url, tls, sentinel, maxReconnectDelayMs = 1000 } = options;
    this.client = connectRedis({
      url,
      timeoutMs: this.timeoutMs,
      maxReconnectDelayMs,
      ...omitUndefined({ tls, sentinel }),
    });
    this.client.setMaxListeners(0);
    const logger = options.logger ?? silentLogger;
    this.client.on('error', (error: Error) =>
      logger.warn({ event: 'redis.error', error: error.message }, 'the connection to Redis failed'),
    );
  }

  async use<Reply>(command: (client: Redis) => Promise<Reply>): Promise<Reply> {
    if (this.client.status !== 'ready') await this.ready();
    try {
      this.writes.cork(this.client.stream);
      return await command(this.client);
    } catch (error) {
      throw asAppError(error);
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    if (this.client.status === 'ready')
      await Promise.race([this.client.quit(), delay(this.timeoutMs, undefined, { ref: false })]);
    this.client.disconnect();
  }

  private async ready(): Promise<void> {
    if (this.closed) throw new UnavailableError('the connection to Redis is closed', { details: NOT_SENT });
    await new Promise<void>((resolve, reject) => {
      const settle = (failure?: UnavailableError): void => {
        clearTimeout(timer);
        this.client.off('ready', onReady);
        if (failure === undefined) resolve();
        else reject(failure);
      };
      const onReady = (): void => settle();
      const timer = setTimeout(
        () =>
          settle(
            new UnavailableError(`Redis was not reachable for ${this.timeoutMs} ms`, {
              details: NOT_SENT,
            }),
          ),
        this.timeoutMs,
      );
      this.client.once('ready', onReady);
    });
  }
}

/** Sends the hash of a script, and its source where Redis does not have it. */
async function sendScript(client: Redis, script: Script, values: readonly ScriptArgument[]): Promise<unknown> {
  try {
    return await client.sendCommand(new ScriptCommand({ script, values, isLoaded: true }));
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return client.sendCommand(new ScriptCommand({ script, values, isLoaded: false }));
  }
}

/** The key of a check expires, so that it leaves nothing behind. */
const PROBE_TTL_MS = 60_000;

/** How long the types of a thread's keys count as checked; nothing in the product changes the type of a key. */
const CHECKED_FOR_MS = 60_000;
const MAX_CHECKED_THREADS = 10_000;

interface PartOptions extends Pick<RedisOptions, 'onScript' | 'storesFiles'> {
  readonly hasFiles?: boolean;
  readonly probeKey?: string;
}

/**
 * A permanent connection to Redis, and the keys that are used on it. Commands wait a bounded time for it;
 * a command that was sent when the connection broke is not sent again, as its effect is unknown.
 */
export class RedisConnection {
  readonly keys: StoreKeys;
  /** Members of the pending set whose threads have keys of the right types, as a script found in the last minute. */
  readonly checkedThreads = new LRUCache<string, true>({
    max: MAX_CHECKED_THREADS,
    ttl: CHECKED_FOR_MS,
    ttlResolution: 1_000,
  });
  /** The same for all parts, so that a part stays empty when nothing is stored in it. */
  private readonly probeKey: string;
  /** Whether checkpoints name the generations of files. */
  readonly storesFiles: boolean;
  private readonly onScript: NonNullable<RedisOptions['onScript']>;

  constructor(
    private readonly link: RedisLink,
    private readonly keyPrefix: string,
    options: PartOptions = {},
  ) {
    this.keys = storeKeys(keyPrefix, options);
    this.probeKey = options.probeKey ?? this.keys.probe;
    this.storesFiles = options.storesFiles ?? false;
    this.onScript = options.onScript ?? (() => undefined);
  }

  /** The same connection with a separate set of keys, below its own prefix. The threads of a part have no files. */
  part(name: string): RedisConnection {
    return new RedisConnection(this.link, `${this.keyPrefix}${name}:`, {
      hasFiles: false,
      probeKey: this.probeKey,
      onScript: this.onScript,
    });
  }

  /**
   * Checks by a write that Redis accepts writes: a Redis that is full, read-only or unable to save still answers reads.
   *
   * @throws {UnavailableError} when it does not answer in time or refuses
   */
  async ping(): Promise<void> {
    await this.use((client) => client.set(this.probeKey, '1', 'PX', PROBE_TTL_MS));
  }

  /**
   * Runs plain commands on the connection.
   *
   * @throws {UnavailableError} when Redis does not answer in time; a write may then have taken effect
   */
  use<Reply>(command: (client: Redis) => Promise<Reply>): Promise<Reply> {
    return this.link.use(command);
  }

  /** Runs a script in one atomic step. Of the reply, values in a binary form are buffers. @throws as `use`. */
  async run(script: Script, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown> {
    const sentMs = performance.now();
    const values = [keys.length, ...keys, ...args];
    const reply = await this.use((client) => sendScript(client, script, values));
    this.onScript(script.name, performance.now() - sentMs);
    return script.repliesPlainly ? reply : withTexts(reply);
  }

  /** Closes the connection, for all its parts, after the commands under way; later commands throw UnavailableError. */
  close(): Promise<void> {
    return this.link.close();
  }
}

/** Connects in the background and reconnects after every loss; the first command waits for the connection. */
export const createRedis = (options: RedisOptions): RedisConnection =>
  new RedisConnection(
    new SocketLink(options),
    options.keyPrefix ?? 'caribou:',
    omitUndefined({ onScript: options.onScript, storesFiles: options.storesFiles }),
  );
