import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats, startRedis, type TestServer } from '@caribou/testing';
import { examine } from './examine.js';
import { type Finding, linesOf } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

const programs = new Set(['nats-server', 'redis-server', 'npx']);

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'caribou-doctor-test-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const context = (env: DoctorContext['env'], over: Partial<DoctorContext> = {}): DoctorContext => ({
  root,
  env: { CARIBOU_HOME: root, CARIBOU_RUN_DIR: join(root, 'run'), PORT: '0', ...env },
  findProgram: (name) => (programs.has(name) ? `/usr/bin/${name}` : undefined),
  isPortFree: () => Promise.resolve(true),
  ...over,
});
/** Findings about one topic, with `yaml` as config.yaml. */
async function about(
  topic: string,
  { yaml = 'sandbox: {driver: bwrap}', ...env }: Readonly<Record<string, string>> = {},
  over: Partial<DoctorContext> = {},
): Promise<readonly Finding[]> {
  writeFileSync(join(root, 'config.yaml'), yaml);
  return (await examine(context(env, over))).filter((finding) => finding.topic === topic);
}
const levels = (findings: readonly Finding[]): readonly string[] => findings.map(({ level }) => level);

describe('the configuration', () => {
  test('each fault is a failure, and nothing else is checked', async () => {
    writeFileSync(join(root, 'config.yaml'), 'runner: {slots: 0}\ntools: [{name: x}]');
    const findings = await examine(context({ NATS_URL: 'http://x' }));

    expect(levels(findings)).toEqual(['fail', 'fail', 'fail']);
    expect(findings.map(({ text }) => text.split(':')[0])).toEqual(['NATS_URL', 'tools[0].use', 'runner.slots']);
    expect(findings.every(({ fix }) => fix !== undefined)).toBe(true);
  });

  test('warnings are warnings, notices are fine', async () => {
    expect(levels(await about('config', { yaml: 'guardrails: {enabled: true}\nconfig_version: 3' }))).toEqual([
      ...['ok', 'warn', 'ok'],
    ]);
  });

  test('a port that is open to others without sign-in is a warning', async () => {
    expect(levels(await about('access'))).toEqual(['ok']);
    expect(levels(await about('access', { CARIBOU_API_KEYS: 'key-12345:ann' }))).toEqual(['ok']);
    const open = await about('access', { CARIBOU_ALLOW_UNAUTHENTICATED: '1' });
    expect(open).toMatchObject([{ level: 'warn', fix: expect.stringContaining('CARIBOU_API_KEYS') }]);
  });

  test('sign-in is fine, unless everybody who reaches the port may create an account', async () => {
    const signIn = (allow: boolean, HOST: string) =>
      about('access', { HOST, yaml: `auth: {enabled: true, local: {allow_registration: ${allow}}}` });
    expect(levels(await signIn(false, '0.0.0.0'))).toEqual(['ok']);
    expect(levels(await signIn(true, '127.0.0.1'))).toEqual(['ok']);
    expect(levels(await signIn(true, '0.0.0.0'))).toEqual(['warn']);
  });
});

