import type { Metrics } from '@caribou/observability';
import cors from '@fastify/cors';
import type { AuthConfig, HttpConfig } from '@caribou/config';
import { memoryRoutes } from '@caribou/contracts';
import type { Logger } from '@caribou/core';
import { nestLogger } from '@caribou/nest';
import type { RequestBuckets } from '@caribou/state';
import { type DynamicModule, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  fastify,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { createOriginRule } from './auth/origins.js';
import { findPrincipal } from './auth/principal.js';
import { addRequestGuard, type GuardDependencies } from './auth/request-guard.js';
import { registerSignInParsers } from './auth/sign-in-bodies.js';
import { addAccessLog } from './http/access-log.js';
import { answerFor, ErrorFilter } from './http/error.filter.js';
import { registerJsonParser } from './http/json-body.js';
import { LargeAnswers } from './http/large-answers.js';
import { RATE_LIMIT_HEADERS } from './http/rate-limit-headers.js';
import { addRequestBudget, RequestBudget, type RequestRates } from './http/request-budget.js';
import { RetryEstimates } from './http/retry-estimates.js';
import type { OpenRequests } from './http/open-requests.js';
import { addSafeHeaders } from './http/safe-headers.js';
import { isLarge, stringifyInSlices } from './http/sliced-json.js';
import { replaceNonFiniteNumbers } from './memory/python-json.js';
import { addUpgrades } from './protocol/socket/upgrades.js';
import { registerMultipart } from './files/uploads/multipart.js';

/** Maximum length of path parameters: that of a request line, so that contracts and not the router judge ids. */
const MAX_PARAM_CHARS = 16_384;
const PREFLIGHT_SECONDS = 600;
/** Headers of answers that web pages of other origins may read. */
const EXPOSED_HEADERS = [
  ...['Content-Location', 'Location', 'X-Pagination-Total', 'X-Pagination-Next', 'Retry-After'],
  ...RATE_LIMIT_HEADERS,
];

export interface GatewayAppOptions {
  readonly module: Type | DynamicModule;
  readonly http: HttpConfig;
  readonly rates: RequestRates;
  readonly requestBuckets: RequestBuckets;
  readonly trustedProxies: AuthConfig['trustedProxies'];
  readonly guard: GuardDependencies;
  readonly metrics: Pick<Metrics, 'requestRefused'>;
  readonly openRequests: OpenRequests;
  readonly logger: Logger;
}

/**
 * Creates the HTTP server with parsers, limits, CORS, the request guard and the error filter; it does not listen yet.
 */
export async function createGatewayApp(given: GatewayAppOptions): Promise<NestFastifyApplication> {
  const { module, http, guard, trustedProxies, logger, metrics } = given;
  const options: FastifyServerOptions = {
    bodyLimit: http.bodyLimitBytes,
    forceCloseConnections: true,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    frameworkErrors: (error, _request, reply: FastifyReply) => {
      const { status, detail } = answerFor(error);
      void reply.status(status).send({ detail });
    },
  };
  const server = fastify(options);
  const adapter = new FastifyAdapter(server);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    bodyParser: false,
    logger: nestLogger(logger),
  });
  const budget = new RequestBudget(given.rates, given.requestBuckets);
  registerJsonParser(server, {
    limitBytes: http.bodyLimitBytes,
    prepare: (request, text) => (maybePython(request) ? replaceNonFiniteNumbers(text) : text),
    charge: (request, bytes) => {
      const principal = findPrincipal(request);
      if (principal !== undefined) budget.chargeBody(principal, bytes);
    },
  });
  registerSignInParsers(server);
  addAccessLog(server, logger);
  given.openRequests.addTo(server);
  addSafeHeaders(server);
  await server.register(cors, corsOptions(http));
  addRequestGuard(server, http, guard);
  addRequestBudget(server, budget);
  new LargeAnswers().addTo(server);
  writeLargeJsonInSlices(server);
  await registerMultipart(server);
  addUpgrades(server);
  const estimates = new RetryEstimates();
  estimates.addTo(server);
  app.useGlobalFilters(new ErrorFilter(logger, metrics, estimates));
  await app.init();
  await server.ready();
  return app;
}

/** Writes large answers as JSON in slices before they are sent, so that they do not block other requests. */
function writeLargeJsonInSlices(server: FastifyInstance): void {
  server.addHook('preSerialization', async (_request, reply, payload: unknown) => {
    if (!isLarge(payload)) return payload;
    const text = await stringifyInSlices(payload);
    void reply.serializer(() => text);
    return payload;
  });
}

/** Whether the body may be a memory exported by DeerFlow, whose JSON is written by Python. */
const maybePython = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.url?.endsWith(memoryRoutes.imported.path) === true;

const corsOptions = ({ corsOrigins }: HttpConfig) => {
  const mayCall = createOriginRule(corsOrigins);
  return {
    origin: (origin: string | undefined, done: (error: Error | null, allow: boolean) => void): void => {
      done(null, origin !== undefined && mayCall(origin));
    },
    credentials: true,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_SECONDS,
  };
};
