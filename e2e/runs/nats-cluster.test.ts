import { type NatsCluster, startNatsCluster, waitFor } from '@caribou/testing';
import { clientOf, nth, type Stack, startStack } from '../support/stack.js';
import { startWith } from '../support/start-with.js';
import { SteadyTurns } from '../support/steady-turns.js';
import { linesOf } from '../support/threads-on-disk.js';

jest.setTimeout(240_000);

const LANES = 8;

let cluster: NatsCluster;
let stack: Stack;

beforeAll(async () => {
  cluster = await startNatsCluster();
  stack = await startStack({ gateways: 0, runners: 0, managers: 0, config: 'nats: { replicas: 3 }\n' });
});
afterAll(async () => {
  await stack.stop();
  await cluster.stop();
});

test('three nats-servers, each killed once under load: no run fails, and no command is executed twice', async () => {
  const env = { NATS_URL: cluster.url };
  const { gateway, isReady } = await startWith(stack, env);
  const load = new SteadyTurns(() => clientOf(gateway));
  await load.start(LANES);
  const more = async (turns: number): Promise<void> => {
    const before = load.ended;
    await waitFor(() => load.ended >= before + turns, { what: `${turns} more turns`, timeoutMs: 60_000 });
  };
  await more(LANES);

  for (let index = 0; index < cluster.nodes.length; index += 1) {
    const node = nth(cluster.nodes, index);
    await node.kill9();
    await more(2 * LANES);
    await node.restart();
    await waitFor(isReady, { what: 'the system with the server', everyMs: 200 });
    await more(LANES);
  }

  const turns = await load.stop();
  expect(turns.filter(({ status }) => status !== 'success')).toEqual([]);
  for (const threadId of new Set(turns.map((turn) => turn.threadId)))
    expect(linesOf(stack, threadId, 'ledger')).toEqual(
      turns.filter((turn) => turn.threadId === threadId).map(({ word }) => word),
    );
  process.stdout.write(`nats-cluster: ${turns.length} turns in ${LANES} threads, three servers killed\n`);
});
