import { silentLogger } from '@caribou/core';
import { createRedis, type RedisConnection } from '@caribou/state';
import { type ServiceName, serviceNames } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { clientOf } from '../support/stack.js';
import { RESULTS } from './asked-call.js';
import { CALLERS, DecidedThread } from './decided-thread.js';
import { type Contestant, ContestedCall } from './contested-call.js';
import { DOORS } from './doors.js';
import { endsIn, replay } from './observer.js';
import { DecisionSystem } from './system.js';

/**
 * People decide about calls of agents and subagents through every door while each service is killed with SIGKILL: between question
 * and decision, between decision and effect, and after the effect. The short form kills one service after the other at each point;
 * with CARIBOU_DECISIONS=full each service is also killed alone at each point, with threads of its own.
 */

const isFull = process.env['CARIBOU_DECISIONS'] === 'full';
const WAIT_MS = 120_000;

jest.setTimeout(300_000);

let system: DecisionSystem;
let redis: RedisConnection;
let threads: readonly DecidedThread[] = [];

beforeAll(async () => {
  system = await DecisionSystem.start();
  redis = createRedis({ url: system.stack.redis.url, logger: silentLogger });
});
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.close()));
  threads = [];
});
afterAll(async () => {
  await redis.close();
  await system.stop();
});

/** Services that are killed at each point, in order. */
interface Kills {
  readonly asked?: readonly ServiceName[];
  readonly decided?: readonly ServiceName[];
  readonly done?: readonly ServiceName[];
}

const each = (work: (thread: DecidedThread) => Promise<unknown>): Promise<unknown> => Promise.all(threads.map(work));
const effects = (): readonly string[] => threads.flatMap((thread) => thread.effects);

/** Kills one service after the other; the next when there is another process in place of the last. */
async function killEach(
  services: readonly ServiceName[],
  afterEachKill = async (): Promise<void> => {},
): Promise<void> {
  for (const name of services) {
    await system.kill9(name);
    await system.replaced();
    await afterEachKill();
  }
}

/** Resolves when all calls that are executed are held in living processes, between decision and effect. */
async function allHeld(): Promise<void> {
  const isHeld = (): boolean => {
    const ofCaller = {
      agent: system.held.arrivedIn(system.pidOf('agent-runner')),
      subagent: system.held.arrivedIn(system.pidOf('subagent-pool')),
    };
    return threads.every(({ executed, caller }) => executed.every((id) => ofCaller[caller].has(id)));
  };
  await waitFor(isHeld, { what: 'all calls to be held', timeoutMs: WAIT_MS });
}

/** Kills between decision and effect. A manager is killed with the requests of the commands, which it has not read. */
async function killBeforeEffects(services: readonly ServiceName[]): Promise<void> {
  await killEach(
    services.filter((name) => name !== 'sandbox-manager'),
    allHeld,
  );
  expect(effects()).toEqual([]);
  const killsManager = services.includes('sandbox-manager');
  if (killsManager) system.pause('sandbox-manager');
  system.held.release();
  if (!killsManager) return;
  const besideCommands = threads.flatMap(({ effectsBesideCommand }) => effectsBesideCommand).sort();
  await waitFor(() => effects().length >= besideCommands.length, { what: 'other effects', timeoutMs: WAIT_MS });
  expect([...effects()].sort()).toEqual(besideCommands);
  await killEach(['sandbox-manager']);
}

async function decideWhileKilled({ asked = [], decided = [], done = [] }: Kills): Promise<void> {
  threads = DOORS.flatMap((door) => CALLERS.map((caller) => new DecidedThread(system, door, caller)));
  const gatewayKills = [asked, decided, done].flat().filter((name) => name === 'gateway').length;
  await each((thread) => thread.ask());
  await killEach(asked);
  expect(effects()).toEqual([]);
  system.holdResults();
  system.held.hold();
  await each((thread) => thread.decide());
  await allHeld();
  await killBeforeEffects(decided);
  await waitFor(() => threads.every((thread) => thread.effects.length >= thread.decidedEffects.length), {
    what: 'all effects',
    timeoutMs: WAIT_MS,
  });
  await killEach(done);
  system.releaseResults();
  for (const thread of threads) thread.releaseCommand();
  await each(expectAsDecided);
  for (const { observer } of threads) expect(observer.reconnects).toBeGreaterThanOrEqual(gatewayKills);
  await expectAudited();
}

async function expectAsDecided(thread: DecidedThread): Promise<void> {
  const messages = await thread.finished();
  expect([thread.name, messages.at(-1)?.content]).toEqual([thread.name, 'bye']);
  expect([thread.name, ...thread.effects]).toEqual([thread.name, ...thread.decidedEffects]);
  const results = (await thread.messagesOfCaller()).filter(({ type }) => type === 'tool');
  for (const { callId, decision, interruptId } of thread.asked) {
    const ofCall = results.filter(({ tool_call_id: id }) => id === callId);
    const approval = decision === 'answer' ? undefined : { decision, by: 'default', interrupt_id: interruptId };
    expect([thread.name, decision, ofCall]).toMatchObject([
      thread.name,
      decision,
      [
        {
          content: expect.stringMatching(RESULTS[decision]),
          additional_kwargs: approval === undefined ? {} : { approval },
        },
      ],
    ]);
  }
  await expectEventsOnce(thread);
}

