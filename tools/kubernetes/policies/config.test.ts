import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '@caribou/config';
import { temporaryFolder } from '@caribou/testing';
import { z } from 'zod';
import { ofKind, type Workload, workloadsOf } from '../render/objects.js';
import { goldenObjects, VALUE_SETS, type ValueSet } from '../render/value-sets.js';

/** What the sandbox-manager reads of config.yaml (apps/sandbox-manager/src/main.ts). */
const MANAGER_SECTIONS = ['clocks', 'files', 'nats', 'sandbox', 'skills', 'log_level'] as const;
/** Of Node itself. */
const OF_NODE: ReadonlySet<string> = new Set(['NODE_EXTRA_CA_CERTS']);
/** Certificates and keys of TLS, whose contents are checked when they are read. */
const TLS = /^(NATS|REDIS)_(CA|CERT|KEY)_FILE$/;

const CONTENTS: Readonly<Record<string, string>> = {
  NATS_URL: 'nats://user:password@nats:4222',
  REDIS_URL: 'rediss://user:password@redis:6379',
  CARIBOU_API_KEYS: 'key-of-an-administrator:root:admin',
};

const folder = temporaryFolder();

/** Writes what a pod mounts to a folder, and returns its environment with the paths there. */
function environmentOf(set: ValueSet, { pod, containers, component }: Workload): Record<string, string> {
  const root = join(folder, set, component);
  mkdirSync(join(root, 'etc'), { recursive: true });
  mkdirSync(join(root, 'secrets'), { recursive: true });
  const name = pod.volumes.find(({ configMap }) => configMap !== undefined)?.configMap?.name;
  const map = ofKind(goldenObjects(set), 'ConfigMap').find(({ metadata }) => metadata.name === name);
  for (const [file, text] of Object.entries(z.record(z.string(), z.string()).parse(map?.['data'])))
    writeFileSync(join(root, 'etc', file), text);
  const env: Record<string, string> = {};
  for (const { name: variable, value = '10.0.0.1' } of containers[0]?.env ?? []) {
    const own = variable.replace(/_FILE$/, '');
    if (value.startsWith('/run/secrets/'))
      writeFileSync(join(root, 'secrets', own), CONTENTS[own] ?? `0123456789-${own}`);
    env[variable] = value
      .replace('/etc/caribou', join(root, 'etc'))
      .replace('/run/secrets/caribou', join(root, 'secrets'));
  }
  return env;
}

/** Loads the configuration as the service does; also returns the names of the variables that were asked for. */
function load(env: Readonly<Record<string, string>>, component: string): { config: Config; asked: Set<string> } {
  const asked = new Set<string>();
  const watched = new Proxy<Record<string, string | undefined>>(env, {
    get: (target, name) => {
      if (typeof name === 'string') asked.add(name);
      return TLS.test(String(name)) ? undefined : target[String(name)];
    },
    has: (target, name) => name in target,
  });
  const config = loadConfig(watched, folder, component === 'sandbox-manager' ? MANAGER_SECTIONS : undefined);
  return { config, asked };
}

describe.each(VALUE_SETS)('the configuration in the render of %s', (set) => {
  const services = workloadsOf(goldenObjects(set)).filter(({ object }) => object.kind === 'Deployment');
  const byName = services.map((workload) => [workload.component, workload] as const);

  test.each(byName)('of %s loads without a fault or a warning', (component, workload) => {
    const { config } = load(environmentOf(set, workload), component);
    expect(config.warnings).toEqual([]);
    expect(component === 'sandbox-manager' ? [] : config.problems).toEqual([]);
    expect(config.sandbox.driver).toBe('kubernetes');
    expect(config.files).toBeDefined();
  });

  test.each(byName)('of %s has only variables that are read', (component, workload) => {
    const env = environmentOf(set, workload);
    const { asked } = load(env, component);
    const extensions = JSON.stringify(
      ofKind(goldenObjects(set), 'ConfigMap').map(
        ({ data }) =>
          z.looseObject({ 'extensions_config.json': z.string().default('') }).parse(data)['extensions_config.json'],
      ),
    );
    const isRead = (name: string): boolean =>
      asked.has(name) || OF_NODE.has(name) || extensions.includes(`$${name.replace(/_FILE$/, '')}`);
    expect(Object.keys(env).filter((name) => !isRead(name))).toEqual([]);
  });

  test('gateways and sandbox-managers have the object store, the others no keys of it', () => {
    for (const [component, workload] of byName) {
      const env = Object.keys(environmentOf(set, workload));
      const hasStore = component === 'gateway' || component === 'sandbox-manager';
      const usesBucket = set !== 'trial';
      expect([component, env.includes('S3_SECRET_ACCESS_KEY_FILE')]).toEqual([component, hasStore && usesBucket]);
    }
  });
});
