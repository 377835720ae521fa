import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { waitFor, zipFile } from '@caribou/testing';
import { type ApiClient, lastValues, type WireMessage } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';
import { taskLine, WITH_SUBAGENTS } from '../support/task-client.js';

jest.setTimeout(120_000);

const CONFIG = `subagents:
  custom_agents:
    plain: {description: no skills, system_prompt: You are plain., skills: []}
    one: {description: one skill, system_prompt: You are one., skills: [deep-research]}
`;

let stack: Stack;
let client: ApiClient;
let other: ApiClient;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, pools: 1, config: CONFIG });
  client = stack.client(0);
  other = stack.client(1);
});
afterAll(() => stack.stop());

const skillFile = (name: string, more = ''): string =>
  `---\nname: ${name}\ndescription: Does ${name} & more.\n${more}---\n# How\nUse ink.\n`;

interface Skill {
  readonly name: string;
  readonly enabled: boolean;
  readonly category: string;
}
const skills = async (at = client): Promise<readonly Skill[]> =>
  (await at.call<{ skills: readonly Skill[] }>('GET', '/skills')).body.skills;

/** Puts an archive where an agent would leave it, and installs it. */
async function install(threadId: string, name: string, parts: Readonly<Record<string, string>>) {
  const path = join(stack.homeDir, 'data/users/default/threads', threadId, 'user-data/outputs', `${name}.skill`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, await zipFile(parts));
  const body = { thread_id: threadId, path: `/mnt/user-data/outputs/${name}.skill` };
  return client.call<{ detail?: string }>('POST', '/skills/install', body);
}

