import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@caribou/config';
import { AnswerAssembly } from '@caribou/agent';
import type { AiMessage, HumanMessage, Message } from '@caribou/contracts';
import { type ModelPort, silentLogger } from '@caribou/core';
import { createModelCatalog } from '@caribou/models';

const common = { additional_kwargs: {}, response_metadata: {} };
/** Long enough for every model's cache. */
const SYSTEM = `You are kind. ${'Be kind. '.repeat(2_000)}`;
const tools = ['bash', 'read_file'].map((name) => ({
  name,
  description: `Runs ${name}. ${'It is described at length. '.repeat(400)}`,
  parameters: { type: 'object', properties: { command: { type: 'string' } } },
}));

/** The model of an entry of `models` in config.yaml, which is written into the folder. */
export function modelOfEntry(folder: string, entry: Readonly<Record<string, unknown>>): ModelPort {
  writeFileSync(join(folder, 'config.yaml'), `models: [${JSON.stringify({ name: 'm', ...entry })}]`);
  const { models, clocks } = loadConfig({}, folder);
  return createModelCatalog(models, { clocks, logger: silentLogger }).get('m');
}

export const human = (content: HumanMessage['content'], id: string, name?: string): HumanMessage => ({
  type: 'human',
  id,
  content,
  ...(name === undefined ? {} : { name }),
  ...common,
});

export interface Asking {
  readonly thinkingEnabled: boolean;
  /** Default: none of the model's. */
  readonly maxTokens?: number;
}

/** One answer, assembled as the agent does. */
export async function ask(model: ModelPort, messages: readonly Message[], asking: Asking): Promise<AiMessage> {
  const assembly = new AnswerAssembly({ messageId: `a${messages.length}`, node: 'model', step: 0, model });
  const call = { system: SYSTEM, messages, tools, ...asking };
  for await (const delta of model.stream(call, { userId: 'alice', signal: new AbortController().signal }))
    assembly.add(delta);
  return assembly.message();
}

/** The answer with results for its calls: the second of each answer is an error, and the third has no text. */
export function withResults(answer: AiMessage, step: number): Message[] {
  const calls = [...answer.tool_calls, ...answer.invalid_tool_calls];
  const results = calls.map(
    ({ id, name }, at): Message => ({
      type: 'tool',
      id: `t${id}`,
      name,
      tool_call_id: id,
      status: at === 1 ? 'error' : 'success',
      content: at === 2 ? '' : `result of step ${step}`,
      ...common,
    }),
  );
  return [answer, ...results];
}

/** A turn of the user with this script, until an answer calls no tool; a reminder is behind the results of the second answer. */
export async function runTurn(
  model: ModelPort,
  before: readonly Message[],
  script: string,
  asking: Asking,
): Promise<Message[]> {
  const messages = [...before, human(script, `h${before.length}`)];
  for (let step = 0; step < 12; step += 1) {
    const answer = await ask(model, messages, asking);
    messages.push(...withResults(answer, step));
    if (answer.tool_calls.length + answer.invalid_tool_calls.length === 0) return messages;
    if (step === 1) messages.push(human('Mind the budget.', `r${messages.length}`, 'token_budget'));
  }
  throw new Error('the script did not end');
}
