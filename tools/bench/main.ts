import { omitUndefined } from '@caribou/contracts';
import { parseArgs } from 'node:util';
import { adapterCost } from './parts/adapter-part.js';
import { chainCost } from './parts/chain-cost.js';
import { chainTurns, turnsWith } from './parts/chain-turns.js';
import type { Bench, Part } from './bench.js';
import { busyMachine } from './parts/busy-part.js';
import { consolePage } from './console/console-part.js';
import { files } from './files/files-part.js';
import { startFleet } from './fleet.js';
import { idleThreads } from './parts/idle-threads.js';
import { alternate, type Load, type LoadResult, measureLoads, simpleTurn, type Subject, warmUp } from './load.js';
import { fairness } from './fairness/fairness-part.js';
import { measureGrowingThread, valuesOf } from './parts/long-thread.js';
import { memoryReadings } from './parts/memory-readings.js';
import { outage } from './parts/outage-part.js';
import { promptMemoryCost } from './parts/prompt-memory.js';
import {
  type Budget,
  ownCpuMsOf,
  say,
  sayBudgets,
  sayChain,
  sayIdle,
  sayLoads,
  sayMachine,
  sayPromptMemory,
  sayShares,
  sayTasks,
  sayTurn,
  sayValues,
} from './report.js';
import { inTurn, median } from './sample.js';
import { sandbox } from './parts/sandbox-part.js';
import { dispatchCost, taskLoads } from './parts/task-dispatch.js';
import { pairedLoads } from './parts/pair-part.js';
import { peer } from './peer/peer-part.js';
import { store } from './store/store-part.js';
import { streams } from './store/stream-part.js';
import { takeover } from './takeover/takeover-part.js';
import { tokens } from './parts/token-part.js';
import { waiting } from './waiting/waiting-part.js';
import { floorTarget, langGraphTarget, type Target } from './turns.js';
import { serverFigures } from './server-figures.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    profile: { type: 'string' },
    slots: { type: 'string' },
    minutes: { type: 'string', default: '3' },
    before: { type: 'string' },
    'peer-url': { type: 'string' },
    'peer-assistant': { type: 'string', default: 'agent' },
  },
});

/** The number of concurrent threads at which the machine is the limit. */
const FULL_LOAD = 64;
/** Turns before the loads of single systems are measured, so that their code is compiled. */
const WARM_UP_TURNS = 5_000;
/** Milliseconds between two tokens of a slow model. */
const PACE_MS = 20;

async function loads({ fleet, figures, floor, caribou, times }: Bench): Promise<readonly Budget[]> {
  const pids = { ...fleet.services, ...fleet.servers };
  const side = (target: Target, suffix: string): Subject => ({
    target: { ...target, name: `${target.name}${suffix}` },
    pids: target === floor ? fleet.floor : pids,
  });
  const both = (suffix = ''): Subject[] => [side(floor, suffix), side(caribou, suffix)];
  const loadOf = (concurrency: number, turns: number, delayMs = 0): Load => ({
    concurrency,
    turns: times(turns),
    script: simpleTurn(delayMs),
  });
  await warmUp(both(), times);
  const results: LoadResult[] = [];
  for (const load of [loadOf(1, 100), loadOf(16, 600)]) results.push(...(await measureLoads(both(), load)));
  const full = await measureLoads(both(), loadOf(FULL_LOAD, 1_600));
  const paced = await measureLoads(both(`, ${PACE_MS} ms`), loadOf(FULL_LOAD, 400, PACE_MS));
  await figures.setFsync('always');
  const synced = await measureLoads([side(caribou, ', always')], loadOf(FULL_LOAD, 800));
  await figures.setFsync('everysec');
  sayLoads([...results, ...full, ...paced, ...synced]);
  say(`(${PACE_MS} ms: the model waits that long before each token; always: Redis syncs each write)`);
  return [
    cpuBudget(`CPU of the services per turn at ${FULL_LOAD}`, full),
    cpuBudget(`the same, ${PACE_MS} ms before each token`, paced),
  ];
}

function cpuBudget(what: string, [floor, caribou]: readonly LoadResult[]): Budget {
  if (floor === undefined || caribou === undefined) throw new Error('two results are compared');
  sayShares(`${what}, ms by process`, caribou.cpu);
  return { what, value: ownCpuMsOf(caribou) / ownCpuMsOf(floor), unit: '× floor', atMost: 2.5 };
}

async function firstToken({ floor, caribou, times }: Bench): Promise<readonly Budget[]> {
  const firstTokens = await alternate([floor, caribou], times(200), simpleTurn());
  const [own, withProduct] = [floor.name, caribou.name].map((name) => median(firstTokens.get(name) ?? []));
  const value = (withProduct ?? 0) - (own ?? 0);
  say();
  say(`First token, unloaded, p50: floor ${own?.toFixed(1)} ms, caribou ${withProduct?.toFixed(1)} ms`);
  return [{ what: 'first token over the floor, unloaded, p50', value, unit: 'ms', atMost: 5 }];
}

async function longThread({ fleet, figures, times }: Bench): Promise<readonly Budget[]> {
  const [early, late] = [5, times(200)];
  const cost = await measureGrowingThread(fleet, figures, { early, late });
  say();
  say('One thread that grows');
  sayTurn(early, cost.early);
  sayTurn(late, cost.late);
  const bytes = ({ redisBytes, natsBytes }: typeof cost.late): number => redisBytes + natsBytes;
  const productMsOf = ({ totalMs, floorMs }: typeof cost.late): number => totalMs - floorMs;
  const against = (what: string, value: number): Budget => ({
    what: `turn ${late} against turn ${early}, ${what}`,
    value,
    unit: '×',
    atMost: 1.2,
  });
  return [
    against('bytes written', bytes(cost.late) / bytes(cost.early)),
    against('latency', cost.late.totalMs / cost.early.totalMs),
    against('latency over the floor', productMsOf(cost.late) / productMsOf(cost.early)),
  ];
}

