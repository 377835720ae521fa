import { FailureReply, httpRoutes, type RouteContract } from '@caribou/contracts';
import { z } from 'zod';

type Json = Readonly<Record<string, unknown>>;

const everyRefusal = [401, 403, 422, 503];
const descriptions: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Missing or invalid credentials',
  403: 'Forbidden',
  404: 'Not found',
  409: 'Conflict: busy, already exists, full, or changed meanwhile',
  412: 'Precondition failed: the file has changed since it was read',
  413: 'Too large',
  415: 'Unsupported content type',
  416: 'Range not satisfiable',
  422: 'The request does not match its schema',
  429: 'Too many requests; see Retry-After',
  503: 'Unavailable; nothing was stored, try again',
};

/** Creates the OpenAPI 3.1 document of the API from the schemas of the routes. */
export function createOpenApiDocument(version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of httpRoutes) {
    const path = pathOf(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Caribou',
      version,
      description: 'Threads, runs and event streams, compatible with LangGraph clients.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: 'access_token' },
      },
      schemas: { Failure: schemaOf(FailureReply, 'output') },
    },
    security: [{ apiKey: [] }, { bearer: [] }, { session: [] }, {}],
  };
}

/** The path as the document shows it; every path under `/api` is also served under `/api/langgraph`. */
const pathOf = ({ path, root }: RouteContract): string =>
  `${root ? '' : '/api'}${path.replaceAll(/:(\w+)/g, '{$1}').replace('*', '{path}')}`;

function operationOf(route: RouteContract): Json {
  const body = schemaOf(route.body, 'input');
  const hasBody = route.method !== 'GET' && Object.keys(body).length > 0;
  return {
    operationId: route.name,
    tags: [route.group],
    summary: route.summary,
    'x-required-role': route.role,
    ...(route.role === 'public' ? { security: [] } : {}),
    parameters: [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query')],
    ...(hasBody ? { requestBody: { content: { [route.consumes]: { schema: body } } } } : {}),
    responses: { [route.status]: successOf(route), ...refusalsOf(route) },
  };
}

function parametersOf(schema: z.ZodType, location: 'path' | 'query'): Json[] {
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, value]) => ({
    name: name === '*' ? 'path' : name,
    in: location,
    required: location === 'path' || required.includes(name),
    schema: value,
  }));
}

function successOf({ reply }: RouteContract): Json {
  switch (reply) {
    case 'empty':
      return { description: 'Done' };
    case 'event-stream':
      return {
        description: 'Events until the run ends',
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      };
    case 'file':
      return {
        description: 'The file, or the part of it asked for',
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      };
    case 'html':
      return { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } };
    case 'text':
      return { description: 'Text', content: { 'text/plain': { schema: { type: 'string' } } } };
    default:
      return { description: 'The answer', content: { 'application/json': { schema: schemaOf(reply, 'output') } } };
  }
}

function refusalsOf({ refusals }: RouteContract): Json {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } };
  const statuses = [...new Set([...everyRefusal, ...refusals])].sort((one, other) => one - other);
  return Object.fromEntries(
    statuses.map((status) => [status, { description: descriptions[status] ?? 'Refused', content }]),
  );
}

/** A zod schema as JSON Schema; transforms and refinements, which it cannot express, accept any value. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
