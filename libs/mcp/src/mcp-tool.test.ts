import { DeadlineError, textOf, TooLargeError, UnavailableError } from '@caribou/contracts';
import { RunCancelled, RunDraining, type ToolContext } from '@caribou/core';
import {
  callTool,
  type FakeRun,
  type McpFixture,
  type ScriptedMcp,
  type ScriptedTool,
  startScriptedMcp,
  startTokenServer,
  textResult,
  toolsByName,
  useMcp,
  waitFor,
} from '@caribou/testing';

let mcp: McpFixture;
let server: ScriptedMcp;
const open: (() => void)[] = [];

afterEach(() => {
  for (const release of open.splice(0)) release();
});
useMcp((opened) => {
  mcp = opened;
});
afterEach(() => server.close());

let cancelled = false;
const held: ScriptedTool = {
  call: (_, signal) => {
    signal.addEventListener('abort', () => (cancelled = true));
    return new Promise((resolve) => open.push(() => resolve(textResult('at last'))));
  },
};
const plain: ScriptedTool = { call: () => textResult('done') };

async function start(tools: Readonly<Record<string, ScriptedTool>>, more: Record<string, unknown> = {}) {
  server = await startScriptedMcp({ tools });
  mcp.writeFile({ s: { type: 'http', url: server.url, ...more } });
  return mcp.process();
}
const UNKNOWN = /^Error: The outcome of this call is unknown: /;

describe('a call that may have an effect', () => {
  test('is made once per key, and its outcome is stored for repeated calls', async () => {
    const source = await start({ act: { call: ({ n }) => textResult(`did ${String(n)}`) } });
    const context = await mcp.context();

    expect(await callTool(source, 's_act', { n: 1 }, context)).toEqual({ content: 'did 1' });
    expect(await callTool(mcp.process(), 's_act', { n: 1 }, context)).toEqual({ content: 'did 1' });
    expect((await callTool(source, 's_act', { n: 2 }, context)).content).toContain('other arguments');
    expect(server.calls).toEqual(['act']);
  });

  test('that another process began and did not finish is not made again', async () => {
    const source = await start({ act: held });
    const context = await mcp.context();
    void callTool(source, 's_act', {}, context).catch(() => undefined);
    await waitFor(() => server.calls.length === 1, { what: 'the call to arrive' });

    const again = await callTool(mcp.process(), 's_act', {}, context);
    expect(again.isError).toBe(true);
    expect(again.content).toMatch(UNKNOWN);
    expect(server.calls).toEqual(['act']);
  });

  test('whose answer times out, or whose connection breaks, has an unknown outcome, which is stored', async () => {
    const source = await start({ act: held, wait: held }, { tool_call_timeout: 0.3 });
    const late = await callTool(source, 's_act', {}, await mcp.context());
    expect(late.content).toMatch(/^Error: The outcome of this call is unknown: .* did not answer within 0\.3 seconds/);

    mcp.writeFile({ s: { type: 'http', url: server.url } });
    const context = await mcp.context();
    const broken = callTool(source, 's_wait', {}, context);
    await waitFor(() => server.calls.includes('wait'), { what: 'the call to arrive' });
    server.forgetSessions();
    server.dropConnections();

    expect((await broken).content).toMatch(UNKNOWN);
    expect((await callTool(source, 's_wait', {}, context)).content).toMatch(UNKNOWN);
    expect(server.calls).toEqual(['act', 'wait']);
  });

  test.each([
    new DeadlineError('s did not answer within 300 ms'),
    new UnavailableError('s does not answer as it should', { details: { dependency: 'egress' } }),
    new TooLargeError('the answer of s is larger than 100 bytes'),
  ])('to a server written over REST has an unknown outcome when its connection fails by $name', async (failure) => {
    await start({ act: plain });
    mcp.writeFile({});
    await mcp.writeDocument({ servers: { s: { type: 'http', url: server.url } } });
    const failing: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (typeof init?.body === 'string' && init.body.includes('tools/call')) throw failure;
      return response;
    };
    const source = mcp.process({}, { apiFetch: failing });

    expect((await callTool(source, 's_act', {}, await mcp.context())).content).toMatch(UNKNOWN);
    expect(server.calls).toEqual(['act']);
  });

  test('uses a new session when the server forgot the old one, as nothing was executed', async () => {
    const source = await start({ act: plain });
    const context = await mcp.context();
    await callTool(source, 's_act', {}, context);
    server.forgetSessions();

    const again = await callTool(source, 's_act', {}, { ...context, key: 'other' });
    expect(again).toEqual({ content: 'done' });
    expect(server.calls).toEqual(['act', 'act']);
  });

  test('of a server that cannot be reached was not made, and says so', async () => {
    const source = await start({ act: plain });
    const tool = (await toolsByName(source)).get('s_act');
    await server.close();
    const outcome = await tool?.invoke({}, await mcp.context());
    server = await startScriptedMcp({ tools: {} });

    expect(outcome?.content).toMatch(/^Error: The MCP server 's' cannot be reached, nothing was called: /);
  });
});

