import { InvalidRequestError, type RpcContract, toWireError } from '@caribou/contracts';
import { AppError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type NatsOptions, Transport } from '@nestjs/microservices';
import { NatsRecordSerializer } from '@nestjs/microservices/serializers/nats-record.serializer.js';
import { type Observable, throwError } from 'rxjs';
import { z } from 'zod';

/** Room for Nest's own fields and headers around a reply. */
const PACKET_OVERHEAD_BYTES = 4_096;
const SUBSCRIPTION_DRAIN_MS = 300;

interface Packet {
  readonly id?: string;
  readonly response?: unknown;
  readonly err?: unknown;
}

/**
 * Replaces a reply that NATS would refuse by an error packet: Nest answers without a catch, so an oversize reply would
 * end the process and leave every other caller waiting.
 */
export class BoundedReplySerializer extends NatsRecordSerializer {
  constructor(private readonly maxPayloadBytes: number) {
    super();
  }

  override serialize(packet: Packet): ReturnType<NatsRecordSerializer['serialize']> {
    const record = super.serialize(packet);
    const limitBytes = this.maxPayloadBytes - PACKET_OVERHEAD_BYTES;
    if (record.data.length <= limitBytes) return record;
    const err = {
      code: 'too_large',
      message: `the reply has ${record.data.length} bytes, the limit is ${limitBytes}`,
      retryable: false,
      details: { limitBytes },
    };
    return super.serialize({ ...(packet.id === undefined ? {} : { id: packet.id }), err, isDisposed: true } as Packet);
  }
}

export interface RpcServerOptions {
  /** Connection options as `natsTarget` of @caribou/bus gives them. */
  readonly target: { readonly servers: string[]; readonly user?: string; readonly pass?: string; readonly token?: string };
  /** Handlers of the same subject in several processes share its requests. */
  readonly queue: string;
  /** The server's `max_payload`. */
  readonly maxPayloadBytes: number;
}

/** Options of a Nest microservice on NATS that reconnects for ever and stops within its drain time. */
export const rpcServerOptions = ({ target, queue, maxPayloadBytes }: RpcServerOptions): NatsOptions => ({
  transport: Transport.NATS,
  options: {
    ...target,
    queue,
    name: queue,
    waitOnFirstConnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 200,
    serializer: new BoundedReplySerializer(maxPayloadBytes),
    gracefulShutdown: true,
    gracePeriod: SUBSCRIPTION_DRAIN_MS,
  },
});

/** The wall between handlers and the bus: an AppError crosses as its code, anything else is logged and told as internal. */
@Catch()
export class RpcErrorFilter implements RpcExceptionFilter<unknown> {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): Observable<never> {
    if (!(error instanceof AppError) || !error.expected) {
      const context: unknown = host.switchToRpc().getContext<{ getSubject(): string }>().getSubject();
      this.logger.error({ event: 'rpc.error', subject: context, error }, 'a handler failed by a defect');
    }
    return throwError(() => toWireError(error));
  }
}

/**
 * A request parsed by its contract.
 *
 * @throws {InvalidRequestError} naming the fields that break it
 */
export function parseRequest<Request extends z.ZodType>(contract: RpcContract<Request>, payload: unknown): z.output<Request> {
  const parsed = contract.request.safeParse(payload);
  if (!parsed.success) throw new InvalidRequestError(`${contract.name}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
