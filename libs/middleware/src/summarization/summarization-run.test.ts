import { runAgent } from '@caribou/agent';
import { textOf, type ThreadState } from '@caribou/contracts';
import { type LoopOutcome, RunCancelled, RunLost, type TurnCommit } from '@caribou/core';
import {
  type FakeHost,
  fakeHost,
  type FakeRun,
  fakeRun,
  type ScriptedModel,
  scriptedModel,
  transcriptFaults,
} from '@caribou/testing';
import { danglingToolCall } from '../model-calls/dangling-tool-call.js';
import { summarization } from './summarization.js';
import { talk } from '../testing/sample-talk.js';

const usage = { input_tokens: 30, output_tokens: 5, total_tokens: 35 };
const small = (
  answer: Parameters<typeof scriptedModel>[0][number] = { content: 'They met.', usage },
): ScriptedModel => ({
  ...scriptedModel([answer]),
  name: 'small',
});

interface Attempt {
  readonly own: ScriptedModel;
  readonly summaryModel: ScriptedModel;
  readonly host: FakeHost;
  readonly run?: FakeRun;
}

/** Goes on from the host's head; the lead's own model answers `done`. */
async function attempt({ own, summaryModel, host, run = fakeRun() }: Attempt): Promise<LoopOutcome | 'died'> {
  const options = {
    enabled: true,
    trigger: { type: 'messages', value: 5 },
    keep: { type: 'messages', value: 2 },
  } as const;
  const { state, next, step } = host.head;
  try {
    return await runAgent({
      chain: [danglingToolCall(), summarization(options, { model: () => own, summaryModel })],
      tools: [],
      model: own,
      systemPrompt: '',
      options: { maxTurns: 5 },
      host,
      run,
      state,
      step,
      position: step === 0 ? 'start' : (next[0] ?? 'end'),
    });
  } catch (error) {
    if (error instanceof RunLost) return 'died';
    throw error;
  }
}

const start: ThreadState = { messages: [...talk] };
const brief = (outcome: LoopOutcome | 'died'): readonly string[] =>
  outcome === 'died' || outcome.kind === 'yielded'
    ? []
    : [outcome.last.state.summary_text ?? '', ...outcome.last.state.messages.map(({ content }) => textOf(content))];
/** A host that continues where another one stopped. */
const after = ({ head }: FakeHost): FakeHost => {
  const host = fakeHost({ state: head.state });
  return Object.defineProperty(host, 'head', { get: () => host.commits.at(-1) ?? head });
};

describe('a summary in a run', () => {
  test('is committed before the model is called, which is shown it; its cost rides with that commit', async () => {
    const [own, summaryModel, host, run] = [scriptedModel([]), small(), fakeHost({ state: start }), fakeRun()];

    const outcome = await attempt({ own, summaryModel, host, run });

    expect(brief(outcome)).toEqual(['They met.', 'a2', 'h3', 'done']);
    expect(host.commits).toHaveLength(1);
    expect(host.commits[0]).toMatchObject({
      next: ['model_request'],
      state: { summary_text: 'They met.' },
      usage: { calls: [{ caller: 'middleware', model: 'small' }] },
    });
    expect(host.commits[0]?.state.messages[0]).toBe(talk[3]);
    expect(own.calls[0]?.messages.map(({ content }) => textOf(content))).toEqual([
      expect.stringContaining('They met.'),
      'a2',
      'h3',
    ]);
    expect(transcriptFaults(own.calls[0]?.messages ?? [])).toEqual([]);
    expect(JSON.stringify(run.events)).not.toContain('They met.');
  });

  test('is made again when the runner died before the commit, and nothing is lost', async () => {
    const [own, summaryModel] = [scriptedModel([]), small()];
    const host = fakeHost({ state: start, dieAt: { commit: 1, written: false } });

    expect(await attempt({ own, summaryModel, host })).toBe('died');
    expect(host.head.state).toBe(start);
    const outcome = await attempt({ own, summaryModel, host: after(host) });

    expect(summaryModel.calls).toHaveLength(2);
    expect(brief(outcome)).toEqual(['They met.', 'a2', 'h3', 'done']);
  });

  test('is made again when the runner was lost while the model wrote it', async () => {
    const run = fakeRun();
    const held = small({ content: 'They', holdBefore: { delta: 1, until: new Promise(() => undefined) } });
    const [own, host] = [scriptedModel([]), fakeHost({ state: start })];

    const lost = attempt({ own, summaryModel: held, host, run });
    run.abort(new RunLost('killed by the test'));

    expect(await lost).toBe('died');
    expect([host.commits, own.calls]).toEqual([[], []]);
    const outcome = await attempt({ own, summaryModel: small(), host });
    expect(brief(outcome)).toEqual(['They met.', 'a2', 'h3', 'done']);
  });

  test('is made once when the runner died right after the commit, and the run continues with it', async () => {
    const [own, summaryModel] = [scriptedModel([]), small()];
    const host = fakeHost({ state: start, dieAt: { commit: 1, written: true } });

    expect(await attempt({ own, summaryModel, host })).toBe('died');
    expect(own.calls).toEqual([]);
    const outcome = await attempt({ own, summaryModel, host: after(host) });

    expect(summaryModel.calls).toHaveLength(1);
    expect(brief(outcome)).toEqual(['They met.', 'a2', 'h3', 'done']);
  });

  test('is stored when the run is cancelled at its commit, and nothing is published after that', async () => {
    const [own, run, reason] = [scriptedModel([]), fakeRun(), new RunCancelled('interrupt')];
    const host = fakeHost({ state: start });
    const cancelling: FakeHost = Object.create(host, {
      commit: {
        value: async (turn: TurnCommit) => {
          const asked = await host.commit(turn);
          run.abort(reason);
          return asked;
        },
      },
    });

    await expect(attempt({ own, summaryModel: small(), host: cancelling, run })).rejects.toBe(reason);

    expect(host.head.state.summary_text).toBe('They met.');
    expect([own.calls, run.events]).toEqual([[], []]);
  });
});
