import { runAgent } from '@caribou/agent';
import { type HumanMessage, newId } from '@caribou/contracts';
import {
  type AgentMiddleware,
  type ModelPort,
  type RunContext,
  type SandboxPort,
  silentLogger,
  systemClock,
  NO_INTERRUPTS_HERE,
} from '@caribou/core';
import { leadChain } from '@caribou/middleware';
import { median } from '../sample.js';

/** The cost of a chain in one process, with a model that answers at once and without a store. */
export interface ChainCost {
  /** The number of middlewares with six trivial hooks each: as many as the built-in chain has at most. */
  readonly middlewares: number;
  /** Microseconds a model call takes with no middleware. */
  readonly bareMicros: number;
  /** Microseconds those hooks add to a model call. */
  readonly trivialMicros: number;
  /** Microseconds that the built-in chain adds. */
  readonly ownMicros: number;
  /** Turns per second of this loop alone, without and with the built-in chain. */
  readonly bareTurns: number;
  readonly ownTurns: number;
}

const ROUNDS = 9;

/** Measures `turns` runs of one model call each per round, the three chains in turn, and takes the median round. */
export async function chainCost(turns: number): Promise<ChainCost> {
  const own = wholeChain();
  const chains = [[], own.map((_, index) => trivial(index)), own];
  const micros: number[][] = [[], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, chain] of chains.entries()) micros[index]?.push(await microsPerTurn(chain, turns));
  }
  const [bare = 0, withTrivial = 0, withOwn = 0] = micros.map(median);
  return {
    middlewares: own.length,
    bareMicros: bare,
    trivialMicros: withTrivial - bare,
    ownMicros: withOwn - bare,
    bareTurns: 1e6 / bare,
    ownTurns: 1e6 / withOwn,
  };
}

async function microsPerTurn(chain: readonly AgentMiddleware[], turns: number): Promise<number> {
  const startMs = performance.now();
  for (let turn = 0; turn < turns; turn += 1) await oneTurn(chain);
  return ((performance.now() - startMs) * 1_000) / turns;
}

async function oneTurn(chain: readonly AgentMiddleware[]): Promise<void> {
  const outcome = await runAgent({
    chain,
    tools: [],
    model: instantModel,
    systemPrompt: '',
    options: { maxTurns: 2 },
    host: { commit: () => Promise.resolve('continue') },
    run: runContext(),
    state: { messages: [asked] },
    step: 0,
    position: 'start',
  });
  if (outcome.kind !== 'finished') throw new Error(`the run ended as ${outcome.kind}`);
}

/** The built-in chain with everything on. A turn without tools only asks to release its sandbox. */
function wholeChain(): readonly AgentMiddleware[] {
  const sandbox = { binding: () => undefined, release: () => Promise.resolve() };
  return leadChain(
    { sandbox: sandbox as unknown as SandboxPort, model: instantModel },
    {
      vision: true,
      planMode: true,
      subagents: true,
      config: {
        token_budget: { enabled: true },
        tool_search: { enabled: true },
        summarization: { enabled: true, trigger: { type: 'tokens', value: 32_000 } },
      },
    },
  );
}

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

const trivial = (index: number): AgentMiddleware => ({
  name: `trivial-${index}`,
  beforeAgent: nothing,
  beforeModel: nothing,
  wrapModelCall: (request, next) => next(request),
  afterModel: nothing,
  wrapToolCall: (request, next) => next(request),
  afterAgent: nothing,
});

const asked: HumanMessage = {
  type: 'human',
  id: 'h1',
  content: 'How are you?',
  additional_kwargs: {},
  response_metadata: {},
};

const instantModel: ModelPort = {
  name: 'instant',
  endpoint: { provider: 'bench', model: 'instant' },
  dialect: 'generic',
  supportsVision: false,
  supportsThinking: false,
  async *stream() {
    await Promise.resolve();
    yield { content: 'Fine.' };
    yield { finishReason: 'stop' };
  },
};

const runContext = (): RunContext => ({
  userId: 'bench',
  threadId: 'bench',
  runId: 'bench',
  assistantId: 'lead_agent',
  attempt: 1,
  epoch: 1,
  context: {},
  signal: new AbortController().signal,
  clock: systemClock,
  logger: silentLogger,
  emit: () => Promise.resolve(),
  recordDecision: () => undefined,
  takeMessageId: () => newId(),
  queueForMemory: () => undefined,
  ...NO_INTERRUPTS_HERE,
});
