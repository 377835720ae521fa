import { createRedis } from '@caribou/state';
import { type RedisSentinels, startRedisSentinels, waitFor } from '@caribou/testing';
import { clientOf, type Stack, startStack } from '../support/stack.js';
import { startWith } from '../support/start-with.js';
import { type AcceptedTurn, SteadyTurns } from '../support/steady-turns.js';

jest.setTimeout(240_000);

const LANES = 8;
const REPLICATED_MS = 5_000;

let servers: RedisSentinels;
let stack: Stack;

beforeAll(async () => {
  servers = await startRedisSentinels();
  stack = await startStack({ gateways: 0, runners: 0, managers: 0 });
});
afterAll(async () => {
  await stack.stop();
  await servers.stop();
});

/** The turns that were accepted before now, once the replica has everything that was written up to then. */
async function replicated(turns: readonly AcceptedTurn[]): Promise<readonly AcceptedTurn[]> {
  const accepted = [...turns];
  const redis = createRedis({
    url: servers.primary.url.replace('//', `//:${servers.password}@`),
    commandTimeoutMs: 10_000,
  });
  // The replica confirms a position of the stream of all clients' writes.
  const confirmed = await redis.use(async (client) => {
    await client.set('test:position', '1');
    return client.wait(1, REPLICATED_MS);
  });
  await redis.close();
  expect(confirmed).toBe(1);
  return accepted;
}

test('the primary is killed under load: every run that was replicated ends in success at the new primary', async () => {
  const env = { REDIS_URL: servers.url, REDIS_SENTINEL_PASSWORD: servers.sentinelPassword };
  const { gateway } = await startWith(stack, env);
  const load = new SteadyTurns(() => clientOf(gateway));
  await load.start(LANES);
  await waitFor(() => load.ended >= 2 * LANES, { what: 'turns', timeoutMs: 60_000 });

  const before = await replicated(load.turns);
  const killedAt = load.ended;
  const underWay = load.turns.length - killedAt;
  await servers.primary.kill9();

  await waitFor(() => load.ended >= killedAt + 2 * LANES, { what: 'turns after the failover', timeoutMs: 90_000 });
  await load.stop();
  expect(before.filter(({ status }) => status !== 'success')).toEqual([]);
  const lost = load.turns.filter(({ status }) => status === 'lost').length;
  process.stdout.write(`redis-failover: ${load.turns.length} turns, ${underWay} under way at the kill, ${lost} lost\n`);
});
