import { z } from 'zod';
import type { CallSet, ToolUse } from './call-set.js';

/** Something that came too often. */
const Finding = z.object({
  /** The same set of calls, or one tool whatever its arguments. */
  kind: z.enum(['repeated', 'frequent']),
  /** A tool of the set, as far as the name is one. */
  tool: z.string(),
  count: z.int(),
});
export type Finding = z.infer<typeof Finding>;

/**
 * What a thread's last calls were, in hashes: less than 4 KB whatever the limits are, as it is written with every turn.
 */
export const LoopMemory = z.object({
  /** Hashes of the last sets, oldest first. */
  sets: z.array(z.string()),
  /** The last calls, oldest first: the key of a tool and how many calls of it came in a row. */
  calls: z.array(z.tuple([z.string(), z.int()])),
  /** Warned of: sets while they are in the window, tools while they are as frequent. */
  warned: z.array(z.string()),
  /** Of one run: another one begins with nothing. */
  run: z.object({ run_id: z.string(), warnings: z.int(), queue: z.array(Finding) }),
});
export type LoopMemory = z.infer<typeof LoopMemory>;

export interface LoopLimits {
  readonly warn_threshold: number;
  readonly hard_limit: number;
  /** Sets looked back on. */
  readonly window_size: number;
  readonly tool_freq_warn: number;
  readonly tool_freq_hard_limit: number;
  readonly tool_freq_overrides: Readonly<Record<string, { readonly warn: number; readonly hard_limit: number }>>;
}

const MAX_WARNINGS_PER_RUN = 4;
const MAX_STREAKS = 64;
const MAX_WARNED = 24;
const MAX_NAME_CHARS = 40;

/** What is remembered as a run goes on with it; what another run had to be told is forgotten. */
export function memoryOf(kept: LoopMemory | undefined, runId: string): LoopMemory {
  const run = { run_id: runId, warnings: 0, queue: [] };
  if (kept === undefined) return { sets: [], calls: [], warned: [], run };
  return kept.run.run_id === runId ? kept : { ...kept, run };
}

/** What was remembered, with the queued warnings delivered. */
export const delivered = (memory: LoopMemory): LoopMemory =>
  memory.run.queue.length === 0 ? memory : { ...memory, run: { ...memory.run, queue: [] } };

/** The memory behind a set, and why its calls must not be made, if so. */
export interface Verdict {
  readonly memory: LoopMemory;
  readonly stop?: Finding;
}

/**
 * Records a set and checks it: first the hard limit of repeated sets, then their warning, then how often each tool was
 * called. Warnings go to the queue. Calls that are stopped are not made, so they are
 * not recorded, and what led to the stop is forgotten: the person may ask for it anew.
 */
export function recordSet(before: LoopMemory, set: CallSet, limits: LoopLimits): Verdict {
  const { sets, calls } = seenWith(before, set, limits);
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

/** Windows no shorter than what they must be able to count; bursts of one tool count as one streak. */
function seenWith(memory: LoopMemory, set: CallSet, limits: LoopLimits): Pick<LoopMemory, 'sets' | 'calls'> {
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
  const kept: Streaks = [];
  let room = max;
  for (const [key, count] of streaks.slice(-MAX_STREAKS).reverse()) {
    if (room > 0) kept.unshift([key, Math.min(count, room)]);
    room -= count;
  }
  return kept;
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

/** Queues a warning of each cause that was not warned of, as far as the run may have more. */
function withWarnings(memory: LoopMemory, causes: readonly { key: string; finding: Finding }[]): LoopMemory {
  const { warned, run } = memory;
  const told = causes.filter(({ key }) => !warned.includes(key)).slice(0, MAX_WARNINGS_PER_RUN - run.warnings);
  const queue = [...run.queue, ...told.map(({ finding }) => finding)];
  return {
    ...memory,
    warned: [...warned, ...told.map(({ key }) => key)].slice(-MAX_WARNED),
    run: { ...run, warnings: run.warnings + told.length, queue },
  };
}

/** A name as far as it is one: models make names up. */
const nameOf = (tool: { readonly name: string } | undefined): string =>
  (tool?.name ?? '').replace(/[^\w.-]/g, '_').slice(0, MAX_NAME_CHARS);