describe('a call that only reads', () => {
  test('may be made again', async () => {
    const source = await start({ look: { ...plain, readOnly: true } });
    const context = await mcp.context();
    await callTool(source, 's_look', {}, context);
    await callTool(source, 's_look', {}, context);

    expect(server.calls).toEqual(['look', 'look']);
  });
});

describe('results', () => {
  test('an error of the tool, and one of the protocol, is an answer to the model', async () => {
    const source = await start({
      fails: { call: () => ({ ...textResult('no such place'), isError: true }) },
      breaks: { call: () => Promise.reject(new Error('it broke')) },
      silent: { call: () => ({ content: [] }) },
    });
    const outcomes = [];
    for (const name of ['s_fails', 's_breaks', 's_silent'])
      outcomes.push(await callTool(source, name, {}, await mcp.context()));

    expect(outcomes[0]).toEqual({ content: 'Error: no such place', isError: true });
    expect(outcomes[1]).toMatchObject({ content: expect.stringContaining('it broke') as string, isError: true });
    expect(outcomes[2]).toEqual({ content: '(no output)' });
  });

  test('blocks of all kinds, in their order; bytes go to files, too many of them nowhere', async () => {
    const data = Buffer.from('bytes').toString('base64');
    const source = await start({
      mixed: {
        call: () => ({
          content: [
            { type: 'text', text: 'first' },
            { type: 'audio', mimeType: 'audio/wav', data },
            { type: 'resource', resource: { uri: 'x://1', mimeType: 'text/plain', text: 'inside' } },
            { type: 'resource', resource: { uri: 'x://2', blob: data } },
            { type: 'resource_link', uri: 'x://3', name: 'three' },
          ],
        }),
      },
      large: {
        call: () => ({
          content: [{ type: 'image', mimeType: 'image/png', data: Buffer.alloc(2_000_000, 7).toString('base64') }],
        }),
      },
      many: {
        call: () => ({ content: Array.from({ length: 21 }, () => ({ type: 'image', mimeType: 'image/png', data })) }),
      },
      long: { call: () => textResult('x'.repeat(1_000_005)) },
    });
    const contentOf = async (name: string) => textOf((await callTool(source, name, {}, await mcp.context())).content);

    expect((await contentOf('s_mixed')).replace(/-[0-9a-f]{8}-/g, '-#-').split('\n')).toEqual([
      'first',
      '[Audio (audio/wav, 5 bytes) was saved as /mnt/user-data/outputs/mcp/s_mixed-#-1.wav]',
      '[resource x://1 (text/plain)]',
      'inside',
      '[resource x://2 (application/octet-stream)]',
      '[File (application/octet-stream, 5 bytes) was saved as /mnt/user-data/outputs/mcp/s_mixed-#-2.bin]',
      '[resource x://3: three]',
    ]);
    const [, path = ''] = /saved as (\S+);/.exec(await contentOf('s_large')) ?? [];
    expect(mcp.sandbox.files.get(path)?.length).toBe(2_000_000);
    expect((await contentOf('s_many')).match(/left out: too much/g)).toHaveLength(1);
    expect(await contentOf('s_long')).toMatch(/x\n\.\.\. \[cut: 5 more characters\]$/);
  });
});

