import {
  type History,
  type ProviderCall,
  type RunHistory,
  textOf,
  type ThreadHistory,
  type Violation,
} from './history.js';
import { WORD } from './provider-calls.js';

/** What is compared of a model's calls. */
const COUNTS = ['calls', 'input', 'cached', 'output'] as const;
type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

interface Bounds {
  readonly least: Counts;
  readonly most: Counts;
}

const NONE: Counts = { calls: 0, input: 0, cached: 0, output: 0 };
const countsOf = ({ input, cached, output }: ProviderCall): Counts => ({ calls: 1, input, cached, output });

type Join = (one: number, other: number) => number;
const plus: Join = (one, other) => one + other;

const combine = ([first = NONE, ...others]: readonly Counts[], join: Join): Counts =>
  others.reduce(
    (all, next) => ({
      calls: join(all.calls, next.calls),
      input: join(all.input, next.input),
      cached: join(all.cached, next.cached),
      output: join(all.output, next.output),
    }),
    first,
  );

/** The provider's complete answers, those that repeat a call of a run or a title, and the calls in the ledger. */
export interface UsageFigures {
  readonly answered: number;
  readonly repeated: number;
  readonly entered: number;
}

export function usageFigures({ usage: { answered, ledger } }: Pick<History, 'usage'>): UsageFigures {
  const once = answered.filter(({ kind }) => kind !== 'memory');
  const repeated = once.length - groupsOf(once).length;
  return { answered: answered.length, repeated, entered: combine(ledger, plus).calls };
}

/**
 * The ledger has the tokens of the provider's complete answers, by agent and model. A call of a run, a task or a title is
 * entered at most once, however often a takeover repeats it, and at least once, unless it is the last call of a run that did
 * not succeed and the transcript does not have its answer. A title follows the first answer of its run, so it was the last call
 * unless the transcript has a second one. An extraction is entered once or, repeated, more often.
 */
export function usageViolations(history: History): readonly Violation[] {
  const { answered, ledger } = history.usage;
  const bounds = boundsByPayer(history);
  const known = new Map(ledger.map((row) => [payerOf(row), row]));
  const names = [...new Set([...bounds.keys(), ...known.keys()])].sort();
  return names.flatMap((name) => {
    const { least, most } = bounds.get(name) ?? { least: NONE, most: NONE };
    const row = known.get(name) ?? NONE;
    const wrong = COUNTS.filter((count) => row[count] < least[count] || row[count] > most[count]);
    const excerpt = JSON.stringify({ ledger: row, least, most, answered: answered.length });
    return wrong.map((count) => ({
      rule: 'usage',
      what: `${name}: ${row[count]} ${count} in the ledger, where the provider's are ${least[count]} to ${most[count]}`,
      excerpt,
    }));
  });
}

const payerOf = ({ agent, model }: { readonly agent: string; readonly model: string }): string => `${agent} ${model}`;

/** Calls with the same key, which are attempts of one step. */
function groupsOf(calls: readonly ProviderCall[]): readonly (readonly [ProviderCall, ...ProviderCall[]])[] {
  const groups = new Map<string, [ProviderCall, ...ProviderCall[]]>();
  for (const call of calls) {
    const group = groups.get(call.key);
    if (group === undefined) groups.set(call.key, [call]);
    else group.push(call);
  }
  return [...groups.values()];
}

type Group = ReturnType<typeof groupsOf>[number];