const values: Part = async ({ fleet }) => {
  say();
  say('Loading and serialising whole states');
  for (const messages of [10, 100, 1_000]) sayValues(await valuesOf(fleet, messages));
  return [];
};

/** The cost of the chain in one process, and in turns of whole systems. */
const chain: Part = async ({ times }) => {
  sayChain(await chainCost(times(2_000)));
  sayLoads(await chainTurns({ warmUp: times(WARM_UP_TURNS), turns: times(1_600), concurrency: FULL_LOAD }));
  return [];
};

/** The cost of memory extraction and of memory in the prompt for turns, and how fast threads are read. */
const memory: Part = async ({ times }) => {
  const configs = { 'no memory': 'memory: {enabled: false}\n', memory: 'memory: {debounce_seconds: 300}\n' };
  const turns = await turnsWith(configs, { warmUp: times(WARM_UP_TURNS), turns: times(1_600), concurrency: FULL_LOAD });
  sayLoads(turns);
  for (const { name, cpu } of turns) sayShares(`CPU per turn, ${name}, ms by process`, cpu);
  const fleet = await startFleet();
  try {
    await memoryReadings(fleet, times(400));
    const { threads, readingsPerSecond, cpu } = await memoryReadings(fleet, times(800));
    say();
    say(`${threads} threads of one user, read into one memory: ${readingsPerSecond.toFixed(1)} a second`);
    sayShares('CPU per reading, ms by process', cpu);
    sayPromptMemory(await promptMemoryCost(fleet.redisUrl, times(400)));
  } finally {
    await fleet.stop();
  }
  return [];
};

const tasks: Part = async ({ fleet, times }) => {
  const count = 100;
  const cost = await dispatchCost(fleet.apiUrl, times(200));
  sayTasks(cost, await taskLoads(count, [0, 500]), count);
  return [];
};

async function idle({ fleet, figures, times }: Bench): Promise<readonly Budget[]> {
  const cost = await idleThreads(fleet, figures, times(10_000));
  say();
  say(`${cost.threads} idle threads`);
  sayIdle(cost);
  const grown = Object.entries(cost.after.retainedBytes).map(
    ([name, bytes]) => bytes - (cost.before.retainedBytes[name] ?? 0),
  );
  const value = cost.after.subscriptions - cost.before.subscriptions;
  return [
    { what: `subscriptions of ${cost.threads} idle threads`, value, unit: '', atMost: 0 },
    {
      what: 'memory a service retains per idle thread',
      value: Math.max(...grown) / cost.threads / 1024,
      unit: 'KiB',
      atMost: 0.1,
    },
  ];
}

const parts: Readonly<Record<string, Part>> = {
  loads: options.before === undefined ? loads : pairedLoads(options.before),
  firstToken,
  tokens,
  store,
  streams,
  longThread,
  values,
  chain,
  memory,
  sandbox,
  files: files(options.before),
  tasks,
  fairness,
  adapter: adapterCost(options.before),
  takeover,
  busy: busyMachine(Number(options.minutes)),
  outage,
  idle,
  waiting,
  console: consolePage,
  peer,
};

/** Parts that only run when they are named: one downloads packages, the others take minutes. */
const ONLY_BY_NAME = ['peer', 'busy', 'waiting'];

/** Compares turns per second with another server of the same protocol and the same model. */
async function againstPeer({ caribou, times }: Bench, url: string): Promise<readonly Budget[]> {
  const peer = langGraphTarget('peer', url, { assistantId: options['peer-assistant'], peer: true });
  const load = { concurrency: 16, script: simpleTurn() };
  await measureLoads([{ target: caribou, pids: {} }], { ...load, turns: times(WARM_UP_TURNS) });
  const [theirs] = await measureLoads([{ target: peer, pids: {} }], { ...load, turns: times(48) });
  const [ours] = await measureLoads([{ target: caribou, pids: {} }], { ...load, turns: times(600) });
  if (theirs === undefined || ours === undefined) return [];
  sayLoads([theirs, ours]);
  const value = theirs.turnsPerSecond / ours.turnsPerSecond;
  return [{ what: 'turns per second of the peer', value, unit: '× ours', atMost: 1 / 20 }];
}

async function main(): Promise<void> {
  const fleet = await startFleet({
    ...omitUndefined({ profileDir: options.profile }),
    ...(options.slots === undefined ? {} : { runnerSlots: Number(options.slots) }),
  });
  const figures = serverFigures(fleet);
  const bench: Bench = {
    fleet,
    figures,
    floor: floorTarget(fleet.floorUrl),
    caribou: langGraphTarget('caribou', fleet.apiUrl),
    times: (count) => (options.quick ? Math.max(10, Math.ceil(count / 4)) : count),
  };
  try {
    sayMachine();
    const chosen = Object.entries(parts).filter(([name]) =>
      options.only.length === 0 ? !ONLY_BY_NAME.includes(name) : options.only.includes(name),
    );
    const budgets = await inTurn(chosen.length, (index) => chosen[index]?.[1](bench) ?? Promise.resolve([]));
    const peerUrl = options['peer-url'];
    if (peerUrl !== undefined) budgets.push(await againstPeer(bench, peerUrl));
    sayBudgets(budgets.flat());
    if (budgets.flat().some(({ isRequired, value, atMost }) => isRequired === true && !(value <= atMost)))
      process.exitCode = 1;
  } finally {
    await figures.close();
    await fleet.stop();
  }
}

void main();
