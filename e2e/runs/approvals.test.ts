import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApprovalRequest } from '@caribou/contracts';
import { type ScriptedMcp, startScriptedMcp, textResult, type TestService, waitFor } from '@caribou/testing';
import { Client } from 'langgraph-sdk-1-15';
import { approvalsConfig, callLine, OWN_TOOL, PAY, tee } from '../support/approval-tools.js';
import { type ApiClient, lastValues, type WireMessage } from '../support/client.js';
import { clientOf, nonce, nth, type Stack, startStack } from '../support/stack.js';
import { taskLines, WITH_SUBAGENTS } from '../support/task-client.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(180_000);

interface Waiting {
  readonly interrupt_id: string;
  readonly thread_id: string;
  readonly value: ApprovalRequest;
}

let folder: string;
let bank: ScriptedMcp;
const paid: Readonly<Record<string, unknown>>[] = [];
let release: (() => void) | undefined;
let stack: Stack;
let client: ApiClient;
let gateway: TestService;
let runner: TestService;
let manager: TestService;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-e2e-approvals-'));
  bank = await startScriptedMcp({
    tools: {
      pay: {
        inputSchema: { type: 'object', properties: { to: { type: 'string' }, amount: { type: 'integer' } } },
        call: async (args) => {
          paid.push(args);
          if (args['hold'] === true) await new Promise<void>((resolve) => (release = resolve));
          return textResult(`paid ${String(args['amount'])}`);
        },
      },
    },
  });
  const servers = { mcpServers: { bank: { type: 'http', url: bank.url } } };
  writeFileSync(join(folder, 'extensions_config.json'), JSON.stringify(servers));
  stack = await startStack({
    gateways: 0,
    runners: 0,
    managers: 0,
    config: approvalsConfig(bank.port),
    env: { CARIBOU_EXTENSIONS_CONFIG: join(folder, 'extensions_config.json') },
  });
  writeFileSync(join(stack.homeDir, 'own.mjs'), OWN_TOOL);
  await startAll();
});

afterAll(async () => {
  release?.();
  await stack.stop();
  await bank.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  paid.length = 0;
  rmSync(join(stack.homeDir, 'own-effects'), { force: true });
});

async function startAll(): Promise<void> {
  [gateway, runner, manager] = await Promise.all([
    stack.start('gateway'),
    stack.start('agent-runner'),
    stack.start('sandbox-manager'),
  ]);
  await waitFor(
    async () => (await Promise.all([gateway, runner, manager].map((one) => one.ready()))).every(({ ok }) => ok),
    {
      what: 'all services to be ready',
      timeoutMs: 60_000,
    },
  );
  client = clientOf(gateway);
}

/** Kills every service without notice, and starts others. */
async function replaceAll(): Promise<void> {
  await Promise.all([gateway, runner, manager].map((service) => service.kill9()));
  await startAll();
}

const ownEffects = (): readonly string[] => {
  const file = join(stack.homeDir, 'own-effects');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};

/** Runs a script until it waits, and returns the thread and what waits. */
async function ask(...lines: string[]): Promise<{ readonly threadId: string; readonly waiting: readonly Waiting[] }> {
  const threadId = await client.newThread();
  await (await client.run(threadId, [nonce(), ...lines, '#say bye'].join('\n'))).end();
  const { body } = await client.call<Waiting[]>('GET', `/threads/${threadId}/approvals`);
  return { threadId, waiting: body };
}

const decide = (threadId: string, { interrupt_id: id }: Waiting, decision: object) =>
  client.call<Record<string, unknown>>('POST', `/threads/${threadId}/approvals/${id}`, decision);

