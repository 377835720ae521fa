import { isFromClient } from '../../records/messages.js';
import { RunContextValues } from '../../records/runs.js';
import { clampRecursionLimit, RunContextInput, RunCreate } from './run-create.js';
import { threadRoutes } from './threads.js';
import { runRoutes } from './runs.js';

const parse = (body: object) => RunCreate.parse({ assistant_id: 'lead_agent', ...body });
const inputMessageOf = (message: unknown) => parse({ input: { messages: [message] } }).input?.messages?.[0];
function messageOf(message: unknown) {
  const parsed = inputMessageOf(message);
  return parsed?.type === 'human' || parsed?.type === 'system' ? parsed : undefined;
}
const faultOf = (body: object): string =>
  RunCreate.safeParse({ assistant_id: 'lead_agent', ...body }).error?.issues[0]?.message ?? 'none';

describe('RunCreate', () => {
  test('a key that is not known may ask for nothing, and is refused by its name when it asks for more', () => {
    for (const nothing of [null, false, 0, '', [], {}])
      expect(
        RunCreate.safeParse({ assistant_id: 'a', feedback_keys: nothing, config: { tags: nothing } }).success,
      ).toBe(true);
    expect(
      RunCreate.safeParse({ assistant_id: 'a', feedback_keys: 'x', config: { tags: ['x'] } }).error?.issues,
    ).toMatchObject([
      { path: ['config', 'tags'], message: 'is not supported here' },
      { path: ['feedback_keys'], message: expect.stringContaining('is not supported here') },
    ]);
    expect(RunCreate.safeParse({ assistant_id: 'a', durability: 'sync', checkpoint_during: true }).success).toBe(true);
  });

  test('a stream mode is one word or a list, and an unknown one is refused', () => {
    expect(parse({ stream_mode: 'updates' }).stream_mode).toEqual(['updates']);
    expect(parse({ stream_mode: ['values', 'messages-tuple'] }).stream_mode).toEqual(['values', 'messages-tuple']);
    expect(RunCreate.safeParse({ assistant_id: 'x', stream_mode: ['nope'] }).success).toBe(false);
  });

  test('a user is a human, under every name people use', () => {
    const expected = { type: 'human', content: 'hi', additional_kwargs: {}, response_metadata: {} };
    const lc = {
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'HumanMessage'],
      kwargs: { content: 'hi' },
    };
    for (const message of [
      { role: 'user', content: 'hi' },
      { type: 'human', content: 'hi' },
      ['user', 'hi'],
      'hi',
      lc,
    ]) {
      expect(messageOf(message)).toMatchObject(expected);
    }
    for (const role of ['system', 'developer'])
      expect(messageOf({ role, content: 'x' })).toMatchObject({ type: 'system', content: 'x' });
  });

  test('an id is kept or created, and content is returned as it was sent', () => {
    const blocks = [
      { type: 'text', text: 'hi' },
      { type: 'image_url', image_url: { url: 'data:,' } },
    ];
    expect(messageOf({ type: 'human', content: blocks, id: 'h1' })).toMatchObject({ id: 'h1', content: blocks });
    expect(messageOf({ type: 'human', content: 'x' })?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('server-owned keys of additional_kwargs are left out, the client keeps its own', () => {
    const additional_kwargs = {
      files: [{ filename: 'a.pdf' }],
      hide_from_ui: true,
      original_user_content: 'forged',
      deerflow_error_fallback: true,
      subagent_status: 'completed',
    };
    expect(messageOf({ type: 'human', content: 'x', additional_kwargs })?.additional_kwargs).toEqual({
      files: [{ filename: 'a.pdf' }],
      hide_from_ui: true,
      deerflow_from_client: true,
    });
  });

  test("a user's answer to a question is accepted, hidden or not, without unknown keys", () => {
    const answer = {
      version: 1,
      kind: 'human_input_response',
      source: 'ask_clarification',
      request_id: 'clarification:call_1',
      response_kind: 'option',
      option_id: 'option-1',
      value: 'Postgres',
    };
    const sent = { hide_from_ui: true, human_input_response: { ...answer, forged: 'x' } };
    expect(messageOf({ type: 'human', content: 'Postgres', additional_kwargs: sent })).toMatchObject({
      type: 'human',
      content: 'Postgres',
      additional_kwargs: { hide_from_ui: true, human_input_response: answer },
    });
    const { option_id: _none, ...words } = answer;
    for (const human_input_response of [{ ...words, response_kind: 'text' }, null]) {
      const kept = messageOf({ type: 'human', content: 'x', additional_kwargs: { human_input_response } });
      expect(kept?.additional_kwargs).toEqual({ human_input_response });
    }
  });

  test.each<[string, object]>([
    ['response_kind', { response_kind: 'form' }],
    ['version', { version: 2 }],
    ['value', { value: 'x'.repeat(65_537) }],
    ['value', { value: { a: 1 } }],
    ['request_id', { request_id: 'x'.repeat(256) }],
    ['option_id', { response_kind: 'option' }],
  ])('an answer with a bad %s is refused by its path', (key, wrong) => {
    const human_input_response = {
      version: 1,
      kind: 'human_input_response',
      source: 'ask_clarification',
      request_id: 'clarification:c',
      response_kind: 'text',
      value: 'x',
      ...wrong,
    };
    const message = { type: 'human', content: 'x', additional_kwargs: { human_input_response } };
    const refused = RunCreate.safeParse({ assistant_id: 'lead_agent', input: { messages: [message] } }).error?.issues;

    expect(refused?.map(({ path }) => path.join('.'))).toEqual([
      `input.messages.0.additional_kwargs.human_input_response.${key}`,
    ]);
  });

  test('a name or hiding that a client chose makes its message none of the server', () => {
    for (const given of [{ name: 'todo_reminder' }, { additional_kwargs: { hide_from_ui: true } }, {}]) {
      const message = messageOf({ type: 'human', content: 'x', ...given });
      expect(message !== undefined && isFromClient(message)).toBe(true);
      expect(message).toMatchObject(given);
    }
    const plain = messageOf({ type: 'human', content: 'x', name: 'user-input', additional_kwargs: { a: 1 } });
    expect(plain?.additional_kwargs).toEqual({ a: 1 });
    const ours = { type: 'human' as const, id: 'r', content: 'x', additional_kwargs: {}, response_metadata: {} };
    expect(isFromClient({ ...ours, name: 'todo_reminder' })).toBe(false);
    expect(isFromClient({ ...ours, additional_kwargs: { hide_from_ui: true } })).toBe(false);
  });

  test('other kinds of message are refused, and what the server writes is set apart to be compared', () => {
    for (const type of ['remove', 'function', '__proto__', 'constructor']) {
      expect(faultOf({ input: { messages: [{ type, content: 'x', id: 'x', tool_call_id: 'y' }] } })).toContain(
        'human or system',
      );
    }
    expect(inputMessageOf({ role: 'assistant', content: null, id: 'a', usage: 1 })).toEqual({
      type: 'ai',
      id: 'a',
      content: '',
    });
    const result = { type: 'tool', id: 't', content: 'done', tool_call_id: 'c', artifact: {} };
    expect(inputMessageOf(result)).toEqual({ type: 'tool', id: 't', content: 'done', tool_call_id: 'c' });
    expect(faultOf({ input: { messages: [{ type: 'tool', content: 'x' }] } })).toContain('string');

    const sandbox = { sandbox_id: 'x' };
    expect(parse({ input: { title: 'T', sandbox, returned: 1, nope: 2 } }).input).toEqual({
      title: 'T',
      returned: { sandbox },
    });
  });

  test('a command is LangGraph’s: an answer, a node of this agent, an update; an empty one counts as absent', () => {
    const commandOf = (command: unknown) => RunCreate.parse({ assistant_id: 'lead_agent', command }).command;
    expect(commandOf({ resume: 'blue' })).toEqual({ resume: 'blue' });
    expect(commandOf({ resume: { a: 1 }, goto: ['tools'] })).toMatchObject({ resume: { a: 1 }, goto: 'tools' });
    expect(commandOf({ goto: '__end__', update: [['title', 'New']] })).toMatchObject({ update: { title: 'New' } });
    expect(commandOf({})).toBeUndefined();
    expect(commandOf({ resume: null, update: null })).toBeUndefined();
    expect(faultOf({ command: null, input: null })).toBe('none');
    expect(faultOf({ command: { goto: 'nowhere' } })).toContain(
      'must be one of model_request, after_model, tools, __end__',
    );
    expect(faultOf({ command: { goto: { node: 'tools', input: {} } } })).toContain('must be one of');
    expect(faultOf({ command: { update: { guards: {} } } })).toContain('written by the server only');
    expect(faultOf({ command: { retry: 1 } })).toContain('not supported');
  });

  test('context loses what only the server sets, and nulls', () => {
    const context = {
      model_name: 'm1',
      user_id: 'root',
      thread_id: 't',
      __secret: 1,
      reasoning_effort: null,
      langgraph_auth_user: 'x',
      mode: 'pro',
    };
    expect(RunContextInput.parse(context)).toEqual({ model_name: 'm1', mode: 'pro' });
    expect(RunContextInput.safeParse({ thinking_enabled: 'yes' }).success).toBe(false);
  });

  test('a model goes by `model` too, and an agent name is a plain word', () => {
    expect(RunContextInput.parse({ model: 'm1' })).toEqual({ model_name: 'm1' });
    expect(RunContextInput.parse({ model: 'm1', model_name: 'm2' })).toEqual({ model_name: 'm2' });
    expect(RunContextInput.safeParse({ agent_name: 'poet-2' }).success).toBe(true);
    expect(RunContextInput.safeParse({ agent_name: '../x' }).success).toBe(false);
  });

  test.each([
    [{ temperature: 2.1 }, 'temperature', 'must be a number from 0 to 2'],
    [{ temperature: -0.1 }, 'temperature', 'must be a number from 0 to 2'],
    [{ temperature: '1' }, 'temperature', 'must be a number from 0 to 2'],
    [{ max_tokens: 0 }, 'max_tokens', 'must be a whole number from 1 to 1000000'],
    [{ max_tokens: 1.5 }, 'max_tokens', 'must be a whole number from 1 to 1000000'],
    [{ max_tokens: 1_000_001 }, 'max_tokens', 'must be a whole number from 1 to 1000000'],
  ])('a context of %j is refused', (context, field, message) => {
    expect(RunContextInput.safeParse(context).error?.issues).toMatchObject([{ path: [field], message }]);
  });

  test('temperature and maximum tokens at their limits are taken, null is absent; what an earlier version stored is', () => {
    const context = { temperature: 0, max_tokens: 1_000_000 };
    expect(RunContextInput.parse(context)).toEqual(context);
    expect(RunContextInput.parse({ temperature: null, max_tokens: null })).toEqual({});
    expect(RunContextValues.parse({ temperature: 'hot', max_tokens: [] })).toEqual({});
  });

  test('a recursion limit is clamped, never refused', () => {
    const limits = { fallback: 100, max: 1_000 };
    const clamped = [5, 1_000, 10_000, 0, -1, 1.5, 'many', null, undefined, Number.NaN].map((asked) =>
      clampRecursionLimit(asked, limits),
    );
    expect(clamped).toEqual([5, 1_000, 1_000, 100, 100, 100, 100, 100, 100, 100]);
  });
});

describe('queries and cursors', () => {
  test('a list in a query is a JSON array, a repeated key, or one word', () => {
    const modes = (stream_mode: unknown) => runRoutes.joinStream.query.safeParse({ stream_mode }).data?.stream_mode;
    expect(modes('["values","updates"]')).toEqual(['values', 'updates']);
    expect(modes(['values', 'updates'])).toEqual(['values', 'updates']);
    expect(modes('values')).toEqual(['values']);
    expect(modes('[nope')).toBeUndefined();
  });

  test('before is a checkpoint id or a config that holds one, and nothing else', () => {
    const id = '01a2008c-ecf5-73c0-87a0-5a76eb8c5b3f';
    const before = (value: unknown) => threadRoutes.history.body.safeParse({ before: value }).data;
    expect(before(id)).toMatchObject({ before: id });
    expect(before({ configurable: { checkpoint_id: id } })).toMatchObject({ before: id });
    expect(before('nope')).toBeUndefined();
  });

  test('a state update refuses channels it would not store', () => {
    const refused = (values: unknown) => !threadRoutes.updateState.body.safeParse({ values }).success;
    expect(refused({ title: 'x' })).toBe(false);
    for (const values of [
      { sandbox: null },
      { unknown: 1 },
      { messages: [{ type: 'ai', content: 'x' }] },
      { messages: [{ type: 'remove' }] },
      null,
      'x',
      [],
    ]) {
      expect(refused(values)).toBe(true);
    }
  });
});
