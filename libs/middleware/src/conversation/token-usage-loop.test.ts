import { runAgent } from '@caribou/agent';
import type { Message, RunEvent } from '@caribou/contracts';
import { type AgentMiddleware, defineTool } from '@caribou/core';
import { fakeHost, fakeRun, humanMessage, scriptedModel } from '@caribou/testing';
import { z } from 'zod';
import { tokenUsage } from './token-usage.js';

const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});

/** A task whose subagent spent tokens. */
const task = defineTool({
  name: 'task',
  description: 'delegates',
  input: z.object({ description: z.string() }),
  run: ({ description }) =>
    Promise.resolve({
      content: `${description} is done`,
      additionalKwargs: { subagent_token_usage: usage(100, 10), subagent_model_name: 'small' },
    }),
});

const script = [
  { calls: [{ name: 'task', args: { description: 'look' } }], usage: usage(10, 1) },
  { content: 'all done', usage: usage(20, 2) },
];

async function runOf(chain: readonly AgentMiddleware[]) {
  const state = { messages: [humanMessage('hi')] };
  const host = fakeHost({ state });
  const run = fakeRun();
  const outcome = await runAgent({
    chain,
    tools: [task],
    model: scriptedModel(script),
    systemPrompt: '',
    options: { maxTurns: 5 },
    host,
    run,
    state,
    step: 0,
    position: 'start',
  });
  if (outcome.kind !== 'finished') throw new Error(outcome.kind);
  return { commits: [...host.commits, outcome.last] };
}

const nodesOf = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.kind === 'task.end' ? [event.node] : []));

const kindOf = (message: Message | undefined): unknown =>
  (message?.additional_kwargs['token_usage_attribution'] as { kind?: unknown } | undefined)?.kind;

describe('tokens in a run', () => {
  test('an answer is committed once and with its attribution, without a separate event', async () => {
    const { commits } = await runOf([tokenUsage()]);
    const [first, second] = commits;

    expect(kindOf(first?.state.messages[1])).toBe('subagent_dispatch');
    expect(nodesOf(first?.events ?? [])).toEqual(['model_request']);
    expect(second?.state.messages[1]).toBe(first?.state.messages[1]);
    expect(kindOf(commits.at(-1)?.state.messages.at(-1))).toBe('final_answer');
  });

  test("what a subagent spent is counted with the commit of its result, and shown in its dispatcher's message", async () => {
    const { commits } = await runOf([tokenUsage()]);

    expect(commits.map((commit) => commit.usage)).toEqual([
      { turns: 1, calls: [{ caller: 'lead_agent', model: 'scripted', inputTokens: 10, outputTokens: 1 }] },
      { turns: 0, calls: [{ caller: 'subagent', model: 'small', inputTokens: 100, outputTokens: 10 }] },
      { turns: 1, calls: [{ caller: 'lead_agent', model: 'scripted', inputTokens: 20, outputTokens: 2 }] },
    ]);
    expect(commits.at(-1)?.state.messages[1]).toMatchObject({ usage_metadata: usage(110, 11) });
  });

  test('the count does not depend on the middleware', async () => {
    const { commits } = await runOf([]);

    expect(commits.flatMap((commit) => commit.usage?.calls ?? []).map(({ caller }) => caller)).toEqual([
      ...['lead_agent', 'subagent', 'lead_agent'],
    ]);
  });
});
