import { AppError, InvalidRequestError, type RpcContract, toWireError } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import type { NatsContext } from '@nestjs/microservices';
import { type Observable, throwError } from 'rxjs';
import { z } from 'zod';

/** Converts errors of handlers to replies: an AppError becomes its code, any other error is logged and replied as internal. */
@Catch()
export class RpcErrorFilter implements RpcExceptionFilter<unknown> {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): Observable<never> {
    if (!(error instanceof AppError) || !error.expected) {
      const subject = host.switchToRpc().getContext<NatsContext>().getSubject();
      this.logger.error({ event: 'rpc.error', subject, error }, 'an RPC handler failed unexpectedly');
    }
    return throwError(() => toWireError(error));
  }
}

/**
 * Parses a request by its contract.
 *
 * @throws {InvalidRequestError} with the invalid fields
 */
export function parseRequest<Request extends z.ZodType>(
  contract: RpcContract<Request>,
  payload: unknown,
): z.output<Request> {
  const parsed = contract.request.safeParse(payload);
  if (!parsed.success) throw new InvalidRequestError(`${contract.name}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
