import { type AiMessage, newId, type RunRecord, type ToolMessage } from '@caribou/contracts';
import type { ThreadKey } from '@caribou/core';
import { ai, human, type StoreFixture } from '@caribou/testing';
import type { CommitRequest } from '../ports/run-store.js';
import { resultText } from './tool-results.js';

/** The kwargs that the gateway stores for a message of DeerFlow's page. */
const kwargsOf = ({ threadId }: ThreadKey, text: string): RunRecord['kwargs'] => ({
  input: { messages: [{ ...human(text), content: [{ type: 'text', text }] }] },
  context: {
    thread_id: threadId,
    model_name: 'caribou-demo',
    mode: 'pro',
    thinking_enabled: true,
    is_plan_mode: true,
    subagent_enabled: false,
    reasoning_effort: 'medium',
  },
  recursion_limit: 1000,
  stream_mode: ['values', 'messages-tuple', 'custom'],
  stream_subgraphs: true,
  on_disconnect: 'continue',
  temporary: false,
});

const usage = {
  turns: 1,
  calls: [{ model: 'caribou-demo', caller: 'lead_agent', inputTokens: 900, outputTokens: 60 }],
} as const;

const TEXT = 'The north face of the Eiger was first climbed in July 1938. ';

const answer = (finish: string, over: Partial<AiMessage>): AiMessage => ({
  ...ai(''),
  response_metadata: { model_name: 'caribou-demo', finish_reason: finish },
  usage_metadata: { input_tokens: 900, output_tokens: 60, total_tokens: 960 },
  ...over,
});

const resultOf = (callId: string, content: string): ToolMessage => ({
  type: 'tool',
  id: `tool:${callId}`,
  content,
  name: 'read_file',
  tool_call_id: callId,
  status: 'success',
  additional_kwargs: {},
  response_metadata: {},
});

export interface MeasuredTurn {
  /** How often the model calls a tool before it answers. */
  readonly rounds: number;
  /** Bytes of the text of each result. */
  readonly resultBytes: number;
  /** Metadata that the client gives each run; default none. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Whether each request has an Idempotency-Key. */
  readonly isIdempotent?: boolean;
}

/** Executes a turn as gateway and runner do: input, a commit for each node, and the last answer with the end. */
export async function runMeasuredTurn(
  store: StoreFixture,
  key: ThreadKey,
  { rounds, resultBytes, metadata = {}, isIdempotent = false }: MeasuredTurn,
): Promise<void> {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const idempotency = isIdempotent ? { idempotency: { key: newId(), bodyHash: 'hash' } } : {};
  await store.admit(key, { kwargs: kwargsOf(key, TEXT), metadata, traceparent, ...idempotency });
  const claimed = await store.claim(key);
  const { lease, run } = claimed;
  let { head } = claimed;
  const step = async (
    update: Parameters<StoreFixture['step']>[1],
    next: CommitRequest['next'],
    over: Partial<CommitRequest>,
  ): Promise<void> => {
    head = (await store.step({ lease, head }, update, { next, ...over })).head;
  };
  await step({ messages: run.kwargs.input?.messages ?? [] }, ['model_request'], {
    source: 'input',
    inputCommitted: true,
  });
  for (let round = 0; round < rounds; round += 1) {
    const id = `call_${newId()}`;
    const call = {
      id,
      name: 'read_file',
      args: { path: '/mnt/user-data/uploads/eiger.txt' },
      type: 'tool_call',
    } as const;
    await step({ messages: [answer('tool_calls', { tool_calls: [call] })] }, ['tools'], { usage });
    const text = resultText(head.state.messages.length, resultBytes);
    await step({ messages: [resultOf(id, text)] }, ['model_request'], {});
  }
  const messages = [...head.state.messages, answer('stop', { content: TEXT.repeat(2) })];
  const commit = {
    head,
    state: { ...head.state, messages },
    next: [],
    source: 'loop',
    step: 1,
    events: [],
    usage,
  } as const;
  await store.finish(claimed, { commit });
}

/** Deletes every key that has a deadline, as if all deadlines had passed. */
export async function passDeadlines({ redis, keys }: StoreFixture): Promise<void> {
  const names = await keys();
  await redis.use(async (client) => {
    const left = await Promise.all(names.map((name) => client.pttl(name)));
    await Promise.all(names.filter((_, index) => (left[index] ?? -1) >= 0).map((name) => client.del(name)));
  });
}

/** Bytes of all keys, with what Redis needs to hold them, by `MEMORY USAGE`. */
export async function measureBytes({ redis, keys }: StoreFixture): Promise<number> {
  const names = await keys();
  const bytes = await redis.use((client) =>
    Promise.all(names.map((name) => client.memory('USAGE', name, 'SAMPLES', 0))),
  );
  return bytes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
