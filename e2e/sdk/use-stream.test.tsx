/**
 * jsdom's objects are watched by their own registry: jest's marking of left-over globals would only warn about it.
 *
 * @jest-environment-options {"globalsCleanup": "off"}
 */
import { page } from './page-window.js';
import { cleanup, fireEvent, render, screen, waitFor as waitForPage } from '@testing-library/react';
import { randomUUID } from 'node:crypto';
import { type ApiClient, type WireMessage } from '../support/client.js';
import { type Stack, startStack } from '../support/stack.js';
import { newGate } from './calls.js';
import { type ChatMessage, ChatPage, type ChatPageProps, HOOK_LINES, type HookLine } from './chat-page.js';
import { deerFlowOptions, deerFlowSubmit } from './deer-flow-page.js';
import { PageNetwork } from './page-network.js';
import type { Json } from './sdk-client.js';

let stack: Stack;
let api: ApiClient;
let network: PageNetwork;
let complaints: jest.SpyInstance;

beforeAll(async () => {
  stack = await startStack();
  api = stack.client();
  // Streams change the page whenever they like, as in a browser; the library's own calls still run inside act().
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: false });
});

afterAll(() => stack.stop());

beforeEach(() => {
  network = new PageNetwork();
  page.window.sessionStorage.clear();
  complaints = jest.spyOn(console, 'error').mockImplementation(() => undefined);
});

/** The hook logs the errors that it passes to the page, and React logs warnings. */
afterEach(async () => {
  cleanup();
  await network.settled();
  const inWords = complaints.mock.calls.filter(([first]) => typeof first === 'string');
  complaints.mockRestore();
  expect(inWords).toEqual([]);
});

function open({ useStream }: HookLine, options: Json = {}, more: Partial<ChatPageProps> = {}) {
  const wired = { apiUrl: api.base, callerOptions: { fetch: network.fetch, maxRetries: 0 }, ...options };
  const learnt: string[] = [];
  const view = render(
    <ChatPage useStream={useStream} options={wired} onThreadId={(id) => learnt.push(id)} {...more} />,
  );
  return { view, threadId: () => learnt.at(-1) ?? '' };
}

function send(text: string): void {
  fireEvent.change(screen.getByLabelText('message'), { target: { value: text } });
  fireEvent.click(screen.getByText('Send'));
}

const items = (): HTMLElement[] => screen.queryAllByRole('listitem');
const texts = (): (string | null)[] => items().map(({ textContent }) => textContent);
const status = (): string | null => screen.getByRole('status').textContent;
const eventually = (check: () => void): Promise<void> => waitForPage(check, { timeout: 20_000 });
const shows = (expected: readonly string[]): Promise<void> => eventually(() => expect(texts()).toEqual(expected));
const settles = (): Promise<void> => eventually(() => expect(status()).toBe('ready'));

async function stateOf(threadId: string): Promise<{ messages: WireMessage[]; title: string }> {
  const { body } = await api.call<{ values: { messages: WireMessage[]; title: string } }>(
    'GET',
    `/threads/${threadId}/state`,
  );
  return body.values;
}

/** Newest first. */
async function statusesOfRuns(threadId: string): Promise<string[]> {
  const { body } = await api.call<{ status: string }[]>('GET', `/threads/${threadId}/runs`);
  return body.map(({ status: of }) => of);
}

