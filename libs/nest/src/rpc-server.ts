import { setTimeout as sleep } from 'node:timers/promises';
import { BugError, TooLargeError, toWireError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { CustomStrategy, NatsContext } from '@nestjs/microservices';
import { ServerNats } from '@nestjs/microservices';
import { readPacket } from './rpc-packet.js';

const SUBSCRIPTION_DRAIN_MS = 300;
/** How long a start waits for the server to have the subscriptions. */
const SUBSCRIBED_MS = 1_000;

export interface RpcServerOptions {
  /** Connection options as `natsTarget` of @caribou/bus gives them. */
  readonly target: {
    readonly servers: string[];
    readonly user?: string;
    readonly pass?: string;
    readonly token?: string;
    readonly authenticator?: (nonce?: string) => unknown;
    readonly tls?: object;
  };
  /** Queue group: processes with handlers of the same subject share its requests. */
  readonly queue: string;
  readonly logger: Logger;
  /** Values of placeholders such as `{manager_id}` in the patterns of handlers, which are known at run time only. */
  readonly subjectParams?: Readonly<Record<string, string>>;
}

/**
 * Options of a Nest microservice on NATS that always reconnects, stops within its drain time, and survives every request:
 * invalid packets and replies above the size limit of NATS are answered with an error.
 */
export const rpcServerOptions = (options: RpcServerOptions): CustomStrategy => ({ strategy: new RpcServer(options) });

interface Reply {
  readonly id?: string;
  readonly err?: unknown;
  readonly response?: unknown;
  readonly isDisposed?: boolean;
}

interface Request {
  readonly subject: string;
  readonly reply?: string;
}

interface RpcSubscription {
  unsubscribe(): void;
  drain(): Promise<void>;
}

interface NatsClient {
  subscribe(subject: string, options: object): RpcSubscription;
  /** Resolves when the server has processed what was sent so far. */
  flush(): Promise<void>;
}

/** The server of a process's requests; `rpcServerOptions` says what it is beyond Nest's. */
export class RpcServer extends ServerNats {
  private readonly bySubject = new Map<string, RpcSubscription>();
  private client: NatsClient | undefined;

  constructor(private readonly rpc: RpcServerOptions) {
    super({
      ...rpc.target,
      queue: rpc.queue,
      name: rpc.queue,
      waitOnFirstConnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      reconnectJitter: 200,
      ignoreAuthErrorAbort: true,
      gracefulShutdown: true,
      gracePeriod: SUBSCRIPTION_DRAIN_MS,
      deserializer: { deserialize: readPacket },
    });
  }

  /**
   * Calls back when the server has the subscriptions, as requests that are sent before it has them find nobody; or after a second, as
   * a connection that was lost meanwhile subscribes again.
   */
  override start(callback: (error?: unknown, ...more: unknown[]) => void): void {
    super.start(() => {
      const subscribed = this.client?.flush().catch((error: unknown) => {
        this.rpc.logger.debug({ event: 'rpc.error', error }, 'the connection ended while it subscribed');
      });
      void Promise.race([subscribed, sleep(SUBSCRIBED_MS, undefined, { ref: false })]).then(() => callback());
    });
  }

  override bindEvents(client: NatsClient): void {
    this.client = client;
    super.bindEvents({
      subscribe: (pattern: string, options: object) => {
        const subject = this.subjectOf(pattern);
        const subscription = client.subscribe(subject, options);
        this.bySubject.set(subject, subscription);
        return subscription;
      },
    });
  }

  /**
   * Takes no more requests of these subjects, which other members of the queue group then get; those that the server has sent already are
   * still answered.
   */
  leave(subjects: readonly string[]): void {
    for (const subject of subjects)
      this.bySubject
        .get(subject)
        ?.drain()
        .catch((error: unknown) => {
          this.rpc.logger.debug({ event: 'rpc.error', subject, error }, 'a subscription ended with its connection');
        });
  }

  override getMessageHandler(channel: string): (error: Error | null, message: Request) => Promise<void> {
    return async (error, message) => {
      try {
        if (error !== null) throw error;
        await this.handleMessage(channel, message);
      } catch (cause) {
        this.rpc.logger.error(
          { event: 'rpc.error', subject: channel, error: cause },
          'an RPC request could not be handled',
        );
      }
    };
  }

  /** Nest does not catch errors of the publisher, so one here would end the process and all callers would time out. */
  override getPublisher(request: Request, id: string, context: NatsContext): (reply: Reply) => void {
    const respond: (reply: Reply) => unknown = super.getPublisher(request, id, context);
    return (reply) => {
      try {
        respond(reply);
      } catch (cause) {
        this.rpc.logger.warn(
          { event: 'rpc.error', subject: request.subject, error: cause },
          'an RPC reply could not be sent',
        );
        if (reply.err === undefined) this.replyWithError(respond, cause);
      }
    };
  }

  private replyWithError(respond: (reply: Reply) => unknown, cause: unknown): void {
    const oversize = cause instanceof Error && 'code' in cause && cause.code === 'MAX_PAYLOAD_EXCEEDED';
    const error = oversize
      ? new TooLargeError('the reply is over the message limit of the NATS server')
      : new BugError('no reply');
    try {
      respond({ err: toWireError(error), isDisposed: true });
    } catch (again) {
      this.rpc.logger.debug({ event: 'rpc.error', error: again }, 'the error could not be sent to the RPC caller');
    }
  }

  private subjectOf(pattern: string): string {
    return pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = this.rpc.subjectParams?.[name];
      if (value === undefined) throw new BugError(`the pattern ${pattern} has no value for ${name}`);
      return value;
    });
  }
}
