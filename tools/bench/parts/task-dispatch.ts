import { createParser } from 'eventsource-parser';
import { startFleet } from '../fleet.js';
import { inParallel, inTurn, median, quantile } from '../sample.js';

/** Milliseconds since the answer that delegates a task, as a client sees it. */
export interface DispatchCost {
  readonly startedMs: Spread;
  readonly answeredMs: Spread;
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
}

/** The duration of so many tasks on so many pools. */
export interface TaskLoad {
  readonly pools: number;
  readonly workMs: number;
  readonly totalMs: number;
}

const PER_ANSWER = 4;
/** Slots of each pool. */
const SLOTS = 4;
const WARM_UP = 40;
const TIMEOUT_MS = 120_000;

/** One task after the other on an idle system. */
export async function dispatchCost(apiUrl: string, repeats: number): Promise<DispatchCost> {
  const one = () => delegateTasks(apiUrl, { tasks: 1, workMs: 0 });
  await inTurn(WARM_UP, one);
  const times = await inTurn(repeats, one);
  const spread = (values: readonly number[]): Spread => ({ p50: median(values), p99: quantile(values, 0.99) });
  return {
    startedMs: spread(times.map(({ startedMs }) => startedMs)),
    answeredMs: spread(times.map(({ answeredMs }) => answeredMs)),
  };
}

/** The same number of tasks at once over 1, 2 and 4 pools of four slots, with a model that answers at once or in a while. */
export async function taskLoads(tasks: number, workMs: readonly number[]): Promise<readonly TaskLoad[]> {
  const results: TaskLoad[] = [];
  for (const pools of [1, 2, 4]) {
    const fleet = await startFleet({ pools, config: `subagents:\n  slots: ${SLOTS}\n` });
    try {
      const all = (ms: number, count: number) => {
        const runs = Math.ceil(count / PER_ANSWER);
        return inParallel(runs, runs, () => delegateTasks(fleet.apiUrl, { tasks: PER_ANSWER, workMs: ms }));
      };
      await all(0, tasks);
      for (const ms of workMs) {
        const beganMs = performance.now();
        await all(ms, tasks);
        results.push({ pools, workMs: ms, totalMs: performance.now() - beganMs });
      }
    } finally {
      await fleet.stop();
    }
  }
  return results;
}

interface Given {
  readonly tasks: number;
  readonly workMs: number;
  /** The API key of the user, where there are several. */
  readonly key?: string;
}

interface Times {
  readonly startedMs: number;
  readonly answeredMs: number;
}

/** Runs a turn that delegates tasks in one answer. @throws Error unless all of them complete */
export async function delegateTasks(apiUrl: string, { tasks, workMs, key }: Given): Promise<Times> {
  const work = { description: 'a bench', prompt: `#delay ${workMs}\n#say ok`, subagent_type: 'general-purpose' };
  const line = `#tool task ${JSON.stringify(work)}`;
  const script = [line, ...Array.from({ length: tasks - 1 }, () => `#+${line.slice(1)}`), '#say end'].join('\n');
  const response = await fetch(`${apiUrl}/runs/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-api-key': key }) },
    body: JSON.stringify({
      assistant_id: 'lead_agent',
      input: { messages: [{ type: 'human', content: script }] },
      stream_mode: ['updates', 'custom'],
      context: { subagent_enabled: true, max_concurrent_subagents: PER_ANSWER },
    }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok || response.body === null) throw new Error(`${apiUrl} answered ${response.status}`);
  const seen = new Seen();
  const parser = createParser({ onEvent: ({ event = '', data }) => seen.take(event, data) });
  const decoder = new TextDecoder();
  for await (const bytes of response.body) parser.feed(decoder.decode(bytes, { stream: true }));
  return seen.times(tasks);
}

/** The time at which each event was first seen. */
class Seen {
  private readonly at = new Map<string, number>();
  private completed = 0;

  take(event: string, data: string): void {
    if (event === 'updates' && data.includes('"model_request"')) this.note('asked');
    if (event === 'updates' && data.includes('"tools"')) this.note('answered');
    if (event !== 'custom') return;
    if (data.includes('"task_started"')) this.note('started');
    if (data.includes('"task_completed"')) this.completed += 1;
  }

  times(tasks: number): Times {
    if (this.completed !== tasks) throw new Error(`${this.completed} of ${tasks} tasks completed`);
    const asked = this.of('asked');
    return { startedMs: this.of('started') - asked, answeredMs: this.of('answered') - asked };
  }

  private note(what: string): void {
    if (!this.at.has(what)) this.at.set(what, performance.now());
  }

  private of(what: string): number {
    const at = this.at.get(what);
    if (at === undefined) throw new Error(`never saw: ${what}`);
    return at;
  }
}
