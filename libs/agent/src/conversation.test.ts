import type { NextNode, ThreadState } from '@caribou/contracts';
import { applyUpdate, type LoopPosition, RunCancelled, RunLost } from '@caribou/core';
import { type ChainOptions, leadChain } from '@caribou/middleware';
import {
  type FakeHost,
  fakeHost,
  fakeRun,
  type FakeSandbox,
  fakeSandbox,
  humanMessage,
  modelFailure,
  type ScriptedAnswer,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import { leadTools } from '@caribou/tools';
import fc from 'fast-check';
import { runAgent } from './run-agent.js';

/** Writes every summary, in the same words. */
const summarizer = scriptedModel([{ content: 'They talked.' }]);

/** Limits so low that every guard of the chain has something to do in a short conversation. */
const STRICT: ChainOptions = {
  planMode: true,
  subagents: true,
  models: { names: ['summarizer'], get: () => summarizer },
  config: {
    subagents: { max_concurrent: 1, max_total_per_run: 2 },
    loop_detection: { enabled: true, warn_threshold: 2, hard_limit: 3, window_size: 6 },
    token_budget: { enabled: true, max_tokens: 900, warn_threshold: 0.4 },
    summarization: {
      enabled: true,
      trigger: { type: 'messages', value: 8 },
      keep: { type: 'messages', value: 3 },
      model_name: 'summarizer',
    },
  },
};

/** How an attempt of a run may end before its time. */
type Cut =
  | { readonly kind: 'cancel' | 'yield'; readonly commit: number }
  | { readonly kind: 'death'; readonly commit: number; readonly written: boolean };

const call = fc.oneof(
  fc.record({ name: fc.constant('bash'), args: fc.record({ command: fc.constantFrom('echo 1', 'echo 2') }) }),
  fc.record({ name: fc.constantFrom('teleport', 'write_todos', 'task', 'ask_clarification'), args: fc.constant({}) }),
  fc.record({ name: fc.constant('bash'), args: fc.constant('{"comm') }),
);
const answer: fc.Arbitrary<ScriptedAnswer> = fc.record(
  {
    content: fc.constantFrom('', 'Working on it.', 'Done.'),
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    usage: fc.constant({ input_tokens: 100, output_tokens: 10, total_tokens: 110 }),
  },
  { requiredKeys: ['content', 'calls'] },
);
const step = fc.oneof(
  { weight: 8, arbitrary: answer },
  { weight: 1, arbitrary: answer.map((whole): ScriptedAnswer => ({ ...whole, calls: [] })) },
  { weight: 1, arbitrary: answer.map((whole): ScriptedAnswer => ({ ...whole, cutAfter: 1 })) },
  { weight: 1, arbitrary: answer.map((whole): ScriptedAnswer => ({ ...whole, cutAfter: 1, error: CUT })) },
);
const CUT = modelFailure({ reason: 'connection' });
const cut: fc.Arbitrary<Cut> = fc.oneof(
  fc.record({ kind: fc.constantFrom('cancel', 'yield'), commit: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('death'), commit: fc.integer({ min: 1, max: 4 }), written: fc.boolean() }),
);
const run = fc.record({ script: fc.array(step, { maxLength: 4 }), cuts: fc.array(cut, { maxLength: 3 }) });
type Run = { readonly script: readonly ScriptedAnswer[]; readonly cuts: readonly Cut[] };

/** Four answers with two tool calls each, twice over: enough messages to be summarized, whatever else is generated. */
const LONG: readonly Run[] = Array.from({ length: 2 }, (_, at) => ({
  script: Array.from({ length: 4 }, (__, turn) => ({
    content: 'Working on it.',
    calls: ['echo 1', 'echo 2'].map((command) => ({ name: 'bash', args: { command: `${command} ${at} ${turn}` } })),
  })),
  cuts: [],
}));

/** A thread on which one run follows another; every request that a model got is kept. */
class Conversation {
  state: ThreadState = { messages: [] };
  readonly faults: string[] = [];
  private next: readonly NextNode[] = [];
  private readonly sandbox: FakeSandbox = fakeSandbox();

  /** A message of a person, and the run that answers it, through all its attempts. */
  async take({ script, cuts }: Run, number: number): Promise<void> {
    this.state = applyUpdate(this.state, { messages: [humanMessage(`words ${number}`, `h${number}`)] });
    let position: LoopPosition = 'start';
    for (let attempt = 1; ; attempt += 1) {
      if (await this.attempt(script, { runId: `run-${number}`, attempt, position, cut: cuts[attempt - 1] })) return;
      position = this.next[0] ?? 'start';
    }
  }

  /** Answers whether the run is over. */
  private async attempt(
    script: readonly ScriptedAnswer[],
    at: {
      readonly runId: string;
      readonly attempt: number;
      readonly position: LoopPosition;
      readonly cut: Cut | undefined;
    },
  ): Promise<boolean> {
    const said = this.state.messages.filter(({ type }) => type === 'ai').length;
    const model = scriptedModel([...Array.from({ length: said }, () => ({})), ...script]);
    const context = fakeRun({ runId: at.runId, attempt: at.attempt });
    const host = this.hostFor(at.cut, () => context.abort(new RunCancelled('interrupt')));
    const before = this.state;
    try {
      const outcome = await runAgent({
        chain: leadChain({ sandbox: this.sandbox, model }, STRICT),
        tools: leadTools({ sandbox: this.sandbox }),
        model,
        systemPrompt: '',
        options: { maxTurns: 12 },
        host,
        run: context,
        state: before,
        step: 0,
        position: at.position,
      });
      this.keep(host);
      if (outcome.kind === 'yielded') return false;
      this.state = outcome.last.state;
      return true;
    } catch (error) {
      this.keep(host);
      if (error instanceof RunCancelled) return true;
      if (error instanceof RunLost) return false;
      throw error;
    } finally {
      this.faults.push(...model.calls.flatMap(({ messages }) => transcriptFaults(messages)));
    }
  }

  private hostFor(end: Cut | undefined, cancel: () => void): FakeHost {
    if (end?.kind === 'death') return fakeHost({ state: this.state, dieAt: end });
    if (end?.kind === 'yield') return fakeHost({ state: this.state, yieldAt: end.commit });
    const host = fakeHost({ state: this.state });
    if (end === undefined) return host;
    return Object.assign(Object.create(host) as FakeHost, {
      commit: async (turn: Parameters<FakeHost['commit']>[0]) => {
        const kept = await host.commit(turn);
        if (host.commits.length === end.commit) cancel();
        return kept;
      },
    });
  }

  private keep(host: FakeHost): void {
    if (host.commits.length === 0) return;
    this.state = host.head.state;
    this.next = host.head.next;
  }
}

describe('a conversation', () => {
  let summarized = 0;

  test('of runs that are cancelled, cut, handed over and killed never shows a model what a strict provider refuses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), async (runs) => {
        const conversation = new Conversation();
        for (const [index, one] of runs.entries()) await conversation.take(one, index);

        expect(conversation.faults).toEqual([]);
        const ids = conversation.state.messages.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        // Older words of the person may be in the summary; the latest stand as they were said.
        expect(ids).toContain(`h${runs.length - 1}`);
        summarized += conversation.state.summary_text === undefined ? 0 : 1;
      }),
      { numRuns: 120, examples: [[LONG]] },
    );
    expect(summarized).toBeGreaterThan(0);
  });
});
