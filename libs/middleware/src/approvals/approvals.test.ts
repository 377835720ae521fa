import { type AnsweredInterrupt, callHashOf } from '@caribou/contracts';
import { AskingThread, bankRule, callOf, pay, rule } from '../testing/asking-thread.js';

describe('a call that a rule asks for', () => {
  test('is asked for in the format of LangChain, with the hash of the exact call, and not executed', async () => {
    const thread = new AskingThread(pay, [bankRule]);
    const asked = await thread.ask();

    expect(asked).toMatchObject({ kind: 'approval', decider: 'owner', scope: 'tool:call_1' });
    expect(asked.value).toEqual({
      action_requests: [
        { name: 'bank_pay', args: pay.args, description: 'The agent asks to call bank_pay: moves money' },
      ],
      review_configs: [
        {
          action_name: 'bank_pay',
          allowed_decisions: ['approve', 'edit', 'reject'],
          args_schema: { type: 'object' },
        },
      ],
      call_hash: callHashOf('thread-1', pay),
      tool_call_id: 'call_1',
      reason: { rules: ['a-rule'], message: 'moves money' },
    });
    expect(asked).not.toHaveProperty('expires_ms');
    expect((await thread.ask()).id).toBe(asked.id);
    expect(thread.called).toEqual([]);
  });

  test('is executed as it is when approved, and the transcript says who approved it', async () => {
    const thread = new AskingThread(pay, [bankRule]);
    const { id } = await thread.ask();
    thread.answer({ type: 'approve' });

    expect(await thread.outcome()).toEqual({
      content: 'done',
      additionalKwargs: {
        approval: {
          decision: 'approve',
          by: 'alice',
          at: '2026-01-05T00:00:00.000Z',
          interrupt_id: id,
          call_hash: callHashOf('thread-1', pay),
        },
      },
    });
    expect(thread.called).toEqual([{ args: pay.args }]);
  });

  test('is never executed when rejected; the model reads why', async () => {
    const thread = new AskingThread(pay, [bankRule]);
    await thread.ask();
    thread.answer({ type: 'reject', message: 'too much' });

    expect(await thread.outcome()).toMatchObject({
      content: expect.stringContaining('A person rejected the call. The reason: too much'),
      isError: true,
      additionalKwargs: { approval: { decision: 'reject', by: 'alice' } },
    });
    expect(thread.called).toEqual([]);
  });

  test('is answered by the person in place of the tool', async () => {
    const thread = new AskingThread(pay, [bankRule]);
    await thread.ask();
    thread.answer({ type: 'respond', message: 'paid by hand' });

    expect(await thread.outcome()).toMatchObject({ content: 'paid by hand' });
    expect(thread.called).toEqual([]);
  });

  test.each([[null], [{ decisions: [] }], [{ decisions: [{ type: 'approve' }, { type: 'approve' }] }], ['yes']])(
    'is rejected by an answer that is no decision: %j',
    async (given) => {
      const thread = new AskingThread(pay, [bankRule]);
      await thread.ask();
      const { interrupts } = thread.state;
      const answered = (interrupts?.open ?? []).map(
        (open): AnsweredInterrupt => ({ ...open, answer: given, answered_at: '' }),
      );
      thread.state = { messages: [], interrupts: { open: [], answered } };

      expect(await thread.outcome()).toMatchObject({ isError: true });
      expect(thread.called).toEqual([]);
    },
  );

  test('an approval is for its own call: one with other arguments or another id is asked for again', async () => {
    const thread = new AskingThread(pay, [bankRule]);
    await thread.ask();
    thread.answer({ type: 'approve' });
    for (const other of [callOf('bank_pay', { amount: 6, to: 'bob' }), { ...pay, id: 'call_2' }]) {
      const later = new AskingThread(other, [bankRule]);
      later.state = thread.state;
      await later.ask();
      expect(later.called).toEqual([]);
    }
  });
});

test('a command that a rule blocks is not asked for', async () => {
  const thread = new AskingThread(callOf('bash', { command: 'git push; rm -rf /' }), [rule({ tools: ['*'] })]);
  expect(await thread.outcome()).toMatchObject({ content: expect.stringContaining('Command blocked') });
});

test('long arguments are shown cut, and such a call cannot be edited', async () => {
  const thread = new AskingThread(callOf('bank_note', { text: 'x'.repeat(80_000) }), [bankRule]);
  const { value } = await thread.ask();
  expect(value).toMatchObject({ args_truncated: true, review_configs: [{ allowed_decisions: ['approve', 'reject'] }] });
  expect(JSON.stringify(value).length).toBeLessThan(6_000);
  thread.answer({ type: 'approve' });
  await thread.outcome();
  expect(thread.called).toEqual([{ args: { text: 'x'.repeat(80_000) } }]);
});

test('the deadline and its answer are those of the rule', async () => {
  const thread = new AskingThread(pay, [rule({ tools: ['bank_*'], expires_after_seconds: 60, on_expiry: 'approve' })]);
  const asked = await thread.ask();
  expect(asked.expires_ms).toBe(thread.run.clock.now() + 60_000);
  expect(asked.on_expiry).toEqual({ decisions: [{ type: 'approve' }] });
});