describe('models', () => {
  let server: Server;
  let url = '';
  beforeAll(async () => {
    server = createServer((request, response) => {
      const status = Number(/\/v(\d+)\//.exec(request.url ?? '')?.[1] ?? 200);
      if (status === 1 && request.headers.authorization !== 'Bearer sk-good') response.writeHead(401).end();
      else if (status === 1) response.end('{"data": [{"id": "good"}]}');
      else response.writeHead(status).end('no list');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const model = async (over: Readonly<Record<string, unknown>>): Promise<Finding | undefined> => {
    const entry = { name: 'm', model: 'good', api_key: 'sk-good', base_url: `${url}/v1`, ...over };
    return (await about('model', { yaml: JSON.stringify({ models: [entry] }) }))[0];
  };

  test('one that accepts its key is fine', async () => {
    expect(await model({})).toMatchObject({ level: 'ok', text: expect.stringMatching(/^m: key set, 127.* answers$/) });
    expect(await model({ base_url: `${url}/v404` })).toMatchObject({ level: 'ok' });
  });

  test.each<[string, object, 'warn' | 'fail', RegExp]>([
    ['a key that is refused', { api_key: 'sk-bad' }, 'fail', /refuses the key \(401\)/],
    ['a name that is not on its list', { model: 'other' }, 'warn', /does not list other/],
    ['a server in trouble', { base_url: 'URL/v503' }, 'warn', /answers 503/],
    ['an unreachable server', { base_url: 'http://127.0.0.1:65531/v1' }, 'fail', /cannot be reached \(ECONNREFUSED\)/],
  ])('%s is reported', async (_what, over, level, text) => {
    const entry = Object.fromEntries(
      Object.entries(over).map(([key, value]) => [key, String(value).replace('URL', url)]),
    );
    const finding = await model(entry);

    expect(finding).toMatchObject({ level, text: expect.stringMatching(text), fix: expect.any(String) });
    expect(JSON.stringify(finding)).not.toContain('sk-');
  });

  test('one without its key is a failure that names the variable, none at all a warning', async () => {
    const findings = await about('model', { yaml: 'models: [{name: m, use: "langchain_deepseek:ChatDeepSeek"}]' });
    expect(findings).toMatchObject([{ level: 'fail', fix: expect.stringContaining('DEEPSEEK_API_KEY') }]);
    expect(levels(await about('model'))).toEqual(['warn']);
  });
});

describe('servers', () => {
  let nats: TestServer;
  let redis: TestServer;
  beforeAll(async () => {
    [nats, redis] = await Promise.all([startNats(), startRedis()]);
  });
  afterAll(() => Promise.all([nats.stop(), redis.stop()]));

  test('of the operator are connected to, and their settings checked', async () => {
    expect(await about('nats', { NATS_URL: nats.url })).toMatchObject([
      { level: 'ok', text: expect.stringMatching(/^connected, nats-server \S+ with JetStream$/) },
    ]);
    const [connected, ...settings] = await about('redis', { REDIS_URL: redis.url });
    expect(connected).toMatchObject({ level: 'ok', text: 'connected' });
    expect(settings.every(({ fix }) => fix?.includes('redis.conf') ?? false)).toBe(true);
  });

  test('that are unreachable are failures that do not show the password of their URL', async () => {
    const found = [
      ...(await about('nats', { NATS_URL: 'nats://u:secret-1@127.0.0.1:9' })),
      ...(await about('redis', { REDIS_URL: 'redis://:secret-2@127.0.0.1:9' })),
    ];
    expect(levels(found)).toEqual(['fail', 'fail']);
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  /** A fake nats-server with the given greeting and answers. */
  async function greeter(greeting: object, answer: (sent: string) => string) {
    const server = createPlainServer((socket) => {
      socket.write(
        `INFO ${JSON.stringify({ server_id: 'x', version: '2.9.0', proto: 1, headers: true, ...greeting })}\r\n`,
      );
      socket.on('data', (data) => socket.write(answer(data.toString())));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, url: `nats://u:secret@127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  test('a nats-server without JetStream is a failure', async () => {
    const { server, url } = await greeter({ max_payload: 4096 }, (sent) => (sent.includes('PING') ? 'PONG\r\n' : ''));
    const found = await about('nats', { NATS_URL: url });
    server.close();

    expect(found).toMatchObject([
      { level: 'fail', text: 'nats-server 2.9.0 has no JetStream' },
      { level: 'fail', text: 'messages may have 4096 bytes only' },
    ]);
  });

  test('one that refuses the password is a failure', async () => {
    const refuse = (): string => "-ERR 'Authorization Violation'\r\n";
    const { server, url } = await greeter({ jetstream: true, max_payload: 8e6, auth_required: true }, refuse);
    const found = await about('nats', { NATS_URL: url });
    server.close();

    expect(found).toMatchObject([{ level: 'fail', text: expect.stringContaining('refuses the connection') }]);
    expect(JSON.stringify(found)).not.toContain('secret');
  });

  test('private ones need their programs, which npm start may install', async () => {
    expect(levels([...(await about('nats')), ...(await about('redis'))])).toEqual(['ok', 'ok']);
    const nothing = { findProgram: () => undefined };
    expect(levels([...(await about('nats', {}, nothing)), ...(await about('redis', {}, nothing))])).toEqual([
      'fail',
      'fail',
    ]);
    const apt = { findProgram: (name: string) => (name === 'apt-get' ? '/usr/bin/apt-get' : undefined) };
    expect(await about('nats', {}, apt)).toMatchObject([{ level: 'warn', fix: expect.stringContaining('apt-get') }]);
  });
});

describe('the machine', () => {
  test('a command can be run in a sandbox, or the reason is reported', async () => {
    expect(levels(await about('sandbox'))).toEqual(['ok']);
    const missing = { yaml: 'sandbox: {driver: docker, image: "caribou-no-such-image:1"}' };
    expect(await about('sandbox', missing)).toMatchObject([
      { level: 'fail', fix: expect.stringContaining('docker build -t caribou-no-such-image:1') },
    ]);
  });

  test('a disk without free space is a failure', async () => {
    expect(levels(await about('data'))).toEqual(['ok']);
    const yaml = 'sandbox: {driver: bwrap, limits: {min_free_bytes: 1099511627776}}';
    expect(await about('data', { yaml })).toMatchObject([
      { level: 'fail', fix: expect.stringContaining('CARIBOU_HOME') },
    ]);
  });

  test('a port that another program has is a failure, one that Caribou has is not', async () => {
    const answer = { text: 'something else' };
    const other = createServer((_request, response) => response.end(answer.text));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const PORT = String((other.address() as AddressInfo).port);
    const taken = { isPortFree: () => Promise.resolve(false) };

    expect(levels(await about('port', { PORT }))).toEqual(['ok']);
    expect(await about('port', { PORT }, taken)).toMatchObject([
      { level: 'fail', fix: expect.stringContaining('PORT') },
    ]);
    answer.text = '{"status":"healthy"}';
    expect(levels(await about('port', { PORT }, taken))).toEqual(['ok']);
    await new Promise((resolve) => other.close(resolve));
  });

  test('a check that throws is reported as a failure', async () => {
    const broken = { isPortFree: () => Promise.reject(new Error('no such address')) };

    expect(await about('port', { PORT: '8080' }, broken)).toMatchObject([
      { level: 'fail', text: 'the check failed: no such address' },
    ]);
  });
});

describe('files of the operator', () => {
  const mcp = (text: string): Promise<readonly Finding[]> => {
    writeFileSync(join(root, 'extensions_config.json'), text);
    return about('mcp');
  };

  test('MCP servers are checked one by one, none is started', async () => {
    const servers = {
      good: { type: 'stdio', command: 'npx', args: ['-y', 'x'] },
      gone: { type: 'stdio', command: 'no-such-program' },
      off: { enabled: false, command: 'no-such-program' },
      bare: { type: 'stdio' },
      remote: { type: 'http', url: 'https://user:secret@mcp.example.org/x' },
      nowhere: { type: 'sse', url: '' },
      token: { type: 'http', url: 'https://x.example', headers: { Authorization: '$NOT_SET_HERE' } },
      wrong: { type: 'carrier-pigeon' },
    };
    const found = await mcp(JSON.stringify({ mcpServers: servers }));

    expect(found.map(({ level, text }) => [level, text.split(':')[0]])).toEqual([
      ...[
        ['ok', 'good'],
        ['warn', 'gone'],
        ['ok', 'off'],
        ['warn', 'bare'],
        ['ok', 'remote'],
        ['warn', 'nowhere'],
      ],
      ...[
        ['warn', 'token'],
        ['warn', 'wrong'],
      ],
    ]);
    expect(JSON.stringify(found)).not.toContain('secret');
    expect(found[6]?.text).toContain('NOT_SET_HERE');
  });

  test('a file that is not valid JSON is a failure', async () => {
    expect(await mcp('{"token": "s3cret')).toMatchObject([
      { level: 'fail', text: expect.not.stringContaining('s3cret') },
    ]);
  });

  test('skills need a front matter with a name', async () => {
    expect(await about('skills')).toEqual([]);
    for (const [name, text] of [
      ['good', '---\nname: good\ndescription: x\n---\nDo it.'],
      ['bad', 'Do it.'],
    ] as const) {
      mkdirSync(join(root, 'skills/public', name), { recursive: true });
      writeFileSync(join(root, 'skills/public', name, 'SKILL.md'), text);
    }
    const found = await about('skills');
    expect(levels(found)).toEqual(['ok', 'warn']);
    expect(found[0]?.text).toMatch(/^1 in /);
    expect(found[1]?.text).toContain('bad/SKILL.md');
  });
});

test('the advice is on the line below', () => {
  expect(linesOf({ level: 'fail', topic: 'redis', text: 'no connection', fix: 'start it' })).toEqual([
    'fail  redis       no connection',
    '                  → start it',
  ]);
});