describe.each(HOOK_LINES)('useStream of @langchain/langgraph-sdk $version', (line) => {
  test('shows an answer while it is written, and then the state under the same ids', async () => {
    const { threadId } = open(line);
    const gate = newGate();
    const script = `#hold ${gate} after 2\n#say One two three.`;
    expect(status()).toBe('ready');

    send(script);
    await shows([script, 'One two']);
    expect(status()).toBe('working');
    stack.model.release(gate);
    await shows([script, 'One two three.']);
    await settles();

    expect(threadId()).toMatch(/^[0-9a-f-]{36}$/);
    const { messages, title } = await stateOf(threadId());
    expect(items().map(({ dataset }) => [dataset['type'], dataset['id']])).toEqual(
      messages.map(({ type, id }) => [type, id]),
    );
    expect(screen.getByRole('heading').textContent).toBe(title);
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('shows a message that joins the run by another request, and what the agent answers to it', async () => {
    const { threadId } = open(line);
    const gate = newGate();
    const script = `#hold ${gate} after 2\n#say One two three.`;
    send(script);
    await shows([script, 'One two']);

    // The hook itself holds a second submit back until its stream has ended.
    const input = { messages: [{ type: 'human', content: '#say Four.' }] };
    const body = { assistant_id: 'lead_agent', input, multitask_strategy: 'steer' };
    expect((await api.call('POST', `/threads/${threadId()}/runs`, body)).status).toBe(200);
    stack.model.release(gate);

    await settled([script, 'One two three.', '#say Four.', 'Four.']);
    expect(await statusesOfRuns(threadId())).toEqual(['success']);
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('shows a tool call and its result', async () => {
    open(line);
    const script =
      '#say Looking.\n#+tool bash {"description":"greet","command":"echo hi there"}\n#say It says hi there.';

    send(script);
    await settled([script, 'Looking. [bash]', 'hi there\n', 'It says hi there.']);

    expect(items().map(({ dataset }) => dataset['type'])).toEqual(['human', 'ai', 'tool', 'ai']);
  });

  test('continues the thread when fetchStateHistory sends the head', async () => {
    const { threadId } = open(line, { fetchStateHistory: true });

    send('#say First.');
    await settled(['#say First.', 'First.']);
    const head = await api.call<{ checkpoint: { checkpoint_id: string } }>('GET', `/threads/${threadId()}/state`);
    send('#say Second.');
    await settled(['#say First.', 'First.', '#say Second.', 'Second.']);

    const [, second] = network.bodies(/runs\/stream$/);
    if (line.version === '1.6.0') {
      expect(second?.['checkpoint']).toMatchObject({ checkpoint_id: head.body.checkpoint.checkpoint_id });
    }
    expect((await stateOf(threadId())).messages).toHaveLength(4);
  });

  test('keeps a rename that another page made between two turns', async () => {
    const { threadId } = open(line, { fetchStateHistory: { limit: 1 } });
    send('#say First.');
    await settled(['#say First.', 'First.']);

    await api.call('POST', `/threads/${threadId()}/state`, { values: { title: 'New name' } });
    send('#say Second.');
    await settled(['#say First.', 'First.', '#say Second.', 'Second.']);

    expect(await stateOf(threadId())).toMatchObject({ title: 'New name' });
  });

  test.each([true, false])(
    'stop() ends the run, reconnectOnMount %s, and the next message is answered at once',
    async (reconnectOnMount) => {
      const { threadId } = open(line, { reconnectOnMount, fetchStateHistory: true });
      const gate = newGate();
      send(`#hold ${gate} after 2\n#say One two three.`);
      await eventually(() => expect(texts()).toContain('One two'));

      fireEvent.click(screen.getByText('Stop'));
      await settles();
      // Without a cancel request the server learns of the stop from the closed connection alone.
      if (!reconnectOnMount) await waitForRun(threadId(), 'interrupted');
      send('#say After the stop.');
      await eventually(() => expect(texts().at(-1)).toBe('After the stop.'));
      await settles();

      expect(screen.queryByRole('alert')).toBeNull();
      expect(network.sent.some(({ path }) => path.includes('/cancel'))).toBe(reconnectOnMount);
      expect(await statusesOfRuns(threadId())).toEqual(['success', 'interrupted']);
    },
  );

  test('shows the error of a run that failed', async () => {
    const { threadId } = open(line);

    send('#error 400 nope');
    await eventually(() => expect(screen.getByRole('alert').textContent).not.toBe(''));
    await settles();

    expect(await statusesOfRuns(threadId())).toEqual(['error']);
  });

  test('shows a refusal as an error', async () => {
    open(line, { assistantId: 'nobody' });

    send('#say x');
    await eventually(() => expect(screen.getByRole('alert').textContent).toMatch(/404/));
    expect(status()).toBe('ready');
  });

  test('a reload in the middle of an answer rejoins it and shows all of it once', async () => {
    const first = open(line, { reconnectOnMount: true });
    const gate = newGate();
    const script = `#hold ${gate} after 2\n#say One two three.`;
    send(script);
    await shows([script, 'One two']);
    const threadId = first.threadId();
    network.leave();
    first.view.unmount();

    network = new PageNetwork();
    open(line, { reconnectOnMount: true }, { threadId });
    await shows([script, 'One two']);
    expect(status()).toBe('working');
    stack.model.release(gate);
    await settled([script, 'One two three.']);

    expect((await stateOf(threadId)).messages).toHaveLength(2);
    expect(page.window.sessionStorage.getItem(`lg:stream:${threadId}`)).toBeNull();
  });

  test("two tabs of DeerFlow's page write one conversation, whichever saw the newest turn", async () => {
    const threadId = randomUUID();
    const tab = () =>
      open(line, deerFlowOptions([]), { threadId, toSubmit: (text) => deerFlowSubmit(text, { threadId, files: [] }) });
    await api.call('POST', '/threads', { thread_id: threadId });
    const first = tab();
    send('#say First.');
    await settled(['#say First.', 'First.']);
    await api.call('POST', `/threads/${threadId}/runs/wait`, {
      assistant_id: 'lead_agent',
      input: { messages: [{ role: 'user', content: '#say From the other tab.' }] },
    });

    send('#say Third.');
    await eventually(() => expect(texts().at(-1)).toBe('Third.'));
    await settles();
    first.view.unmount();

    const { messages } = await stateOf(threadId);
    expect(messages.filter(({ type }) => type === 'ai').map(({ content }) => content)).toEqual([
      'First.',
      'From the other tab.',
      'Third.',
    ]);
    const { body: runs } = await api.call<unknown[]>('GET', `/threads/${threadId}/runs`);
    expect(runs).toHaveLength(3);
  });

  test('an edited message and a new answer fork from the checkpoint before them', async () => {
    const { threadId } = open(line, { fetchStateHistory: true });
    send('#say First.');
    await settled(['#say First.', 'First.']);
    send('#say Second.');
    await settled(['#say First.', 'First.', '#say Second.', 'Second.']);

    fireEvent.change(screen.getByLabelText('message'), { target: { value: '#say Edited.' } });
    await clickWhenEnabled('Edit');
    await settled(['#say First.', 'First.', '#say Edited.', 'Edited.']);
    const answer = (await stateOf(threadId())).messages.at(-1)?.id;
    await clickWhenEnabled('Regenerate');
    await eventually(() => expect(items().at(-1)?.dataset['id']).not.toBe(answer));
    await settled(['#say First.', 'First.', '#say Edited.', 'Edited.']);

    expect((await stateOf(threadId())).messages.map(({ content }) => content)).toEqual(texts());
  });

  test('a page that answers the open call of a stopped turn continues it', async () => {
    const { threadId } = open(line, { reconnectOnMount: true }, { toSubmit: answeringOpenCalls });
    send('#tool bash {"description":"wait","command":"sleep 60"}');
    await eventually(() => expect(texts()).toContain('[bash]'));
    fireEvent.click(screen.getByText('Stop'));
    await settles();
    await waitForRun(threadId(), 'interrupted');

    send('#say After the stop.');
    await eventually(() => expect(texts().at(-1)).toBe('After the stop.'));
    await settles();

    expect(screen.queryByRole('alert')).toBeNull();
    const { messages } = await stateOf(threadId());
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'human', 'ai']);
    expect(messages[2]).toMatchObject({ name: 'bash', additional_kwargs: { deerflow_from_client: true } });
  });

  test("DeerFlow's page: its own thread id, parts, files, context and modes", async () => {
    const threadId = randomUUID();
    const files = [{ filename: 'a.txt', size: 17, path: '/mnt/user-data/uploads/a.txt', status: 'uploaded' }];
    const titles: unknown[] = [];
    const { threadId: learnt } = open(line, deerFlowOptions(titles), {
      toSubmit: (text) => deerFlowSubmit(text, { threadId, files }),
    });

    send('#say Hello there.');
    await settled(['#say Hello there.', 'Hello there.']);
    send('#say And again.');
    await settled(['#say Hello there.', 'Hello there.', '#say And again.', 'And again.']);

    expect(learnt()).toBe(threadId);
    const { messages, title } = await stateOf(threadId);
    expect(messages[0]).toMatchObject({
      content: [{ type: 'text', text: '#say Hello there.' }],
      additional_kwargs: { files },
    });
    expect(titles).toEqual([title]);
    expect(screen.getByRole('heading').textContent).toBe(title);
    const [body] = network.bodies(/runs\/stream$/);
    expect(body).toMatchObject({
      assistant_id: 'lead_agent',
      config: { recursion_limit: 1000 },
      context: { thread_id: threadId, mode: 'pro' },
      on_disconnect: 'continue',
      stream_mode: expect.arrayContaining(['messages-tuple', 'values', 'updates', 'custom']),
    });
    expect(screen.queryByRole('alert')).toBeNull();
  });
});

/** As agent-chat-ui submits: a result for each call that the page shows without one, then the message. */
const answeringOpenCalls = (text: string, shownMessages: readonly ChatMessage[]) => {
  const calls = shownMessages.at(-1)?.tool_calls ?? [];
  const results = calls.map(({ id, name }) => ({
    type: 'tool',
    id: `do-not-render-${randomUUID()}`,
    tool_call_id: id,
    name,
    content: 'Successfully handled tool call.',
  }));
  return { values: { messages: [...results, { type: 'human', content: text }] }, options: {} };
};

async function clickWhenEnabled(name: string): Promise<void> {
  await eventually(() => expect(screen.getByText<HTMLButtonElement>(name).disabled).toBe(false));
  fireEvent.click(screen.getByText(name));
}

async function settled(expected: readonly string[]): Promise<void> {
  await shows(expected);
  await settles();
  expect(texts()).toEqual(expected);
}

async function waitForRun(threadId: string, expected: string): Promise<void> {
  await waitForPage(async () => expect((await statusesOfRuns(threadId))[0]).toBe(expected), { timeout: 20_000 });
}
