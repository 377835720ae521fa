import type { Client } from 'langgraph-sdk-1-15';
import type { Stack } from '../../support/stack.js';
import { refusalOf } from '../calls.js';

/** What a proof works with: the unmodified client of the SDK, and the system behind it. */
export interface Proof {
  readonly client: Client;
  readonly stack: Stack;
}

/** A call or a field of the SDK, what became of it here, and the proof of that. */
export interface Entry {
  /** `client.method` for a call, the SDK's option for a field. */
  readonly name: string;
  readonly verdict: 'works' | 'refused';
  /** What to know of it, as docs/clients.md shows it. */
  readonly note: string;
  prove(proof: Proof): Promise<void>;
}

/** An entry that works: the proof makes the call and looks at what came of it. */
export const works = (name: string, note: string, prove: Entry['prove']): Entry => ({
  name,
  verdict: 'works',
  note,
  prove,
});

/** The status of a refusal, and a part of its message. */
export interface Refusal {
  readonly status: 404 | 422;
  readonly says: string;
}

/** An entry that is refused: the proof makes the call and compares the refusal. */
export const refused = (
  name: string,
  note: string,
  { status, says }: Refusal,
  call: (proof: Proof) => Promise<unknown>,
): Entry => ({
  name,
  verdict: 'refused',
  note: `${status}: ${note}`,
  prove: async (proof) => {
    expect(await refusalOf(call(proof))).toMatchObject({ status, message: expect.stringContaining(says) });
  },
});

/** The refusal of a path that the server does not have. */
export const UNKNOWN_PATH: Refusal = { status: 404, says: 'does not know this path' };

export const ASSISTANT = 'lead_agent';

/** The options of a run that asks the demo model to say something. */
export const saying = (script = '#say Hello.') => ({ input: { messages: [{ type: 'human', content: script }] } });

export const newThread = async ({ client }: Proof): Promise<string> => (await client.threads.create()).thread_id;

/** A thread with one answered message. */
export async function answeredThread(proof: Proof): Promise<string> {
  const threadId = await newThread(proof);
  await proof.client.runs.wait(threadId, ASSISTANT, saying());
  return threadId;
}

interface Part {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

/** Reads a stream until `isLast` holds for a part, or to its end. */
export async function readUntil(
  stream: AsyncIterable<unknown>,
  isLast: (part: Part) => boolean = () => false,
): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream as AsyncIterable<Part>) {
    parts.push(part);
    if (isLast(part)) break;
  }
  return parts;
}

export const contentsOf = (values: unknown): unknown[] =>
  ((values as { messages?: { content: unknown }[] }).messages ?? []).map(({ content }) => content);
