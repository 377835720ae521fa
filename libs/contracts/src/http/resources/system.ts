import { z } from 'zod';
import { FreeJson, route } from '../route.js';

const group = 'Server';

const ok = route({
  name: 'ok',
  group,
  role: 'public',
  method: 'GET',
  path: '/ok',
  summary: 'Whether this server responds.',
  reply: z.object({ ok: z.literal(true) }),
});

const info = route({
  name: 'info',
  group,
  role: 'public',
  method: 'GET',
  path: '/info',
  summary: 'Version and capabilities of the server.',
  reply: z.object({ version: z.string(), context: FreeJson, flags: z.record(z.string(), z.boolean()) }),
});

const health = route({
  name: 'health',
  group,
  role: 'public',
  method: 'GET',
  path: '/health',
  root: true,
  summary: 'Whether the process is alive.',
  reply: z.object({ status: z.literal('healthy') }),
});

const ready = route({
  name: 'ready',
  group,
  role: 'public',
  method: 'GET',
  path: '/ready',
  root: true,
  summary:
    'Whether runs can be executed: 200, or 503 with what is missing; `degraded` lists further risks. 503 once this process is stopping.',
  query: z.object({
    for: z
      .enum(['runs', 'traffic'])
      .default('runs')
      .describe(
        'traffic: only whether this process should get requests, for load balancers in front of several gateways',
      ),
  }),
  reply: z.object({
    status: z.enum(['ready', 'not ready']),
    missing: z.record(z.string(), z.string()),
    degraded: z.record(z.string(), z.string()),
  }),
});

const metrics = route({
  name: 'metrics',
  group,
  role: 'administrator',
  method: 'GET',
  path: '/metrics',
  root: true,
  summary: 'Metrics of this process, in the Prometheus text format.',
  reply: 'text',
});

const openapi = route({
  name: 'openapi',
  group,
  role: 'public',
  method: 'GET',
  path: '/openapi.json',
  root: true,
  summary: 'This API as an OpenAPI document.',
  reply: FreeJson,
});

const docs = route({
  name: 'docs',
  group,
  role: 'public',
  method: 'GET',
  path: '/docs',
  root: true,
  summary: 'This API as a page.',
  reply: 'html',
});

const docsFile = route({
  name: 'docsFile',
  group,
  role: 'public',
  method: 'GET',
  path: '/docs/:file',
  root: true,
  summary: 'Scripts and style of that page.',
  params: z.object({ file: z.string() }),
  reply: 'file',
  refusals: [404],
});

const home = route({
  name: 'home',
  group,
  role: 'public',
  method: 'GET',
  path: '/',
  root: true,
  summary: 'The console, for browsers (`Accept: text/html`); 404 for other clients.',
  reply: 'html',
  refusals: [404],
});

const consoleIcon = route({
  name: 'consoleIcon',
  group,
  role: 'public',
  method: 'GET',
  path: '/icon.svg',
  root: true,
  summary: 'The icon of the console.',
  reply: 'file',
  refusals: [404],
});

const consoleFile = route({
  name: 'consoleFile',
  group,
  role: 'public',
  method: 'GET',
  path: '/assets/:file',
  root: true,
  summary: 'Scripts and styles of the console; their names contain a hash of their content.',
  params: z.object({ file: z.string() }),
  reply: 'file',
  refusals: [404],
});

export const systemRoutes = {
  ...{ ok, info, health, ready, metrics, openapi },
  ...{ docs, docsFile, home, consoleIcon, consoleFile },
};
