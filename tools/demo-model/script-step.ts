import type { Action } from './grammar.js';
import { asOps, type Delta, type Op, type Reply, textDeltas, thinkDeltas, toolDeltas } from './reply.js';

export interface StepContext {
  /** How often the action at this position of the step was requested before this call. */
  seenBefore(actionIndex: number): number;
  /** The id of the call with this index within the answer. */
  callId(index: number): string;
  /** What `#echo-messages` answers. */
  echo(): string;
}

/** Turns one step of a script into ordered operations; an action whose `times` are used up is skipped. */
export function planStep(actions: readonly Action[], context: StepContext): Reply {
  const live = actions.filter((action, at) => !('times' in action) || context.seenBefore(at) < action.times);
  const reply: Reply = { ops: [], finish: 'stop' };
  let calls = 0;
  for (const action of live) {
    if (action.do === 'tool') {
      const index = calls++;
      reply.ops.push(...asOps(toolDeltas({ index, id: context.callId(index), name: action.name, args: action.args })));
    } else if (action.do === 'usage') reply.usage = { input: action.input, output: action.output };
    else reply.ops.push(...opsOf(action, context));
  }
  if (live.some((action) => action.do === 'length')) reply.finish = 'length';
  else if (calls > 0) reply.finish = 'tool_calls';
  for (const action of live) insertByCount(reply.ops, action);
  return reply;
}

type Placed = Exclude<Action, { do: 'tool' | 'usage' }>;
type Planner<Kind extends Placed['do']> = (action: Extract<Placed, { do: Kind }>, context: StepContext) => Op[];

/** The operations of each kind of action at its own position; those with a count of deltas are inserted afterwards. */
const planners: { [Kind in Placed['do']]: Planner<Kind> } = {
  say: ({ text }) => asOps(textDeltas(text)),
  think: ({ text }) => asOps(thinkDeltas(text)),
  echo: (_action, context) => asOps([{ content: context.echo() }]),
  tokens: ({ count, delayMs }) => tokenOps(count, delayMs, filler),
  stamps: ({ count, delayMs }) => tokenOps(count, delayMs, stamp),
  headers: () => [{ op: 'headers' }],
  delay: ({ ms }) => [{ op: 'wait', ms }],
  error: ({ status, message }) => [{ op: 'fail', status, message: message || 'scripted failure' }],
  fault: ({ kind, detail }) => [{ op: 'fault', kind, detail }],
  hold: ({ at, name }) => (at === 'here' ? [{ op: 'hold', name }] : []),
  cut: ({ afterTokens, reset }) => (afterTokens === 0 ? [{ op: 'cut', reset }] : []),
  length: () => [],
};

function opsOf<Kind extends Placed['do']>(action: Extract<Placed, { do: Kind }>, context: StepContext): Op[] {
  const plan: Planner<Kind> = planners[action.do];
  return plan(action, context);
}

function tokenOps(count: number, delayMs: number, make: (at: number) => Delta): Op[] {
  const ops: Op[] = [];
  for (let at = 0; at < count; at += 1) {
    if (delayMs > 0) ops.push({ op: 'wait', ms: delayMs });
    ops.push({ op: 'delta', delta: make(at) });
  }
  return ops;
}

function filler(at: number): Delta {
  return { content: `t${at} ` };
}

/** The time of sending, in milliseconds since the Unix epoch, so a reader on this machine sees its delay. */
function stamp(): Delta {
  return {
    get content() {
      return `${(performance.timeOrigin + performance.now()).toFixed(3)} `;
    },
  };
}

function insertByCount(ops: Op[], action: Action): void {
  if (action.do === 'hold' && action.at === 'before') ops.unshift({ op: 'hold', name: action.name });
  else if (action.do === 'hold' && typeof action.at === 'number')
    ops.splice(placeAfter(ops, action.at), 0, { op: 'hold', name: action.name });
  else if (action.do === 'cut' && action.afterTokens > 0) {
    const deltas = ops.filter((op) => op.op === 'delta').length;
    for (let at = deltas; at < action.afterTokens; at += 1) ops.push({ op: 'delta', delta: filler(at) });
    ops.splice(placeAfter(ops, action.afterTokens), 0, { op: 'cut', reset: action.reset });
  }
}

/** Index in `ops` right after the `count`-th delta, or the end when there are fewer. */
function placeAfter(ops: readonly Op[], count: number): number {
  if (count === 0) return 0;
  let seen = 0;
  for (const [at, op] of ops.entries()) {
    if (op.op === 'delta') seen += 1;
    if (seen === count) return at + 1;
  }
  return ops.length;
}