/** The messages once the thread is idle. */
async function finished(threadId: string): Promise<readonly WireMessage[]> {
  await waitFor(
    async () => (await client.call<{ status: string }>('GET', `/threads/${threadId}`)).body.status === 'idle',
    {
      what: `thread ${threadId} to be idle`,
      timeoutMs: 60_000,
    },
  );
  const { body } = await client.call<{ values: { messages: WireMessage[] } }>('GET', `/threads/${threadId}/state`);
  return body.values.messages;
}
const resultIn = (messages: readonly WireMessage[]): WireMessage | undefined =>
  messages.findLast(({ type }) => type === 'tool');

describe('approvals over REST', () => {
  test('a tool of an MCP server is called once when approved', async () => {
    const { threadId, waiting } = await ask(PAY);
    expect(waiting).toMatchObject([
      {
        value: { action_requests: [{ name: 'bank_pay', args: { to: 'bob', amount: 5 } }], reason: { rules: ['bank'] } },
      },
    ]);
    expect(paid).toEqual([]);
    expect((await decide(threadId, nth(waiting, 0), { type: 'approve' })).status).toBe(200);
    const messages = await finished(threadId);
    expect(resultIn(messages)).toMatchObject({
      content: expect.stringContaining('paid 5'),
      additional_kwargs: { approval: { decision: 'approve', by: 'default' } },
    });
    expect(messages.at(-1)?.content).toBe('bye');
    expect(paid).toEqual([{ to: 'bob', amount: 5 }]);
    expect((await decide(threadId, nth(waiting, 0), { type: 'approve' })).status).toBe(409);
  });

  test('an edited call is made with the new arguments; those of another shape are refused', async () => {
    const { threadId, waiting } = await ask(PAY);
    const edit = (args: object) => ({ type: 'edit', edited_action: { name: 'bank_pay', args } });
    const wrong = await decide(threadId, nth(waiting, 0), edit({ to: 'bob', amount: 'much' }));
    expect([wrong.status, String(wrong.body['detail'])]).toEqual([422, expect.stringContaining('args.amount')]);
    expect((await decide(threadId, nth(waiting, 0), edit({ to: 'bob', amount: 1 }))).status).toBe(200);
    expect(resultIn(await finished(threadId))).toMatchObject({
      content: expect.stringContaining('They were: {"to":"bob","amount":1}'),
      additional_kwargs: { approval: { decision: 'edit', original_args: { amount: 5 }, args: { amount: 1 } } },
    });
    expect(paid).toEqual([{ to: 'bob', amount: 1 }]);
  });

  test.each([
    [{ type: 'reject', message: 'too much' }, 'too much', 'error'],
    [{ type: 'respond', message: 'I paid it myself' }, 'I paid it myself', 'success'],
  ])('%j: the tool is not called', async (decision, text, status) => {
    const { threadId, waiting } = await ask(PAY);
    await decide(threadId, nth(waiting, 0), decision);
    expect(resultIn(await finished(threadId))).toMatchObject({ content: expect.stringContaining(text), status });
    expect(paid).toEqual([]);
  });

  test('a command that a rule asks for, a file outside of the given directories, and a tool of the operator', async () => {
    const { threadId, waiting } = await ask(
      tee('one'),
      `#+${callLine('own_effect', { line: 'mine' }).slice(1)}`,
      `#+${callLine('write_file', { path: '/mnt/user-data/workspace/a', content: 'x' }).slice(1)}`,
      `#+${callLine('write_file', { path: '/mnt/user-data/outputs/b', content: 'y' }).slice(1)}`,
    );
    expect(waiting.map(({ value }) => value.reason.rules)).toEqual([['tees'], ['own'], ['outside']]);
    expect([linesOf(stack, threadId, 'ledger'), linesOf(stack, threadId, 'a'), ownEffects()]).toEqual([[], [], []]);
    const decisions = [{ type: 'approve' }, { type: 'approve' }, { type: 'reject' }];
    await client.call('POST', `/threads/${threadId}/runs`, {
      assistant_id: 'lead_agent',
      command: { resume: { decisions } },
    });
    await finished(threadId);
    expect([linesOf(stack, threadId, 'ledger'), linesOf(stack, threadId, 'a'), ownEffects()]).toEqual([
      ['one'],
      [],
      ['mine'],
    ]);
  });

  test('the deadline decides when nobody does', async () => {
    const { threadId } = await ask(callLine('ls', { description: 'look', path: '/mnt/user-data/workspace' }));
    expect(resultIn(await finished(threadId))).toMatchObject({
      content: expect.stringContaining('Nobody decided in time'),
      additional_kwargs: { approval: { decision: 'reject', by: null } },
    });
  });
});

