import { type ApiClient, type Frame, lastValues } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';
import { requestsOfTasks, taskLine, taskResults, turnOf } from '../support/task-client.js';

jest.setTimeout(120_000);

const CONFIG = `models:
  - name: large
    model: demo-large
  - name: small
    model: demo-small
subagents:
  agents:
    translator: {model: small}
  custom_agents:
    reviewer:
      description: looks at what others wrote
      system_prompt: You review with a keen eye.
      tools: [ls, read_file, task, no_such_tool]
      model: small
    translator:
      description: says it in another language
      system_prompt: You translate.
      disallowed_tools: [bash, glob]
`;

let stack: Stack;
let client: ApiClient;

beforeAll(async () => {
  stack = await startStack({ pools: 1, config: CONFIG });
  client = stack.client();
});
afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const NEVER = ['task', 'ask_clarification', 'present_files'];

/** The only request of a task of a kind, and its published events. */
async function taskOf(type: string) {
  const word = nonce();
  const { events, results } = await turnOf(client, `${taskLine(`${word}\n#say Fine.`, { type })}\n#say Done.`);
  expect(results.map(({ content }) => content)).toEqual(['Task Succeeded. Result: Fine.']);
  const [request, ...more] = requestsOfTasks(stack, word);
  expect([more, events.map((event) => event.type)]).toEqual([[], ['task_started', 'task_running', 'task_completed']]);
  return { request, prompt: String(request?.messages[0]?.content), published: events.map((event) => event.model_name) };
}

describe('kinds of subagents', () => {
  test("the operator's own: its prompt, its model, and those of its tools that the calling agent has", async () => {
    const { request, prompt, published } = await taskOf('reviewer');

    expect(prompt).toContain('<role>\nYou review with a keen eye.\n</role>');
    expect(request?.tools).toEqual(['ls', 'read_file']);
    expect(request?.model).toBe('demo-small');
    expect(published).toEqual(['small', 'small', 'small']);
  });

  test("the operator's own without a list of tools: all tools of the calling agent except the denied ones", async () => {
    const { request, prompt } = await taskOf('translator');

    expect(prompt).toContain('You translate.');
    expect(request?.tools).toEqual(expect.arrayContaining(['ls', 'read_file', 'write_file']));
    for (const name of ['bash', 'glob', ...NEVER]) expect(request?.tools).not.toContain(name);
    expect(request?.model).toBe('demo-small');
  });

  test('bash: commands and files, on the model of the calling agent', async () => {
    const { request, prompt, published } = await taskOf('bash');

    expect([...(request?.tools ?? [])].sort()).toEqual(['bash', 'ls', 'read_file', 'str_replace', 'write_file']);
    expect(prompt).toContain('You are a subagent for shell commands.');
    expect(request?.model).toBe('demo-large');
    expect(published).toEqual(['large', 'large', 'large']);
  });

  test('a subagent works on the files of the thread, but does not get the conversation', async () => {
    const threadId = await client.newThread();
    const bash = (command: string): string => `#tool bash ${JSON.stringify({ description: 'x', command })}`;
    const secret = nonce();
    const word = nonce();
    const note = '/mnt/user-data/workspace/note';
    const work = `${word}\n${bash(`cat ${note}; echo two >> ${note}`)}\n#say Added.`;
    const script = [`${secret}`, bash(`echo one > ${note}`), taskLine(work), bash(`cat ${note}`), '#say Done.'];

    const frames = await (await client.run(threadId, script.join('\n'), { context: { subagent_enabled: true } })).end();

    const requests = requestsOfTasks(stack, word);
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'one\n' });
    expect(JSON.stringify(requests)).not.toContain(secret);
    const [, , written] = toolTexts(frames);
    expect(written).toBe('one\ntwo\n');
  });
});

const toolTexts = (frames: readonly Frame[]): readonly unknown[] =>
  lastValues(frames).flatMap(({ type, content }) => (type === 'tool' ? [content] : []));

describe('calls that create no task', () => {
  const types = 'general-purpose, bash, reviewer, translator';

  test('an unknown kind: the available kinds', async () => {
    const word = nonce();
    const { events, results, run } = await turnOf(
      client,
      `${taskLine(`${word}\n#say Never.`, { type: 'plumber' })}\n#say Noted.`,
    );

    const error = `Unknown subagent type 'plumber'. Available types: ${types}`;
    expect(results).toMatchObject([
      {
        content: `Task failed. Error: ${error}`,
        status: 'error',
        additional_kwargs: { subagent_status: 'failed', subagent_error: error },
      },
    ]);
    expect(events).toEqual([{ type: 'task_failed', task_id: results[0]?.tool_call_id, error, usage: null }]);
    expect(requestsOfTasks(stack, word)).toEqual([]);
    expect(run).toMatchObject({ status: 'success', subagent_tokens: 0 });
  });

  test.each([
    ['no prompt', { description: 'x', subagent_type: 'bash' }, 'prompt: '],
    ['a blank prompt', { description: 'x', prompt: ' \n', subagent_type: 'bash' }, 'prompt: '],
    ['no kind', { description: 'x', prompt: 'Do it.' }, 'subagent_type: '],
    ['a kind that is not a text', { prompt: 'Do it.', subagent_type: 7 }, 'subagent_type: '],
  ])('%s: what is wrong with the arguments', async (_what, args, named) => {
    const { events, results, run } = await turnOf(client, `#tool task ${JSON.stringify(args)}\n#say Noted.`);

    expect(results).toMatchObject([{ status: 'error', additional_kwargs: { subagent_status: 'failed' } }]);
    expect(results[0]?.content).toContain(`Task failed. Error: Invalid arguments: ${named}`);
    expect(events).toEqual([]);
    expect(run['status']).toBe('success');
  });

  test('of an agent without permission for subagents: the tool does not exist', async () => {
    const word = nonce();
    const { frames, events } = await turnOf(client, `${taskLine(`${word}\n#say Never.`)}\n#say Noted.`, {});

    expect(taskResults(frames)[0]?.content).toContain("'task' does not exist");
    expect([events, requestsOfTasks(stack, word)]).toEqual([[], []]);
  });
});
