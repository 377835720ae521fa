import { setTimeout as sleep } from 'node:timers/promises';
import { streams, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { JetStreamManager } from 'nats';
import { jetStreamCode, jetStreamCodes, natsFailure } from './nats-errors.js';
import type { NatsLink } from './nats-link.js';
import type { StreamSpec } from './stream-specs.js';

const API_TIMEOUT_MS = 3_000;
/**
 * Pause before something that stood is made again: nats-server 2.9.10 deletes in the background, and a stream or
 * consumer made under the same name meanwhile stays broken (it confirms wakes and delivers none).
 */
const SETTLE_MS = 1_000;

export interface KeeperOptions {
  readonly specs: readonly StreamSpec[];
  readonly checkMs: number;
  readonly logger: Logger;
}

/**
 * Keeps streams and consumers in being: made at every connect, looked for every `checkMs`, made again when gone. What
 * was lost with a stream comes back from Redis, where the truth is.
 */
export class StreamKeeper {
  private running: Promise<void> | undefined;
  private problem: string | undefined;
  /** Streams that were in place, consumer included, in the life of this process. */
  private readonly stood = new Set<string>();

  constructor(
    private readonly link: NatsLink,
    private readonly options: KeeperOptions,
  ) {
    if (options.specs.length === 0) return;
    link.onUp(() => this.look());
    const timer = setInterval(() => {
      if (link.connected) this.look();
    }, options.checkMs);
    timer.unref();
    link.closed.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /**
   * Resolves when all streams and consumers stand as specified; one check at a time, later callers share it.
   * @throws {UnavailableError} saying what is wrong
   */
  ensure(): Promise<void> {
    this.running ??= this.ensureAll().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Whether somebody asks for the consumer's messages, or holds one. @throws {UnavailableError} */
  async hasPullers(role: keyof typeof streams): Promise<boolean> {
    const { name, consumer } = streams[role];
    try {
      return await this.link.whileUp(async (connection) => {
        const manager = await connection.jetstreamManager({ timeout: API_TIMEOUT_MS, checkAPI: false });
        const info = await manager.consumers.info(name, consumer);
        return info.num_waiting + info.num_ack_pending > 0;
      });
    } catch (cause) {
      throw natsFailure('look at its consumer', cause);
    }
  }

  /** A look in the background; a problem is logged once, when it begins and when it ends. */
  private look(): void {
    this.ensure().then(
      () => this.note(undefined),
      (cause: unknown) => this.note(cause instanceof Error ? cause.message : String(cause)),
    );
  }

  private note(problem: string | undefined): void {
    if (problem === this.problem) return;
    this.problem = problem;
    if (problem === undefined) this.options.logger.info({}, 'nats: streams are in place');
    else if (this.link.connected) this.options.logger.warn({ reason: problem }, 'nats: streams are not in place');
  }

  private async ensureAll(): Promise<void> {
    const { specs, logger } = this.options;
    try {
      await this.link.whileUp(async (connection) => {
        const manager = await connection.jetstreamManager({ timeout: API_TIMEOUT_MS, checkAPI: false });
        for (const spec of specs) {
          const beforeCreation = (): Promise<void> => this.settled(spec);
          await ensureStream({ manager, spec, logger, beforeCreation });
          await ensureConsumer({ manager, spec, logger, beforeCreation });
          this.stood.add(spec.name);
        }
      });
    } catch (cause) {
      throw natsFailure('set up its streams', cause);
    }
  }

  private async settled({ name }: StreamSpec): Promise<void> {
    if (!this.stood.delete(name)) return;
    await sleep(SETTLE_MS, undefined, { signal: this.link.closed });
  }
}

interface Making {
  readonly manager: JetStreamManager;
  readonly spec: StreamSpec;
  readonly logger: Logger;
  readonly beforeCreation: () => Promise<void>;
}

async function ensureStream({ manager, spec, logger, beforeCreation }: Making): Promise<void> {
  const found = await orMissing(manager.streams.info(spec.name));
  if (found === undefined) {
    await beforeCreation();
    await manager.streams.add(spec.stream);
    logger.info({ stream: spec.name }, 'nats: stream created');
    return;
  }
  const differing = differences(spec.stream, found.config);
  if (differing.length === 0) return;
  try {
    await manager.streams.update(spec.name, { ...found.config, ...spec.stream });
  } catch (cause) {
    throw unlike(`stream ${spec.name}`, differing, cause);
  }
  logger.info({ stream: spec.name, reason: differing.join(', ') }, 'nats: stream updated');
}

async function ensureConsumer({ manager, spec, logger, beforeCreation }: Making): Promise<void> {
  if (spec.consumer === undefined) return;
  const { durable_name: name } = spec.consumer;
  const found = await orMissing(manager.consumers.info(spec.name, name));
  if (found === undefined) {
    await beforeCreation();
    await manager.consumers.add(spec.name, spec.consumer);
    logger.info({ stream: spec.name, consumer: name }, 'nats: consumer created');
    return;
  }
  const differing = differences(spec.consumer, found.config);
  if (differing.length === 0) return;
  try {
    await manager.consumers.update(spec.name, name, { ...found.config, ...spec.consumer });
  } catch (cause) {
    throw unlike(`consumer ${name} of stream ${spec.name}`, differing, cause);
  }
  logger.info({ stream: spec.name, consumer: name, reason: differing.join(', ') }, 'nats: consumer updated');
}

async function orMissing<T>(info: Promise<T>): Promise<T | undefined> {
  try {
    return await info;
  } catch (cause) {
    const code = jetStreamCode(cause);
    if (code === jetStreamCodes.streamNotFound || code === jetStreamCodes.consumerNotFound) return undefined;
    throw cause;
  }
}

/** Names of the settings in `wanted` that `found` has otherwise. */
function differences(wanted: object, found: object): string[] {
  const actual = new Map<string, unknown>(Object.entries(found));
  return Object.entries(wanted).flatMap(([key, value]) =>
    JSON.stringify(actual.get(key)) === JSON.stringify(value) ? [] : [key],
  );
}

const unlike = (what: string, settings: readonly string[], cause: unknown): UnavailableError =>
  new UnavailableError(
    `NATS: ${what} exists with another ${settings.join(', ')} that cannot be changed; it was not made by Caribou, or by another version`,
    { cause, details: { dependency: 'nats' } },
  );
