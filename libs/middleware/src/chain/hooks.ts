import { type StateUpdate, type ThreadState, omitUndefined } from '@caribou/contracts';
import {
  type AgentMiddleware,
  applyUpdate,
  type CallUsage,
  isEmptyUpdate,
  memoize,
  type RunContext,
  type Step,
  traceHook,
  withInterrupts,
} from '@caribou/core';

export type HookName = 'beforeAgent' | 'onJoined' | 'beforeModel' | 'afterModel' | 'beforeEnd' | 'afterAgent';

/** Hooks that cannot end a run. */
const ENDLESS: ReadonlySet<HookName> = new Set(['onJoined', 'beforeEnd', 'afterAgent']);

/** The update of one hook, with its node name as sent to clients. */
export interface HookUpdate {
  readonly node: string;
  readonly update: StateUpdate;
}

export interface HookPass {
  readonly state: ThreadState;
  /** Non-empty updates, in the order they were reduced. */
  readonly updates: readonly HookUpdate[];
  /** Whether a hook requested the end of the run, so that later hooks did not run. */
  readonly ended: boolean;
  /** Whether a hook requested another model call. */
  readonly again: boolean;
  /** Whether a hook requested a commit right after the pass. */
  readonly durable: boolean;
  /** The last reason given to stop early. */
  readonly stopReason?: string;
  /** Usage of the hooks' own model calls. */
  readonly usage: readonly CallUsage[];
}

const suffixes: Readonly<Record<HookName, string>> = {
  beforeAgent: 'before_agent',
  onJoined: 'on_joined',
  beforeModel: 'before_model',
  afterModel: 'after_model',
  beforeEnd: 'before_end',
  afterAgent: 'after_agent',
};

/**
 * Runs one hook over the chain: `before*` in list order, `after*` in reverse. Each update is reduced before the next
 * hook runs, so a hook sees what the ones before it did. `afterAgent` always runs completely.
 *
 * @throws {Interrupted} when a hook asks a person: nothing of the pass counts, and it is repeated with the answer
 * @throws what a hook throws: it fails the run.
 */
export async function runHooks(
  chain: readonly AgentMiddleware[],
  hook: HookName,
  { state, run, step = 0 }: HookCall,
): Promise<HookPass> {
  const updates: HookUpdate[] = [];
  const steps: Step[] = [];
  let reached = state;
  let ended = false;
  for (const entry of hooksIn(chain)[hook]) {
    const result = await callHook(entry, { state: reached, run, step });
    if (result === undefined) continue;
    steps.push(result);
    if (result.update !== undefined && !isEmptyUpdate(result.update)) {
      reached = applyUpdate(reached, result.update);
      updates.push({ node: entry.node, update: result.update });
    }
    ended = result.end === true && !ENDLESS.has(hook);
    if (ended) break;
  }
  return { state: reached, updates, ended, ...decisionsOf(steps) };
}

/** What hooks are called with. */
export interface HookCall {
  readonly state: ThreadState;
  readonly run: RunContext;
  /** Number of the super-step; default 0. */
  readonly step?: number;
}

/** A hook that a middleware has. */
interface HookEntry {
  readonly middleware: string;
  readonly hook: HookName;
  /** The name that clients see. */
  readonly node: string;
  readonly call: (state: ThreadState, run: RunContext) => Promise<Step | undefined>;
}

/** The hooks of a chain in the order in which they run: most middlewares have few, and many runs share a chain. */
const hooksIn = memoize((chain: readonly AgentMiddleware[]): Readonly<Record<HookName, readonly HookEntry[]>> => {
  const entriesOf = (hook: HookName): readonly HookEntry[] => {
    const entries = chain.flatMap((middleware) => hookEntry(middleware, hook) ?? []);
    return hook.startsWith('after') ? entries.reverse() : entries;
  };
  return {
    beforeAgent: entriesOf('beforeAgent'),
    onJoined: entriesOf('onJoined'),
    beforeModel: entriesOf('beforeModel'),
    afterModel: entriesOf('afterModel'),
    beforeEnd: entriesOf('beforeEnd'),
    afterAgent: entriesOf('afterAgent'),
  };
});

function hookEntry(middleware: AgentMiddleware, hook: HookName): HookEntry | undefined {
  const { name } = middleware;
  const call = middleware[hook]?.bind(middleware);
  return call === undefined ? undefined : { middleware: name, hook, node: `${name}.${suffixes[hook]}`, call };
}

function callHook(entry: HookEntry, { run, state, step }: Required<HookCall>): Promise<Step | undefined> {
  const { hook, node: scope, middleware: layer } = entry;
  // No node follows that a resumed run could repeat with the answer.
  const isLast = hook === 'beforeEnd' || hook === 'afterAgent';
  return traceHook(run, entry, (within) =>
    entry.call(state, isLast ? within : withInterrupts(within, { scope, layer, state, step })),
  );
}

function decisionsOf(steps: readonly Step[]): Pick<HookPass, 'again' | 'durable' | 'stopReason' | 'usage'> {
  const stopReason = steps.findLast((step) => step.stopReason !== undefined)?.stopReason;
  return {
    again: steps.some((step) => step.again === true),
    durable: steps.some((step) => step.durable === true),
    usage: steps.flatMap((step) => step.usage ?? []),
    ...omitUndefined({ stopReason }),
  };
}