describe('approvals of agents', () => {
  test('the rules of a custom agent hold for its runs, whoever continues them, and for no others', async () => {
    await client.call('POST', '/agents', { name: 'careful', approvals: [{ id: 'shell', tools: ['bash'] }] });
    const echo = callLine('bash', { description: 'a test', command: 'echo from the shell' });
    expect((await ask(echo)).waiting).toEqual([]);
    const threadId = await client.newThread();
    const options = { assistant_id: 'careful' };
    await (await client.run(threadId, [nonce(), echo, echo, '#say bye'].join('\n'), options)).end();
    const open = async () => (await client.call<Waiting[]>('GET', `/threads/${threadId}/approvals`)).body;
    const [first] = await open();
    expect(first).toMatchObject({ value: { reason: { rules: ['shell'] } } });
    await client.call('POST', `/threads/${threadId}/runs/wait`, {
      assistant_id: 'lead_agent',
      command: { resume: { decisions: [{ type: 'approve' }] } },
    });
    const [second] = await open();
    expect(second?.interrupt_id).not.toBe(first?.interrupt_id);
    await decide(threadId, nth([second], 0) as Waiting, { type: 'reject' });
    const results = (await finished(threadId))
      .filter(({ type }) => type === 'tool')
      .map(({ content }) => String(content));
    expect(results).toEqual(['from the shell\n', expect.stringContaining('was not called')]);
  });

  test('a call of a subagent is asked for in the thread of its agent, and made once, also when the pool is killed', async () => {
    let pool = await stack.start('subagent-pool');
    const threadId = await client.newThread();
    const script = `${nonce()}\n${taskLines(`${nonce()}\n${PAY}\n#say paid it`)}\n#say bye`;
    await (await client.run(threadId, script, WITH_SUBAGENTS)).end(60_000);
    const { body } = await client.call<Waiting[]>('GET', `/threads/${threadId}/approvals`);
    expect(body).toMatchObject([
      { value: { action_requests: [{ name: 'bank_pay' }] }, namespace: [expect.any(String)] },
    ]);
    await pool.kill9();
    pool = await stack.start('subagent-pool');
    expect((await decide(threadId, nth(body, 0), { type: 'approve' })).status).toBe(200);
    expect(String(resultIn(await finished(threadId))?.content)).toContain('paid it');
    expect(paid).toHaveLength(1);
    await pool.kill9();
  });
});

describe('approvals by the SDK', () => {
  test('a run stops at the call, and client.runs.stream continues it with a decision', async () => {
    const sdk = new Client({ apiUrl: client.base });
    const { thread_id: threadId } = await sdk.threads.create();
    const stream = async (payload: object): Promise<{ event: string; data: unknown }[]> => {
      const parts = [];
      for await (const part of sdk.runs.stream(threadId, 'lead_agent', { streamMode: 'values', ...payload }))
        parts.push({ event: part.event as string, data: part.data as unknown });
      return parts;
    };
    const content = `${nonce()}\n${PAY}\n#say bye`;
    const asked = await stream({ input: { messages: [{ type: 'human', content }] } });
    expect(asked.findLast(({ event }) => event === 'values')?.data).toMatchObject({
      __interrupt__: [
        { value: { action_requests: [{ name: 'bank_pay' }], review_configs: [{ action_name: 'bank_pay' }] } },
      ],
    });
    const editedAction = { name: 'bank_pay', args: { to: 'ann', amount: 2 } };
    const resumed = await stream({ command: { resume: { decisions: [{ type: 'edit', editedAction }] } } });
    expect(lastValues(resumed.map((part) => ({ ...part, id: undefined }))).at(-1)?.content).toBe('bye');
    expect(paid).toEqual([{ to: 'ann', amount: 2 }]);
  });
});

