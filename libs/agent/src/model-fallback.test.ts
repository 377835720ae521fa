import type { AiMessage, ThreadState } from '@caribou/contracts';
import { type AgentMiddleware, type LoopOutcome, type LoopPosition, runSlot } from '@caribou/core';
import { leadChain } from '@caribou/middleware';
import {
  type FakeRun,
  fakeHost,
  fakeRun,
  fakeSandbox,
  humanMessage,
  modelFailure,
  type ScriptedModel,
  scriptedModel,
} from '@caribou/testing';
import { z } from 'zod';
import { runAgent } from './run-agent.js';

const OTHER_RUN = '22222222-2222-4222-8222-222222222222';

const fallback = (id: string, runId: string | undefined): AiMessage => ({
  type: 'ai',
  id,
  content: 'The model was away.',
  additional_kwargs: {
    deerflow_error_fallback: true,
    error_type: 'ModelError',
    ...(runId === undefined ? {} : { run_id: runId }),
  },
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
});

interface Stage {
  readonly model: ScriptedModel;
  readonly messages?: ThreadState['messages'];
  readonly position?: LoopPosition;
  readonly extra?: readonly AgentMiddleware[];
  readonly run?: FakeRun;
}

function play({ model, messages = [], position = 'start', extra = [], run = fakeRun() }: Stage): Promise<LoopOutcome> {
  const state: ThreadState = { messages: [humanMessage('hi', 'h1'), ...messages] };
  const chain = [...leadChain({ sandbox: fakeSandbox(), model }), ...extra];
  const place = { state, step: 0, position, host: fakeHost({ state }) };
  return runAgent({ chain, tools: [], model, systemPrompt: '', options: { maxTurns: 5 }, run, ...place });
}

describe('the mark of a model that failed for good', () => {
  test('fails the run whose message carries it', async () => {
    const model = scriptedModel([{ error: modelFailure({ reason: 'auth', providerStatus: 401 }) }]);

    const outcome = await play({ model });

    expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'ModelError' } });
  });

  test('in the history fails no later run that gets an answer', async () => {
    const messages = [fallback('a1', OTHER_RUN), fallback('a2', undefined), humanMessage('again', 'h2')];
    const model = scriptedModel([{}, {}, { content: 'Hello' }]);

    expect((await play({ model, messages })).kind).toBe('finished');
  });

  test('fails no run that goes on from the answer of another one', async () => {
    const model = scriptedModel([]);
    const goOn = (message: AiMessage, run: FakeRun = fakeRun()): Promise<LoopOutcome> =>
      play({ model, messages: [message], position: 'after_model', run });
    const run = fakeRun();

    expect((await goOn(fallback('a1', OTHER_RUN))).kind).toBe('finished');
    expect((await goOn(fallback('a1', run.runId), run)).kind).toBe('failed');
    expect((await goOn(fallback('a1', undefined))).kind).toBe('failed');
  });

  test('fails the run when a hook put it on the answer, and not when the answer was taken out before an old one', async () => {
    const tried = runSlot('test', z.boolean());
    const marking: AgentMiddleware = {
      name: 'marking',
      afterModel: async ({ messages }, { runId }) => ({
        update: { messages: [fallback(messages.at(-1)?.id ?? '', runId)] },
      }),
    };
    const removing: AgentMiddleware = {
      name: 'removing',
      afterModel: async (state, run) => {
        if (tried.read(state, run) === true) return undefined;
        const id = state.messages.at(-1)?.id ?? '';
        return { update: { messages: [{ type: 'remove', id }], ...tried.write(true, run) }, again: true };
      },
    };

    expect(await play({ model: scriptedModel([{ content: 'x' }]), extra: [marking] })).toMatchObject({
      kind: 'failed',
      error: { message: 'The model was away.' },
    });
    const messages = [fallback('a1', undefined)];
    const model = scriptedModel([{}, [{ content: '' }, { content: 'Hello' }]]);
    const outcome = await play({ model, messages, position: 'model_request', extra: [removing] });
    expect(outcome.kind).toBe('finished');
    expect(model.calls).toHaveLength(2);
  });
});
