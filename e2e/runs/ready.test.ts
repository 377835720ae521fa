import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedis } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});

afterAll(() => stack.stop());

const missing = async (): Promise<readonly string[]> => {
  const { ok, body } = await nth(stack.gateways, 0).ready();
  const list = Object.keys((body as { readonly missing: Record<string, string> }).missing);
  expect(ok).toBe(list.length === 0);
  return list;
};

const missingBecomes = (name: string) =>
  waitFor(async () => (await missing()).includes(name), {
    what: `/ready to miss ${name}`,
    timeoutMs: 20_000,
    everyMs: 200,
  });
const nothingMissing = () =>
  waitFor(async () => (await missing()).length === 0, { what: '/ready to be ready', everyMs: 200 });

test('processes whose CARIBOU_HOME is another volume refuse to start', async () => {
  const otherHome = await mkdtemp(join(tmpdir(), 'caribou-other-'));
  for (const app of ['gateway', 'sandbox-manager'] as const) {
    await expect(stack.start(app, { CARIBOU_HOME: otherHome })).rejects.toThrow(/mount one volume on all machines/);
  }
  await rm(otherHome, { recursive: true });
});

describe('GET /ready of the gateway', () => {
  test('names what a turn lacks, and is ready again when that is back', async () => {
    expect(await missing()).toEqual([]);

    await nth(stack.runners, 0).kill9();
    await missingBecomes('agent-runner');
    await stack.start('agent-runner');
    await nothingMissing();

    await nth(stack.managers, 0).kill9();
    await missingBecomes('sandbox');
    await stack.start('sandbox-manager');
    await nothingMissing();

    await stack.nats.kill9();
    await missingBecomes('nats');
    await stack.nats.restart();
    await nothingMissing();

    // A Redis that is full still answers reads.
    const redis = createRedis({ url: stack.redis.url });
    await redis.use((client) => client.config('SET', 'maxmemory', '1'));
    await missingBecomes('redis');
    await redis.use((client) => client.config('SET', 'maxmemory', '0'));
    await nothingMissing();
    await redis.close();

    await stack.redis.kill9();
    await missingBecomes('redis');
    await stack.redis.restart();
    await nothingMissing();
  });
});
