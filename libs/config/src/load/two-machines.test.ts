import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { loadConfig } from './load-config.js';

const repository = resolve(__dirname, '../../../..');

interface Service {
  readonly environment?: Readonly<Record<string, string | number | null>>;
  readonly volumes?: readonly string[];
}

/** The services of a compose file, with the defaults of its variables. */
function servicesOf(file: string): Readonly<Record<string, Service>> {
  const text = readFileSync(join(repository, file), 'utf8')
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll('!override ', '')
    .replaceAll('!override', '');
  const { services } = parse(text, { merge: true }) as { readonly services: Readonly<Record<string, Service>> };
  return services;
}

const base = servicesOf('docker-compose.yml');
const added = servicesOf('docker-compose.two-machines.yml');

/** The base that a service extends, or is. */
const baseOf = (name: string): Service => base[name.replace(/-b$/, '')] ?? {};

function composed(name: string) {
  const { environment = {}, volumes = [] } = added[name] ?? {};
  const values = { ...baseOf(name).environment, ...environment };
  const env = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value ?? '')]));
  const mounts = new Map(
    volumes.map((volume) => volume.split(':') as [string, string]).map(([from, to]) => [to, from]),
  );
  const file = mounts.get('/etc/caribou/config.yaml') ?? '';
  const paths = { CARIBOU_CONFIG: join(repository, file), NATS_URL_FILE: '', REDIS_URL_FILE: '' };
  return { env, mounts, config: loadConfig({ OPENAI_API_KEY: 'x', ...env, ...paths }, repository) };
}

describe('docker-compose.two-machines.yml', () => {
  const machines = { a: ['gateway', 'sandbox-manager'], b: ['gateway-b', 'sandbox-manager-b'] };
  const all = [...machines.a, ...machines.b, 'agent-runner', 'memory-worker', 'subagent-pool'];

  test.each(all)('%s reads the object store from its configuration', (name) => {
    const { files } = composed(name).config;
    expect(files?.store).toMatchObject({ kind: 's3', s3: { bucket: 'caribou' } });
  });

  test.each(Object.entries(machines))(
    'machine %s has its home and its run directory, mounted where they are',
    (_name, names) => {
      const homes = names.map((name) => composed(name).config.homeDir);
      expect(new Set(homes).size).toBe(1);
      for (const name of names) {
        const { mounts, config } = composed(name);
        expect(mounts.get(config.homeDir)).toBe(config.homeDir);
      }
      const { mounts, env } = composed(names[1] ?? '');
      const runDir = env['CARIBOU_RUN_DIR'] ?? '';
      expect(mounts.get(runDir)).toBe(runDir);
    },
  );

  test('the machines share neither home nor run directory', () => {
    const [one, other] = ['sandbox-manager', 'sandbox-manager-b'].map((name) => composed(name).env);
    for (const variable of ['CARIBOU_HOME', 'CARIBOU_RUN_DIR']) expect(one?.[variable]).not.toBe(other?.[variable]);
  });
});
