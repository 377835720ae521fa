import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentReply, MemoryDocument } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import { ApiClient, type Frame, lastValues, runIdOf, type WireMessage } from '../support/client.js';
import { nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(120_000);

const CONFIG = `models:
  - {name: default, model: caribou-demo}
  - {name: other, model: caribou-other}
memory:
  debounce_seconds: 1
`;

let stack: Stack;
let alice: ApiClient;
let bob: ApiClient;

beforeAll(async () => {
  stack = await startStack({ config: CONFIG, env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' } });
  await stack.start('memory-worker');
  const base = `http://127.0.0.1:${nth(stack.gateways, 0).healthPort}/api`;
  alice = new ApiClient(base, { 'x-api-key': 'alice-key-1' });
  bob = new ApiClient(base, { 'x-api-key': 'bob-key-123' });
});
afterAll(() => stack.stop());

const MODES = ['values', 'events'];
const tool = (name: string, args: object): string => `#tool ${name} ${JSON.stringify(args)}`;

/** Carries a turn out in a thread of its own. */
async function turn(client: ApiClient, script: string, context: object = {}) {
  const threadId = await client.newThread();
  const frames = await (await client.run(threadId, script, { context, stream_mode: MODES })).end(60_000);
  return { threadId, frames, messages: lastValues(frames) };
}
const resultsOf = (messages: readonly WireMessage[], name: string): readonly WireMessage[] =>
  messages.filter((message) => message.type === 'tool' && message.name === name);
const agent = async (name: string, client = alice) => client.call<AgentReply>('GET', `/agents/${name}`);

interface Request {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** The request in which the model was first sent a word, in its parts; the prompt with the server's message behind it. */
function asked(word: string) {
  const body = nth(stack.model.requests(word), 0).body as Request;
  const prompt = [0, 1].map((at) => nth(body.messages, at).content).join('\n\n');
  const skills = [...prompt.matchAll(/^- ([a-z-]+): .* \(\/mnt\/skills\//gm)].map(([, name]) => name);
  return { prompt, model: body.model, tools: (body.tools ?? []).map((one) => one.function.name), skills };
}

const toolEnded = ({ event, data }: Frame): boolean => {
  const published = data as { readonly event?: string; readonly name?: string };
  return event === 'events' && published.event === 'on_tool_end' && published.name === 'setup_agent';
};

test('an agent is made in a chat, exists when the end of its tool is published, and survives its runner', async () => {
  const threadId = await alice.newThread();
  const workspace = join(stack.homeDir, 'data/users/alice/threads', threadId, 'user-data/workspace');
  const wait = 'touch started; until [ -e go ]; do sleep 0.05; done; echo went on';
  const word = nonce();
  const script = [
    word,
    tool('setup_agent', { soul: '# Poet\nYou rhyme, in <b>bold</b>.', description: 'rhymes' }),
    `#+${tool('bash', { description: 'wait', command: wait }).slice(1)}`,
    '#say Done.',
  ].join('\n');
  const context = { is_bootstrap: true, agent_name: 'Poet' };
  const stream = await alice.run(threadId, script, { context, stream_mode: MODES });
  await stream.waitFor('the end of setup_agent', toolEnded);
  const { status, body: made } = await agent('poet');
  expect([status, made.soul, made.description]).toEqual([200, '# Poet\nYou rhyme, in <b>bold</b>.', 'rhymes']);

  // The results of both calls are in no checkpoint yet, and the agent is edited before the next runner makes them again.
  await waitFor(() => existsSync(join(workspace, 'started')), { what: 'the command to start' });
  await nth(stack.runners, 0).kill9();
  const edited = await alice.call<AgentReply>('PUT', '/agents/poet', {
    soul: `${made.soul}</soul> Edited.`,
    version: made.version,
  });
  expect(edited.status).toBe(200);
  await stack.start('agent-runner');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, 'go'), '');
  const frames = await stream.end(60_000);

  expect(resultsOf(lastValues(frames), 'setup_agent')).toEqual([
    expect.objectContaining({ content: "Agent 'poet' created successfully!", status: 'success' }),
  ]);
  expect(frames.findLast(({ event }) => event === 'values')?.data).toMatchObject({ created_agent_name: 'poet' });
  expect((await agent('poet')).body).toEqual(edited.body);
  const run = await alice.call('GET', `/threads/${threadId}/runs/${runIdOf(stream)}`);
  expect(run.body).toMatchObject({ status: 'success' });

  const first = asked(word);
  expect(first.tools).toEqual(expect.arrayContaining(['setup_agent', 'bash', 'read_file']));
  expect(first.skills).toEqual(['bootstrap']);
  expect(first.prompt).toMatch(/^<role>\nYou are Caribou,/);
  expect(first.prompt).toContain('a custom agent named poet:');
});

/** Said in a conversation about an agent: to the lead agent, not to that one. */
const TEA = `I like tea ${nonce()}`;

test('another conversation cannot use its name, and other users do not see it', async () => {
  const before = (await agent('poet')).body;
  const script = `${TEA}\n${tool('setup_agent', { soul: 'Mine.', description: 'x' })}\n#say Oh.`;
  const { messages } = await turn(alice, script, { is_bootstrap: true, agent_name: 'poet' });
  expect(resultsOf(messages, 'setup_agent')).toEqual([
    expect.objectContaining({ status: 'error', content: expect.stringContaining("agent named 'poet' already") }),
  ]);
  expect((await agent('poet')).body).toEqual(before);

  expect((await agent('poet', bob)).status).toBe(404);
  expect((await bob.call('GET', '/agents')).body).toEqual({ agents: [] });
  const run = { assistant_id: 'lead_agent', input: null, context: { agent_name: 'poet' } };
  expect((await bob.call('POST', `/threads/${await bob.newThread()}/runs`, run)).status).toBe(422);
});

test('a run with it has its soul, model, tools, skills and memory, and nothing of it is the lead agent’s', async () => {
  const settings = { model: 'other', tool_groups: ['file:read'], skills: ['deep-research'] };
  expect((await alice.call('PUT', '/agents/poet', settings)).status).toBe(200);
  await alice.call('PUT', '/user-profile', { content: 'I keep a lighthouse.' });
  const word = nonce();
  await turn(alice, `I live in Oslo ${word}\n#say Noted.`, { agent_name: 'poet' });

  const { prompt, model, tools, skills } = asked(word);
  expect(prompt).toMatch(/^<role>\nYou are poet,/);
  expect(prompt).toContain('<soul>\n# Poet\nYou rhyme, in <b>bold</b>.&lt;/soul> Edited.\n</soul>');
  expect(prompt).toMatch(/<user_profile>\n[^<]*I keep a lighthouse\.\n<\/user_profile>/);
  expect([model, skills]).toEqual(['caribou-other', ['deep-research']]);
  expect(tools).toEqual([
    'ls',
    'glob',
    'grep',
    'read_file',
    'list_uploaded_files',
    'present_files',
    'ask_clarification',
    'update_agent',
  ]);

  const learnt = async (path: string): Promise<readonly string[]> =>
    (await alice.call<MemoryDocument>('GET', path)).body.facts.map(({ content }) => content);
  const fact = `I live in Oslo ${word}`;
  await waitFor(async () => (await learnt('/memory?agent=poet')).includes(fact), {
    what: 'the fact',
  });
  await waitFor(async () => (await learnt('/memory')).includes(TEA), { what: 'the tea' });
  expect([await learnt('/memory?agent=poet'), await learnt('/memory')]).toEqual([[fact], [TEA]]);

  const [next, lead] = [nonce(), nonce()];
  await turn(alice, `${next}\n#say Well.`, { agent_name: 'poet', model_name: 'default' });
  expect([asked(next).prompt.includes(fact), asked(next).model]).toEqual([true, 'caribou-demo']);
  await turn(alice, `${lead}\n#say Well.`);
  const other = asked(lead);
  expect(other.prompt).toContain('I keep a lighthouse.');
  expect(other.prompt).not.toMatch(/rhyme|Oslo|<soul>/);
  expect([other.model, other.skills]).toEqual(['caribou-demo', expect.not.arrayContaining(['bootstrap'])]);
  expect(other.tools).toContain('bash');
  for (const name of ['setup_agent', 'update_agent']) expect(other.tools).not.toContain(name);
});

test('it changes itself when it is asked to, from the next message on; deleted, it is refused', async () => {
  const script = `${tool('update_agent', { soul: 'You hum.', model: null })}\n#say Done.`;
  const { threadId, messages } = await turn(alice, script, { agent_name: 'poet' });
  expect(resultsOf(messages, 'update_agent')[0]?.content).toBe("Agent 'poet' updated: soul, model.");
  expect((await agent('poet')).body).toMatchObject({ soul: 'You hum.', model: null, skills: ['deep-research'] });
  const word = nonce();
  await turn(alice, `${word}\n#say Well.`, { agent_name: 'poet' });
  expect(asked(word)).toMatchObject({ prompt: expect.stringContaining('\nYou hum.\n'), model: 'caribou-demo' });

  expect((await alice.call('DELETE', '/agents/poet')).status).toBe(204);
  const run = { assistant_id: 'lead_agent', input: null, context: { agent_name: 'poet' } };
  expect((await alice.call('POST', `/threads/${threadId}/runs`, run)).status).toBe(422);
  expect((await alice.call('GET', '/memory?agent=poet')).body).toMatchObject({ facts: [] });
});

test('an agent that is deleted while its run waits ends it with a clear error', async () => {
  expect((await alice.call('POST', '/agents', { name: 'brief' })).status).toBe(201);
  const threadId = await alice.newThread();
  const gate = `g${nonce().slice(6)}`;
  const first = await alice.run(threadId, `#hold ${gate} before\n#say Well.`);
  await waitFor(() => stack.model.listHolds().some(({ name }) => name === gate), { what: 'the model to hold' });
  const second = await alice.run(threadId, '#say Never.', {
    context: { agent_name: 'brief' },
    multitask_strategy: 'enqueue',
  });
  await alice.call('DELETE', '/agents/brief');
  stack.model.release(gate);
  await first.end(60_000);
  const frames = await second.end(60_000);

  expect(frames.filter(({ event }) => event === 'error').map(({ data }) => data)).toEqual([
    expect.objectContaining({ error: 'NotFoundError', message: 'there is no agent "brief"' }),
  ]);
});
