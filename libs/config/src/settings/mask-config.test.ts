import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { configSources } from '../load/config-sources.js';
import { loadConfig } from '../load/load-config.js';
import { sections } from '../schema/file-schema.js';
import { ModelFile } from '../schema/model-schema.js';
import { maskConfig } from './mask-config.js';

const folder = mkdtempSync(join(tmpdir(), 'caribou-mask-'));
afterAll(() => rmSync(folder, { recursive: true }));

let canaries = 0;
const planted: string[] = [];
/** A secret that nothing else in the configuration contains. */
function canary(): string {
  canaries += 1;
  const text = `canary${canaries}x${'abcdefgh'.repeat(2)}`;
  planted.push(text);
  return text;
}

/** Every field of config.yaml in which a secret may be, by its path, with the place of the secret in the file below. */
const SECRET_FIELDS = new Set([
  ...['models.api_key', 'models.default_headers', 'models.default_query', 'models.extra_body'],
  ...['models.when_thinking_enabled', 'models.when_thinking_disabled', 'models.thinking'],
  ...['web.search.api_key', 'web.fetch.api_key'],
  ...['store.embeddings.api_key', 'webhooks.secret', 'webhooks.previous_secret'],
  ...['files.store.s3.access_key_id', 'files.store.s3.secret_access_key', 'files.store.s3.session_token'],
  'extensions.middlewares.options',
]);

const yaml = (): string => `
models:
  - name: m1
    base_url: "https://user:${canary()}@models.example.org/v1?key=${canary()}"
    api_key: ${canary()}
    default_headers: {x-api-key: ${canary()}}
    default_query: {code: ${canary()}}
    extra_body: {metadata: {token: [${canary()}]}}
    when_thinking_enabled: {thinking: {key: ${canary()}}}
    when_thinking_disabled: {thinking: {key: ${canary()}}}
    description: $REFERENCED
  - name: m2
    base_url: "https://models.example.org/v1"
    api_key: $REFERENCED
    thinking: {secret: ${canary()}}
web:
  search: {provider: tavily, api_key: ${canary()}, base_url: "https://search.example.org"}
  fetch: {provider: jina, api_key: ${canary()}}
  images: {provider: searxng, base_url: "https://images.example.org"}
store:
  embeddings: {model: e1, base_url: "https://x:${canary()}@vectors.example.org/v1", api_key: ${canary()}}
webhooks: {secret: ${canary()}, previous_secret: ${canary()}}
files:
  store:
    s3: {bucket: bucket-1, region: eu-1, access_key_id: ${canary()}, secret_access_key: ${canary()}, session_token: ${canary()}}
extensions:
  middlewares: [{use: "./mine.mjs#mine", options: {password: ${canary()}, port: 4711}}]
tools:
  - {name: my_tool, group: mine, use: "./mine.mjs#tool", password: ${canary()}}
`;

function load() {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, yaml());
  return loadConfig(
    {
      CARIBOU_CONFIG: file,
      CARIBOU_HOME: folder,
      REFERENCED: canary(),
      CARIBOU_API_KEYS: `${canary()}:alice:admin`,
      NATS_URL: `nats://gateway:${canary()}@nats.example.org:4222`,
      NATS_NKEY_SEED: `SU${'A'.repeat(56)}`,
      REDIS_URL: `redis://gateway:${canary()}@redis.example.org:6379`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `https://x:${canary()}@traces.example.org`,
    },
    folder,
  );
}

describe('the configuration as people see it', () => {
  const config = load();
  const shown = maskConfig(config);
  const text = JSON.stringify(shown);

  test('has no secret in any field', () => {
    expect(planted.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).not.toContain(`SU${'A'.repeat(56)}`);
    expect(text).not.toContain('4711');
  });

  test('says which fields have one, and what is none', () => {
    expect(shown['models']).toMatchObject([
      {
        name: 'm1',
        apiKey: '[secret]',
        description: '[value of a variable]',
        baseUrl: 'https://[hidden]@models.example.org/v1?[hidden]',
        body: { metadata: { token: ['[hidden]'] } },
        query: { code: '[hidden]' },
      },
      { name: 'm2', apiKey: '[secret]', baseUrl: 'https://models.example.org/v1' },
    ]);
    expect(shown['http']).toMatchObject({ apiKeys: [{ key: '[secret]', userId: 'alice', admin: true }] });
    expect(shown['webhooks']).toMatchObject({ secrets: ['[secret]', '[secret]'] });
    expect(shown['clocks']).toEqual({ ...config.clocks });
    expect(shown).not.toHaveProperty('origins');
  });

  test('names where each part comes from', () => {
    const sources = configSources(config);
    expect(sources).toMatchObject({
      http: ['environment'],
      nats: ['environment'],
      models: ['file'],
      web: ['file'],
      tools: ['file'],
      clocks: ['default'],
      'chain.extensions': ['file'],
      'chain.memory': ['default'],
    });
    const parts = Object.keys(shown).filter((key) => !['chain', 'warnings', 'notices', 'problems'].includes(key));
    expect(Object.keys(sources).filter((key) => !key.startsWith('chain.'))).toEqual(parts);
  });
});

/** Paths of a schema that may hold a secret: by their name, or as their content is open. */
function secretPaths(schema: unknown, path: string): string[] {
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, inner]) => {
      const at = path === '' ? key : `${path}.${key}`;
      return /secret|password|api_key|access_key|session_token/.test(key) ? [at] : secretPaths(inner, at);
    });
  if (schema instanceof z.ZodArray) return secretPaths(schema.element, path);
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap((one) => secretPaths(one, path)))];
  if (schema instanceof z.ZodRecord) return isOpen(schema.valueType) ? [path] : secretPaths(schema.valueType, path);
  if (schema instanceof z.ZodPipe) return secretPaths(schema.in, path);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return secretPaths(schema.unwrap(), path);
  return [];
}

const isOpen = (schema: unknown): boolean =>
  schema instanceof z.ZodUnknown || schema instanceof z.ZodAny || schema instanceof z.ZodString;

/** Found by their name or type, but of public content: names of objects and labels of a cluster. */
const PUBLIC_FIELDS = new Set(['sandbox.kubernetes.image_pull_secrets', 'sandbox.kubernetes.node_selector']);

test('every field of the schema in which a secret may be is one of those above', () => {
  const found = [
    ...secretPaths(ModelFile, 'models'),
    ...Object.entries(sections).flatMap(([name, schema]) => secretPaths(schema, name)),
  ].filter((path) => !PUBLIC_FIELDS.has(path));
  expect(found.filter((path) => !SECRET_FIELDS.has(path))).toEqual([]);
  expect([...SECRET_FIELDS].filter((path) => !found.includes(path))).toEqual([]);
});
