import { z } from 'zod';
import { FreeJson, route } from './route.js';

const group = 'Server';

const ok = route({
  name: 'ok',
  group,
  method: 'GET',
  path: '/ok',
  summary: 'Whether this server answers.',
  reply: z.object({ ok: z.literal(true) }),
});

const info = route({
  name: 'info',
  group,
  method: 'GET',
  path: '/info',
  summary: 'Version and what the server can do.',
  reply: z.object({ version: z.string(), context: FreeJson, flags: z.record(z.string(), z.boolean()) }),
});

const openapi = route({
  name: 'openapi',
  group,
  method: 'GET',
  path: '/openapi.json',
  root: true,
  summary: 'This API as an OpenAPI document.',
  reply: FreeJson,
});

const docs = route({
  name: 'docs',
  group,
  method: 'GET',
  path: '/docs',
  root: true,
  summary: 'This API as a page.',
  reply: 'html',
});

export const systemRoutes = { ok, info, openapi, docs };
