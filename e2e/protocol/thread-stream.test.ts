import { randomUUID } from 'node:crypto';
import type { ThreadStream } from 'langgraph-sdk-1-15';
import { waitFor } from '@caribou/testing';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { taskLines, WITH_SUBAGENTS } from '../support/task-client.js';
import { heldAt, newGate } from '../sdk/calls.js';
import { TwoGateways } from './two-gateways.js';

/** An event of the protocol as the SDK gives it on. */
type Event = Parameters<Parameters<ThreadStream['onEvent']>[0]>[0];

jest.setTimeout(90_000);

let stack: Stack;
const open: ThreadStream[] = [];

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 2, pools: 1 });
});

afterEach(async () => {
  for (const thread of open.splice(0)) await thread.close();
});

afterAll(() => stack.stop());

const human = (content: string) => ({ messages: [{ type: 'human', content }] });

interface Values {
  readonly messages: readonly { readonly content: unknown }[];
}

const contentsOf = (values: unknown): unknown[] => (values as Values).messages.map(({ content }) => content);

/** Reads all texts of messages in the background. */
function readTexts(thread: ThreadStream): string[] {
  const texts: string[] = [];
  void (async () => {
    for await (const message of thread.messages) texts.push(await message.text);
  })();
  return texts;
}

/** Raw events of all channels as they arrive, each id once. */
function readEvents(thread: ThreadStream): Event[] {
  const events: Event[] = [];
  thread.onEvent((event) => events.push(event));
  return events;
}

/** The texts of the messages that deltas add up to, by the id of the message. */
function streamedTexts(events: readonly Event[]): string[] {
  const texts: string[] = [];
  for (const event of events) {
    if (event.method !== 'messages') continue;
    const { data } = event.params;
    if (data.event === 'message-start') texts.push('');
    if (data.event === 'content-block-delta' && data.delta.type === 'text-delta')
      texts.push((texts.pop() ?? '') + data.delta.text);
  }
  return texts;
}

const endsOf = (events: readonly Event[]): unknown[] =>
  events.flatMap((event) =>
    event.method === 'lifecycle' && event.params.namespace.length === 0 ? [event.params.data.event] : [],
  );

