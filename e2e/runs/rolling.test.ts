import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestService, waitFor } from '@caribou/testing';
import { type AppName, clientOf, nth, type Stack, startStack } from '../support/stack.js';
import { SteadyTurns } from '../support/steady-turns.js';

jest.setTimeout(300_000);

const LANES = 6;

let objects: string;
let stack: Stack;
let managers = 0;
/** The homes of the managers, each of which is a machine of its own. */
const homes: string[] = [];

beforeAll(async () => {
  objects = mkdtempSync(join(tmpdir(), 'caribou-objects-'));
  stack = await startStack({
    ...{ gateways: 0, runners: 0, managers: 0 },
    clocks: ['manager_drain_ms: 60000', 'gateway_drain_delay_ms: 500'],
    config: `files: { store: { folder: { path: ${objects}, durable: false } } }\n`,
  });
});
afterAll(async () => {
  await stack.stop();
  rmSync(objects, { recursive: true, force: true });
});

async function start(app: AppName): Promise<TestService> {
  if (app !== 'sandbox-manager') return stack.start(app);
  const home = join(stack.homeDir, `manager-${(managers += 1)}`);
  homes.push(home);
  return stack.start(app, { CARIBOU_HOME: home, CARIBOU_RUN_DIR: `${home}-run` });
}

/** The ledger of a thread at the machine that has the newest one. */
function ledgerOf(threadId: string): readonly string[] {
  const copies = homes
    .map((home) => join(home, 'users/default/threads', threadId, 'user-data/workspace/ledger'))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8').trimEnd().split('\n'));
  return copies.sort((left, right) => right.length - left.length)[0] ?? [];
}

test('every service is replaced twice under load, one by one: no run fails, and no command is executed twice', async () => {
  const running = new Map<AppName, TestService[]>();
  for (const app of ['sandbox-manager', 'agent-runner', 'gateway'] as const)
    running.set(app, [await start(app), await start(app)]);
  const of = (app: AppName): TestService[] => running.get(app) ?? [];
  const isReady = async (service: TestService): Promise<boolean> => (await service.ready()).ok;
  await waitFor(async () => (await Promise.all(of('gateway').map(isReady))).every(Boolean), {
    what: 'the gateways',
    timeoutMs: 60_000,
  });
  let turn = 0;
  const load = new SteadyTurns(() => clientOf(nth(of('gateway'), (turn += 1) % of('gateway').length)));
  await load.start(LANES);

  const exits: unknown[] = [];
  for (let round = 0; round < 2; round += 1) {
    for (const app of ['sandbox-manager', 'agent-runner', 'gateway'] as const) {
      const before = load.ended;
      await waitFor(() => load.ended >= before + LANES, { what: 'turns', timeoutMs: 90_000 });
      const next = await start(app);
      await waitFor(() => isReady(next), { what: `the next ${app}` });
      const [leaving, ...staying] = of(app);
      running.set(app, [...staying, next]);
      exits.push(await leaving?.terminate(90_000));
    }
  }

  const turns = await load.stop();
  expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
  expect(turns.filter(({ status }) => status !== 'success')).toEqual([]);
  for (const threadId of new Set(turns.map((one) => one.threadId)))
    expect(ledgerOf(threadId)).toEqual(turns.filter((one) => one.threadId === threadId).map(({ word }) => word));
  process.stdout.write(`rolling: ${turns.length} turns in ${LANES} threads, six processes replaced\n`);
});
