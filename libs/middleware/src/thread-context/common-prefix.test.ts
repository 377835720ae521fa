import { runAgent } from '@caribou/agent';
import type { Message, ThreadState } from '@caribou/contracts';
import {
  type AnyTool,
  applyUpdate,
  defineTool,
  type ModelCall,
  type ModelCatalog,
  type ModelPort,
  type Skill,
} from '@caribou/core';
import { fakeHost, fakeRun, fakeSandbox, humanMessage, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { z } from 'zod';
import { leadChain } from '../chain/chain.js';
import type { ContextFacts } from './context-sections.js';

const TURNS = 30;
const LOCATION = '/mnt/skills/public/chart/SKILL.md';
const SKILL: Skill = {
  ...{ name: 'chart', description: 'draws charts', license: null, category: 'public', location: LOCATION },
  ...{ editable: false, enabled: true, allowedTools: ['task'] },
};
const usage = { input_tokens: 40, output_tokens: 10, total_tokens: 50 };
const task: AnyTool = defineTool({
  name: 'task',
  description: 'delegates',
  input: z.object({ prompt: z.string() }),
  run: ({ prompt }) =>
    Promise.resolve({ content: `result of ${prompt}`, additionalKwargs: { subagent_token_usage: usage } }),
});

/** The answers of a turn: some delegate, some leave a plan open and are reminded, one repeats itself. */
function answersOf(turn: number): readonly ScriptedAnswer[] {
  const plan = (...statuses: readonly string[]): ScriptedAnswer => ({
    calls: [
      { name: 'write_todos', args: { todos: statuses.map((status, at) => ({ content: `step ${at}`, status })) } },
    ],
  });
  if (turn % 7 === 3)
    return [plan('in_progress', 'pending'), { content: 'early' }, plan('completed', 'completed'), { content: 'done' }];
  if (turn % 5 === 2)
    return [
      { calls: [0, 1].map((at) => ({ name: 'task', args: { prompt: `part ${at} of ${turn}` } })) },
      { content: `put together ${turn}` },
    ];
  if (turn === 11)
    return [
      ...Array.from({ length: 3 }, () => ({ calls: [{ name: 'task', args: { prompt: 'same' } }] })),
      { content: 'ok' },
    ];
  if (turn === 16) return [{ content: '' }, { content: 'not empty' }];
  return [{ content: `answer ${turn}`, usage }];
}

/** What is true on a turn: a fact more on each, of which one is corrected at times; two midnights; another skill. */
const factsOf = (turn: number): ContextFacts => ({
  available_skills: ['- chart: draws charts', ...(turn >= 15 ? ['- slides: makes slides'] : [])].join('\n'),
  user_profile: 'I sail.',
  memory: [
    'Facts:',
    ...Array.from({ length: turn }, (_, at) => `- fact ${at}${at % 6 === 5 && turn > at + 2 ? ', corrected' : ''}`),
  ].join('\n'),
  current_date: turn < 10 ? '2026-01-05, Monday' : turn < 20 ? '2026-01-06, Tuesday' : '2026-01-07, Wednesday',
});

/** A model that gives the answers one after the other. */
function modelOf(answers: readonly ScriptedAnswer[]): ModelPort & { readonly calls: readonly ModelCall[] } {
  let next = 0;
  const calls: ModelCall[] = [];
  return {
    ...scriptedModel([]),
    calls,
    stream(call, options) {
      calls.push(call);
      return scriptedModel([answers[next++] ?? { content: 'late' }]).stream({ ...call, messages: [] }, options);
    },
  };
}

const turns = Array.from({ length: TURNS }, (_, at) => at + 1);

/** Runs the conversation; `summaries[i]` is how many summaries there were when request `i` was made. */
async function converse() {
  const model = modelOf(turns.flatMap(answersOf));
  const summarizer = scriptedModel([{ content: 'What was said so far.' }]);
  const summaries: number[] = [];
  const counting: ModelPort = {
    ...model,
    stream: (call, options) => {
      summaries.push(summarizer.calls.length);
      return model.stream(call, options);
    },
  };
  const sandbox = fakeSandbox();
  const scope = { userId: 'default', threadId: 't', epoch: 1 };
  const file = { key: 'k', path: LOCATION, content: '---\nname: chart\ndescription: x\n---\nDraw.', append: false };
  await sandbox.write(scope, file, fakeRun().signal);
  const models: ModelCatalog = { names: ['short'], get: () => ({ ...summarizer, name: 'short' }) };
  let state: ThreadState = { messages: [] };
  for (const turn of turns) {
    const config = {
      title: { enabled: false },
      summarization: {
        ...{ enabled: true, model_name: 'short', keep: { type: 'messages' as const, value: 12 } },
        trigger: { type: 'messages' as const, value: 40 },
      },
    };
    const chain = leadChain(
      { sandbox, model: counting },
      {
        ...{ planMode: true, subagents: true, skills: [SKILL], tools: [task], models, config },
        context: () => Promise.resolve(factsOf(turn)),
      },
    );
    state = applyUpdate(state, { messages: [humanMessage(turn === 5 ? '/chart it' : `question ${turn}`, `h${turn}`)] });
    const run = fakeRun({ runId: `00000000-0000-4000-8000-${String(turn).padStart(12, '0')}` });
    const outcome = await runAgent({
      ...{ chain, tools: [task], model: counting, systemPrompt: 'You are Caribou.', options: { maxTurns: 20 } },
      ...{ host: fakeHost({ state }), run, state, step: 0, position: 'start' as const },
    });
    if (outcome.kind !== 'finished') throw new Error(outcome.kind);
    ({ state } = outcome.last);
  }
  return { requests: model.calls, summaries, state };
}

/** What a provider sees of a request, in its order. */
const partsOf = ({ system, tools, messages }: ModelCall): readonly string[] => [
  JSON.stringify(tools.map(({ name, description, parameters }) => ({ name, description, parameters }))),
  system,
  ...messages.map(shown),
];

const shown = (message: Message): string => {
  const { type, content } = message;
  const calls = message.type === 'ai' ? message.tool_calls : [];
  return JSON.stringify({ type, content, calls, of: message.type === 'tool' ? message.tool_call_id : null });
};

const chars = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + part.length, 0);