function expectOrdered(events: readonly Event[]): void {
  const ids = events.map(({ event_id: id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(events.every(({ seq }) => Number.isSafeInteger(seq))).toBe(true);
}

describe.each(['sse', 'websocket'] as const)('client.threads.stream() over %s', (transport) => {
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

  test('starts a run on a new thread and streams its messages, values, tool calls and end', async () => {
    const thread = connect(new TwoGateways(stack));
    const texts = readTexts(thread);
    const script = '#say Looking.\n#+tool bash {"description":"greet","command":"echo hi there"}\n#say It says hi.';

    const { run_id: runId } = await thread.run.start({ input: human(script) });

    expect(runId).toMatch(/^[0-9a-f-]{36}$/);
    expect(contentsOf(await thread.output)).toEqual([script, 'Looking.', 'hi there\n', 'It says hi.']);
    await waitFor(() => texts.length === 2, { what: 'both answers' });
    expect(texts).toEqual(['Looking.', 'It says hi.']);
    const calls = [];
    for await (const call of thread.toolCalls) {
      calls.push([call.name, call.input, await call.output]);
      break;
    }
    expect(calls).toEqual([['bash', { description: 'greet', command: 'echo hi there' }, 'hi there\n']]);
  });

  test('follows a run that another client starts by REST at another gateway', async () => {
    const gateways = new TwoGateways(stack);
    const { body } = await stack.client(1).call<{ thread_id: string }>('POST', '/threads', {});
    const thread = connect(gateways, body.thread_id);
    const events = readEvents(thread);
    const handle = await thread.subscribe({ channels: ['values', 'messages', 'lifecycle', 'checkpoints'] });
    await stack
      .client(1)
      .call('POST', `/threads/${body.thread_id}/runs`, { assistant_id: 'lead_agent', input: human('#say One two.') });

    await waitFor(() => endsOf(events).includes('completed'), { what: 'the end of the run' });

    expect(endsOf(events)).toEqual(['running', 'completed']);
    expect(streamedTexts(events)).toEqual(['One two.']);
    expectOrdered(events);
    const seqs = events.map(({ seq }) => seq ?? 0);
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
    await handle.unsubscribe();
  });

  test('gets everything once over two runs when its gateway is killed in the middle of the first', async () => {
    const gateways = new TwoGateways(stack);
    const thread = connect(gateways);
    const events = readEvents(thread);
    const gate = newGate();
    const script = `#hold ${gate} after 2\n#say One two three.`;
    await thread.run.start({ input: human(script) });
    await thread.subscribe({ channels: ['values', 'messages', 'lifecycle', 'checkpoints', 'updates', 'tasks'] });
    await waitFor(() => streamedTexts(events).join('') === 'One two', { what: 'the first words' });

    const killed = gateways.current;
    await gateways.killCurrent();
    stack.model.release(gate);
    await waitFor(() => endsOf(events).includes('completed'), { what: 'the end of the run' });
    await thread.run.start({ input: human('#say Four.') });
    await waitFor(() => endsOf(events).length === 4, { what: 'the end of the second run' });
    stack.gateways[killed] = await stack.start('gateway');

    expect(endsOf(events)).toEqual(['running', 'completed', 'running', 'completed']);
    expect(streamedTexts(events)).toEqual(['One two three.', 'Four.']);
    expectOrdered(events);
    const last = events.findLast(({ method }) => method === 'values');
    expect(contentsOf(last?.params.data)).toEqual([script, 'One two three.', '#say Four.', 'Four.']);
  });

  test('shows the answer of another runner when the one that streamed it is killed', async () => {
    const thread = connect(new TwoGateways(stack));
    const events = readEvents(thread);
    const gate = newGate();
    const script = `#hold ${gate} after 2\n#say One two three.`;
    await thread.run.start({ input: human(script) });
    await thread.subscribe({ channels: ['values', 'messages', 'lifecycle'] });
    await waitFor(() => streamedTexts(events).join('') === 'One two', { what: 'the first words' });

    await Promise.all(stack.runners.splice(0).map((runner) => runner.kill9()));
    stack.runners.push(await stack.start('agent-runner'), await stack.start('agent-runner'));
    await waitFor(() => endsOf(events).length === 2, { what: 'the second attempt' });
    await heldAt({ stack }, gate);
    stack.model.release(gate);
    await waitFor(() => endsOf(events).includes('completed'), { what: 'the end of the run' });

    expect(endsOf(events)).toEqual(['running', 'running', 'completed']);
    expect(streamedTexts(events)).toEqual(['One two', 'One two three.']);
    const discarded = events.filter(({ method, params }) => method === 'messages' && params.data.event === 'error');
    expect(discarded).toHaveLength(1);
    const last = events.findLast(({ method }) => method === 'values');
    expect(contentsOf(last?.params.data)).toEqual([script, 'One two three.']);
    expectOrdered(events);
  });

  test('shows subagents in namespaces of their own', async () => {
    const thread = connect(new TwoGateways(stack));
    const work = (name: string): string =>
      `${nonce()} ${name}\n#say Looking at ${name}.\n#+tool ls {}\n#say Result ${name}.`;
    const script = `${taskLines(work('a'), work('b'))}\n#say All done.`;
    const found: { name: string; output: unknown; texts: string[]; tools: string[] }[] = [];
    const reading = (async () => {
      for await (const subagent of thread.subagents) {
        const entry = {
          name: subagent.name,
          output: undefined as unknown,
          texts: [] as string[],
          tools: [] as string[],
        };
        found.push(entry);
        void (async () => {
          for await (const message of subagent.messages) entry.texts.push(await message.text);
        })();
        void (async () => {
          for await (const call of subagent.toolCalls) entry.tools.push(call.name);
        })();
        void subagent.output.then((output) => (entry.output = output));
      }
    })();

    await thread.run.start({ input: human(script), config: { configurable: WITH_SUBAGENTS['context'] as object } });
    await thread.output;
    await waitFor(() => found.length === 2 && found.every(({ texts }) => texts.length === 2), {
      what: 'both subagents',
    });
    await thread.close();
    await reading;

    expect(found.map(({ name }) => name)).toEqual(['general-purpose', 'general-purpose']);
    for (const [index, name] of ['a', 'b'].entries()) {
      const { texts, tools, output } = nth(found, index);
      expect(texts).toEqual([`Looking at ${name}.`, `Result ${name}.`]);
      expect(new Set(tools)).toEqual(new Set(['ls']));
      expect(JSON.stringify(output)).toContain(`Result ${name}.`);
    }
  });

  test('carries out the commands that read a thread, and forks it', async () => {
    const thread = connect(new TwoGateways(stack));
    await thread.run.start({ input: human('#say First.') });
    await thread.output;
    const { values, checkpoint } = (await thread.state.get({ namespace: [], keys: ['messages'] })) as {
      values: Values;
      checkpoint: { id: string };
    };
    expect(contentsOf(values)).toEqual(['#say First.', 'First.']);
    expect(Object.keys(values)).toEqual(['messages']);
    const { checkpoints } = await thread.state.listCheckpoints({ limit: 100 });
    expect(checkpoints[0]).toMatchObject({ id: checkpoint.id, step: expect.any(Number) });
    const { tree } = await thread.agent.getTree();
    expect(tree).toMatchObject({ namespace: [], status: 'completed', graph_name: 'lead_agent', children: [] });

    const input = checkpoints.find(({ metadata }) => metadata?.['source'] === 'input');
    const forked = await thread.state.fork({ checkpoint_id: input?.id ?? '', input: human('#say Second.') });
    expect(forked).toMatchObject({ run_id: expect.any(String), thread_id: thread.threadId });
    await waitFor(async () => contentsOf((await thread.state.get({ namespace: [] })).values).includes('Second.'), {
      what: 'the end of the forked run',
    });

    await expect(thread.state.fork({ checkpoint_id: randomUUID() })).rejects.toMatchObject({
      code: 'no_such_checkpoint',
    });
    await expect(thread.agent.getTree({ run_id: randomUUID() })).rejects.toMatchObject({ code: 'no_such_run' });
    await expect(thread.state.get({ namespace: ['tools:none'] })).rejects.toMatchObject({ code: 'no_such_namespace' });
  });

  test('a run that a killed gateway had started ends, and the next one starts at the other', async () => {
    const gateways = new TwoGateways(stack);
    const thread = connect(gateways);
    const gate = newGate();
    await thread.run.start({ input: human(`#hold ${gate}\n#say Late.`) });
    await heldAt({ stack }, gate);
    const killed = gateways.current;
    await gateways.killCurrent();
    stack.model.release(gate);
    expect(contentsOf(await thread.output).at(-1)).toBe('Late.');
    stack.gateways[killed] = await stack.start('gateway');
  });
});
