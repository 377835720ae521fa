import type { FastifyReply, FastifyRequest } from 'fastify';

/** A request at the door. */
export interface Entry {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Whether its route is on the public list. */
  readonly open: boolean;
}

/** Sets the principal, or throws; a route on the public list may go without. */
export type Authenticate = (entry: Entry) => void | Promise<void>;
