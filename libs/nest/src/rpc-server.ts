import { BugError, TooLargeError, toWireError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import type { CustomStrategy, NatsContext } from '@nestjs/microservices';
import { ServerNats } from '@nestjs/microservices';
import { readPacket } from './rpc-packet.js';

const SUBSCRIPTION_DRAIN_MS = 300;

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
  /** Handlers of the same subject in several processes share its requests. */
  readonly queue: string;
  readonly logger: Logger;
  /** Fills `{name}` in the patterns of handlers, such as `sandbox.{manager_id}.exec`, with what is only known at run time. */
  readonly subjectParams?: Readonly<Record<string, string>>;
}

/**
 * A Nest microservice on NATS that reconnects for ever, stops within its drain time, and that no request can end: what
 * is not a packet gets an error, and so does a caller whose reply NATS would refuse for its size.
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

type Subscribe = (subject: string, options: object) => { unsubscribe(): void };

class RpcServer extends ServerNats {
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

  override bindEvents(client: { readonly subscribe: Subscribe }): void {
    super.bindEvents({
      subscribe: (pattern: string, options: object) => client.subscribe(this.subjectOf(pattern), options),
    });
  }

  override getMessageHandler(channel: string): (error: Error | null, message: Request) => Promise<void> {
    return async (error, message) => {
      try {
        if (error !== null) throw error;
        await this.handleMessage(channel, message);
      } catch (cause) {
        this.rpc.logger.error({ event: 'rpc.error', subject: channel, error: cause }, 'a request could not be handled');
      }
    };
  }

  /** Nest answers without a catch, so an error here would end the process and leave every caller waiting. */
  override getPublisher(request: Request, id: string, context: NatsContext): (reply: Reply) => void {
    const respond: (reply: Reply) => unknown = super.getPublisher(request, id, context);
    return (reply) => {
      try {
        respond(reply);
      } catch (cause) {
        this.rpc.logger.warn(
          { event: 'rpc.error', subject: request.subject, error: cause },
          'a reply could not be sent',
        );
        if (reply.err === undefined) this.refuse(respond, cause);
      }
    };
  }

  private refuse(respond: (reply: Reply) => unknown, cause: unknown): void {
    const oversize = cause instanceof Error && 'code' in cause && cause.code === 'MAX_PAYLOAD_EXCEEDED';
    const error = oversize
      ? new TooLargeError('the reply is over the message limit of the NATS server')
      : new BugError('no reply');
    try {
      respond({ err: toWireError(error), isDisposed: true });
    } catch (again) {
      this.rpc.logger.debug({ event: 'rpc.error', error: again }, 'the caller cannot be told');
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