describe('while every service is killed', () => {
  test.each([
    [{ type: 'approve' }, 1],
    [{ type: 'reject' }, 0],
  ])('between question and decision: %j has %d effects', async (decision, effects) => {
    const { threadId, waiting } = await ask(PAY, `#+${tee('line').slice(1)}`);
    await replaceAll();
    const listed = await client.call<{ approvals: Waiting[] }>('GET', '/approvals?limit=100');
    expect(listed.body.approvals.filter(({ thread_id: id }) => id === threadId)).toHaveLength(2);
    const resume = Object.fromEntries(waiting.map(({ interrupt_id: id }) => [id, { decisions: [decision] }]));
    await client.call('POST', `/threads/${threadId}/runs`, { assistant_id: 'lead_agent', command: { resume } });
    await finished(threadId);
    expect([paid.length, linesOf(stack, threadId, 'ledger').length]).toEqual([effects, effects]);
  });

  test('between decision and effect: it happens once', async () => {
    const { threadId, waiting } = await ask(PAY, `#+${tee('line').slice(1)}`);
    await runner.kill9();
    const resume = Object.fromEntries(
      waiting.map(({ interrupt_id: id }) => [id, { decisions: [{ type: 'approve' }] }]),
    );
    const command = { assistant_id: 'lead_agent', command: { resume } };
    expect((await client.call('POST', `/threads/${threadId}/runs`, command)).status).toBe(200);
    expect([paid.length, linesOf(stack, threadId, 'ledger').length]).toEqual([0, 0]);
    await replaceAll();
    expect((await client.call('POST', `/threads/${threadId}/runs`, command)).status).toBe(409);
    await finished(threadId);
    expect([paid.length, linesOf(stack, threadId, 'ledger')]).toEqual([1, ['line']]);
  });

  test.each(['runner', 'gateway', 'manager'] as const)(
    'after the effect, the %s: it does not happen again',
    async (name) => {
      const wait = '; while [ ! -e /mnt/user-data/workspace/gate ]; do sleep 0.1; done';
      const { threadId, waiting } = await ask(tee('line', wait));
      await decide(threadId, nth(waiting, 0), { type: 'approve' });
      await waitFor(() => linesOf(stack, threadId, 'ledger').length === 1, { what: 'the effect' });
      const victim = { runner, gateway, manager }[name];
      await victim.kill9();
      openGate(stack, threadId, 'gate');
      if (name === 'runner') runner = await stack.start('agent-runner');
      if (name === 'manager') manager = await stack.start('sandbox-manager');
      if (name === 'gateway') {
        gateway = await stack.start('gateway');
        client = clientOf(gateway);
      }
      const messages = await finished(threadId);
      expect(linesOf(stack, threadId, 'ledger')).toEqual(['line']);
      expect(messages.at(-1)?.content).toBe('bye');
      expect(resultIn(messages)).toMatchObject({ additional_kwargs: { approval: { decision: 'approve' } } });
    },
  );

  test('after a call of an MCP server arrived: it is not made again', async () => {
    const { threadId, waiting } = await ask(callLine('bank_pay', { to: 'bob', amount: 5, hold: true }));
    await decide(threadId, nth(waiting, 0), { type: 'approve' });
    await waitFor(() => paid.length === 1, { what: 'the call' });
    await runner.kill9();
    release?.();
    runner = await stack.start('agent-runner');
    const messages = await finished(threadId);
    expect(paid).toHaveLength(1);
    expect(String(resultIn(messages)?.content)).toContain('unknown');
  });
});
