import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { inHelm } from './helm.js';
import { valueRows } from './values-table.js';

const Schema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
  definitions: z.record(z.string(), z.unknown()).optional(),
});

const root = Schema.parse(JSON.parse(readFileSync(inHelm('caribou', 'values.schema.json'), 'utf8')));
const rows = valueRows(readFileSync(inHelm('caribou', 'values.yaml'), 'utf8'));
const SERVICES = ['gateway', 'agentRunner', 'sandboxManager', 'memoryWorker', 'subagentPool'];

/** Paths of the properties that the schema allows, without those of references, which are data such as quantities. */
function pathsOf(schema: unknown, prefix = ''): string[] {
  const { properties = {} } = Schema.parse(schema);
  return Object.entries(properties).flatMap(([name, inner]) => [
    `${prefix}${name}`,
    ...pathsOf(inner, `${prefix}${name}.`),
  ]);
}

/** The same with the objects that references of the values lead to. */
const REFERENCED: Readonly<Record<string, string>> = { 'nats.tls': 'tls', 'redis.tls': 'tls' };

describe('values.schema.json', () => {
  const allowed = new Set([
    ...pathsOf(root),
    ...Object.entries(REFERENCED).flatMap(([path, name]) => pathsOf(root.definitions?.[name], `${path}.`)),
  ]);
  const documented = new Set(rows.map(({ path }) => path));

  test('allows every value of values.yaml', () => {
    expect([...documented].filter((path) => !allowed.has(path))).toEqual([]);
  });

  test('allows nothing that values.yaml does not describe, but the keys of all services in each of them', () => {
    const common = [...documented].filter((path) => path.startsWith('services.')).map((path) => path.slice(9));
    const isCommon = (path: string): boolean =>
      SERVICES.some((service) => path.startsWith(`${service}.`) && common.includes(path.slice(service.length + 1)));
    const left = [...allowed].filter((path) => !documented.has(path) && !isCommon(path));
    // Helm gives it to every chart.
    expect(left).toEqual(['global']);
  });

  test('refuses keys that it does not know, in every object with properties', () => {
    const open: string[] = [];
    const visit = (schema: unknown, path: string): void => {
      const { properties, additionalProperties } = Schema.parse(schema);
      if (properties === undefined) return;
      if (additionalProperties !== false) open.push(path);
      for (const [name, inner] of Object.entries(properties)) visit(inner, `${path}.${name}`);
    };
    visit(root, '');
    for (const [name, inner] of Object.entries(root.definitions ?? {})) visit(inner, name);
    expect(open).toEqual([]);
  });
});
