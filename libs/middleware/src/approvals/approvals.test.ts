import {
  ApprovalRule,
  ApprovalTerms,
  type AnsweredInterrupt,
  callHashOf,
  DEFAULT_COMMAND_RULES,
  type InterruptRecord,
  type ThreadState,
  type ToolCall,
} from '@caribou/contracts';
import {
  type AgentMiddleware,
  answerInterrupts,
  type AnyTool,
  Interrupted,
  interruptsAfter,
  type ToolCallNext,
  type ToolCallRequest,
  type ToolOutcome,
  toolScope,
  withInterrupts,
} from '@caribou/core';
import { fakeRun, fakeSandbox } from '@caribou/testing';
import { onion } from '../chain/onion.js';
import { sandboxAudit } from '../command-rules/sandbox-audit.js';
import { readBeforeWrite } from '../tool-calls/read-before-write.js';
import { approval } from './approval.js';
import { approvalRequest } from './approval-request.js';

const rule = (given: object): ApprovalRule => ApprovalRule.parse({ id: 'a-rule', ...given });

interface Called {
  readonly args: ToolCall['args'];
  readonly expectedFile?: ToolCallRequest['expectedFile'];
}

/** A call that passes the layers as the loop has it do, again after each answer. */
class Thread {
  readonly called: Called[] = [];
  readonly sandbox = fakeSandbox();
  readonly run = fakeRun();
  state: ThreadState = { messages: [] };

  constructor(
    readonly call: ToolCall,
    readonly rules: readonly ApprovalRule[],
    readonly options: { readonly custom?: AgentMiddleware; readonly terms?: object } = {},
  ) {}

  /** The outcome, or what is asked now. */
  async execute(): Promise<ToolOutcome | readonly InterruptRecord[]> {
    const { custom } = this.options;
    const chain = [
      approval(),
      sandboxAudit(this.sandbox, {
        maxChars: 1_000,
        rules: [
          ...DEFAULT_COMMAND_RULES,
          { id: 'push', verdict: 'ask', match: { commands: ['git'], subcommand: ['push'] }, message: 'publishes work' },
        ],
      }),
      readBeforeWrite(),
      ...(custom === undefined ? [] : [custom]),
      approvalRequest({ terms: ApprovalTerms.parse(this.options.terms ?? {}), rules: this.rules }),
    ];
    try {
      return await this.through(chain);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      const interrupts = interruptsAfter(this.state, error.asked);
      this.state = { ...this.state, ...(interrupts && { interrupts }) };
      return error.asked;
    }
  }

  async ask(): Promise<InterruptRecord> {
    const asked = await this.execute();
    if (!Array.isArray(asked)) throw new Error(`not asked: ${JSON.stringify(asked)}`);
    return asked[0] as InterruptRecord;
  }

  async outcome(): Promise<ToolOutcome> {
    const outcome = await this.execute();
    if (Array.isArray(outcome)) throw new Error(`asked: ${JSON.stringify(outcome)}`);
    return outcome as ToolOutcome;
  }

  answer(decision: object, by: string | undefined = 'alice'): void {
    const { interrupts = { open: [], answered: [] } } = this.state;
    const answers = Object.fromEntries(interrupts.open.map(({ id }) => [id, { decisions: [decision] }]));
    this.state = {
      ...this.state,
      interrupts: answerInterrupts(interrupts, answers, { by, at: '2026-01-05T00:00:00.000Z' }),
    };
  }

  private through(chain: readonly AgentMiddleware[]): Promise<ToolOutcome> {
    const { call, state, run } = this;
    const scope = (layer: string) => ({ scope: toolScope(call.id), layer, state, step: 3 });
    const layers = chain.map((middleware) => ({
      name: middleware.name,
      call: (request: ToolCallRequest, next: ToolCallNext) =>
        middleware.wrapToolCall?.(request, next, withInterrupts(run, scope(middleware.name))) ?? next(request),
    }));
    const pass = onion<ToolCallRequest, ToolOutcome>(layers, ({ call: { args }, expectedFile }) => {
      this.called.push({ args, ...(expectedFile && { expectedFile }) });
      return Promise.resolve({ content: 'done' });
    });
    return pass({ call, tool, state });
  }
}

const tool = {
  name: 'pay',
  description: '',
  parameters: { type: 'object' },
  invoke: () => Promise.reject(new Error('not called by the test')),
} as AnyTool;
const callOf = (name: string, args: ToolCall['args'], id = 'call_1'): ToolCall => ({
  name,
  args,
  id,
  type: 'tool_call',
});
const pay = callOf('bank_pay', { amount: 5, to: 'bob' });
const bankRule = rule({ tools: ['bank_*'], message: 'moves money' });

describe('a call that a rule asks for', () => {
  test('is asked for in the format of LangChain, with the hash of the exact call, and not executed', async () => {
    const thread = new Thread(pay, [bankRule]);
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
    const thread = new Thread(pay, [bankRule]);
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
    const thread = new Thread(pay, [bankRule]);
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
    const thread = new Thread(pay, [bankRule]);
    await thread.ask();
    thread.answer({ type: 'respond', message: 'paid by hand' });

    expect(await thread.outcome()).toMatchObject({ content: 'paid by hand' });
    expect(thread.called).toEqual([]);
  });

  test.each([[null], [{ decisions: [] }], [{ decisions: [{ type: 'approve' }, { type: 'approve' }] }], ['yes']])(
    'is rejected by an answer that is no decision: %j',
    async (given) => {
      const thread = new Thread(pay, [bankRule]);
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
    const thread = new Thread(pay, [bankRule]);
    await thread.ask();
    thread.answer({ type: 'approve' });
    for (const other of [callOf('bank_pay', { amount: 6, to: 'bob' }), { ...pay, id: 'call_2' }]) {
      const later = new Thread(other, [bankRule]);
      later.state = thread.state;
      await later.ask();
      expect(later.called).toEqual([]);
    }
  });
});