describe('sessions', () => {
  test('a thread has one of its own for all its calls, and a new one replaces the least recently used', async () => {
    const source = await start({ act: { ...plain, readOnly: true } });
    await toolsByName(source);
    const [a, b] = [await mcp.context(), await mcp.context()];
    for (const context of [a, a, b, a]) await callTool(source, 's_act', {}, context);
    expect(server.sessions).toBe(3);

    const small = mcp.process({ maxSessions: 1 });
    for (const context of [a, b, a]) await callTool(small, 's_act', {}, context);
    expect(server.sessions).toBe(3 + 1 + 3);
    await waitFor(() => server.openSessions === 3 + 1 + 1, { what: 'the end of replaced sessions at the server' });
  });

  test('when all are in use a further call is refused', async () => {
    const source = await start({ act: held, other: plain });
    const small = mcp.process({ maxSessions: 1 });
    await toolsByName(source);
    const first = callTool(small, 's_act', {}, await mcp.context());
    await waitFor(() => server.calls.length === 1, { what: 'the call to arrive' });

    const refused = await callTool(small, 's_other', {}, await mcp.context());
    expect(refused.content).toContain('all 1 sessions with MCP servers are in use');
    open.pop()?.();
    expect(await first).toEqual({ content: 'at last' });
  });

  test('a configuration that changes ends a session only after its calls', async () => {
    const source = await start({ act: held });
    const call = callTool(source, 's_act', {}, await mcp.context());
    await waitFor(() => server.calls.length === 1, { what: 'the call to arrive' });
    mcp.writeFile({ s: { type: 'http', url: server.url, description: 'another' } });
    await toolsByName(source);
    open.pop()?.();

    expect(await call).toEqual({ content: 'at last' });
  });
});

describe('the end of a run', () => {
  const begin = async () => {
    const source = await start({ act: held });
    const context = await mcp.context();
    const run = context.run as FakeRun;
    const call = callTool(source, 's_act', {}, context);
    await waitFor(() => server.calls.length === 1, { what: 'the call to arrive' });
    return { source, context, run, call };
  };
  const again = (context: ToolContext) =>
    callTool(mcp.process(), 's_act', {}, { ...context, run: { ...context.run, signal: new AbortController().signal } });

  test('a cancel ends the call at the server', async () => {
    const { run, call } = await begin();
    run.abort(new RunCancelled('interrupt'));

    await expect(call).rejects.toThrow('run cancelled');
    await waitFor(() => cancelled, { what: 'the server to hear of it' });
  });

  test('a stopping process stores a late outcome for the process that continues the run', async () => {
    const { run, call, context } = await begin();
    run.abort(new RunDraining());
    open.pop()?.();
    await call.catch(() => undefined);

    expect(await again(context)).toEqual({ content: 'at last' });
    expect(server.calls).toEqual(['act']);
  });
});

describe('OAuth', () => {
  test('a token is sent with every request, and another one once the server refuses it', async () => {
    const tokens = await startTokenServer((_, count) => ({ body: { access_token: `t${count}`, expires_in: 3_600 } }));
    let good = 'Bearer t1';
    server = await startScriptedMcp({ tools: { act: plain }, isAuthorized: (header) => header === good });
    mcp.writeFile({ s: { type: 'http', url: server.url, oauth: { token_url: tokens.url, client_id: 'me' } } });
    try {
      const source = mcp.process();
      expect(await callTool(source, 's_act', {}, await mcp.context())).toEqual({ content: 'done' });
      good = 'Bearer t2';
      expect(await callTool(source, 's_act', {}, await mcp.context())).toEqual({ content: 'done' });
      expect(server.calls).toEqual(['act', 'act']);
      expect(tokens.forms).toHaveLength(2);
      expect(new Set(server.authorizations)).toEqual(new Set(['Bearer t1', 'Bearer t2']));
    } finally {
      await tokens.close();
    }
  });
});
