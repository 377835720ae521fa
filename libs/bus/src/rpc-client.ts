import type { RpcContract } from '@caribou/contracts';
import type { z } from 'zod';

export interface CallOptions {
  /** Stops the waiting with its reason; the procedure itself goes on. */
  readonly signal?: AbortSignal;
  /** Instead of the contract's, in milliseconds. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What to call and where: the subject is the contract's name, or a manager's own. */
export interface CallTarget<Request extends z.ZodType, Reply extends z.ZodType> {
  readonly contract: RpcContract<Request, Reply>;
  /** Default: `contract.name`. */
  readonly subject?: string;
}

export interface RpcClient {
  /**
   * Calls a Nest `@MessagePattern` handler and answers its parsed reply.
   *
   * @throws {InvalidRequestError} when the payload breaks the contract
   * @throws {UnavailableError} no handler is there, or the connection was lost: whether it ran is unknown
   * @throws {DeadlineError} no reply in time
   * @throws the handler's AppError, as the class of its code
   * @throws {BugError} when the reply breaks the contract
   */
  call<Request extends z.ZodType, Reply extends z.ZodType>(
    target: CallTarget<Request, Reply>,
    payload: z.input<Request>,
    options?: CallOptions,
  ): Promise<z.output<Reply>>;
}
