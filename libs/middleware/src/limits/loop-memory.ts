import { z } from 'zod';
import type { CallSet, ToolUse } from './call-set.js';

/** A repetition that was detected. */
const Finding = z.object({
  /** The same set of calls, or one tool whatever its arguments. */
  kind: z.enum(['repeated', 'frequent']),
  /** A tool of the set, with its name sanitized. */
  tool: z.string(),
  count: z.int(),
});
export type Finding = z.infer<typeof Finding>;

/** Hashes of a thread's last calls: less than 4 KB whatever the limits are, as it is written with every turn. */
export const LoopMemory = z.object({
  /** Hashes of the last sets, oldest first. */
  sets: z.array(z.string()),
  /** The last calls, oldest first: the key of a tool and how many calls of it came in a row. */
  calls: z.array(z.tuple([z.string(), z.int()])),
  /** What was warned about: sets while they are in the window, tools while they are as frequent. */
  warned: z.array(z.string()),
  /** State of one run; another run starts without any. */
  run: z.object({ run_id: z.string(), warnings: z.int(), queue: z.array(Finding) }),
});
export type LoopMemory = z.infer<typeof LoopMemory>;

export interface LoopLimits {
  readonly warn_threshold: number;
  readonly hard_limit: number;
  /** Number of recent sets that are compared. */
  readonly window_size: number;
  readonly tool_freq_warn: number;
  readonly tool_freq_hard_limit: number;
  readonly tool_freq_overrides: Readonly<Record<string, { readonly warn: number; readonly hard_limit: number }>>;
}

const MAX_WARNINGS_PER_RUN = 4;
const MAX_STREAKS = 64;
const MAX_WARNED = 24;
const MAX_NAME_CHARS = 40;

/** The stored state for a run, without the pending warnings of another run. */
export function memoryOf(stored: LoopMemory | undefined, runId: string): LoopMemory {
  const run = { run_id: runId, warnings: 0, queue: [] };
  if (stored === undefined) return { sets: [], calls: [], warned: [], run };
  return stored.run.run_id === runId ? stored : { ...stored, run };
}

/** The state without its queued warnings, after they were delivered. */
export const clearWarnings = (memory: LoopMemory): LoopMemory =>
  memory.run.queue.length === 0 ? memory : { ...memory, run: { ...memory.run, queue: [] } };

/** The state after a set, and why its calls must not be executed, if so. */
export interface Verdict {
  readonly memory: LoopMemory;
  readonly stop?: Finding;
}

/**
 * Records a set and checks it: first the hard limit of repeated sets, then their warning, then how often each tool was
 * called. Warnings go to the queue. Calls that are stopped are not executed, so they are not recorded, and what led to
 * the stop is removed: the user may request it again.
 */
export function recordCalls(before: LoopMemory, set: CallSet, limits: LoopLimits): Verdict {
  const { sets, calls } = addCallSet(before, set, limits);
  const repeats = sets.filter((hash) => hash === set.hash).length;
  const repeated: Finding = { kind: 'repeated', tool: nameOf(set.tools[0]), count: repeats };
  if (repeats >= limits.hard_limit) return { memory: withoutKey(before, set.hash), stop: repeated };
  const uses = set.tools.map((tool) => frequencyOf(tool, calls, limits));
  const tooMany = uses.find(({ finding, hard }) => finding.count >= hard);
  if (tooMany !== undefined) return { memory: withoutKey(before, tooMany.key), stop: tooMany.finding };
  const calmed = new Set(uses.flatMap(({ key, finding, warn }) => (finding.count < warn ? [key] : [])));
  const present = new Set([...sets, ...calls.map(([key]) => key)]);
  const warned = before.warned.filter((key) => present.has(key) && !calmed.has(key));
  const causes = [
    ...(repeats >= limits.warn_threshold ? [{ key: set.hash, finding: repeated }] : []),
    ...uses.filter(({ key }) => !calmed.has(key)),
  ];
  return { memory: withWarnings({ ...before, sets, calls, warned }, causes) };
}

const withoutKey = (memory: LoopMemory, gone: string): LoopMemory => ({
  ...memory,
  sets: memory.sets.filter((hash) => hash !== gone),
  calls: memory.calls.filter(([key]) => key !== gone),
  warned: memory.warned.filter((key) => key !== gone),
});

/**
 * Adds a set to the windows, which are long enough to reach every limit; consecutive calls of one tool are one streak.
 */
function addCallSet(memory: LoopMemory, set: CallSet, limits: LoopLimits): Pick<LoopMemory, 'sets' | 'calls'> {
  const { window_size, hard_limit, tool_freq_hard_limit, tool_freq_overrides } = limits;
  const overrides = Object.values(tool_freq_overrides).map((override) => override.hard_limit);
  const calls = set.tools.reduce(withUse, memory.calls);
  return {
    sets: [...memory.sets, set.hash].slice(-Math.max(window_size, hard_limit)),
    calls: lastCalls(calls, Math.max(window_size, tool_freq_hard_limit, ...overrides)),
  };
}

type Streaks = LoopMemory['calls'];

function withUse(streaks: Streaks, { key, count }: ToolUse): Streaks {
  const last = streaks.at(-1);
  return last?.[0] === key ? [...streaks.slice(0, -1), [key, last[1] + count]] : [...streaks, [key, count]];
}

function lastCalls(streaks: Streaks, max: number): Streaks {
  const recent: Streaks = [];
  let room = max;
  for (const [key, count] of streaks.slice(-MAX_STREAKS).reverse()) {
    if (room > 0) recent.unshift([key, Math.min(count, room)]);
    room -= count;
  }
  return recent;
}

function frequencyOf({ name, key }: ToolUse, calls: Streaks, limits: LoopLimits) {
  const count = calls.reduce((sum, [tool, times]) => sum + (tool === key ? times : 0), 0);
  const own = Object.hasOwn(limits.tool_freq_overrides, name) ? limits.tool_freq_overrides[name] : undefined;
  const finding: Finding = { kind: 'frequent', tool: nameOf({ name }), count };
  return {
    key,
    finding,
    warn: own?.warn ?? limits.tool_freq_warn,
    hard: own?.hard_limit ?? limits.tool_freq_hard_limit,
  };
}

/** Queues a warning for each new cause, up to the maximum per run. */
function withWarnings(memory: LoopMemory, causes: readonly { key: string; finding: Finding }[]): LoopMemory {
  const { warned, run } = memory;
  const added = causes.filter(({ key }) => !warned.includes(key)).slice(0, MAX_WARNINGS_PER_RUN - run.warnings);
  const queue = [...run.queue, ...added.map(({ finding }) => finding)];
  return {
    ...memory,
    warned: [...warned, ...added.map(({ key }) => key)].slice(-MAX_WARNED),
    run: { ...run, warnings: run.warnings + added.length, queue },
  };
}

/** A sanitized tool name, as models invent names. */
const nameOf = (tool: { readonly name: string } | undefined): string =>
  (tool?.name ?? '').replace(/[^\w.-]/g, '_').slice(0, MAX_NAME_CHARS);