test('over 30 turns each request begins with the whole one before it, except after a summary', async () => {
  const { requests, summaries, state } = await converse();
  const parts = requests.map(partsOf);
  const pairs = parts.slice(1).map((next, at) => {
    const before = parts[at] ?? [];
    const differs = before.findIndex((part, index) => part !== next[index]);
    const common = differs === -1 ? before : before.slice(0, differs);
    return { isWhole: differs === -1, isSummary: summaries[at + 1] !== summaries[at], common, before, next };
  });

  const broken = pairs.flatMap(({ isWhole }, at) => (isWhole ? [] : [at]));
  const summarized = pairs.flatMap(({ isSummary }, at) => (isSummary ? [at] : []));
  expect(broken).toEqual(summarized);
  expect(summarized.length).toBeGreaterThan(1);
  // After a summary tools and system prompt are still the same.
  expect(pairs.every(({ common }) => common.length >= 2)).toBe(true);

  const text = parts.flat().join();
  for (const part of [
    '2026-01-07, Wednesday',
    'fact 29',
    'slides',
    'Draw.',
    'result of part 1',
    'your last answer was empty',
  ])
    expect(text.toLowerCase()).toContain(part.toLowerCase());
  for (const name of ['todo_completion_reminder', 'loop_warning'])
    expect(requests.some(({ messages }) => messages.some((message) => message.name === name))).toBe(true);
  expect(state.messages.some((message) => message.name === 'thread-context')).toBe(false);
  const sum = (of: (pair: (typeof pairs)[number]) => number): number => pairs.reduce((all, pair) => all + of(pair), 0);
  expect({
    ...{ requests: parts.length, summaries: summarized.length, messages: sum(({ next }) => next.length - 2) },
    repeated: sum(({ common }) => Math.max(0, common.length - 2)),
  }).toEqual({ requests: 51, summaries: 3, messages: 1442, repeated: 1271 });
  expect(sum(({ common }) => chars(common)) / sum(({ next }) => chars(next))).toBeGreaterThan(0.9);
});
