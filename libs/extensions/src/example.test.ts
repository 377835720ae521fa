import { runAgent } from '@caribou/agent';
import { textOf, type ThreadState } from '@caribou/contracts';
import { leadChain } from '@caribou/middleware';
import { fakeHost, fakeRun, fakeSandbox, humanMessage, type ScriptedAnswer, scriptedModel } from '@caribou/testing';
import { wordBudget } from '../../../examples/custom-middleware/word-budget.mjs';
import { loadExtensions } from './load-extensions.js';

const load = () => Promise.resolve({ wordBudget });

/** A run of the lead chain with the example in it. */
async function played(script: readonly ScriptedAnswer[], state: ThreadState = { messages: [humanMessage('hi')] }) {
  const middlewares = [{ use: '/x.mjs#wordBudget', options: { words: 5 } }];
  const { middlewares: custom } = await loadExtensions({ middlewares, tools: [] }, { load, reserved: new Set() });
  const model = scriptedModel(script);
  const run = fakeRun();
  const outcome = await runAgent({
    chain: leadChain({ sandbox: fakeSandbox(), model }, { custom }),
    tools: [],
    model,
    systemPrompt: 'be good',
    options: { maxTurns: 5 },
    host: fakeHost({ state }),
    run,
    state,
    step: 0,
    position: 'start',
  });
  if (outcome.kind === 'yielded') throw new Error('yielded');
  const published = run.events.flatMap((event) => (event.kind === 'custom' ? [event.data] : []));
  return { outcome, model, published, state: outcome.last.state };
}

describe('the example of a custom middleware', () => {
  test('it counts the words of answers, publishes events, and adds to each request how many are left', async () => {
    const { state, model, published } = await played([
      { content: 'one two', calls: [{ name: 'words_left' }] },
      { content: 'three' },
    ]);

    expect(state.extensions).toEqual({ 'word-budget': { used: 3 } });
    expect(published).toEqual([
      { type: 'word_budget', used: 2, budget: 5 },
      { type: 'word_budget', used: 3, budget: 5 },
    ]);
    expect(model.calls.map(({ system }) => /more words|may write \d+/.exec(system)?.[0])).toEqual([
      'may write 5',
      'may write 3',
    ]);
    expect(model.calls[0]?.tools.map(({ name }) => name)).toEqual(['words_left']);
    expect(state.messages.flatMap((message) => (message.type === 'tool' ? [message.content] : []))).toEqual([
      '3 of 5 words are left.',
    ]);
  });

  test('a run that begins with the budget used up ends with a message and without a model call', async () => {
    const first = await played([{ content: 'one two three four five six' }]);
    const second = await played([], {
      ...first.state,
      messages: [...first.state.messages, humanMessage('more')],
    });

    expect(second.model.calls).toEqual([]);
    expect(second.outcome).toMatchObject({ kind: 'finished', stopReason: 'word_budget' });
    expect(textOf(second.state.messages.at(-1)?.content ?? '')).toMatch(/^The budget of 5 words .* is used up/);
  });

  test('unknown options stop the start of the service', async () => {
    const middlewares = [{ use: '/x.mjs#wordBudget', options: { word: 5 } }];
    const loading = loadExtensions({ middlewares, tools: [] }, { load, reserved: new Set() });

    await expect(loading).rejects.toThrow(/extensions\.middlewares\[0\] \(\/x\.mjs#wordBudget\): .*word/);
  });
});