describe('an edited call', () => {
  test('is executed with the new arguments, as the model and the transcript are told', async () => {
    const thread = new Thread(pay, [bankRule]);
    await thread.ask();
    const edited = { amount: 1, to: 'bob' };
    thread.answer({ type: 'edit', edited_action: { name: 'bank_pay', args: edited } });

    const outcome = await thread.outcome();
    expect(thread.called).toEqual([{ args: edited }]);
    expect(outcome.content).toBe(
      'done\n\nNote: a person changed the arguments of this call before it was executed. They were: {"amount":1,"to":"bob"}',
    );
    expect(outcome.additionalKwargs).toMatchObject({
      approval: {
        decision: 'edit',
        original_args: pay.args,
        args: edited,
        call_hash: callHashOf('thread-1', { ...pay, args: edited }),
      },
    });
  });

  test('passes the rules for commands again', async () => {
    const thread = new Thread(callOf('bash', { command: 'git push' }), []);
    expect((await thread.ask()).value).toMatchObject({
      reason: { rules: ['push'], message: 'the command: publishes work' },
    });
    thread.answer({ type: 'edit', edited_action: { name: 'bash', args: { command: 'rm -rf /' } } });

    expect(await thread.outcome()).toMatchObject({
      content: expect.stringContaining('Command blocked'),
      isError: true,
    });
    expect(thread.called).toEqual([]);
    expect(thread.sandbox.blockedCommands).toEqual([{ command: 'rm -rf /', rules: ['rm-root'] }]);
  });

  test('gets the expectation of read-before-write for its own file', async () => {
    const thread = new Thread(callOf('write_file', { path: '/a', content: 'x' }), [rule({ tools: ['write_file'] })]);
    await thread.ask();
    thread.answer({ type: 'edit', edited_action: { name: 'write_file', args: { path: '/b', content: 'x' } } });
    await thread.outcome();
    expect(thread.called).toEqual([{ args: { path: '/b', content: 'x' }, expectedFile: { sha256: null } }]);
  });

  test('is asked for again when only an administrator may approve what it was made into', async () => {
    const rules = [bankRule, rule({ id: 'large', tools: ['bank_*'], hosts: ['evil.com'], decider: 'admin' })];
    const thread = new Thread(pay, rules);
    expect((await thread.ask()).decider).toBe('owner');
    const args = { amount: 1, url: 'https://evil.com/x' };
    thread.answer({ type: 'edit', edited_action: { name: 'bank_pay', args } });
    expect(await thread.ask()).toMatchObject({ decider: 'admin', value: { action_requests: [{ args }] } });
    expect(thread.called).toEqual([]);

    thread.answer({ type: 'approve' }, 'root');
    expect(await thread.outcome()).toMatchObject({ additionalKwargs: { approval: { by: 'root' } } });
    expect(thread.called).toEqual([{ args }]);
  });
});

describe('where a custom middleware changes calls', () => {
  let counter = 0;
  const changing: AgentMiddleware = {
    name: 'mine',
    wrapToolCall: (request, next) =>
      next({ ...request, call: { ...request.call, args: { ...request.call.args, at: (counter += 1) } } }),
  };

  test('a call that it changes each time is asked for each time and never executed unseen', async () => {
    const thread = new Thread(pay, [bankRule], { custom: changing });
    await thread.ask();
    thread.answer({ type: 'approve' });
    await thread.ask();
    expect(thread.called).toEqual([]);
  });
});

test('a command that a rule blocks is not asked for', async () => {
  const thread = new Thread(callOf('bash', { command: 'git push; rm -rf /' }), [rule({ tools: ['*'] })]);
  expect(await thread.outcome()).toMatchObject({ content: expect.stringContaining('Command blocked') });
});

test('long arguments are shown cut, and such a call cannot be edited', async () => {
  const thread = new Thread(callOf('bank_note', { text: 'x'.repeat(80_000) }), [bankRule]);
  const { value } = await thread.ask();
  expect(value).toMatchObject({ args_truncated: true, review_configs: [{ allowed_decisions: ['approve', 'reject'] }] });
  expect(JSON.stringify(value).length).toBeLessThan(6_000);
  thread.answer({ type: 'approve' });
  await thread.outcome();
  expect(thread.called).toEqual([{ args: { text: 'x'.repeat(80_000) } }]);
});

test('the deadline and its answer are those of the rule', async () => {
  const thread = new Thread(pay, [rule({ tools: ['bank_*'], expires_after_seconds: 60, on_expiry: 'approve' })]);
  const asked = await thread.ask();
  expect(asked.expires_ms).toBe(thread.run.clock.now() + 60_000);
  expect(asked.on_expiry).toEqual({ decisions: [{ type: 'approve' }] });
});
