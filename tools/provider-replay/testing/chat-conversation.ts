import type { ProviderReplay } from '../framework/replay.js';
import { type Answered, post } from './replay-client.js';

export type Message = Record<string, unknown>;
export type Body = Record<string, unknown> & { messages: Message[] };

export const bashTool = {
  type: 'function',
  function: {
    name: 'bash',
    description: 'Runs a command',
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
};

/** A conversation with a vendor, in which every answer of the model is sent back as it came. */
export interface Conversation {
  /** The body of the next request, free to be broken. */
  body(): Body;
  /** Sends the next request, or another one. */
  send(body?: Body): Promise<Answered>;
  /** Sends the next request without streaming, and takes the message of the answer into the conversation. */
  advance(): Promise<Message>;
  /** Adds the results of the calls of the last answer. */
  results(): void;
  say(text: string): void;
}

/** Begins a conversation whose first message is a script of these lines. */
export function converse(replay: ProviderReplay, base: Record<string, unknown>, ...lines: string[]): Conversation {
  const messages: Message[] = [{ role: 'user', content: lines.join('\n') }];
  const body = (): Body => structuredClone({ tools: [bashTool], ...base, messages });
  const send = (sent: Body = body()): Promise<Answered> => post(`${replay.baseUrl}/chat/completions`, sent);
  return {
    body,
    send,
    async advance() {
      const answered = await send();
      if (answered.status !== 200) throw new Error(`${answered.status}: ${answered.text}`);
      const { choices } = answered.body as { choices: [{ message: Message }] };
      messages.push(choices[0].message);
      return choices[0].message;
    },
    results() {
      for (const { id } of callsOf(messages.at(-1)))
        messages.push({ role: 'tool', tool_call_id: id, content: 'the result' });
    },
    say: (text) => void messages.push({ role: 'user', content: text }),
  };
}

/** Begins a conversation that has called a tool, with the result there: the next request is the one that vendors check. */
export async function afterToolCall(
  replay: ProviderReplay,
  base: Record<string, unknown>,
  ...lines: string[]
): Promise<Conversation> {
  const talk = converse(
    replay,
    base,
    ...(lines.length > 0 ? lines : ['#think let me look', '#tool bash {"command":"ls"}', '#say done here']),
  );
  await talk.advance();
  talk.results();
  return talk;
}

/** The message at this index of a body, to be changed. */
export function at(body: Body, index: number): Message {
  const message = body.messages.at(index);
  if (message === undefined) throw new Error(`the body has no message ${index}`);
  return message;
}

export function callsOf(message: Message | undefined): { id: string; function: Record<string, unknown> }[] {
  return (message?.['tool_calls'] ?? []) as { id: string; function: Record<string, unknown> }[];
}

/** The first call of the message at this index, to be changed. */
export function callAt(body: Body, index: number): Message & { id: string; function: Record<string, unknown> } {
  const call = callsOf(at(body, index))[0];
  if (call === undefined) throw new Error(`message ${index} has no call`);
  return call;
}

export type Choice = Record<string, unknown> & { delta: Record<string, unknown>; finish_reason?: string | null };

/** The choices of the chunks of a stream, in order. */
export function choicesOf({ events }: Answered): Choice[] {
  return events.flatMap((event) => (event['choices'] ?? []) as Choice[]);
}

export const deltasOf = (answered: Answered): Record<string, unknown>[] =>
  choicesOf(answered).map(({ delta }) => delta);

/** The texts of one field of the deltas, joined. */
export function joined(answered: Answered, field: string): string {
  return deltasOf(answered)
    .map((delta) => delta[field])
    .filter((value) => typeof value === 'string')
    .join('');
}

export function finishOf(answered: Answered): string | undefined {
  return choicesOf(answered).findLast((choice) => typeof choice.finish_reason === 'string')?.finish_reason ?? undefined;
}

/** The only counts of tokens in a stream, wherever they are. */
export function usageOf({ events }: Answered): unknown {
  const usages = events.map((event) => event['usage']).filter((usage) => usage !== null && usage !== undefined);
  if (usages.length > 1) throw new Error(`${usages.length} chunks have usage`);
  return usages[0];
}
