import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ThreadStream } from 'langgraph-sdk-1-15';
import { waitFor } from '@caribou/testing';
import { ASKING_CONFIG, effectsIn, writeAskingModule } from '../support/asking-tool.js';
import { nth, type Stack, startStack } from '../support/stack.js';
import { TwoGateways } from './two-gateways.js';

/** Runs that ask a person, by the commands and events of the streaming protocol. */

jest.setTimeout(120_000);

let stack: Stack;
const open: ThreadStream[] = [];

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 0, config: ASKING_CONFIG });
  await writeAskingModule(stack.homeDir);
  stack.runners.push(await stack.start('agent-runner'));
});
beforeEach(() => rm(join(stack.homeDir, 'effects'), { force: true }));
afterEach(async () => {
  for (const thread of open.splice(0)) await thread.close();
});
afterAll(() => stack.stop());

const script = (...calls: readonly string[]): string =>
  [...calls.map((what, index) => `${index === 0 ? '#tool' : '#+tool'} ask_first {"what":"${what}"}`), '#say bye'].join(
    '\n',
  );
const human = (content: string) => ({ messages: [{ type: 'human', content }] });

describe.each(['sse', 'websocket'] as const)('interrupts over %s', (transport) => {
  const connect = (gateways: TwoGateways, threadId: string = randomUUID()): ThreadStream => {
    const thread = gateways.client().threads.stream(threadId, {
      assistantId: 'lead_agent',
      transport,
      fetch: gateways.fetch,
      ...(transport === 'websocket' ? { webSocketFactory: gateways.openSocket } : {}),
    });
    open.push(thread);
    return thread;
  };

  /** Starts a run that asks; resolves with its questions. */
  async function ask(thread: ThreadStream, ...calls: readonly string[]) {
    await thread.run.start({ input: human(script(...calls)) });
    await waitFor(() => thread.interrupted && thread.interrupts.length === calls.length, { what: 'the questions' });
    return [...thread.interrupts];
  }

  const lastTextOf = async (thread: ThreadStream): Promise<string> => {
    const { values } = await thread.state.get({ namespace: [] });
    return String((values['messages'] as { content: unknown }[]).at(-1)?.content);
  };
  const saysBye = (thread: ThreadStream): Promise<unknown> =>
    waitFor(async () => (await lastTextOf(thread)) === 'bye', { what: 'the last answer' });

  test('a question is shown, answered at the other gateway after the first was killed, and then gone', async () => {
    const gateways = new TwoGateways(stack);
    const thread = connect(gateways);
    const methods: string[] = [];
    thread.onEvent(({ method }) => methods.push(method));
    const [question] = await ask(thread, 'paint');
    expect(question).toMatchObject({ payload: { question: 'May I paint?' }, namespace: [] });

    const killed = gateways.current;
    await gateways.killCurrent();
    await waitFor(
      () =>
        thread.input.respond({ namespace: [], interrupt_id: question?.interruptId ?? '', response: 'yes' }).then(
          () => true,
          () => false,
        ),
      { what: 'the answer to be taken' },
    );
    await saysBye(thread);
    stack.gateways[killed] = await stack.start('gateway');

    expect(await effectsIn(stack.homeDir)).toEqual(['paint']);
    await waitFor(() => methods.includes('input.answered'), { what: 'the answer to be shown' });
    expect(methods.filter((method) => method === 'input.requested')).toHaveLength(1);
    const again = thread.input.respond({ namespace: [], interrupt_id: question?.interruptId ?? '', response: 'yes' });
    await expect(again).rejects.toMatchObject({ code: 'no_such_interrupt' });
  });

  test('several questions are answered together, each in its way', async () => {
    const thread = connect(new TwoGateways(stack));
    const questions = await ask(thread, 'saw', 'drill');
    const idOf = (what: string): string =>
      questions.find(({ payload }) => JSON.stringify(payload).includes(what))?.interruptId ?? '';

    await thread.input.respond({
      responses: [
        { namespace: [], interrupt_id: idOf('saw'), response: 'yes' },
        { namespace: [], interrupt_id: idOf('drill'), response: 'no' },
      ],
    });
    await saysBye(thread);

    expect(await effectsIn(stack.homeDir)).toEqual(['saw']);
  });

  test('of several questions one is answered, and the other is asked again', async () => {
    const thread = connect(new TwoGateways(stack));
    const questions = await ask(thread, 'cut', 'bend');
    const [cut, bend] = ['cut', 'bend'].map((what) =>
      questions.find(({ payload }) => JSON.stringify(payload).includes(what)),
    );

    await thread.input.respond({ namespace: [], interrupt_id: cut?.interruptId ?? '', response: 'no' });
    await waitFor(() => thread.interrupted && thread.interrupts.length === 1, { what: 'the other question' });
    expect(nth(thread.interrupts, 0).interruptId).toBe(bend?.interruptId);
    await thread.input.respond({ namespace: [], interrupt_id: bend?.interruptId ?? '', response: 'yes' });
    await saysBye(thread);
    expect(await effectsIn(stack.homeDir)).toEqual(['bend']);
  });

  test('run.start on a thread that waits answers with its input', async () => {
    const thread = connect(new TwoGateways(stack));
    await ask(thread, 'glue');
    await thread.run.start({ input: 'no' });
    await saysBye(thread);
    expect(await effectsIn(stack.homeDir)).toEqual([]);
    const { values } = await thread.state.get({ namespace: [] });
    expect(JSON.stringify(values['messages'])).toContain('refused by a person');
  });

  test('a client that comes later sees the question of the last run', async () => {
    const first = connect(new TwoGateways(stack));
    const [question] = await ask(first, 'sand');
    const gateways = new TwoGateways(stack);
    gateways.current = 1;
    const second = connect(gateways, first.threadId);
    await second.subscribe({ channels: ['lifecycle', 'input'] });
    await waitFor(() => second.interrupts.length === 1, { what: 'the question' });
    expect(second.interrupts[0]).toEqual(question);
  });
});
