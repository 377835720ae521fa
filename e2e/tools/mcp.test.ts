import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  mcpProgram,
  type ScriptedMcp,
  startMcpServer,
  startScriptedMcp,
  startTokenServer,
  textResult,
  type TestService,
  waitFor,
  waitForOutput,
} from '@caribou/testing';
import { type ApiClient, lastValues } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(120_000);

interface Servers {
  readonly mcp_servers: Readonly<Record<string, Record<string, unknown>>>;
}
interface Request {
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

describe('MCP servers over the real stack', () => {
  let folder: string;
  let sse: Awaited<ReturnType<typeof startMcpServer>>;
  let http: Awaited<ReturnType<typeof startMcpServer>>;
  let scripted: ScriptedMcp;
  let stack: Stack;
  let client: ApiClient;
  const open: (() => void)[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-e2e-mcp-'));
    [sse, http] = await Promise.all([startMcpServer('sse'), startMcpServer('streamableHttp')]);
    scripted = await startScriptedMcp({
      tools: {
        pay: { call: () => new Promise((resolve) => open.push(() => resolve(textResult('paid')))) },
        ask: { readOnly: true, call: () => textResult('as it was') },
      },
    });
    writeServers({});
    stack = await startStack({
      runners: 2,
      pools: 1,
      config: `mcp:\n  api_hosts: ["127.0.0.1:${scripted.port}"]\ntool_search: {enabled: false}\n`,
      env: {
        CARIBOU_EXTENSIONS_CONFIG: join(folder, 'extensions_config.json'),
        MCP_TEST_SECRET: 'never to be seen',
        MCP_TEST_FIRST: 'first',
      },
    });
    client = stack.client();
  });
  afterAll(async () => {
    for (const release of open) release();
    await stack.stop();
    await Promise.all([sse.stop(), http.stop(), scripted.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  const program = (name: Parameters<typeof mcpProgram>[0], ...args: string[]) => ({
    command: process.execPath,
    args: [mcpProgram(name), ...args],
  });
  function writeServers(mcpServers: object): void {
    const path = join(folder, 'extensions_config.json');
    writeFileSync(`${path}.new`, JSON.stringify({ mcpServers }));
    renameSync(`${path}.new`, path);
  }
  const callLine = (name: string, args: object): string => `#tool ${name} ${JSON.stringify(args)}`;
  /** Contents of the answers to the calls of a script. */
  const run = async (...lines: string[]): Promise<readonly string[]> => {
    const frames = await (
      await client.run(await client.newThread(), [nonce(), ...lines, '#say Done.'].join('\n'))
    ).end();
    return lastValues(frames).flatMap(({ type, content }) => (type === 'tool' ? [String(content)] : []));
  };
  /** What the others do while one is paused. */
  const without = async <T>(paused: TestService, work: () => Promise<T>): Promise<T> => {
    paused.pause();
    try {
      return await work();
    } finally {
      paused.resume();
    }
  };
  const config = (method: 'GET' | 'PUT' | 'PATCH', body?: object) => client.call<Servers>(method, '/mcp/config', body);
  const hasLogged = (service: TestService, event: string, server: string): boolean =>
    service
      .output()
      .split('\n')
      .some((line) => line.includes(`"event":"${event}"`) && line.includes(`"server":"${server}"`));

  test('servers written into the file are used by the next run: stdio, SSE and streamable HTTP; a broken one leaves the rest', async () => {
    writeServers({
      every: { ...program('server-everything', 'stdio'), env: { SECRET: '$MCP_TEST_SECRET' } },
      files: program('server-filesystem', folder),
      memory: { ...program('server-memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
      older: { type: 'sse', url: sse.url },
      newer: { type: 'http', url: http.url },
      broken: { command: '/no/such/program' },
    });
    const results = await run(
      callLine('every_echo', { message: 'over stdio' }),
      callLine('files_write_file', { path: join(folder, 'made.txt'), content: 'by a run' }),
      callLine('memory_create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['x'] }] }),
      callLine('older_get-sum', { a: 1, b: 2 }),
      callLine('newer_get-tiny-image', {}),
      '#tool bash {"description":"look","command":"head -c 4 /mnt/user-data/outputs/mcp/*.png | tail -c 3"}',
    );

    expect(results[0]).toBe('Echo: over stdio');
    expect(readFileSync(join(folder, 'made.txt'), 'utf8')).toBe('by a run');
    expect(readFileSync(join(folder, 'memory.jsonl'), 'utf8')).toContain('Ada');
    expect(results[3]).toBe('The sum of 1 and 2 is 3.');
    expect(results[4]).toMatch(/saved as \/mnt\/user-data\/outputs\/mcp\/newer_get-tiny-image-[0-9a-f]{8}-1\.png/);
    expect(results[5]).toContain('PNG');

    const shown = await config('GET');
    expect(Object.keys(shown.body.mcp_servers).sort()).toEqual([
      'broken',
      'every',
      'files',
      'memory',
      'newer',
      'older',
    ]);
    expect(shown.body.mcp_servers['every']?.['env']).toEqual({ SECRET: '$MCP_TEST_SECRET' });
    expect(stack.output()).not.toContain('never to be seen');
  });

  test('a subagent has them too', async () => {
    const prompt = `${nonce()}\n${callLine('every_echo', { message: 'from a task' })}\n#say Asked.`;
    const task = { description: 'ask', prompt, subagent_type: 'general-purpose' };
    const frames = await (
      await client.run(await client.newThread(), `${nonce()}\n${callLine('task', task)}\n#say Done.`, {
        context: { subagent_enabled: true },
      })
    ).end();

    expect(lastValues(frames).find(({ type }) => type === 'tool')?.content).toContain('Asked.');
    const asked = stack.model.requests('from a task').map(({ body }) => JSON.stringify(body));
    expect(asked.some((body) => body.includes('Echo: from a task'))).toBe(true);
  });

  test('what administrators write is seen by every runner at once, and the switch of a server of the operator', async () => {
    // Both know the servers of the file by now, so that only the new one is connected to.
    for (const paused of stack.runners) await without(paused, () => run(callLine('every_echo', { message: 'warm' })));
    const { mcp_servers } = (await config('GET')).body;
    const put = await config('PUT', { mcp_servers: { ...mcp_servers, added: { type: 'http', url: scripted.url } } });
    expect(put.status).toBe(200);
    await waitFor(
      () => [...stack.runners, ...stack.pools].every((service) => hasLogged(service, 'mcp.ready', 'added')),
      {
        what: 'all processes to know the new server',
        // Far below the interval at which the document is read without a message.
        timeoutMs: 5_000,
      },
    );
    for (const paused of stack.runners)
      expect(await without(paused, () => run(callLine('added_ask', {})))).toEqual(['as it was']);

    expect((await config('PATCH', { server_name: 'every', enabled: false })).status).toBe(200);
    expect((await run(callLine('every_echo', { message: 'x' })))[0]).toContain("Tool 'every_echo' does not exist");
    await config('PATCH', { server_name: 'every', enabled: true });
    expect(await run(callLine('every_echo', { message: 'again' }))).toEqual(['Echo: again']);
  });

  test('a server that administrators write gets no way into the network of this machine', async () => {
    const { mcp_servers } = (await config('GET')).body;
    const written = {
      ...mcp_servers,
      inside: { type: 'http', url: http.url },
      metadata: { type: 'http', url: 'http://169.254.169.254/' },
    };
    await config('PUT', { mcp_servers: written });

    expect((await run(callLine('inside_echo', { message: 'x' })))[0]).toContain("Tool 'inside_echo' does not exist");
    await waitForOutput(stack, /"server":"inside"[^\n]*may not be reached/);
    await waitForOutput(stack, /"server":"metadata"[^\n]*may not be reached/);
    await config('PUT', { mcp_servers });
  });

  test('access tokens are fetched again before they expire, by all processes together', async () => {
    const issued = new Map<string, number>();
    const refused: unknown[] = [];
    const tokens = await startTokenServer(({ refresh_token }, count) => {
      const isGood = refresh_token === (count === 1 ? 'first' : `refresh-${count - 1}`);
      if (!isGood) return { status: 400, body: {} };
      issued.set(`Bearer token-${count}`, performance.now());
      return { body: { access_token: `token-${count}`, expires_in: 6, refresh_token: `refresh-${count}` } };
    });
    const secured = await startScriptedMcp({
      tools: { ask: { call: () => textResult('let in') } },
      isAuthorized: (authorization = '') => {
        const isAlive = performance.now() - (issued.get(authorization) ?? -Infinity) < 6_000;
        if (!isAlive) refused.push(authorization);
        return isAlive;
      },
    });
    try {
      const oauth = {
        token_url: tokens.url,
        grant_type: 'refresh_token',
        client_id: 'me',
        refresh_token: '$MCP_TEST_FIRST',
      };
      writeServers({ secured: { type: 'http', url: secured.url, oauth } });
      await waitFor(async () => (await run(callLine('secured_ask', {})))[0] === 'let in' && tokens.forms.length > 2, {
        what: 'the third token',
        timeoutMs: 60_000,
      });

      expect(refused).toEqual([]);
      expect(tokens.forms.slice(0, 3).map((form) => form['refresh_token'])).toEqual([
        'first',
        'refresh-1',
        'refresh-2',
      ]);
    } finally {
      writeServers({});
      await Promise.all([tokens.close(), secured.close()]);
    }
  });

  test('kill -9 during a call that has an effect: it is not made again, and the agent gets an unknown outcome', async () => {
    const threadId = await client.newThread();
    const stream = await client.run(threadId, `${nonce()}\n${callLine('added_pay', { amount: 5 })}\n#say Done.`);
    await waitFor(() => scripted.calls.includes('pay'), { what: 'the call to arrive' });
    await stack.start('agent-runner');
    await Promise.all(stack.runners.map((runner) => runner.kill9()));
    const frames = await stream.end(60_000);

    const answer = lastValues(frames).find(({ type }) => type === 'tool');
    expect(answer).toMatchObject({
      status: 'error',
      content: expect.stringMatching(/^Error: The outcome of this call is unknown/) as string,
    });
    expect(lastValues(frames).at(-1)?.content).toBe('Done.');
    expect(scripted.calls.filter((name) => name === 'pay')).toEqual(['pay']);
  });
});

describe('tool search over the catalogue of real servers', () => {
  let folder: string;
  let stack: Stack;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'caribou-e2e-mcp-search-'));
    const command = process.execPath;
    const routing = { mode: 'prefer', priority: 50, keywords: ['knowledge graph'] };
    const mcpServers = {
      every: { command, args: [mcpProgram('server-everything'), 'stdio'] },
      files: { command, args: [mcpProgram('server-filesystem'), folder] },
      memory: {
        command,
        args: [mcpProgram('server-memory')],
        env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
        tools: { read_graph: { routing } },
      },
    };
    writeFileSync(join(folder, 'extensions_config.json'), JSON.stringify({ mcpServers }));
    stack = await startStack({
      config: 'tool_search: {enabled: true}\n',
      env: { CARIBOU_EXTENSIONS_CONFIG: join(folder, 'extensions_config.json') },
    });
  });
  afterAll(async () => {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Names of tools in each request that holds a word. */
  const offered = (word: string): readonly (readonly string[])[] =>
    stack.model.requests(word).map(({ body }) => ((body as Request).tools ?? []).map((tool) => tool.function.name));
  const resultsOf = async (threadId: string, script: string) => {
    const frames = await (await stack.client().run(threadId, script)).end();
    return lastValues(frames).filter(({ type }) => type === 'tool');
  };

  test('no schema of a server is sent before a search for it; a call before that is refused', async () => {
    const word = nonce();
    const call = '#tool every_get-sum {"a":20,"b":22}';
    const script = `${word}\n${call}\n#tool tool_search {"query":"+sum add numbers"}\n${call}\n#say Done.`;
    const results = await resultsOf(await stack.client().newThread(), script);

    expect(results.map(({ status }) => status)).toEqual(['error', 'success', 'success']);
    expect(results[0]?.content).toContain('Call tool_search first');
    expect(results[2]?.content).toBe('The sum of 20 and 22 is 42.');
    const names = offered(word);
    expect(names[0]?.filter((name) => /^(every|files|memory)_/.test(name))).toEqual([]);
    expect(names.at(-1)).toContain('every_get-sum');
    const prompt = JSON.stringify(nth(stack.model.requests(word), 0).body);
    expect(prompt).toMatch(/<available-deferred-tools>[^<]*every_echo[^<]*files_read_text_file[^<]*memory_read_graph/);
  });

  test('routing keywords of the configuration show a tool unasked', async () => {
    const word = nonce();
    const script = `${word} what is in the knowledge graph?\n#tool memory_read_graph {}\n#say Done.`;
    const results = await resultsOf(await stack.client().newThread(), script);

    expect(results.map(({ status }) => status)).toEqual(['success']);
    expect(offered(word)[0]?.filter((name) => /^(every|files|memory)_/.test(name))).toEqual(['memory_read_graph']);
  });
});
