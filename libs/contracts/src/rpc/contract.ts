import type { z } from 'zod';

/** A remote procedure: its schemas and its deadline, shared by caller and handler. */
export interface RpcContract<Request extends z.ZodType = z.ZodType, Reply extends z.ZodType = z.ZodType> {
  /** Last token(s) of the subject; `sandbox.acquire` is served by a queue group, `exec` by one manager. */
  readonly name: string;
  readonly request: Request;
  readonly reply: Reply;
  /** Longest time a caller waits for the reply, in milliseconds. */
  readonly timeoutMs: number;
  /** Fields of the request whose long texts may be attached to it, for a handler that takes their UTF-8 instead (libs/core, attached-texts). */
  readonly attachable?: readonly string[];
}

export const rpc = <Request extends z.ZodType, Reply extends z.ZodType>(
  contract: RpcContract<Request, Reply>,
): RpcContract<Request, Reply> => contract;
