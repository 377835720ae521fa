import {
  ApprovalRule,
  ApprovalTerms,
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
import { approval } from '../approvals/approval.js';
import { approvalRequest } from '../approvals/approval-request.js';
import { onion } from '../chain/onion.js';
import { sandboxAudit } from '../command-rules/sandbox-audit.js';
import { readBeforeWrite } from '../tool-calls/read-before-write.js';

export const rule = (given: object): ApprovalRule => ApprovalRule.parse({ id: 'a-rule', ...given });

interface Called {
  readonly args: ToolCall['args'];
  readonly expectedFile?: ToolCallRequest['expectedFile'];
}

/** A call that passes the layers as the loop has it do, again after each answer. */
export class AskingThread {
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
export const callOf = (name: string, args: ToolCall['args'], id = 'call_1'): ToolCall => ({
  name,
  args,
  id,
  type: 'tool_call',
});
export const pay = callOf('bank_pay', { amount: 5, to: 'bob' });
export const bankRule = rule({ tools: ['bank_*'], message: 'moves money' });
