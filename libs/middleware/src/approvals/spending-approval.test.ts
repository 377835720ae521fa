import { ApprovalTerms, type AiMessage, type InterruptRecord, type ThreadState } from '@caribou/contracts';
import { answerInterrupts, applyUpdate, Interrupted, interruptsAfter } from '@caribou/core';
import { ai, fakeRun, humanMessage } from '@caribou/testing';
import { type HookName, runHooks } from '../chain/hooks.js';
import { type SpendingLimits, spendingApproval } from './spending-approval.js';

const pricing = { currency: 'EUR', input: 1_000, cachedInput: 0, cacheWrite: 0, output: 2_000, reasoning: 2_000 };
const limits = (over: Partial<SpendingLimits>): SpendingLimits => ({
  max_tokens: null,
  max_cost: null,
  terms: ApprovalTerms.parse({}),
  ...over,
});
const answer = (input: number, output: number): AiMessage => ({
  ...ai('x'),
  usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
});

class Turn {
  state: ThreadState = { messages: [humanMessage('go')] };

  constructor(private readonly given: SpendingLimits) {}

  async hook(hook: HookName, runId = '11111111-1111-4111-8111-111111111111') {
    const chain = [spendingApproval(this.given, { name: 'm', pricing })];
    const pass = await runHooks(chain, hook, { state: this.state, run: fakeRun({ runId }) });
    this.state = pass.state;
    return pass;
  }

  async model(message: AiMessage): Promise<void> {
    this.state = applyUpdate(this.state, { messages: [message] });
    await this.hook('afterModel');
  }

  /** What is asked before the next model call. */
  async asked(): Promise<InterruptRecord | undefined> {
    try {
      await this.hook('beforeModel');
      return undefined;
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      const interrupts = interruptsAfter(this.state, error.asked);
      this.state = { ...this.state, ...(interrupts && { interrupts }) };
      return error.asked[0];
    }
  }

  answer(decision: object): void {
    const { interrupts = { open: [], answered: [] } } = this.state;
    const answers = Object.fromEntries(interrupts.open.map(({ id }) => [id, { decisions: [decision] }]));
    this.state = { ...this.state, interrupts: answerInterrupts(interrupts, answers, { by: 'alice', at: '' }) };
  }
}

test('asks once a turn has used the tokens, and again after as many more, over the runs that continue it', async () => {
  const turn = new Turn(limits({ max_tokens: 100 }));
  await turn.hook('beforeAgent');
  await turn.model(answer(50, 49));
  expect(await turn.asked()).toBeUndefined();
  await turn.model(answer(1, 0));
  expect(await turn.asked()).toMatchObject({
    kind: 'approval',
    value: {
      action_requests: [{ name: 'continue_turn', args: { tokens: 100 } }],
      review_configs: [{ allowed_decisions: ['approve', 'reject'] }],
    },
  });
  turn.answer({ type: 'approve' });
  expect((await turn.hook('beforeModel', '22222222-2222-4222-8222-222222222222')).ended).toBe(false);
  const { interrupts: _used, ...after } = turn.state;
  turn.state = after;
  expect(await turn.asked()).toBeUndefined();
  await turn.model(answer(100, 0));
  expect(await turn.asked()).toMatchObject({ value: { reason: { message: 'this turn has used 200 tokens' } } });
});

test('a rejection ends the turn with a visible message, without another model call', async () => {
  const turn = new Turn(limits({ max_cost: 0.1 }));
  await turn.hook('beforeAgent');
  await turn.model(answer(100, 0));
  expect(await turn.asked()).toMatchObject({ value: { reason: { message: 'this turn has cost 0.1000 EUR' } } });
  turn.answer({ type: 'reject', message: 'enough' });
  expect(await turn.hook('beforeModel')).toMatchObject({ ended: true, stopReason: 'spending_rejected' });
  expect(turn.state.messages.at(-1)?.content).toContain('The reason: enough');
});

test('a new turn begins at nothing', async () => {
  const turn = new Turn(limits({ max_tokens: 100 }));
  await turn.hook('beforeAgent');
  await turn.model(answer(100, 0));
  turn.state = applyUpdate(turn.state, { messages: [humanMessage('again')] });
  await turn.hook('beforeAgent');
  expect(await turn.asked()).toBeUndefined();
});
