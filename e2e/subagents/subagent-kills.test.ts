import { type Message, TaskEvent } from '@caribou/contracts';
import { type TestService, transcriptFaults, waitFor } from '@caribou/testing';
import { type ApiClient, type Frame, type OpenStream, runIdOf } from '../support/client.js';
import { type AppName, nonce, type Stack, startStack } from '../support/stack.js';
import { kindsByTask, taskEvents, taskLines, WITH_SUBAGENTS } from '../support/task-client.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(120_000);

let stack: Stack;
let client: ApiClient;
const doomed: Partial<Record<AppName, TestService>> = {};

beforeAll(async () => {
  stack = await startStack({ runners: 0, model: { constantCallId: 'call_0' }, config: 'subagents:\n  slots: 3\n' });
  client = stack.client();
});

afterAll(() => stack.stop());

beforeEach(async () => {
  doomed['agent-runner'] = await stack.start('agent-runner');
  doomed['subagent-pool'] = await stack.start('subagent-pool');
});

afterEach(async () => {
  await Promise.all([doomed['agent-runner']?.kill9(), doomed['subagent-pool']?.kill9()]);
  stack.model.reset();
});

const bash = (command: string): string => `#tool bash ${JSON.stringify({ description: 'a test', command })}`;
const GATE = 'while [ ! -e gate ]; do sleep 0.05; done';
const note = (word: string): string => `echo ${word} >> /mnt/user-data/workspace/ledger`;

/** A run with a task in a model call, one in a command and one that ended; and a run with one of two in the queue. */
interface Scene {
  readonly busy: { readonly threadId: string; readonly stream: OpenStream };
  readonly waiting: { readonly threadId: string; readonly stream: OpenStream };
  /** In the prompt of the task in a model call. */
  readonly mark: string;
}

async function setScene(): Promise<Scene> {
  const mark = nonce();
  const threadId = await client.newThread();
  const inModel = `${mark}\n#hold model before times=1\n#say from the model`;
  const inTool = `${bash(`${note('tool')}; ${GATE}`)}\n#say from the tool`;
  // Commands of one sandbox take turns, so this one must not need one.
  const file = JSON.stringify({ description: 'a test', path: '/mnt/user-data/workspace/over', content: 'once\n' });
  const over = `#tool write_file ${file}\n#say quick`;
  const script = `${taskLines(inModel, inTool, over)}\n#say all of it`;
  const stream = await client.run(threadId, script, WITH_SUBAGENTS);
  await stream.waitFor('the quick task to end', isTold('task_completed'), 30_000);
  await waitFor(() => stack.model.listHolds().length === 1, { what: 'the model to hold' });
  await waitFor(() => linesOf(stack, threadId, 'ledger').includes('tool'), { what: 'the command to run' });

  const other = await client.newThread();
  const queued = `${bash(`${note('queue')}; ${GATE}`)}\n#say from the queue`;
  const waits = await client.run(other, `${taskLines(queued, queued)}\n#say that too`, WITH_SUBAGENTS);
  await waitFor(() => linesOf(stack, other, 'ledger').length === 1, { what: 'one of two to find room' });
  return { busy: { threadId, stream }, waiting: { threadId: other, stream: waits }, mark };
}

const isTold =
  (type: TaskEvent['type']) =>
  ({ event, data }: Frame): boolean =>
    event === 'custom' && (data as TaskEvent).type === type;

async function killAndReplace(...apps: readonly AppName[]): Promise<void> {
  for (const app of apps) await doomed[app]?.kill9();
  for (const app of apps) doomed[app] = await stack.start(app);
}

/** Stream, replay, state and disk agree: each task once, each of its events once, each effect once. */
async function expectWhole(scene: Scene): Promise<void> {
  openGate(stack, scene.busy.threadId, 'gate');
  openGate(stack, scene.waiting.threadId, 'gate');
  const results = ['from the model', 'from the tool', 'quick'].map((text) => `Task Succeeded. Result: ${text}`);
  await expectRun(scene.busy, { results, answer: 'all of it' });
  await expectRun(scene.waiting, {
    results: Array(2).fill('Task Succeeded. Result: from the queue'),
    answer: 'that too',
  });
  expect(linesOf(stack, scene.busy.threadId, 'ledger')).toEqual(['tool']);
  expect(linesOf(stack, scene.busy.threadId, 'over')).toEqual(['once']);
  expect(linesOf(stack, scene.waiting.threadId, 'ledger')).toEqual(['queue', 'queue']);
}

async function expectRun(
  { threadId, stream }: Scene['busy'],
  { results, answer }: { readonly results: readonly string[]; readonly answer: string },
): Promise<void> {
  const frames = await stream.end(60_000);
  expect(stream.broke).toBe(false);
  expect(frames.filter(({ event }) => event === 'end')).toHaveLength(1);
  expect(frames.filter(({ event }) => event === 'error')).toEqual([]);
  expectTaskEvents(taskEvents(frames), results.length);
  const path = `/threads/${threadId}/runs/${runIdOf(stream)}`;
  const replay = await client.stream('GET', `${path}/stream`, undefined, { 'last-event-id': '-1' });
  expect(taskEvents(await replay.end())).toEqual(taskEvents(frames));

  const { body } = await client.call<{ values: { messages: Message[] } }>('GET', `/threads/${threadId}/state`);
  const { messages } = body.values;
  expect(transcriptFaults(messages)).toEqual([]);
  expect(messages.filter(({ type }) => type === 'tool').map(({ content }) => content)).toEqual(results);
  expect(messages.at(-1)?.content).toBe(answer);
  expect((await client.call('GET', path)).body).toMatchObject({ status: 'success' });
}

function expectTaskEvents(events: readonly TaskEvent[], tasks: number): void {
  for (const event of events) TaskEvent.parse(event);
  const kinds = kindsByTask(events);
  expect(kinds.size).toBe(tasks);
  for (const [id, published] of kinds) {
    const steps = events.flatMap((event) => (event.task_id === id && event.type === 'task_running' ? [event] : []));
    expect(published).toEqual(['task_started', ...steps.map(({ type }) => type), 'task_completed']);
    expect(steps.map(({ message_index: index }) => index)).toEqual(steps.map((_, index) => index + 1));
  }
}

/** How often the model was asked for the first answer of the task that was in a model call. */
const timesAsked = (mark: string): number =>
  stack.model.requests(mark).filter(({ body }) => JSON.stringify(body).split(mark).length === 2 && !isParent(body))
    .length;

const isParent = (body: unknown): boolean =>
  (body as { readonly tools?: readonly { readonly function: { readonly name: string } }[] }).tools?.some(
    (tool) => tool.function.name === 'task',
  ) ?? false;

describe('kill -9 while tasks are in a model call, in a command, over and in the queue', () => {
  test('of the pool: another one continues where it stopped', async () => {
    const scene = await setScene();
    await killAndReplace('subagent-pool');
    await expectWhole(scene);
    expect(timesAsked(scene.mark)).toBe(2);
  });

  test("of the parents' runner: another one finds its tasks, which continued", async () => {
    const scene = await setScene();
    await killAndReplace('agent-runner');
    stack.model.release('model');
    await expectWhole(scene);
    expect(timesAsked(scene.mark)).toBe(1);
  });

  test('of both', async () => {
    const scene = await setScene();
    await killAndReplace('subagent-pool', 'agent-runner');
    await expectWhole(scene);
    expect(timesAsked(scene.mark)).toBe(2);
  });
});
