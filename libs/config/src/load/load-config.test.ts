import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../index.js';
import { faultsOf, keyOf, useConfigFolders } from '../testing/config-folders.js';

const folderWith = useConfigFolders();

const load = (yaml: string, env: Record<string, string> = {}): Config => loadConfig(env, folderWith(yaml));

describe('loadConfig without a file', () => {
  test('REDIS_URL names one server; NATS_URL may name several', () => {
    const list = 'redis://a:6379,redis://b:6379';
    expect(() => loadConfig({ REDIS_URL: list, CARIBOU_CONFIG: '/dev/null' }, '/')).toThrow(
      /REDIS_URL: must be the URL of one server, not a list/,
    );
    const one = loadConfig(
      { REDIS_URL: 'redis://:a,b@h:6379', NATS_URL: 'nats://a:4222,nats://b:4222', CARIBOU_CONFIG: '/dev/null' },
      '/',
    );
    expect(one.redis.url.reveal()).toBe('redis://:a,b@h:6379');
    expect(one.nats).toMatchObject({ replicas: 1 });
  });

  test('REDIS_URL names Sentinels with their group; a fault in it is said without its parts', () => {
    const url = 'redis+sentinel://:pw@a:26379,b:26379/main';
    const loadOf = (env: Record<string, string>) => loadConfig(env, folderWith());
    const config = loadOf({ REDIS_URL: url, REDIS_SENTINEL_USER: 'u', REDIS_SENTINEL_PASSWORD: 'secret' });
    expect(config.redis.url.reveal()).toBe(url);
    expect(config.redis.security.reveal()).toEqual({ sentinel: { user: 'u', password: 'secret' } });
    const faults = (env: Record<string, string>) => faultsOf(() => loadOf(env));
    expect(faults({ REDIS_URL: 'redis+sentinel://secret:26379' })).toEqual([
      'REDIS_URL: must end with / and the name of the group that the Sentinels watch, such as /mymaster',
    ]);
    expect(faults({ REDIS_SENTINEL_PASSWORD: 'secret' })).toEqual([
      'REDIS_SENTINEL_PASSWORD: needs Sentinels in REDIS_URL, as redis+sentinel://host/name',
    ]);
    expect(faults({ REDIS_URL: url, REDIS_SENTINEL_USER: 'u' })).toEqual([
      'REDIS_SENTINEL_USER: needs its password in REDIS_SENTINEL_PASSWORD',
    ]);
  });

  test('with an empty environment listens on loopback and says which variables a model needs', () => {
    const folder = folderWith();
    const config = loadConfig({}, folder);
    expect(config.http).toMatchObject({ host: '127.0.0.1', port: 2026, apiKeys: [], bodyLimitBytes: 20971520 });
    expect(config.homeDir).toBe(join(folder, '.caribou'));
    expect(config.models).toEqual([]);
    expect(config.problems).toEqual([expect.stringMatching(/OPENAI_API_KEY.*OPENAI_BASE_URL.*config\.yaml/)]);
    expect(config.warnings).toEqual([]);
  });

  test('makes one model from OPENAI_BASE_URL alone, without a key', () => {
    const config = loadConfig({ OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', OPENAI_API_KEY: '' }, folderWith());
    expect(config.models).toMatchObject([
      { name: 'gpt-4.1-mini', model: 'gpt-4.1-mini', baseUrl: 'http://127.0.0.1:9/v1' },
    ]);
    expect(config.models[0]).not.toHaveProperty('apiKey');
    expect(config.problems).toEqual([]);
  });

  test('takes name and key of the model from the environment', () => {
    const config = loadConfig({ OPENAI_API_KEY: 'sk-1', OPENAI_MODEL: 'm-1' }, folderWith());
    expect(config.models).toMatchObject([{ name: 'm-1', model: 'm-1', baseUrl: 'https://api.openai.com/v1' }]);
    expect(config.models[0]?.apiKey?.reveal()).toBe('sk-1');
  });

  test('takes a secret from the file that a variable with _FILE names, and the variable itself before it', () => {
    const folder = folderWith();
    const file = join(folder, 'key');
    writeFileSync(file, 'sk-of-file\n');
    const apiKeyOf = (env: Record<string, string>) => loadConfig(env, folder).models[0]?.apiKey?.reveal();
    expect(apiKeyOf({ OPENAI_API_KEY_FILE: file })).toBe('sk-of-file');
    expect(apiKeyOf({ OPENAI_API_KEY: '', OPENAI_API_KEY_FILE: file })).toBe('sk-of-file');
    expect(apiKeyOf({ OPENAI_API_KEY: 'sk-1', OPENAI_API_KEY_FILE: file })).toBe('sk-1');
    writeFileSync(file, 'nats://gateway:pw@bus:4222\n');
    expect(loadConfig({ NATS_URL_FILE: file }, folder).nats.url.reveal()).toBe('nats://gateway:pw@bus:4222');
    expect(() => loadConfig({ REDIS_URL_FILE: join(folder, 'none') }, folder)).toThrow(
      'REDIS_URL_FILE: the file cannot be read (ENOENT)',
    );
  });

  test('lists every fault at once, each with its variable, none with the value', () => {
    const env = {
      PORT: 'secret-1',
      NATS_URL: 'secret-2',
      REDIS_URL: 'http://secret-3',
      REDIS_FSYNC: 'secret-4',
      CARIBOU_API_KEYS: 'secret-key-5,secret-key-6:a.b,secret-key-7:bob:root',
      CARIBOU_CORS_ORIGINS: 'https://secret-8/path',
      CARIBOU_CONFIG: '/nowhere/config.yaml',
      LOG_LEVEL: 'secret-9',
      CARIBOU_ALLOW_UNAUTHENTICATED: 'secret-10',
      OPENAI_BASE_URL: 'secret-11',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://secret-12',
      CARIBOU_HEALTH_HOST: 'http://secret-13',
    };
    const faults = faultsOf(() => loadConfig(env, folderWith()));
    expect(faults.map(keyOf).sort()).toEqual([...Object.keys(env), 'CARIBOU_API_KEYS', 'CARIBOU_API_KEYS'].sort());
    expect(faults.join('\n')).not.toContain('secret');
  });

  test('stays on loopback, with a warning, when HOST asks for more without authentication', () => {
    const config = loadConfig({ HOST: '0.0.0.0' }, folderWith());
    expect(config.http.host).toBe('127.0.0.1');
    expect(config.warnings).toEqual([expect.stringMatching(/^HOST /)]);
    expect(loadConfig({ HOST: '0.0.0.0', CARIBOU_ALLOW_UNAUTHENTICATED: '1' }, folderWith()).http.host).toBe('0.0.0.0');
    expect(loadConfig({ CARIBOU_API_KEYS: 'key-12345:bob' }, folderWith()).http.host).toBe('0.0.0.0');
  });

  test.each(['0.0.0.0', '::', '10.0.0.7', 'fd00::7', 'monitoring.internal', 'host-1'])(
    'serves health and metrics of the other services at %s',
    (host) => {
      expect(loadConfig({ CARIBOU_HEALTH_HOST: host }, folderWith()).healthHost).toBe(host);
    },
  );

  test.each(['10.0.0', '10.0.0.7:2027', '[::1]', '10.0.0.300', 'a..b', '-a', 'a b', '/run/health'])(
    '%s is no host of health and metrics',
    (host) => {
      const faults = faultsOf(() => loadConfig({ CARIBOU_HEALTH_HOST: host }, folderWith()));
      expect(faults).toEqual([expect.stringMatching(/^CARIBOU_HEALTH_HOST: must be an IP address or a host name/)]);
    },
  );

  test('health and metrics of the other services stay on loopback unless a host is named', () => {
    expect(loadConfig({ HOST: '0.0.0.0', CARIBOU_HEALTH_HOST: '' }, folderWith()).healthHost).toBe('127.0.0.1');
  });

  test('listens at HOST when users sign in, which is off by default', () => {
    expect(loadConfig({}, folderWith()).auth).toMatchObject({ enabled: false, allowRegistration: false });
    const yaml = 'auth: {enabled: true, local: {allow_registration: true}, trusted_proxies: [10.0.0.0/8, "::1"]}';
    const config = load(yaml, { HOST: '0.0.0.0' });
    expect(config.auth).toMatchObject({ enabled: true, allowRegistration: true, sessionMs: 86_400_000 });
    expect([config.http.host, config.warnings]).toEqual(['0.0.0.0', []]);
    expect(load(yaml).http.host).toBe('127.0.0.1');
  });

  test.each(['300.1.1.1', '10.0.0.0/33', '::1/129', '10.0.0.0/8/8', 'proxy.lan', '10.0.0.0/'])(
    '%s is no proxy to trust',
    (proxy) => {
      const faults = faultsOf(() => load(`auth: {trusted_proxies: ["${proxy}"]}`));
      expect(faults).toEqual([expect.stringMatching(/^auth\.trusted_proxies/)]);
    },
  );

  test('knows a collector of traces only by its variable', () => {
    const endpoint = 'http://user:secret@collector:4318/base';
    expect(loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, folderWith()).otlpEndpoint?.reveal()).toBe(endpoint);
    expect(loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, folderWith())).not.toHaveProperty('otlpEndpoint');
  });

  test('reads API keys with their user and the admin mark', () => {
    const { apiKeys } = loadConfig({ CARIBOU_API_KEYS: 'key-12345:ann:admin, key-67890:bob' }, folderWith()).http;
    expect(apiKeys.map(({ key, userId, admin }) => [key.reveal(), userId, admin])).toEqual([
      ['key-12345', 'ann', true],
      ['key-67890', 'bob', false],
    ]);
  });
});

describe('sandbox.uids', () => {
  test('is off by default, and a range within what uids may be', () => {
    expect(load('').sandbox.uids).toEqual({ first: 20_000, count: 0 });
    expect(load('sandbox: { uids: { first: 30000, count: 500 } }').sandbox.uids).toEqual({ first: 30_000, count: 500 });
    const tooHigh = faultsOf(() => load('sandbox: { uids: { first: 4294967293, count: 2 } }'));
    expect(tooHigh).toEqual([expect.stringMatching(/^sandbox\.uids: first \+ count: at most/)]);
  });

  test('has no user that sandboxes use already: a command could end the first process of its container', () => {
    for (const [first, count] of [
      [10_000, 2],
      [10_002, 1],
      [9_000, 5_000],
    ])
      expect(faultsOf(() => load(`sandbox: { uids: { first: ${first}, count: ${count} } }`))).toEqual([
        'sandbox.uids: the range must not have 10001 or 10002, which sandboxes use already',
      ]);
    expect(() => load('sandbox: { uids: { first: 10003, count: 10 } }')).not.toThrow();
  });
});
