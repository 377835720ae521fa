import type { FastifyReply, FastifyRequest } from 'fastify';

/** A request that has to be authenticated. */
export interface Entry {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Whether its route is public. */
  readonly open: boolean;
}

/** Sets the principal of the request or throws. Requests to public routes may have no principal. */
export type Authenticate = (entry: Entry) => void | Promise<void>;
