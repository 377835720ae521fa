import { AppError, InvalidRequestError, type RpcContract, toWireError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import type { NatsContext } from '@nestjs/microservices';
import { type Observable, throwError } from 'rxjs';
import { z } from 'zod';

/** The wall between handlers and the bus: an AppError crosses as its code, anything else is logged and told as internal. */
@Catch()
export class RpcErrorFilter implements RpcExceptionFilter<unknown> {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): Observable<never> {
    if (!(error instanceof AppError) || !error.expected) {
      const subject = host.switchToRpc().getContext<NatsContext>().getSubject();
      this.logger.error({ event: 'rpc.error', subject, error }, 'a handler failed by a defect');
    }
    return throwError(() => toWireError(error));
  }
}

/**
 * A request parsed by its contract.
 *
 * @throws {InvalidRequestError} naming the fields that break it
 */
export function parseRequest<Request extends z.ZodType>(
  contract: RpcContract<Request>,
  payload: unknown,
): z.output<Request> {
  const parsed = contract.request.safeParse(payload);
  if (!parsed.success) throw new InvalidRequestError(`${contract.name}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
