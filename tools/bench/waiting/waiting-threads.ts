import type { Fleet } from '../fleet.js';
import { inParallel } from '../sample.js';
import { postJson } from '../turns.js';
import { withRedis } from './held.js';

/** Lines of config.yaml: each call of `ls` waits a day for the decision of a person. */
export const WAITING_CONFIG = `approvals:
  expires_after_seconds: 86400
  rules:
    - {id: looks, tools: [ls], message: looks around}
memory: {debounce_seconds: 1}
runner: {slots: 32}
`;

/** What ran before a call waits. */
export type WaitingKind = 'call' | 'command before' | 'in a subagent';

export interface WaitingThread {
  readonly threadId: string;
  readonly kind: WaitingKind;
}

const AT_ONCE = 48;
/** One in so many threads runs a command first, and one in so many asks in a subagent. */
const SPECIAL_EVERY = 50;
const CALL = '#tool ls {"path":"/mnt/user-data/workspace"}';
const SCRIPTS: Readonly<Record<WaitingKind, string>> = {
  call: `${CALL}\n#say bye`,
  'command before': `#tool bash {"description":"nothing","command":"true"}\n${CALL}\n#say bye`,
  'in a subagent': `#tool task ${JSON.stringify({ description: 'a look', prompt: `${CALL}\n#say looked`, subagent_type: 'general-purpose' })}\n#say bye`,
};
const RUN = { assistant_id: 'lead_agent', context: { subagent_enabled: true } };

const kindOf = (index: number): WaitingKind => {
  if (index % SPECIAL_EVERY === 0) return 'command before';
  return index % SPECIAL_EVERY === 1 ? 'in a subagent' : 'call';
};

type Values = Readonly<Record<string, unknown>>;

/** Over a connection of its own: those that a client keeps for later are not what is measured. */
const post = (url: string, body: unknown): Promise<Values> => postJson(url, body, { connection: 'close' });

/** Starts a run on each of so many new threads that ends because a call waits. @throws Error when one does not wait */
export function makeWaiting({ apiUrl }: Fleet, threads: number): Promise<readonly WaitingThread[]> {
  return inParallel(threads, AT_ONCE, async (index) => {
    const [threadId, kind] = [String((await post(`${apiUrl}/threads`, {}))['thread_id']), kindOf(index)];
    const input = { messages: [{ type: 'human', content: SCRIPTS[kind] }] };
    const values = await post(`${apiUrl}/threads/${threadId}/runs/wait`, { ...RUN, input });
    const open = (values['__interrupt__'] as readonly unknown[] | undefined)?.length ?? 0;
    if (open !== 1) throw new Error(`thread ${threadId} waits for ${open} answers: ${JSON.stringify(values)}`);
    return { threadId, kind };
  });
}

/** Decides what a thread waits for. Returns the milliseconds until the run that continued has ended. @throws Error unless it answers */
export async function decide(
  { apiUrl }: Fleet,
  { threadId }: WaitingThread,
  type: 'approve' | 'reject',
): Promise<number> {
  const beganMs = performance.now();
  const resume = { decisions: [{ type }] };
  const values = await post(`${apiUrl}/threads/${threadId}/runs/wait`, { ...RUN, command: { resume } });
  const text = (values['messages'] as readonly Values[]).at(-1)?.['content'];
  if (text !== 'bye') throw new Error(`thread ${threadId} ended with ${JSON.stringify(text)}`);
  return performance.now() - beganMs;
}

/** Decides what each of the threads waits for. */
export const rejectAll = (fleet: Fleet, waiting: readonly WaitingThread[]): Promise<readonly number[]> =>
  inParallel(waiting.length, AT_ONCE, (index) => {
    const thread = waiting[index];
    return thread === undefined ? Promise.resolve(0) : decide(fleet, thread, 'reject');
  });

/** Compares how many threads wait, and until a deadline, with what is expected, by the lists of the store. @throws Error when it differs */
export async function assertWaiting(fleet: Fleet, expected: number): Promise<void> {
  const counts = await withRedis(fleet, (redis) => {
    const { interruptsWaiting, interruptsDue } = redis.keys;
    return redis.use((client) => Promise.all([interruptsWaiting, interruptsDue].map((key) => client.zcard(key))));
  });
  const [waiting = 0, due = 0] = counts;
  if (waiting !== expected || due !== expected)
    throw new Error(`${waiting} threads wait, ${due} of them until a deadline, instead of ${expected}`);
}
