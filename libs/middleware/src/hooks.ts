import type { StateUpdate, ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, applyUpdate, isEmptyUpdate, type RunContext, type Step } from '@caribou/core';

export type HookName = 'beforeAgent' | 'beforeModel' | 'afterModel' | 'afterAgent';

/** A hook that changed something, under its node name on the wire. */
export interface HookUpdate {
  readonly node: string;
  readonly update: StateUpdate;
}

export interface HookPass {
  readonly state: ThreadState;
  /** Non-empty updates, in the order they were reduced. */
  readonly updates: readonly HookUpdate[];
  /** A hook asked to end the run; the hooks behind it did not run. */
  readonly ended: boolean;
}

const suffixes: Readonly<Record<HookName, string>> = {
  beforeAgent: 'before_agent',
  beforeModel: 'before_model',
  afterModel: 'after_model',
  afterAgent: 'after_agent',
};

/**
 * Runs one hook over the chain: `before*` in list order, `after*` in reverse. Each update is reduced before the next
 * hook runs, so a hook sees what the ones before it did. `afterAgent` runs to its end whatever its hooks ask.
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
  let reached = state;
  for (const middleware of hook.startsWith('after') ? [...chain].reverse() : chain) {
    const step: Step | undefined = await middleware[hook]?.(reached, run);
    if (step?.update !== undefined && !isEmptyUpdate(step.update)) {
      reached = applyUpdate(reached, step.update);
      updates.push({ node: `${middleware.name}.${suffixes[hook]}`, update: step.update });
    }
    if (step?.end === true && hook !== 'afterAgent') return { state: reached, updates, ended: true };
  }
  return { state: reached, updates, ended: false };
}
