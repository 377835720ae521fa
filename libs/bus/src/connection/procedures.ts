import type { RpcContract } from '@caribou/contracts';
import type { z } from 'zod';
import type { LongTexts } from './long-texts.js';

export interface CallOptions {
  /** Ends the wait with its reason; the remote procedure continues. */
  readonly signal?: AbortSignal;
  /** Timeout in milliseconds, instead of the contract's. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** What has encoded long texts of the payload before. */
  readonly texts?: LongTexts;
  /** Whether the handler takes attached texts, in the fields that the contract names. */
  readonly attaches?: boolean;
}

/** The procedure and its subject: the contract's name, or the subject of one manager. */
export interface CallTarget<Request extends z.ZodType, Reply extends z.ZodType> {
  readonly contract: RpcContract<Request, Reply>;
  /** The subject. Default: `contract.name`. */
  readonly subject?: string;
}

export interface RpcClient {
  /**
   * Calls a Nest `@MessagePattern` handler and returns its parsed reply.
   *
   * @throws {InvalidRequestError} when the payload breaks the contract
   * @throws {UnavailableError} when there is no handler, or the connection was lost: whether it ran is then unknown
   * @throws {DeadlineError} when no reply came in time
   * @throws the handler's AppError, as the class of its code
   * @throws {BugError} when the reply breaks the contract
   */
  call<Request extends z.ZodType, Reply extends z.ZodType>(
    target: CallTarget<Request, Reply>,
    payload: z.input<Request>,
    options?: CallOptions,
  ): Promise<z.output<Reply>>;
}
