import { setTimeout as sleep } from 'node:timers/promises';
import { streams, UnavailableError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { ConsumerInfo, JetStreamManager, StreamInfo } from 'nats';
import { jetStreamCode, jetStreamCodes, natsFailure } from './nats-errors.js';
import type { NatsLink } from './nats-link.js';
import { repairStream } from './stream-repair.js';
import { SPEC_VERSION, specVersionOf, type StreamSpec } from './stream-specs.js';

const API_TIMEOUT_MS = 3_000;
/**
 * Pause before a stream or consumer that existed is created again: nats-server 2.9.10 deletes in the background, and one
 * that is created under the same name meanwhile stays broken (it confirms wakes and delivers none).
 */
const SETTLE_MS = 1_000;

export interface ProvisionerOptions {
  readonly specs: readonly StreamSpec[];
  readonly checkMs: number;
  readonly logger: Logger;
  /** Whether this process creates and changes them. If not, it waits for another one to do so and logs what is missing. */
  readonly makes: boolean;
}

/**
 * Provisions streams and consumers: creates them at every connect, checks them every `checkMs`, and creates them again
 * when they are gone. The wakes that a lost stream held are published again from Redis, which is the source of truth.
 *
 * K1 Existing ones are changed only where they are of an older version, or of this version and this process has just
 *    started. So neither two versions nor two configurations that run side by side change each other's settings back.
 * K2 What kill -9 of a nats-server leaves wrong in a stream is repaired; see repairStream.
 */
export class StreamProvisioner {
  private running: Promise<void> | undefined;
  private problem: string | undefined;
  /** Streams that this process has found to exist, with their consumer. */
  private readonly provisioned = new Set<string>();
  /** Streams to which this process has applied its settings. */
  private readonly settled = new Set<string>();

  constructor(
    private readonly link: NatsLink,
    private readonly options: ProvisionerOptions,
  ) {
    if (options.specs.length === 0) return;
    link.onUp(() => this.checkInBackground());
    const timer = setInterval(() => {
      if (link.connected) this.checkInBackground();
    }, options.checkMs);
    timer.unref();
    link.closed.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /**
   * Resolves when all streams and consumers are as specified. One check runs at a time; later callers share it.
   * @throws {UnavailableError} saying what is wrong
   */
  ensure(): Promise<void> {
    this.running ??= this.ensureAll().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Whether a process requests the consumer's messages, or holds one. @throws {UnavailableError} */
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

  /** Logs a problem once, when it begins and when it ends. */
  private checkInBackground(): void {
    this.ensure().then(
      () => this.reportStatus(undefined),
      (cause: unknown) => this.reportStatus(cause instanceof Error ? cause.message : String(cause)),
    );
  }

  private reportStatus(problem: string | undefined): void {
    if (problem === this.problem) return;
    this.problem = problem;
    if (problem === undefined) this.options.logger.info({}, 'nats: streams are in place');
    else if (this.link.connected)
      this.options.logger[this.options.makes ? 'warn' : 'info']({ reason: problem }, 'nats: streams are not in place');
  }

  private async ensureAll(): Promise<void> {
    const { specs, logger, makes } = this.options;
    try {
      await this.link.whileUp(async (connection) => {
        const manager = await connection.jetstreamManager({ timeout: API_TIMEOUT_MS, checkAPI: false });
        for (const spec of specs) {
          if (!makes) {
            await assertPresent(manager, spec);
            continue;
          }
          const beforeCreation = (): Promise<void> => this.pauseAfterLoss(spec);
          const making = { manager, spec, logger, beforeCreation, isStart: !this.settled.has(spec.name) };
          const stream = await ensureStream(making);
          const consumer = await ensureConsumer(making);
          this.provisioned.add(spec.name);
          this.settled.add(spec.name);
          if (stream !== undefined && consumer !== undefined) await repairStream(making, stream, consumer);
        }
      });
    } catch (cause) {
      throw natsFailure('set up its streams', cause);
    }
  }

  private async pauseAfterLoss({ name }: StreamSpec): Promise<void> {
    if (!this.provisioned.delete(name)) return;
    await sleep(SETTLE_MS, undefined, { signal: this.link.closed });
  }
}

/**
 * @throws {UnavailableError} when the stream or its consumer does not exist: the service that creates it has not
 *   started yet
 */
async function assertPresent(manager: JetStreamManager, { name, consumer }: StreamSpec): Promise<void> {
  const stream = await orMissing(manager.streams.info(name));
  const found = consumer === undefined ? stream : await orMissing(manager.consumers.info(name, consumer.durable_name));
  if (stream !== undefined && found !== undefined) return;
  throw new UnavailableError(`NATS: the stream ${name} is not there yet; an agent-runner makes it`, {
    details: { dependency: 'nats' },
  });
}

interface Making {
  readonly manager: JetStreamManager;
  readonly spec: StreamSpec;
  readonly logger: Logger;
  readonly beforeCreation: () => Promise<void>;
  /** Whether this is the first check by this process that reaches the stream. */
  readonly isStart: boolean;
}

/** Whether this process may change what exists (K1). */
function mayChange({ isStart }: Making, { description }: { readonly description?: string }): boolean {
  const version = specVersionOf(description);
  return version < SPEC_VERSION || (version === SPEC_VERSION && isStart);
}

/** The stream as it was found; undefined when it does not exist. */
async function ensureStream(making: Making): Promise<StreamInfo | undefined> {
  const { manager, spec, logger, beforeCreation } = making;
  const found = await orMissing(manager.streams.info(spec.name));
  if (found === undefined) {
    await beforeCreation();
    await manager.streams.add(spec.stream);
    logger.info({ stream: spec.name }, 'nats: stream created');
    return undefined;
  }
  const differing = differences(spec.stream, found.config);
  if (differing.length === 0 || !mayChange(making, found.config)) return found;
  try {
    await manager.streams.update(spec.name, { ...found.config, ...spec.stream });
  } catch (cause) {
    throw configMismatch(`stream ${spec.name}`, differing, cause);
  }
  logger.info({ stream: spec.name, reason: differing.join(', ') }, 'nats: stream updated');
  return found;
}

/** The consumer as it was found; undefined when it does not exist. */
async function ensureConsumer(making: Making): Promise<ConsumerInfo | undefined> {
  const { manager, spec, logger, beforeCreation } = making;
  if (spec.consumer === undefined) return undefined;
  const { durable_name: name } = spec.consumer;
  const found = await orMissing(manager.consumers.info(spec.name, name));
  if (found === undefined) {
    await beforeCreation();
    await manager.consumers.add(spec.name, spec.consumer);
    logger.info({ stream: spec.name, consumer: name }, 'nats: consumer created');
    return undefined;
  }
  const differing = differences(spec.consumer, found.config);
  if (differing.length === 0 || !mayChange(making, found.config)) return found;
  try {
    await manager.consumers.update(spec.name, name, { ...found.config, ...spec.consumer });
  } catch (cause) {
    throw configMismatch(`consumer ${name} of stream ${spec.name}`, differing, cause);
  }
  logger.info({ stream: spec.name, consumer: name, reason: differing.join(', ') }, 'nats: consumer updated');
  return found;
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

/** Names of the settings whose value in `found` differs from `wanted`. */
function differences(wanted: object, found: object): string[] {
  const actual = new Map<string, unknown>(Object.entries(found));
  return Object.entries(wanted).flatMap(([key, value]) =>
    JSON.stringify(actual.get(key)) === JSON.stringify(value) ? [] : [key],
  );
}

const configMismatch = (what: string, settings: readonly string[], cause: unknown): UnavailableError =>
  new UnavailableError(
    `NATS: ${what} exists with another ${settings.join(', ')} that cannot be changed; it was not made by Caribou, or by another version`,
    { cause, details: { dependency: 'nats' } },
  );
