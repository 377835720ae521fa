import type { AgentRun } from './agent-run.js';
import {
  commit,
  type Following,
  pausesBetween,
  type RunEnd,
  runChain,
  StopRequested,
  turnsLeft,
} from './loop-steps.js';
import type { TurnDraft } from './turn-draft.js';

/** How often clients may change the goal while the end of one answer is judged; then the run ends. */
const MAX_DECISIONS = 3;

/**
 * Lets the `beforeEnd` hooks decide whether a run that is about to succeed continues with another model request; returns that
 * node, or the end. The answer is committed before they call a model, and what they decide with the continuation in one
 * commit, so that a takeover finds the answer to be judged or the continuation to be made. That commit is refused when a client
 * has asked for something else meanwhile: messages then join the run, and a new goal is judged instead.
 */
export async function decideEnd(agent: AgentRun, draft: TurnDraft, end: RunEnd): Promise<Following> {
  for (let decision = 0; decision < MAX_DECISIONS; decision += 1) {
    applyGoalChange(agent, draft);
    if (!mayContinue(agent, draft, end)) return end;
    draft.setInterrupts();
    if (isSlow(agent, draft)) {
      await commit(agent, draft);
      if (agent.host.goalChange?.() !== undefined || !mayContinue(agent, draft, end)) continue;
    }
    const before = draft.state;
    if (!(await runChain(agent, draft, 'beforeEnd')).again) return end;
    if (pausesBetween(agent.options, 'after_model', 'model_request')) return { next: ['model_request'] };
    if (await commitContinuation(agent, draft, before)) return 'model_request';
  }
  return end;
}

/** Applies what a client asked of the goal while the run was in flight; the next commit contains it. */
export function applyGoalChange({ host, run }: AgentRun, draft: TurnDraft): void {
  const change = host.goalChange?.();
  if (change !== undefined && draft.setGoal(change))
    run.recordDecision('goal', change.goal === null ? 'removed' : 'set');
}

/** Whether the run would succeed, has answered, and may call a model again. What waits to join it comes first. */
function mayContinue(agent: AgentRun, draft: TurnDraft, end: RunEnd): boolean {
  const { host, turnsTaken = 0 } = agent;
  if (!succeeds(end) || (end.stopReason ?? draft.stopReason) !== undefined) return false;
  if (turnsTaken + draft.modelTurns === 0 || turnsLeft(agent, draft) <= 0) return false;
  return (host.waiting?.() ?? []).length === 0 && host.isBudgetSpent?.() !== true;
}

const succeeds = ({ next, error, asked }: RunEnd): boolean =>
  next.length === 0 && error === undefined && asked === undefined;

const isSlow = ({ chain, run }: AgentRun, draft: TurnDraft): boolean =>
  chain.some((middleware) => middleware.isSlowBeforeEnd?.(draft.state, run) === true);

/** @returns false when a client has asked for something else, and the state `before` was committed instead */
async function commitContinuation(
  { host, run }: AgentRun,
  draft: TurnDraft,
  before: TurnDraft['state'],
): Promise<boolean> {
  const turn = draft.toCommit(['model_request']);
  const { joined: _none, ...rest } = turn;
  const result = await host.commit(turn, { ...rest, state: before, next: [], events: [] });
  if (result === 'overtaken') draft.resetTo(before);
  if (result === 'yield') throw new StopRequested();
  run.signal.throwIfAborted();
  return result !== 'overtaken';
}
