import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceNames } from '@caribou/contracts';
import { waitFor, waitForOutput } from '@caribou/testing';
import { startDemoModel } from '../../tools/demo-model/server.js';
import { ApiClient, concatenateMessages, lastValues, type WireMessage } from '../support/client.js';

/** `npm start` in a separate data folder; packages and build exist already. */

const repository = join(__dirname, '..', '..');

interface Started {
  readonly url: string;
  readonly output: () => string;
  /** Of the launcher. */
  readonly pid: number;
  /** Process ids of everything the launcher has started. */
  readonly children: readonly number[];
  /** Ctrl-C; resolves with the exit code. */
  readonly interrupt: () => Promise<number | null>;
}

let home = '';
let launcher: ChildProcess | undefined;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'caribou-start-'));
  writeFileSync(join(home, 'config.yaml'), 'sandbox:\n  driver: bwrap\n');
});

afterEach(async () => {
  if (launcher !== undefined && launcher.exitCode === null && launcher.signalCode === null) {
    launcher.kill('SIGINT');
    await once(launcher, 'exit');
  }
  rmSync(home, { recursive: true, force: true, maxRetries: 3 });
});

async function start(env: Readonly<Record<string, string>>): Promise<Started> {
  const child = spawn(process.execPath, ['tools/launcher/start.mjs'], {
    cwd: repository,
    env: {
      ...process.env,
      NODE_ENV: 'production',
      CARIBOU_HOME: home,
      CARIBOU_RUN_DIR: join(home, 'run'),
      CARIBOU_CONFIG: join(home, 'config.yaml'),
      HOST: '127.0.0.1',
      PORT: '0',
      NATS_URL: '',
      REDIS_URL: '',
      CARIBOU_API_KEYS: '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  launcher = child;
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (text += data.toString()));
  const url = (): string | undefined => /Caribou is ready: (http:\S+)[\s\S]*Ctrl-C stops everything/.exec(text)?.[1];
  await waitFor(() => url() !== undefined || child.exitCode !== null, { what: 'the banner', timeoutMs: 90_000 });
  const found = url();
  if (found === undefined) throw new Error(`npm start ended:\n${text}`);
  const record = JSON.parse(readFileSync(join(home, 'servers', 'pids.json'), 'utf8')) as { pid: number }[];
  return {
    url: found,
    output: () => text,
    pid: child.pid ?? 0,
    children: record.map(({ pid }) => pid),
    interrupt: async () => {
      child.kill('SIGINT');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      return child.exitCode;
    },
  };
}

/** The path and body of the request in the README. */
function requestOfReadme(): { readonly path: string; readonly body: unknown } {
  const readme = readFileSync(join(repository, 'README.md'), 'utf8');
  const [, path, body] =
    /curl -N http:\/\/[^/\s]+(\/\S+)[^']*(?:'content-type[^']*')[^']*-d '([^']*)'/i.exec(readme) ?? [];
  if (path === undefined || body === undefined) throw new Error('the README has no request');
  return { path, body: JSON.parse(body) };
}

const KEYS = 'key-of-the-api:alice';

/** The processes that a process has started and that still run. */
const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);

/** Sends the README's request and checks its result; returns the last `values`. */
async function firstRequest(url: string): Promise<readonly WireMessage[]> {
  const client = new ApiClient(url);
  const { path, body } = requestOfReadme();
  const stream = await client.stream('POST', path, body);
  const frames = await stream.end(60_000);
  const events = frames.map(({ event }) => event);
  expect(events[0]).toBe('metadata');
  expect(events.at(-1)).toBe('end');
  expect(events.filter((event) => event === 'end')).toHaveLength(1);

  const messages = lastValues(frames);
  expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'ai', 'tool', 'ai']);
  const texts = concatenateMessages(frames);
  const answers = messages.filter(({ type, content }) => type === 'ai' && content !== '');
  for (const { id, content } of answers) expect(texts.get(id)).toBe(content);
  const command = messages.find(({ name }) => name === 'bash');
  expect(command?.status).toBe('success');
  expect(command?.content).toContain('Running in: /mnt/user-data/workspace\nSum of 1 to 10: 55\n');

  const { thread_id: threadId } = frames[0]?.data as { thread_id: string };
  const state = await client.call<{ values: { title: string; messages: unknown } }>(
    'GET',
    `/api/langgraph/threads/${threadId}/state`,
  );
  expect(state.body.values.messages).toEqual(messages);
  expect(state.body.values.title).not.toBe('');
  return messages;
}

describe('npm start', () => {
  test('answers the first request with the scripted model, states that it is a script, and Ctrl-C stops all', async () => {
    const caribou = await start({ OPENAI_BASE_URL: '', OPENAI_API_KEY: '' });

    const messages = await firstRequest(caribou.url);
    const viewer = await fetch(`${caribou.url}/docs/swagger-ui-bundle.js`);

    expect([viewer.status, (await viewer.text()).includes('SwaggerUIBundle')]).toEqual([200, true]);
    await waitForOutput(caribou, 'the scripted DEMO model, not an AI');
    expect(messages.at(-1)?.content).toContain('scripted demo model');
    expect(caribou.children).toHaveLength(8);
    expect(new Set(childrenOf(caribou.pid))).toEqual(new Set(caribou.children));
    expect(residentMb(caribou.pid)).toBeLessThan(120);
    expect(await caribou.interrupt()).toBe(0);
    expect(caribou.children.filter(isRunning)).toEqual([]);
  }, 180_000);

  test('each service has a separate password, in a file, and sandboxes are started without the key of a model', async () => {
    const secrets = {
      OPENAI_API_KEY: 'sk-of-the-model',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      CARIBOU_API_KEYS: KEYS,
    };
    const caribou = await start({ ...secrets, SOME_PROVIDER_KEY: 'sk-of-a-provider' });
    const environments = new Map(
      caribou.children.flatMap((pid) => {
        const app = /dist\/services\/([\w-]+)\.js/.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.[1];
        return app === undefined ? [] : [[app, readFileSync(`/proc/${pid}/environ`, 'utf8')] as const];
      }),
    );
    expect([...environments.keys()].sort()).toEqual([...serviceNames].sort());
    const holding = (text: string): readonly string[] =>
      [...environments].filter(([, environment]) => environment.includes(text)).map(([app]) => app);
    expect([...holding('sk-of-the-model')].sort()).toEqual([
      'agent-runner',
      'gateway',
      'memory-worker',
      'subagent-pool',
    ]);
    expect(holding('sk-of-a-provider')).not.toContain('sandbox-manager');
    expect(holding(KEYS)).toEqual(['gateway']);
    expect(holding('nats://')).toEqual([]);
    const files = serviceNames.map((app) => join(home, 'servers', 'access', app, 'redis.url'));
    expect(new Set(files.map((file) => readFileSync(file, 'utf8'))).size).toBe(serviceNames.length);
    expect(files.map((file) => statSync(file).mode & 0o777)).toEqual(files.map(() => 0o600));
    expect(caribou.output()).not.toMatch(/NOPERM|does not permit|subscription refused/);
    expect(await caribou.interrupt()).toBe(0);
  }, 180_000);

  test('the address and key of another OpenAI-compatible server are all it needs', async () => {
    const model = await startDemoModel({ apiKey: 'a key of that server' });
    try {
      const caribou = await start({
        OPENAI_BASE_URL: model.baseUrl,
        OPENAI_API_KEY: 'a key of that server',
        OPENAI_MODEL: 'another-model',
      });

      await firstRequest(caribou.url);

      await waitForOutput(caribou, `another-model (another-model at 127.0.0.1:${model.port})`);
      expect(caribou.output()).not.toContain('a key of that server');
      expect(model.requests().length).toBeGreaterThanOrEqual(3);
      expect(caribou.children).toHaveLength(7);
      expect(await caribou.interrupt()).toBe(0);
    } finally {
      await model.close();
    }
  }, 180_000);
});
