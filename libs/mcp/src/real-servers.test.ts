import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textOf } from '@caribou/contracts';
import { callTool, type McpFixture, mcpProgram, startMcpServer, toolsByName, useMcp, waitFor } from '@caribou/testing';

jest.setTimeout(90_000);

let mcp: McpFixture;
let folder: string;

useMcp((opened) => {
  mcp = opened;
  folder = mkdtempSync(join(tmpdir(), 'caribou-mcp-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const program = (name: Parameters<typeof mcpProgram>[0], ...args: string[]) => ({
  command: process.execPath,
  args: [mcpProgram(name), ...args],
});

describe('real servers', () => {
  test('over stdio: everything, filesystem and memory together, in one list', async () => {
    mcp.writeFile({
      everything: { ...program('server-everything', 'stdio'), env: { GIVEN: '$HOME', OWN: 'yes' } },
      files: program('server-filesystem', folder),
      memory: { ...program('server-memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
    });
    const source = mcp.process();
    const tools = await toolsByName(source);

    expect([...tools.keys()]).toEqual(
      expect.arrayContaining(['everything_echo', 'files_read_text_file', 'memory_create_entities']),
    );
    expect([...tools.values()].every(({ remote, deferred }) => remote === true && deferred !== undefined)).toBe(true);
    expect(tools.get('everything_get-sum')?.parameters).toMatchObject({ type: 'object', properties: { a: {}, b: {} } });

    const echo = await callTool(source, 'everything_echo', { message: 'hello' }, await mcp.context());
    expect(echo).toEqual({ content: 'Echo: hello' });
    const env = await callTool(source, 'everything_get-env', {}, await mcp.context());
    const given = JSON.parse(textOf(env.content)) as Record<string, string>;
    expect(given).toMatchObject({ GIVEN: process.env['HOME'], OWN: 'yes' });
    expect(Object.keys(given)).not.toContain('JEST_WORKER_ID');

    writeFileSync(join(folder, 'a.txt'), 'the content');
    const read = await callTool(source, 'files_read_text_file', { path: join(folder, 'a.txt') }, await mcp.context());
    expect(read.content).toContain('the content');
    const outside = await callTool(source, 'files_read_text_file', { path: '/etc/passwd' }, await mcp.context());
    expect(outside).toMatchObject({ isError: true, content: expect.stringContaining('Access denied') as string });

    const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote a program'] }];
    await callTool(source, 'memory_create_entities', { entities }, await mcp.context());
    expect(readFileSync(join(folder, 'memory.jsonl'), 'utf8')).toContain('wrote a program');
  });

  test.each(['sse', 'streamableHttp'] as const)(
    'over %s: tools, arguments that are wrong, images, resources',
    async (kind) => {
      const server = await startMcpServer(kind);
      try {
        mcp.writeFile({ every: { type: kind === 'sse' ? 'sse' : 'http', url: server.url } });
        const source = mcp.process();
        const call = async (name: string, args: Record<string, unknown>) =>
          callTool(source, `every_${name}`, args, await mcp.context());

        expect(await call('get-sum', { a: 2, b: 40 })).toEqual({ content: 'The sum of 2 and 40 is 42.' });
        const wrong = await call('get-sum', { a: 'two' });
        expect(wrong.isError).toBe(true);
        expect(wrong.content).toMatch(/^Error: .*(invalid|expected)/is);

        const image = await call('get-tiny-image', {});
        const [, path = ''] = /saved as (\S+\.png); view_image shows it/.exec(textOf(image.content)) ?? [];
        expect(path).toMatch(/^\/mnt\/user-data\/outputs\/mcp\/every_get-tiny-image-[0-9a-f]{8}-1\.png$/);
        expect(mcp.sandbox.files.get(path)?.slice(1, 4)).toBe('PNG');
        expect(textOf(image.content).length).toBeLessThan(1_000);

        const resource = await call('get-resource-reference', { resourceType: 'Text', resourceId: 1 });
        expect(resource.content).toMatch(/\[resource demo:\S+ \(text\/plain\)\]\n.*Resource 1/s);
        expect((await call('get-structured-content', { location: 'New York' })).content).toMatch(/temperature/);
      } finally {
        await server.stop();
      }
    },
  );

  test('a broken, silent or invalid server does not affect the others', async () => {
    mcp.writeFile({
      good: { ...program('server-everything', 'stdio'), session_init_timeout: 60 },
      gone: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
      missing: { command: '/no/such/program' },
      ends: { command: process.execPath, args: ['-e', ''] },
      silent: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] },
      babbles: { command: process.execPath, args: ['-e', 'setInterval(() => console.log("no JSON"), 10)'] },
      wrong: { type: 'http' },
      off: { enabled: false, command: '/never/started' },
    });
    const source = mcp.process({ loadWaitMs: 60_000, connectTimeoutMs: 2_000 });
    const names = [...(await toolsByName(source)).keys()];

    expect(names).toContain('good_echo');
    expect(names.every((name) => name.startsWith('good_'))).toBe(true);
    const failed = mcp.logged.filter(({ event }) => event === 'mcp.failed').map(({ server }) => server);
    expect(new Set(failed)).toEqual(new Set(['gone', 'missing', 'ends', 'silent', 'babbles']));
    expect(mcp.logged).toContainEqual(
      expect.objectContaining({ level: 'error', problems: ['wrong: url: a server of type http needs one'] }),
    );
    // Lists wait only for the first attempt; further attempts at the silent server run in the background.
    const failures = () => mcp.logged.filter(({ server }) => server === 'silent').length;
    await waitFor(() => failures() > 1, { what: 'another attempt' });
    const before = failures();
    for (let round = 0; round < 3; round += 1) await toolsByName(source);
    expect(failures()).toBeLessThan(before + 3);
  });

  test('a restarted server is reconnected automatically, with its tools', async () => {
    const server = await startMcpServer('streamableHttp');
    mcp.writeFile({ every: { type: 'http', url: server.url } });
    const source = mcp.process();
    const context = await mcp.context();
    expect((await callTool(source, 'every_echo', { message: '1' }, context)).content).toBe('Echo: 1');
    await server.stop();

    await waitFor(async () => (await toolsByName(source)).size === 0, { what: 'the tools to go' });
    const again = await startMcpServer('streamableHttp', server.port);
    try {
      await waitFor(async () => (await toolsByName(source)).size > 0, { what: 'the tools to come' });
      const second = { ...context, key: `${context.run.runId}:call-2` };
      expect((await callTool(source, 'every_echo', { message: '2' }, second)).content).toBe('Echo: 2');
    } finally {
      await again.stop();
    }
  });
});