function boundsByPayer({ threads, usage }: History): ReadonlyMap<string, Bounds> {
  const groups = groupsOf(usage.answered);
  const runs = runsByWord(threads);
  const lastSteps = new Map<string, number>();
  for (const [{ text, step }] of groups) lastSteps.set(text, Math.max(step, lastSteps.get(text) ?? 0));
  const all = groups.map((group) => {
    const [{ kind, model, text, step }] = group;
    const origin = kind === 'memory' ? MEMORY : (originOf(text, runs) ?? unconfirmed(text, usage.declined));
    const isFollowed = step < (lastSteps.get(text) ?? 0);
    const isCertain = isFollowed || isCommitted(origin, kind === 'title' ? step + 1 : step);
    return { name: payerOf({ agent: origin.agent, model }), bounds: boundsOf(group, isCertain) };
  });
  const names = [...new Set(all.map(({ name }) => name))];
  return new Map(names.map((name) => [name, sumOf(all.filter((one) => one.name === name))]));
}

const sumOf = (found: readonly { readonly bounds: Bounds }[]): Bounds => ({
  least: combine(
    found.map(({ bounds }) => bounds.least),
    plus,
  ),
  most: combine(
    found.map(({ bounds }) => bounds.most),
    plus,
  ),
});

/** What of the attempts of one call is in the ledger. */
function boundsOf(group: Group, isCertain: boolean): Bounds {
  const counts = group.map(countsOf);
  const most = combine(counts, group[0].kind === 'memory' ? plus : Math.max);
  return { least: isCertain ? combine(counts, Math.min) : NONE, most };
}

interface Taken {
  readonly run: RunHistory;
  readonly thread: ThreadHistory;
}

/** What a call was made for. */
interface Origin {
  readonly agent: string;
  /** The run; absent for extractions, and for a run that no gateway has confirmed. */
  readonly taken?: Taken;
  /** Whether a call without a run was committed. */
  readonly isCommitted?: boolean;
}

const MEMORY: Origin = { agent: 'memory', isCommitted: true };

/** A run that was declined may have been executed; any other call without a run should not be there. */
function unconfirmed(text: string, declined: readonly string[]): Origin {
  if (declined.some((script) => text.includes(script.slice(0, BEGINNING)))) return { agent: 'lead_agent' };
  return { agent: `unknown: ${text.slice(0, BEGINNING)}`, isCommitted: true };
}

function runsByWord(threads: readonly ThreadHistory[]): ReadonlyMap<string, readonly Taken[]> {
  const found = new Map<string, Taken[]>();
  for (const thread of threads)
    for (const run of thread.runs) {
      const word = WORD.exec(run.script)?.[0] ?? '';
      found.set(word, [...(found.get(word) ?? []), { run, thread }]);
    }
  return found;
}

/** A title's prompt has only the beginning of the message. */
const BEGINNING = 400;

/** The run that a call belongs to, or the run whose task it belongs to. */
function originOf(text: string, runs: ReadonlyMap<string, readonly Taken[]>): Origin | undefined {
  const candidates = runs.get(WORD.exec(text)?.[0] ?? '') ?? [];
  const own = candidates.find(({ run }) => text.includes(run.script.slice(0, BEGINNING)));
  if (own !== undefined) return { agent: 'lead_agent', taken: own };
  const parent = candidates.find(({ run }) => run.kind === 'subagents');
  return parent === undefined ? undefined : { agent: 'general-purpose', taken: parent };
}

/** Whether the transcript shows that the answer of the step was committed. */
function isCommitted({ agent, taken, isCommitted: isCertain = false }: Origin, step: number): boolean {
  if (taken === undefined) return isCertain;
  const { run, thread } = taken;
  const messages = thread.messages ?? [];
  const from = messages.findIndex((message) => message.type === 'human' && textOf(message).includes(run.script));
  const rest = from === -1 ? [] : messages.slice(from + 1);
  const until = rest.findIndex(({ type }) => type === 'human');
  const turn = until === -1 ? rest : rest.slice(0, until);
  const tasks = turn.filter(({ type, name }) => type === 'tool' && name === 'task');
  if (agent === 'lead_agent') return run.status === 'success' || step < turn.filter(({ type }) => type === 'ai').length;
  return tasks.length > 0 && tasks.every(({ additional_kwargs: marks }) => marks['subagent_status'] === 'completed');
}
