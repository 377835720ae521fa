import { type StateUpdate, type ThreadState, omitUndefined } from '@caribou/contracts';
import {
  type AgentMiddleware,
  applyUpdate,
  type CallUsage,
  isEmptyUpdate,
  type RunContext,
  type Step,
  traceHook,
} from '@caribou/core';

export type HookName = 'beforeAgent' | 'beforeModel' | 'afterModel' | 'afterAgent';

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
  beforeModel: 'before_model',
  afterModel: 'after_model',
  afterAgent: 'after_agent',
};

/**
 * Runs one hook over the chain: `before*` in list order, `after*` in reverse. Each update is reduced before the next
 * hook runs, so a hook sees what the ones before it did. `afterAgent` always runs completely.
 *
 * @throws what a hook throws: it fails the run.
 */
export async function runHooks(
  chain: readonly AgentMiddleware[],
  hook: HookName,
  state: ThreadState,
  run: RunContext,
): Promise<HookPass> {
  const updates: HookUpdate[] = [];
  const steps: Step[] = [];
  let reached = state;
  let ended = false;
  for (const middleware of hook.startsWith('after') ? [...chain].reverse() : chain) {
    // Most middlewares have few hooks; skipping absent ones saves turns of the event loop.
    if (middleware[hook] === undefined) continue;
    const step = await callHook(middleware, hook, { state: reached, run });
    if (step === undefined) continue;
    steps.push(step);
    if (step.update !== undefined && !isEmptyUpdate(step.update)) {
      reached = applyUpdate(reached, step.update);
      updates.push({ node: `${middleware.name}.${suffixes[hook]}`, update: step.update });
    }
    ended = step.end === true && hook !== 'afterAgent';
    if (ended) break;
  }
  return { state: reached, updates, ended, ...decisionsOf(steps) };
}

interface HookCall {
  readonly state: ThreadState;
  readonly run: RunContext;
}

function callHook(middleware: AgentMiddleware, hook: HookName, call: HookCall): Promise<Step | undefined> {
  const position = { middleware: middleware.name, hook };
  return traceHook(call.run, position, async (run) => middleware[hook]?.(call.state, run));
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
