import { BugError, fromWireError, InvalidRequestError, newId, type RpcContract, WireError } from '@caribou/contracts';
import { z } from 'zod';
import type { Bus } from '../connection/bus.js';

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

/** What a Nest handler answers: one packet with a response or an error. */
const Packet = z.looseObject({ response: z.unknown().optional(), err: z.unknown().optional() });

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A client for Nest's handlers over the bus, in Nest's packet format. */
export function createRpcClient(bus: Pick<Bus, 'request'>): RpcClient {
  return {
    call: async ({ contract, subject = contract.name }, payload, options = {}) => {
      const request = contract.request.safeParse(payload);
      if (!request.success) {
        throw new InvalidRequestError(`${contract.name}: ${z.prettifyError(request.error)}`);
      }
      const timeoutMs = options.timeoutMs ?? contract.timeoutMs;
      const packet = { pattern: subject, data: request.data, id: newId() };
      const data = await bus.request(subject, encoder.encode(JSON.stringify(packet)), {
        timeoutMs,
        ...(options.headers === undefined ? {} : { headers: options.headers }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      return readReply(contract, data);
    },
  };
}

function readReply<Reply extends z.ZodType>(
  contract: RpcContract<z.ZodType, Reply>,
  data: Uint8Array,
): z.output<Reply> {
  const packet = Packet.safeParse(jsonOrUndefined(data));
  if (!packet.success) throw new BugError(`${contract.name}: the reply is no packet`);
  if (packet.data.err !== undefined && packet.data.err !== null) {
    const error = WireError.safeParse(packet.data.err);
    throw error.success ? fromWireError(error.data) : new BugError(`${contract.name}: failed without a known error`);
  }
  const reply = contract.reply.safeParse(packet.data.response);
  if (!reply.success)
    throw new BugError(`${contract.name}: the reply breaks the contract: ${z.prettifyError(reply.error)}`);
  return reply.data;
}

function jsonOrUndefined(data: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(data));
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
