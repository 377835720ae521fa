import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  HttpCode,
  RequestMapping,
  RequestMethod,
  SetMetadata,
} from '@nestjs/common';
import { BugError, type RouteContract, type RouteInput } from '@caribou/contracts';
import type { FastifyRequest } from 'fastify';
import { principalOf } from '../auth/principal.js';
import { parseInput } from './parse-input.js';

const CONTRACT = Symbol('RouteContract');

/** Path prefixes of the LangGraph-compatible routes; DeerFlow's web client and its proxies use both. */
export const API_ROOTS = ['api/langgraph', 'api'];

const methods = {
  GET: RequestMethod.GET,
  POST: RequestMethod.POST,
  PUT: RequestMethod.PUT,
  PATCH: RequestMethod.PATCH,
  DELETE: RequestMethod.DELETE,
} as const;

/** Serves the route of a contract, with its method, path and status of success. */
export const Route = (contract: RouteContract): MethodDecorator =>
  applyDecorators(
    RequestMapping({ method: methods[contract.method], path: contract.path }),
    HttpCode(contract.status),
    SetMetadata(CONTRACT, contract),
  );

/**
 * Injects the request as parsed by the route's contract. A request that violates it gets 422 and reaches no handler.
 */
export const Input = createParamDecorator((_: unknown, context: ExecutionContext): RouteInput<RouteContract> => {
  const contract: unknown = Reflect.getMetadata(CONTRACT, context.getHandler());
  if (!isContract(contract)) throw new BugError('a handler takes input without a route contract');
  const { params, query, body } = context.switchToHttp().getRequest<FastifyRequest>();
  return parseInput(contract, { params, query, body });
});

const isContract = (value: unknown): value is RouteContract =>
  typeof value === 'object' && value !== null && 'path' in value;

/** Injects the principal of the request. @throws {UnauthenticatedError} when the request has none */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  principalOf(context.switchToHttp().getRequest<FastifyRequest>()),
);
