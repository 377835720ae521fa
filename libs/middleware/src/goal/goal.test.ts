import type { Message, ThreadState } from '@caribou/contracts';
import {
  ai,
  fakeRun,
  humanMessage,
  modelFailure,
  sampleGoal,
  type ScriptedAnswer,
  scriptedModel,
} from '@caribou/testing';
import { goal } from './goal.js';

const NOT_MET = '{"satisfied": false, "blocker": "goal_not_met_yet", "reason": "half", "evidence_summary": "one part"}';
const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };

const state = (...messages: readonly Message[]): ThreadState => ({ messages: [...messages], goal: sampleGoal() });
const answered = state(humanMessage('Go.'), ai('I began.'));

async function judge(from: ThreadState, verdict: ScriptedAnswer, timeoutMs = 20_000) {
  const model = scriptedModel([verdict]);
  const run = fakeRun();
  const middleware = goal({ model, timeoutMs });
  const step = await middleware.beforeEnd?.(from, run);
  return { step, model, run, isSlow: middleware.isSlowBeforeEnd?.(from, run) };
}

describe(goal, () => {
  test('a thread without a goal is left alone, and no model is asked', async () => {
    const { step, model, isSlow } = await judge({ messages: answered.messages }, { content: NOT_MET });

    expect([step, model.calls.length, isSlow]).toEqual([undefined, 0, false]);
  });

  test('a goal that is not met: counters, verdict and a hidden message are one update, and the agent continues', async () => {
    const { step, model, run, isSlow } = await judge(answered, { content: NOT_MET, usage });

    expect(isSlow).toBe(true);
    expect(step).toMatchObject({
      again: true,
      usage: [{ caller: 'middleware', model: 'scripted', inputTokens: 5, outputTokens: 2 }],
      update: {
        goal: { continuation_count: 1, last_evaluation: { reason: 'half', run_id: run.runId } },
        messages: [
          {
            type: 'human',
            name: 'goal_continuation',
            additional_kwargs: { hide_from_ui: true, deerflow_goal_continuation: true },
          },
        ],
      },
    });
    const [call] = model.calls;
    expect([call?.tools, call?.thinkingEnabled]).toEqual([[], false]);
    expect(call?.messages.map(({ content }) => content)).toEqual([
      'Goal:\nWrite the report.\n\nConversation:\nUser: Go.\n\nAssistant: I began.\n\nIs the goal reached?',
    ]);
    expect(run.decisions).toEqual(['goal: continued']);
  });

  test('a goal that is met is removed', async () => {
    const { step, run } = await judge(answered, { content: '{"satisfied": true, "blocker": "none"}' });

    expect(step?.update).toEqual({ goal: null });
    expect(step?.again).toBeUndefined();
    expect(run.decisions).toEqual(['goal: reached']);
  });

  test.each<[string, ScriptedAnswer, string, number]>([
    ['fails', { error: modelFailure({ reason: 'bad_request' }) }, 'failed', 20_000],
    ['is filtered', { content: NOT_MET, finishReason: 'content_filter' }, 'filter', 20_000],
    ['answers something else', { content: 'Who knows.' }, 'no verdict', 20_000],
    ['is too slow', { holdBefore: { delta: 0, until: new Promise(() => undefined) } }, 'within 20 ms', 20],
  ])('an evaluator that %s ends the run, with the failure in the goal', async (_what, verdict, reason, timeoutMs) => {
    const { step, run } = await judge(answered, verdict, timeoutMs);

    expect(step?.again).toBeUndefined();
    expect(step?.update?.goal).toMatchObject({
      continuation_count: 0,
      last_evaluation: { reason: expect.stringContaining(reason) as string, stand_down_reason: 'evaluator_failed' },
    });
    expect(run.decisions).toEqual(['goal: unjudged']);
  });

  test('no model is asked where the answer is clear: nothing visible was said, or the user was asked', async () => {
    const question: Message = {
      type: 'tool',
      id: 'clarification:call',
      content: 'Which one?',
      name: 'ask_clarification',
      tool_call_id: 'call',
      status: 'success',
      artifact: { human_input: { kind: 'human_input_request' } },
      additional_kwargs: {},
      response_metadata: {},
    };
    const silent = await judge(state(humanMessage('Go.'), ai('')), { content: NOT_MET });
    const asking = await judge(state(humanMessage('Go.'), ai('I ask.'), question), { content: NOT_MET });

    expect(silent.step).toMatchObject({ update: { goal: { last_evaluation: { blocker: 'missing_evidence' } } } });
    expect(asking.step).toMatchObject({ update: { goal: { last_evaluation: { blocker: 'needs_user_input' } } } });
    for (const { step, model, isSlow } of [silent, asking])
      expect([step?.again, model.calls.length, isSlow]).toEqual([undefined, 0, false]);
  });
});