/** What was seen live, over several gateways, is what each gateway gives to a client that comes later. */
async function expectEventsOnce({ threadId, observer, name, sdkEvents, interruptIds }: DecidedThread): Promise<void> {
  const [one, other] = await Promise.all(
    system.stack.gateways.map((gateway) => replay(clientOf(gateway), threadId, 2)),
  );
  await waitFor(() => endsIn(observer.events) === 2, { what: `the end of ${name} to be seen`, timeoutMs: WAIT_MS });
  const idsOf = (events: readonly { readonly id: string }[] = []) => events.map(({ id }) => id);
  expect([name, ...idsOf(other)]).toEqual([name, ...idsOf(one)]);
  expect([name, ...idsOf(observer.events)]).toEqual([name, ...idsOf(one)]);
  expect(new Set(idsOf(one)).size).toBe(one?.length);
  expect(new Set(sdkEvents).size).toBe(sdkEvents.length);
  const ofInput = (method: string) => observer.events.filter((event) => event.method === method);
  const requested = ofInput('input.requested').map(({ data }) => String(data['interrupt_id']));
  expect([name, ...requested.sort()]).toEqual([name, ...interruptIds]);
  const answered = ofInput('input.answered').map(({ data }) => [...(data['interrupt_ids'] as string[])].sort());
  expect([name, ...answered]).toEqual([name, interruptIds]);
}

/** Each decision, and each answer, has one line. */
async function expectAudited(): Promise<void> {
  const entries = await redis.use((client) => client.xrange(redis.keys.audit, '-', '+'));
  const lines = entries.map(([, fields]) => JSON.parse(fields[1] ?? '{}') as Record<string, unknown>);
  for (const { threadId, asked, name } of threads) {
    const found = lines
      .filter((line) => line['thread_id'] === threadId && line['interrupt_id'] !== undefined)
      .map((line) => [line['operation'], line['interrupt_id'], line['verdict'], line['decided_by']].join(' '));
    const expected = asked.map(({ interruptId, decision }) =>
      [decision === 'answer' ? 'answer' : 'approval', interruptId, decision, 'default'].join(' '),
    );
    expect([name, ...found.sort()]).toEqual([name, ...expected.sort()]);
  }
}

/** Those whose end gives calls their result come last, so that there are calls to be lost by each. */
const ORDER = ['gateway', 'memory-worker', 'subagent-pool', 'agent-runner', 'sandbox-manager'] as const;

/** Different decisions through two doors, at least one of which speaks the streaming protocol. */
const CONTESTS: readonly (readonly [Contestant, Contestant])[] = [
  [
    { door: 'rest', decision: 'approve' },
    { door: 'sse', decision: 'reject' },
  ],
  [
    { door: 'rest', decision: 'reject' },
    { door: 'websocket', decision: 'approve' },
  ],
  [
    { door: 'sdk', decision: 'edit' },
    { door: 'websocket', decision: 'respond' },
  ],
  [
    { door: 'sdk', decision: 'respond' },
    { door: 'sse', decision: 'edit' },
  ],
  [
    { door: 'websocket', decision: 'edit' },
    { door: 'sse', decision: 'approve' },
  ],
];

test('two people decide differently through two doors at once: one wins, and what is executed is that', async () => {
  const calls = CONTESTS.flatMap(([one, other]) => [
    new ContestedCall(system, [one, other], 'agent'),
    new ContestedCall(system, [other, one], 'agent'),
    new ContestedCall(system, [one, other], 'subagent'),
  ]);
  try {
    await Promise.all(calls.map((call) => call.ask()));
    await Promise.all(
      calls.map(async (call) => {
        const outcomes = await call.decide();
        const winner = outcomes.indexOf('taken');
        expect([call.name, outcomes[1 - winner]]).toEqual([call.name, call.refusalOf(1 - winner)]);
        expect([call.name, ...(await call.finished())]).toEqual([call.name, ...call.effectsOf(winner)]);
      }),
    );
  } finally {
    await Promise.all(calls.map((call) => call.close()));
  }
});

test('each service is killed at each point: each call has its effect once, as decided', () =>
  decideWhileKilled({ asked: ORDER, decided: ORDER, done: ORDER }));

if (isFull) {
  const points = ['asked', 'decided', 'done'] as const;
  test.each(points.flatMap((point) => serviceNames.map((name) => [point, name] as const)))(
    'when calls are %s and the %s is killed, each has its effect once, as decided',
    (point, name) => decideWhileKilled({ [point]: [name] }),
  );
}
