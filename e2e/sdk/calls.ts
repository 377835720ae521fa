import { waitFor } from '@caribou/testing';
import type { WireMessage } from '../support/client.js';
import type { Stack } from '../support/stack.js';
import type { Json, SdkClient, SdkState, SdkValues, StreamPart } from './sdk-client.js';

export const ASSISTANT = 'lead_agent';
export const COMBINED = ['values', 'messages-tuple', 'updates', 'custom'];

/** One SDK line on the stack its suite shares. */
export interface Sdk {
  readonly client: SdkClient;
  readonly stack: Stack;
}

/** The suites get a reference to the stack before it is started. */
export type UseSdk = () => Sdk;

/** The input of a run that carries a script of the demo model. */
export const say = (script: string): Json => ({ input: { messages: [{ type: 'human', content: script }] } });

export const newThread = async ({ client }: Sdk): Promise<string> => (await client.threads.create()).thread_id;

/** SDK 1.6 returns each heartbeat as a part without event, under the id of the frame before it. */
const isHeartbeat = ({ event }: StreamPart): boolean => event === '';

export async function collect(stream: AsyncIterable<StreamPart>): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for await (const part of stream) if (!isHeartbeat(part)) parts.push(part);
  return parts;
}

/** Streams a run to its end. */
export const runToEnd = (
  { client }: Sdk,
  threadId: string | null,
  script: string,
  more: Json = {},
): Promise<StreamPart[]> =>
  collect(client.runs.stream(threadId, ASSISTANT, { ...say(script), streamMode: COMBINED, ...more }));

/** A stream being read in the background. */
export interface Reading {
  readonly parts: readonly StreamPart[];
  readonly end: Promise<unknown>;
}

export function read(stream: AsyncIterable<StreamPart>): Reading {
  const parts: StreamPart[] = [];
  const end = (async () => {
    for await (const part of stream) if (!isHeartbeat(part)) parts.push(part);
  })();
  end.catch(() => undefined); // a test that fails before it awaits the end must not fail twice
  return { parts, end };
}

/** Resolves when the model waits at `gate`. */
export const heldAt = ({ stack }: Pick<Sdk, 'stack'>, gate: string): Promise<unknown> =>
  waitFor(() => stack.model.listHolds().some(({ name }) => name === gate), {
    what: `the model to hold at ${gate}`,
  });

/** A gate of the demo model no other test waits at. */
export const newGate = (): string => `gate-${Math.random().toString(36).slice(2)}`;

/** The id of a run whose stream was opened just now. */
export async function runIdOf({ parts }: Reading): Promise<string> {
  await waitFor(() => parts.some(({ event }) => event === 'metadata'), { what: 'the metadata frame' });
  return runIdIn(parts);
}

export const runIdIn = (parts: readonly StreamPart[]): string => {
  const metadata = parts.find(({ event }) => event === 'metadata')?.data as { run_id?: string } | undefined;
  if (metadata?.run_id === undefined) throw new Error('no metadata frame');
  return metadata.run_id;
};

export const eventsIn = (parts: readonly StreamPart[]): string[] => [...new Set(parts.map(({ event }) => event))];

export const lastValues = (parts: readonly StreamPart[]): SdkValues =>
  parts.findLast(({ event }) => event === 'values')?.data ?? {};

export const textsOf = (values: SdkValues | undefined): unknown[] =>
  (values?.messages ?? []).map(({ content }) => content);
export const idsOf = (messages: readonly WireMessage[] | undefined): string[] => (messages ?? []).map(({ id }) => id);

/** Chunks of mode messages-tuple, in order. */
export const chunksIn = (parts: readonly StreamPart[]): Chunk[] =>
  parts.filter(({ event }) => event === 'messages').map(({ data }) => (data as [Chunk])[0]);

export interface Chunk extends WireMessage {
  readonly usage_metadata?: Json;
  readonly additional_kwargs: { readonly reasoning_content?: string };
  readonly tool_call_chunks?: readonly {
    readonly index: number;
    readonly args: string;
    readonly name: string | null;
  }[];
}

/** The head of a thread's state, which must have one. */
export async function headOf(
  { client }: Sdk,
  threadId: string,
): Promise<SdkState & { checkpoint: NonNullable<SdkState['checkpoint']> }> {
  const { checkpoint, ...state } = await client.threads.getState(threadId);
  if (checkpoint === null) throw new Error(`thread ${threadId} has no checkpoint`);
  return { ...state, checkpoint };
}

/** The error of a refused call of the SDK. */
export async function refusalOf(
  call: Promise<unknown>,
): Promise<{ readonly status: unknown; readonly message: string }> {
  try {
    await call;
  } catch (error) {
    const { status, message } = error as { status?: unknown; message: string };
    return { status, message };
  }
  throw new Error('the call was not refused');
}