interface Request {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** The requests that hold a word, oldest first. */
const requests = (word: string): readonly Request[] => stack.model.requests(word).map(({ body }) => body as Request);
/** The system prompt and the server's message behind it. */
const promptOf = (request: Request | undefined): string =>
  (request?.messages ?? [])
    .slice(0, 2)
    .map(({ content }) => String(content))
    .join('\n\n');
/** The notes of what has changed since the thread's first turn. */
const changesIn = (request: Request | undefined): string =>
  (request?.messages ?? [])
    .slice(2)
    .flatMap(({ content }) => (String(content).startsWith('<dynamic_context>') ? [String(content)] : []))
    .join('\n\n');
const listed = (request: Request | undefined): readonly string[] =>
  [...promptOf(request).matchAll(/^- ([a-z-]+): .* \(\/mnt\/skills\//gm)].map(([, name]) => name ?? '');

const isHidden = (message: WireMessage): boolean =>
  (message['additional_kwargs'] as { hide_from_ui?: boolean } | undefined)?.hide_from_ui === true;

async function toolsOf(threadId: string, script: string, options = {}): Promise<readonly WireMessage[]> {
  const frames = await (await client.run(threadId, script, options)).end();
  const messages = lastValues(frames);
  const asked = messages.findLastIndex((message) => message.type === 'human' && !isHidden(message));
  return messages.slice(asked).filter(({ type }) => type === 'tool');
}
const call = (name: string, args: object): string =>
  `#tool ${name} ${JSON.stringify({ description: 'a test', ...args })}`;
const answers = async (threadId: string, ...calls: readonly string[]): Promise<readonly unknown[]> =>
  (await toolsOf(threadId, [...calls, '#say Done.'].join('\n'))).map(({ content }) => content);

/** The skills in the prompt of agents; `bootstrap` is for conversations about making one. */
const SHIPPED = ['chart-and-report', 'data-analysis', 'deep-research', 'skill-creator'];
const LISTED = ['bootstrap', ...SHIPPED];

test('shipped ones are listed, in the prompt of the agent, and readable in the sandbox, but not writable', async () => {
  const threadId = await client.newThread();
  expect((await skills()).map(({ name, enabled, category }) => [name, enabled, category])).toEqual(
    LISTED.map((name) => [name, true, 'public']),
  );
  const word = nonce();
  const script = call('bash', {
    command:
      'cd /mnt/skills && ls */ && printf "a,b\\nx,2\\n" > ~/t.csv && python3 public/data-analysis/scripts/profile_table.py ~/t.csv; touch x public/y; rm -rf public',
  });
  const [ran] = await toolsOf(threadId, `${word}\n${script}\n#say Done.`);
  expect(listed(requests(word)[0])).toEqual(SHIPPED);
  expect(ran?.content).toContain(LISTED.join('\n'));
  expect(ran?.content).toContain('1 rows, 2 columns');
  expect(String(ran?.content).match(/Read-only file system/g)?.length).toBeGreaterThan(2);

  const [read, found, refused] = await answers(
    threadId,
    call('read_file', { path: '/mnt/skills/public/deep-research/SKILL.md', start_line: 1, end_line: 2 }),
    call('glob', { pattern: '**/*.py', path: '/mnt/skills' }),
    call('write_file', { path: '/mnt/skills/public/deep-research/SKILL.md', content: 'evil' }),
  );
  expect(read).toContain('name: deep-research');
  expect(found).toContain('/mnt/skills/public/skill-creator/scripts/package_skill.py');
  expect(refused).toMatch(/outside the allowed directories/);
});

test('an installed skill is in the next prompt and in a box that is there already; switched off it is in neither', async () => {
  const threadId = await client.newThread();
  // Another command each time: an agent that repeats itself is stopped.
  const cat = (): string => call('bash', { command: `cat /mnt/skills/custom/ink/refs/a.txt # ${nonce()}` });
  const read = call('read_file', { path: '/mnt/skills/custom/ink/SKILL.md' });
  expect((await answers(threadId, cat()))[0]).toMatch(/No such file/);

  const parts = { 'ink/SKILL.md': skillFile('ink'), 'ink/refs/a.txt': 'of the skill' };
  expect(await install(threadId, 'ink', parts)).toMatchObject({
    status: 200,
    body: { success: true, skill_name: 'ink' },
  });
  expect(await install(threadId, 'ink', { ...parts, 'ink/refs/a.txt': 'of another' })).toMatchObject({ status: 409 });
  const on = nonce();
  const [shown, text] = await toolsOf(threadId, `${on}\n${cat()}\n${read}\n#say Done.`);
  expect(changesIn(requests(on)[0])).toMatch(
    /New in it:\n- ink: Does ink &amp; more\. \(\/mnt\/skills\/custom\/ink\/SKILL\.md\)\n<\/available_skills>/,
  );
  expect(shown?.content).toContain('of the skill');
  expect(text?.content).toContain('Use ink.');

  expect((await other.call('PUT', '/skills/ink', { enabled: false })).body).toMatchObject({
    name: 'ink',
    enabled: false,
  });
  const off = nonce();
  const [gone, unread] = await toolsOf(threadId, `${off}\n${cat()}\n${read}\n#say Done.`);
  expect(listed(requests(off)[0])).toEqual(SHIPPED);
  expect(changesIn(requests(off)[0])).toMatch(/Not in it any more:\n- ink: [^\n]*\n<\/available_skills>/);
  expect([gone?.content, unread?.content]).toEqual([
    expect.stringMatching(/No such file/),
    expect.stringMatching(/^Error: File not found/),
  ]);

  await other.call('PUT', '/skills/ink', { enabled: true });
  expect((await answers(threadId, cat()))[0]).toContain('of the skill');
  expect((await client.call('DELETE', '/skills/ink')).status).toBe(200);
  expect((await skills(other)).map(({ name }) => name)).toEqual(LISTED);
  expect((await answers(threadId, cat()))[0]).toMatch(/No such file/);
});

test('an evil archive installs nothing', async () => {
  const threadId = await client.newThread();
  expect(await install(threadId, 'evil', { 'SKILL.md': '# none' })).toMatchObject({
    status: 400,
    body: { detail: expect.stringMatching(/^Invalid skill/) },
  });
  expect((await skills()).map(({ name }) => name)).toEqual(LISTED);
});

test('/name brings the skill and keeps the run to its tools, over the death of its runner; the next run is free', async () => {
  const threadId = await client.newThread();
  await install(threadId, 'quill', { 'SKILL.md': skillFile('quill', 'allowed-tools: read_file, ls\n') });
  const word = nonce();
  const bash = call('bash', { command: 'echo ran >> ledger; cat ledger' });
  const stream = await client.run(
    threadId,
    `/quill write ${word}\n${bash}\n#hold here before times=1\n${bash}\n#say Done.`,
  );
  await waitFor(() => stack.model.listHolds().length === 1, { what: 'the model to hold' });
  await nth(stack.runners, 0).kill9();
  await stack.start('agent-runner');
  const frames = await stream.end(60_000);

  const messages = lastValues(frames);
  const refusal = expect.stringMatching(/the skill 'quill', which you were asked to follow, does not allow it/);
  expect(messages.filter(({ type }) => type === 'tool').map(({ content }) => content)).toEqual([refusal, refusal]);
  expect(messages.filter(({ type }) => type === 'human')).toEqual([
    expect.objectContaining({ content: expect.stringContaining(word) }),
    expect.objectContaining({
      content: expect.stringContaining('Use ink.'),
      additional_kwargs: expect.objectContaining({ hide_from_ui: true }),
    }),
  ]);
  for (const { tools = [] } of requests(word)) expect(tools.map((tool) => tool.function.name)).toContain('bash');

  expect((await answers(threadId, bash))[0]).toContain('ran');
  await client.call('DELETE', '/skills/quill');
});

test('subagents get the skills of their kind', async () => {
  const threadId = await client.newThread();
  const words = [nonce(), nonce(), nonce()] as const;
  const tasks = [
    taskLine(`${words[0]}\n#say done`),
    taskLine(`${words[1]}\n#say done`, { type: 'plain' }),
    taskLine(`${words[2]}\n#say done`, { type: 'one' }),
  ];
  await (await client.run(threadId, [...tasks, '#say Done.'].join('\n'), WITH_SUBAGENTS)).end(60_000);
  const skillNames = words.map((word) =>
    listed(requests(word).find((request) => !promptOf(request).includes('You are Caribou'))),
  );
  expect(skillNames).toEqual([SHIPPED, [], ['deep-research']]);
});
