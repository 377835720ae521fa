import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type TestService, waitFor, waitForOutput } from '@caribou/testing';
import { type ApiClient, lastValues, type WireMessage } from '../support/client.js';
import { type Helpdesk, startHelpdesk } from '../support/helpdesk.js';
import { type AppName, clientOf, nonce, nth, type Stack, startStack } from '../support/stack.js';
import { taskLine, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(90_000);

const EXAMPLE = resolve('examples/custom-tool/tickets.mjs');
const entry = (name: string, use: string): string =>
  `  - {name: ${name}, group: helpdesk, use: "${EXAMPLE}#${use}", url: $HELPDESK_URL, api_key: $HELPDESK_KEY}\n`;
/** A kind of subagent that is limited to a group. */
const READER =
  "subagents: {custom_agents: {reader: {description: reads, system_prompt: Read., tool_groups: ['file:read']}}}\n";
/** Takeovers in seconds. */
const CLOCKS = 'clocks: {lease_ms: 1500, renew_ms: 300, ack_wait_ms: 1500, busy_nak_ms: 100, sweep_ms: 500}\n';

const namesOf = (request: unknown): readonly string[] =>
  (request as ChatRequest).tools.map((tool) => tool.function.name);

interface ChatRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly chat_template_kwargs?: unknown;
  readonly tools: readonly { readonly function: { readonly name: string } }[];
}

/** The configuration in DeerFlow's format, with two tools of the operator at the end of its list. */
async function configText(): Promise<string> {
  const theirs = await readFile('e2e/api/deerflow/deerflow.yaml', 'utf8');
  const own = entry('open_ticket', 'openTicket') + entry('ticket_status', 'ticketStatus');
  const text = theirs
    .replace('\ntool_search:', `\n${own}tool_search:`)
    .replace('\nsandbox:\n', '\nsandbox:\n  driver: bwrap\n');
  return `${text}${READER}${CLOCKS}`;
}

