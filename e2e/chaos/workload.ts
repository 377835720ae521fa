import { randomUUID } from 'node:crypto';
import type { Journal } from './journal.js';
import { type Gateway, RetryingClient } from './retrying-client.js';
import { planThread } from './plan.js';
import { Random } from './random.js';
import { workWithFiles } from './files/file-turn.js';
import { start, TAKE, type TurnTools } from './turns.js';

/** The memory of one user has at most 500 facts. */
const MOST_REMEMBERED = 300;
/** Threads that take one more turn after all faults. */
const MOST_AFTER = 40;

export interface WorkloadOptions {
  readonly seed: number;
  readonly lanes: number;
  readonly journal: Journal;
  readonly gateways: () => readonly Gateway[];
  readonly patienceMs: number;
  /** Whether files are in an object store. */
  readonly hasStore: boolean;
  /** When it returns true, no new turn begins. */
  readonly isOver: () => boolean;
}

function toolsOf({ gateways, journal, patienceMs }: WorkloadOptions, random: Random): TurnTools {
  return { random, journal, client: new RetryingClient({ gateways, random, journal, patienceMs }) };
}

/** Users who send messages, each on one thread after the other, until the end. */
export async function workload(options: WorkloadOptions): Promise<void> {
  await Promise.all(Array.from({ length: options.lanes }, (_, lane) => talk(lane, options)));
}

async function talk(lane: number, options: WorkloadOptions): Promise<void> {
  const { seed, journal, isOver, hasStore } = options;
  for (let thread = 0; !isOver(); thread += 1) {
    const threadId = randomUUID();
    try {
      await createThread(threadId, toolsOf(options, new Random(seed, `thread ${lane} ${thread}`)));
      for (const turn of planThread(seed, lane, thread, hasStore)) {
        if (isOver()) return;
        const isTooMuch = turn.kind === 'memory' && journal.remembered.length >= MOST_REMEMBERED;
        const planned = isTooMuch ? ({ ...turn, kind: 'plain' } as const) : turn;
        await (planned.kind === 'files' ? workWithFiles : TAKE[planned.kind])(
          threadId,
          planned,
          toolsOf(options, new Random(turn.seed)),
        );
        if (journal.runs.some((run) => run.threadId === threadId && run.stuck)) break;
      }
    } catch (error) {
      journal.incident(`${String(error)}: ${String(error instanceof Error ? error.cause : '')}`, { threadId });
    }
  }
}

async function createThread(threadId: string, { client }: TurnTools): Promise<void> {
  await client.ask('a thread', async (api) => {
    const { status } = await api.call('POST', '/threads', { thread_id: threadId, if_exists: 'do_nothing' });
    if (status !== 200) throw new Error(`answered ${status}`);
    return status;
  });
}

/** One more turn on the newest threads after all faults: no thread may be stuck. */
export async function turnsAfter(options: WorkloadOptions): Promise<void> {
  const { seed, journal } = options;
  const threads = [...new Set(journal.runs.filter(({ kind }) => kind !== 'stateless').map(({ threadId }) => threadId))];
  await Promise.all(
    threads.slice(-MOST_AFTER).map(async (threadId, index) => {
      const tools = toolsOf(options, new Random(seed, `after ${index}`));
      try {
        const run = await start(threadId, { kind: 'after', script: `after${index}z\n#say Still here.` }, tools);
        if (typeof run === 'string') journal.refused('a turn after all faults', threadId, run);
        else await tools.client.follow(run);
      } catch (error) {
        journal.incident(`a turn after all faults: ${String(error)}`, { threadId });
      }
    }),
  );
}
