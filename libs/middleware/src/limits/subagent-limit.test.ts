import type { AiMessage, Message, ThreadState, ToolCall } from '@caribou/contracts';
import { applyUpdate, type RunContext } from '@caribou/core';
import { fakeRun } from '@caribou/testing';
import fc from 'fast-check';
import { subagentLimit, type SubagentLimits } from './subagent-limit.js';

const asks = (names: readonly string[], fields: Partial<AiMessage> = {}): AiMessage => ({
  type: 'ai',
  id: 'a',
  content: 'Divide.',
  additional_kwargs: {},
  response_metadata: { finish_reason: 'tool_calls' },
  tool_calls: names.map((name, at) => ({ name, args: {}, id: `c${at}`, type: 'tool_call' })),
  invalid_tool_calls: [],
  ...fields,
});

const LIMITS = { max_concurrent: 3, max_total_per_run: 6 };
const FIRST_RUN = fakeRun();

interface Given {
  readonly run?: RunContext;
  readonly limits?: SubagentLimits;
  readonly guards?: ThreadState['guards'];
}

/** What becomes of a thread whose last answer asks for these. */
async function decide(message: AiMessage, { run = FIRST_RUN, limits = LIMITS, guards = {} }: Given = {}) {
  const before: ThreadState = { messages: [message], guards };
  const step = await subagentLimit(limits).afterModel?.(before, run);
  const state = applyUpdate(before, step?.update ?? {});
  return { step, state, guards: state.guards, message: state.messages[0] };
}

const tasks = (count: number): string[] => Array.from({ length: count }, () => 'task');
const callsOf = (message: Message | undefined): readonly ToolCall[] =>
  message?.type === 'ai' ? message.tool_calls : [];
const idsOf = (message: Message | undefined): readonly string[] => callsOf(message).map(({ id }) => id);

describe(subagentLimit, () => {
  test('the first tasks stay, later ones are dropped silently, and other calls keep their position', async () => {
    const { message, step } = await decide(asks(['task', 'bash', 'task', 'ls', 'task', 'task', 'bash']));

    expect(message).toMatchObject({ id: 'a', content: 'Divide.', response_metadata: { finish_reason: 'tool_calls' } });
    expect(idsOf(message)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'c6']);
    expect(step).not.toHaveProperty('stopReason');
  });

  test('an answer within the limits is unchanged; one without tasks is ignored', async () => {
    const asked = asks(tasks(3));

    expect((await decide(asked)).message).toBe(asked);
    expect((await decide(asks(['bash']))).step).toBeUndefined();
    expect(await subagentLimit(LIMITS).afterModel?.({ messages: [] }, FIRST_RUN)).toBeUndefined();
  });

  test("the provider's account of the calls is cut in step", async () => {
    const raw = tasks(4).map((_, at) => ({ id: `c${at}` }));

    const { message } = await decide(asks(tasks(4), { additional_kwargs: { tool_calls: raw } }));

    expect(message?.additional_kwargs).toEqual({ tool_calls: raw.slice(0, 3) });
  });

  test.each([
    [2, 2],
    [0, 1],
    [-5, 1],
    [99, 4],
    [2.9, 2],
  ])('a run that asks for %d at once gets %d', async (max_concurrent_subagents, expected) => {
    const run = fakeRun({ context: { max_concurrent_subagents } });

    expect(idsOf((await decide(asks(tasks(6)), { run })).message)).toHaveLength(expected);
  });

  test.each([
    [2, 2],
    [0, 1],
    [2.9, 2],
    [99, 50],
  ])('a run that asks for %d in all gets %d', async (max_total_subagents, expected) => {
    const run = fakeRun({ context: { max_total_subagents, max_concurrent_subagents: 1 } });
    let guards: ThreadState['guards'] = {};
    let started = 0;
    let stopped = 0;
    for (let turn = 0; turn < 60; turn += 1) {
      const decided = await decide(asks(['task']), { run, guards });
      started += idsOf(decided.message).length;
      stopped += decided.step?.stopReason === undefined ? 0 : 1;
      guards = decided.guards;
    }

    expect([started, stopped]).toEqual([expected, 60 - expected]);
  });

  test('when the run may have no further task, it ends with a visible note', async () => {
    const { guards } = await decide(asks(tasks(3)), { limits: { max_concurrent: 3, max_total_per_run: 3 } });

    const { step, message } = await decide(asks(tasks(2)), { guards, limits: { ...LIMITS, max_total_per_run: 3 } });

    expect(step?.stopReason).toBe('subagent_limit_capped');
    expect(message).toMatchObject({
      content: expect.stringMatching(/^Divide\.\n\n\[SUBAGENT LIMIT REACHED\] .* 3 tasks/) as string,
      tool_calls: [],
      response_metadata: { finish_reason: 'stop' },
    });
  });

  test.each([
    ['other calls', asks(['task', 'bash'])],
    [
      'calls with unreadable arguments',
      asks(['task'], {
        invalid_tool_calls: [{ name: 'bash', args: '{', id: 'i', error: '', type: 'invalid_tool_call' }],
      }),
    ],
  ])('with %s left it is noted, but the run goes on', async (_what, asked) => {
    const { guards } = await decide(asks(['task']), { limits: { ...LIMITS, max_total_per_run: 1 } });

    const { step, message } = await decide(asked, { guards, limits: { ...LIMITS, max_total_per_run: 1 } });

    expect(step).not.toHaveProperty('stopReason');
    expect(idsOf(message)).toEqual(asked.tool_calls.filter(({ name }) => name !== 'task').map(({ id }) => id));
    expect(message?.content).toContain('[SUBAGENT LIMIT REACHED]');
    expect(message?.response_metadata).toEqual({ finish_reason: 'tool_calls' });
  });

  test('tasks that were dropped do not count', async () => {
    const { guards } = await decide(asks(tasks(6)));

    expect(idsOf((await decide(asks(tasks(6)), { guards })).message)).toHaveLength(3);
  });

  test('another run counts from the beginning', async () => {
    const limits = { ...LIMITS, max_total_per_run: 2 };
    const { guards } = await decide(asks(tasks(2)), { limits });
    const run = fakeRun({ runId: '22222222-2222-4222-8222-222222222222' });

    expect(idsOf((await decide(asks(tasks(2)), { limits, guards, run })).message)).toHaveLength(2);
  });

  test('no run starts more than its total, no answer more than at once, and no other call is lost', async () => {
    const names = fc.array(fc.constantFrom('task', 'bash'), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(names, { maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (answers, max_concurrent, max_total_per_run) => {
          let guards: ThreadState['guards'] = {};
          let started = 0;
          for (const asked of answers) {
            const decided = await decide(asks(asked), { guards, limits: { max_concurrent, max_total_per_run } });
            guards = decided.guards;
            const calls = callsOf(decided.message);
            const here = calls.filter(({ name }) => name === 'task').length;
            started += here;
            expect(here).toBeLessThanOrEqual(max_concurrent);
            expect(calls.length - here).toBe(asked.filter((name) => name === 'bash').length);
          }
          expect(started).toBeLessThanOrEqual(max_total_per_run);
        },
      ),
    );
  });
});