describe("DeerFlow's configuration over the real stack", () => {
  let stack: Stack;
  let helpdesk: Helpdesk;
  let client: ApiClient;
  let runner: TestService;
  let start: (app: AppName, more?: Readonly<Record<string, string>>) => Promise<TestService>;

  beforeAll(async () => {
    [stack, helpdesk] = await Promise.all([startStack({ gateways: 0, runners: 0, managers: 0 }), startHelpdesk()]);
    const path = join(stack.homeDir, 'deerflow.yaml');
    await writeFile(path, await configText());
    const env = {
      CARIBOU_CONFIG: '',
      DEER_FLOW_CONFIG_PATH: path,
      OPENAI_BASE_URL: '',
      OPENAI_API_KEY: '',
      VLLM_BASE_URL: stack.model.baseUrl,
      VLLM_API_KEY: 'key-of-the-model',
      HELPDESK_URL: helpdesk.url,
      HELPDESK_KEY: 'key-of-the-helpdesk',
    };
    start = (app, more = {}) => stack.start(app, { ...env, ...more });
    const [gateway, first, manager] = await Promise.all([
      start('gateway'),
      start('agent-runner'),
      start('sandbox-manager'),
    ]);
    const services = [gateway, first, manager];
    await waitFor(async () => (await Promise.all(services.map((service) => service.ready()))).every(({ ok }) => ok), {
      what: 'all services to be ready',
    });
    [client, runner] = [clientOf(gateway), first];
  });
  afterAll(async () => {
    await stack.stop();
    await helpdesk.close();
  });

  const toolsOf = (frames: Parameters<typeof lastValues>[0]): readonly WireMessage[] =>
    lastValues(frames).filter(({ type }) => type === 'tool');
  /** Kills the runner while the helpdesk has a matching request, and lets another runner continue. */
  async function killedAt(threadId: string, script: string, request: RegExp): Promise<readonly WireMessage[]> {
    helpdesk.hold();
    const before = helpdesk.requests.length;
    const stream = await client.run(threadId, script);
    await waitFor(() => helpdesk.requests.slice(before).some((line) => request.test(line)), { what: 'the call' });
    const next = start('agent-runner');
    await runner.kill9();
    helpdesk.release();
    runner = await next;
    return toolsOf(await stream.end(60_000));
  }

  test('it loads with three warnings, names its source, and shows no key', async () => {
    await waitForOutput(runner, /"config\.warning".*\n/, { times: 3 });
    const lines = (await waitForOutput(runner, /DEER_FLOW_CONFIG_PATH: read as CARIBOU_CONFIG.*\n/)).split('\n');
    const linesWith = (event: string): readonly string[] => lines.filter((line) => line.includes(`"${event}"`));

    expect(linesWith('config.warning')).toHaveLength(3);
    expect(linesWith('config.notice').join('\n')).toContain('DEER_FLOW_CONFIG_PATH: read as CARIBOU_CONFIG');
    expect(stack.output()).not.toMatch(/key-of-the-(model|helpdesk)/);
  });

  test('a run uses a mapped model, tools that the list names, and one of the operator', async () => {
    const word = nonce();
    const calls = ['#tool bash {"command":"echo from the box"}', '#+tool open_ticket {"title":"the printer smokes"}'];
    const script = `${word}\n${calls.join('\n')}\n#tool str_replace {}\n#say Done.`;
    const frames = await (await client.run(await client.newThread(), script)).end();

    const [bash, ticket, replace] = toolsOf(frames);
    expect(bash?.content).toContain('from the box');
    expect(ticket?.content).toMatch(/^Ticket \d+ is open\.$/);
    expect(replace?.content).toContain("Tool 'str_replace' does not exist");
    expect(helpdesk.requests).toEqual(['POST /tickets {"title":"the printer smokes","urgent":false}']);
    expect(helpdesk.keys).toEqual(['Bearer key-of-the-helpdesk']);

    const request = nth(stack.model.requests(word), 0).body as ChatRequest;
    expect(request).toMatchObject({ model: 'Qwen/Qwen3-32B', max_tokens: 8192 });
    expect(request.chat_template_kwargs).toEqual({ enable_thinking: true });
    const names = namesOf(request);
    expect(names).toEqual(
      expect.arrayContaining([
        'ls',
        'read_file',
        'grep',
        'write_file',
        'bash',
        'present_files',
        'open_ticket',
        'ticket_status',
      ]),
    );
    expect(names).not.toEqual(expect.arrayContaining(['glob']));
    expect(names).toEqual(expect.arrayContaining(['web_search', 'web_fetch']));
    expect(names).not.toEqual(expect.arrayContaining(['image_search']));
  });

  test('a tool whose runner dies during the call is not called again, and the model is informed', async () => {
    const title = nonce();
    const script = `#tool open_ticket {"title":"${title}"}\n#say Done.`;

    const [ticket] = await killedAt(await client.newThread(), script, new RegExp(title));

    expect(ticket).toMatchObject({
      status: 'error',
      content: expect.stringMatching(/outcome of this call is unknown/),
    });
    expect(helpdesk.requests.filter((line) => line.includes(title))).toHaveLength(1);
  });

  test('one that only reads is called again', async () => {
    const [status] = await killedAt(await client.newThread(), '#tool ticket_status {"number":44}\n#say Done.', /44/);

    expect(status?.content).toContain('solved');
    expect(helpdesk.requests.filter((line) => line === 'GET /tickets/44')).toHaveLength(2);
  });

  test('subagents have the tools of the operator, too, unless their kind is limited to other groups', async () => {
    await start('subagent-pool');
    const [all, reader] = [nonce(), nonce()];
    const calls = [
      taskLine(`${all}\n#tool ticket_status {"number":5}\n#say Looked.`),
      taskLine(`${reader}\n#say Read.`, { type: 'reader' }),
    ];
    const stream = await client.run(await client.newThread(), `${calls.join('\n')}\n#say Done.`, WITH_SUBAGENTS);

    const results = toolsOf(await stream.end(60_000));
    expect(results.map(({ content }) => content)).toEqual([
      expect.stringContaining('Looked.'),
      expect.stringContaining('Read.'),
    ]);
    expect(helpdesk.requests).toContain('GET /tickets/5');
    // The lead's requests contain the text, too; only the lead has the tool `task`.
    const [ofAll, ofReader] = [all, reader].map((word) =>
      stack.model
        .requests(word)
        .map(({ body }) => namesOf(body))
        .find((names) => !names.includes('task')),
    );
    expect(ofAll).toEqual(expect.arrayContaining(['bash', 'ticket_status', 'open_ticket']));
    expect(ofReader).toEqual(expect.arrayContaining(['ls', 'read_file', 'grep']));
    expect(ofReader?.filter((name) => ['bash', 'write_file', 'ticket_status', 'open_ticket'].includes(name))).toEqual(
      [],
    );
  });

  test('a broken tool prevents the start of runner and pool, with a line for each', async () => {
    const path = join(stack.homeDir, 'broken.yaml');
    const tools = [
      `{name: a, use: "${EXAMPLE}#gone"}`,
      '{name: b, use: ./none.mjs#b}',
      `{name: c, use: "${EXAMPLE}#openTicket"}`,
    ];
    await writeFile(path, `tools: [${tools.join(', ')}]\n`);

    for (const app of ['agent-runner', 'subagent-pool'] as const) {
      const starting = start(app, { DEER_FLOW_CONFIG_PATH: path });

      await expect(starting).rejects.toThrow(/ended with 1 before it was ready/);
      await expect(starting).rejects.toThrow(
        /\n {2}- tools\[0\] \(.*#gone\): it has no export gone; it has openTicket/,
      );
      await expect(starting).rejects.toThrow(/\n {2}- tools\[1\] \(.*none\.mjs#b\): there is no file /);
      await expect(starting).rejects.toThrow(/\n {2}- tools\[2\] \(.*#openTicket\): .*url/);
    }
  });
});
