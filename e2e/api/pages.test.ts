import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { waitFor, zipFile } from '@caribou/testing';
import * as must from './pages/must-fields.js';
import { checkedEnd, PageSession, streamedIds } from './pages/page-session.js';
import { positionOf } from '../support/client.js';
import { nonce, type Stack, startStack } from '../support/stack.js';

/** The requests of DeerFlow's two pages in the order of a session, each answer checked for what the page needs. */

jest.setTimeout(90_000);

const SERVERS = {
  mcpServers: { docs: { enabled: false, type: 'http', url: 'http://127.0.0.1:9', headers: { k: 'secret' } } },
};
const PLAN = [{ content: 'Read', status: 'in_progress' }];

let stack: Stack;
let folder: string;
let origin: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'caribou-e2e-pages-'));
  writeFileSync(join(folder, 'extensions.json'), JSON.stringify(SERVERS));
  stack = await startStack({ env: { CARIBOU_EXTENSIONS_CONFIG: join(folder, 'extensions.json') } });
  origin = stack.client().base.replace('/api/langgraph', '');
});
afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true });
});

const lg = (threadId: string): string => `/api/langgraph/threads/${threadId}`;
const textsOf = (messages: readonly { readonly content: unknown }[] = []): unknown[] =>
  messages.map(({ content }) => (Array.isArray(content) ? (content as { text?: string }[])[0]?.text : content));

/** The part of a session about custom agents, for a server that supports them. */
async function agentsPart(page: PageSession): Promise<void> {
  const { agents } = await page.ask(must.Agents, 'GET', '/api/agents');
  const check = await page.ask(must.AgentCheck, 'GET', '/api/agents/check?name=Page-Agent');
  expect(check).toMatchObject({ available: true });
  expect(agents.map(({ name }) => name)).not.toContain('page-agent');
  expect(await page.status('GET', '/api/agents/page-agent')).toBe(404);
}

test('the older page: a first message with a file, a reload, a stop, a new name, settings, deletion', async () => {
  const page = new PageSession(origin, ['messages-tuple', 'values', 'updates', 'custom', 'events']);
  await page.sidebar();
  expect((await page.ask(must.Models, 'GET', '/api/models')).models[0]).toMatchObject({ name: 'caribou-demo' });

  const threadId = crypto.randomUUID();
  const form = new FormData();
  form.append('files', new Blob(['tundra']), 'notes.txt');
  const uploaded = await page.ask(must.Uploads, 'POST', `/api/threads/${threadId}/uploads`, form);
  const files = uploaded.files.map(({ filename, size, virtual_path: path }) => ({
    filename,
    size,
    path,
    status: 'uploaded',
  }));
  await page.ask(must.Thread, 'POST', '/api/langgraph/threads', { thread_id: threadId, metadata: {} });
  expect(await page.history(threadId)).toBeUndefined();
  const report = { description: 'a report', path: '/mnt/user-data/outputs/report.md', content: '# Tundra' };
  const text = [
    `Look at this ${nonce()}`,
    `#tool write_file ${JSON.stringify(report)}`,
    '#tool present_files {"filepaths":["/mnt/user-data/outputs/report.md"]}',
    '#hold reload after 20',
    // 10 ms apart, so that they are not joined.
    '#tokens 60 10',
  ].join('\n');
  const first = await page.say(threadId, { text, files });
  await waitFor(() => Promise.resolve(stack.model.listHolds().length === 1), { what: 'the answer to be half said' });
  const joined = await page.join(threadId, first.runId);
  stack.model.release('reload');
  const streamed = await checkedEnd(first.stream);
  expect((await checkedEnd(joined)).map(positionOf)).toEqual(streamed.map(positionOf));
  expect(streamed.filter(({ event }) => event === 'messages').length).toBeGreaterThan(10);

  const shown = await page.history(threadId);
  expect(shown?.values.messages[0]).toMatchObject({ additional_kwargs: { files } });
  const ids = shown?.values.messages.map(({ id }) => id);
  expect([...streamedIds(streamed)].filter((id) => ids?.includes(id) !== true)).toEqual([]);
  expect(shown?.values.artifacts).toEqual(['/mnt/user-data/outputs/report.md']);
  expect((await page.sidebar())[0]).toEqual([threadId, shown?.values.title]);
  const asked = { messages: [{ role: 'user', content: 'Look' }], n: 3, model_name: 'caribou-demo' };
  const { suggestions } = await page.ask(must.Suggestions, 'POST', `/api/threads/${threadId}/suggestions`, asked);
  expect(suggestions).toHaveLength(3);
  const artifact = await page.send('GET', `/api/threads/${threadId}/artifacts/mnt/user-data/outputs/report.md`);
  expect([artifact.headers.get('content-type'), await artifact.text()]).toEqual([
    expect.stringMatching(/^text\//),
    '# Tundra',
  ]);
  const download = await page.send(
    'GET',
    `/api/threads/${threadId}/artifacts/mnt/user-data/outputs/report.md?download=true`,
  );
  expect([download.headers.get('content-disposition'), await download.text()]).toEqual([
    expect.stringMatching(/^attachment/),
    '# Tundra',
  ]);

  const plan = `${nonce()}\n#tool write_todos ${JSON.stringify({ todos: PLAN })}\n#hold stop after 1\n#say Never said.`;
  const second = await page.say(threadId, { text: plan, context: { mode: 'pro', is_plan_mode: true } });
  await waitFor(() => Promise.resolve(stack.model.listHolds().length === 1), { what: 'the second answer to begin' });
  expect(await page.status('POST', `${lg(threadId)}/runs/${second.runId}/cancel?wait=0&action=interrupt`)).toBe(202);
  await second.stream.end();
  expect((await page.history(threadId))?.values.todos).toEqual(PLAN);

  await page.ask(must.AnyJson, 'POST', `${lg(threadId)}/state`, { values: { title: 'New name' } });
  expect((await page.sidebar())[0]).toEqual([threadId, 'New name']);
  // The tab still has the head from before the renaming.
  await checkedEnd((await page.say(threadId, { text: `${nonce()}\n#say Third.` })).stream);
  const renamed = await page.history(threadId);
  expect([renamed?.values.title, textsOf(renamed?.values.messages).at(-1)]).toEqual(['New name', 'Third.']);

  await settings(page, threadId);
  expect(await page.status('DELETE', lg(threadId))).toBe(204);
  expect((await page.sidebar()).map(([id]) => id)).not.toContain(threadId);
  expect(await page.status('GET', lg(threadId))).toBe(404);
});

async function settings(page: PageSession, threadId: string): Promise<void> {
  const { skills } = await page.ask(must.Skills, 'GET', '/api/skills');
  const name = skills[0]?.name ?? '';
  const enabledOf = async (): Promise<unknown> =>
    (await page.ask(must.Skills, 'GET', '/api/skills')).skills.find((skill) => skill.name === name)?.enabled;
  for (const enabled of [false, true]) {
    await page.ask(must.AnyJson, 'PUT', `/api/skills/${name}`, { enabled });
    expect(await enabledOf()).toBe(enabled);
  }
  const path = join(stack.homeDir, 'data/users/default/threads', threadId, 'user-data/outputs/mine.skill');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, await zipFile({ 'mine/SKILL.md': '---\nname: mine\ndescription: Mine.\n---\nDo it.\n' }));
  const install = { thread_id: threadId, path: '/mnt/user-data/outputs/mine.skill' };
  expect(await page.ask(must.SkillInstalled, 'POST', '/api/skills/install', install)).toMatchObject({
    skill_name: 'mine',
  });
  const inside = await page.send('GET', `/api/threads/${threadId}/artifacts/mnt/user-data/outputs/mine.skill/SKILL.md`);
  expect(await inside.text()).toContain('name: mine');

  const config = await page.ask(must.McpConfig, 'GET', '/api/mcp/config');
  expect(JSON.stringify(config)).not.toContain('secret');
  const docs = { ...config.mcp_servers['docs'], enabled: true };
  const changed = await page.ask(must.McpConfig, 'PUT', '/api/mcp/config', {
    mcp_servers: { ...config.mcp_servers, docs },
  });
  expect(changed.mcp_servers['docs']?.enabled).toBe(true);
  const off = await page.ask(must.McpConfig, 'PATCH', '/api/mcp/config', { server_name: 'docs', enabled: false });
  expect(off.mcp_servers['docs']?.enabled).toBe(false);
  await page.ask(must.Memory, 'GET', '/api/memory');
}

test('the newer page: its requests at the start, messages in pages, regenerated turns, branches, deletion', async () => {
  const page = new PageSession(origin, ['values', 'messages-tuple', 'updates', 'custom']);
  const features = await page.ask(must.Features, 'GET', '/api/features');
  await page.ask(must.Models, 'GET', '/api/models');
  await page.ask(must.SuggestionsConfig, 'GET', '/api/suggestions/config');
  await page.ask(must.Channels, 'GET', '/api/channels/providers');
  expect(await page.ask(must.AnyJson, 'GET', '/api/scheduled-tasks')).toEqual([]);
  const threadId = crypto.randomUUID();
  const select = ['thread_id', 'updated_at', 'values', 'metadata'];
  const sidecars = { deerflow_sidecar: true, parent_thread_id: threadId };
  expect(await page.sidebar({ select, metadata: sidecars })).toEqual([]);
  await page.ask(must.UploadLimits, 'GET', `/api/threads/${threadId}/uploads/limits`);
  expect(await page.status('GET', lg(threadId))).toBe(404);

  await page.ask(must.Thread, 'POST', '/api/langgraph/threads', { thread_id: threadId, metadata: {} });
  const question = `Mountains ${nonce()}`;
  const first = await page.say(threadId, { text: `${question}\n#usage 100 10\n#say First answer.` });
  const streamed = await checkedEnd(first.stream);
  const run = await page.ask(must.Run, 'GET', `${lg(threadId)}/runs/${first.runId}`);
  expect(run.status).toBe('success');
  await checkedEnd(await page.join(threadId, first.runId));
  const state = await page.history(threadId);
  const fed = await messagesPage(page, threadId);
  expect(fed.map(({ content }) => content.id)).toEqual(state?.values.messages.map(({ id }) => id));
  expect([...streamedIds(streamed)].every((id) => fed.some(({ content }) => content.id === id))).toBe(true);
  expect((await page.ask(must.Runs, 'GET', `${lg(threadId)}/runs`)).map(({ run_id }) => run_id)).toEqual([first.runId]);
  const before = await page.ask(must.TokenUsage, 'GET', `/api/threads/${threadId}/token-usage`);
  expect(before.total_tokens).toBe(110);
  expect(await page.ask(must.AnyJson, 'GET', `/api/threads/${threadId}/mcp-tasks`)).toEqual([]);

  await madeAnew(page, threadId, fed.at(-1)?.content.id ?? '');
  const usage = await page.ask(must.TokenUsage, 'GET', `/api/threads/${threadId}/token-usage`);
  expect(usage).toMatchObject({ total_tokens: 220, total_runs: 2 });
  await edited(page, threadId);
  await branched(page, threadId);
  await scheduled(page);

  await page.ask(must.Thread, 'PATCH', `/api/threads/${threadId}`, { metadata: { deerflow_pinned: true } });
  await page.ask(must.Thread, 'PATCH', lg(threadId), { metadata: { agent_name: 'x' } });
  expect(await page.ask(must.Thread, 'GET', lg(threadId))).toMatchObject({
    metadata: { deerflow_pinned: true, agent_name: 'x' },
  });
  await page.ask(must.Exported, 'GET', `${lg(threadId)}/state`);
  if (features.agents_api.enabled) await agentsPart(page);
  else expect(await page.status('GET', '/api/agents')).toBe(404);
  expect(await page.status('DELETE', lg(threadId))).toBe(204);
  expect(await page.status('DELETE', `/api/threads/${threadId}`)).toBe(404);
  expect(await page.status('GET', `/api/threads/${threadId}/messages/page`)).toBe(404);
});

const messagesPage = async (page: PageSession, threadId: string) =>
  (await page.ask(must.MessagesPage, 'GET', `/api/threads/${threadId}/messages/page`)).data;
const wordsOf = (rows: Awaited<ReturnType<typeof messagesPage>>): unknown[] =>
  textsOf(rows.map(({ content }) => content)).map((words) => String(words).split('\n')[0]);

/** Regenerates the first answer: two tabs request it at once, and one of them succeeds. */
async function madeAnew(page: PageSession, threadId: string, answerId: string): Promise<void> {
  const prepare = { message_id: answerId };
  const made = await page.ask(must.Replay, 'POST', `${lg(threadId)}/runs/regenerate/prepare`, prepare);
  const { target_run_id: _target, ...replay } = made;
  const title = (await page.history(threadId))?.values.title;

  const started = await Promise.allSettled([page.run(threadId, replay), page.run(threadId, replay)]);
  const [won, ...more] = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  expect(more).toEqual([]);
  expect(String(started.find((result) => result.status === 'rejected')?.reason)).toContain('409');
  await checkedEnd(won?.stream ?? (await page.join(threadId, 'none')));

  const after = await page.history(threadId);
  const rows = await messagesPage(page, threadId);
  expect(rows.map(({ content }) => content.id)).toEqual(after?.values.messages.map(({ id }) => id));
  expect(rows).toHaveLength(2);
  expect(rows.map(({ content }) => content.id)).not.toContain(answerId);
  expect(rows.every(({ run_id }) => run_id === won?.runId)).toBe(true);
  expect(after?.values.title).toBe(title);
  const all = await page.ask(must.History, 'POST', `${lg(threadId)}/history`, { limit: 100 });
  expect(all.some(({ values }) => values.messages.some(({ id }) => id === answerId))).toBe(true);
}

async function edited(page: PageSession, threadId: string): Promise<void> {
  const [person] = await messagesPage(page, threadId);
  const words = `Rivers ${nonce()}`;
  const asked = { human_message_id: person?.content.id, replacement_text: `${words}\n#say Second answer.` };
  const made = await page.ask(must.EditReplay, 'POST', `${lg(threadId)}/runs/edit-regenerate/prepare`, asked);
  await checkedEnd((await page.run(threadId, { ...made })).stream);

  const rows = await messagesPage(page, threadId);
  expect(wordsOf(rows)).toEqual([words, 'Second answer.']);
  expect(rows[0]?.content.id).toBe(made.replacement_human_message_id);
  expect((await page.history(threadId))?.values.messages).toHaveLength(2);
}

async function branched(page: PageSession, threadId: string): Promise<void> {
  const answer = (await messagesPage(page, threadId)).at(-1)?.content.id;
  const asked = { message_id: answer, message_ids: [answer], title: 'Branch' };
  const { thread_id: branch } = await page.ask(must.Branch, 'POST', `/api/threads/${threadId}/branches`, asked);
  await page.history(branch);
  await checkedEnd((await page.say(branch, { text: `Lakes\n#say ${nonce()}` })).stream);

  expect(wordsOf(await messagesPage(page, branch))).toHaveLength(4);
  expect(wordsOf(await messagesPage(page, threadId))).toHaveLength(2);
  expect((await page.sidebar())[0]).toEqual([branch, 'Branch']);
}

/** A task whose agent pauses it, in a run that is started by hand; what happened in that run. */
async function scheduled(page: PageSession): Promise<void> {
  const asked = {
    title: 'Report',
    prompt: `${nonce()}\n#tool stop_scheduled_task {"reason":"The report is out."}\n#say It is out.`,
    ...{ schedule_type: 'interval', schedule_spec: { every_seconds: 600 }, timezone: 'Europe/Berlin' },
    ...{ context_mode: 'fresh_thread_per_run', max_runs: 5, stop_condition: 'the report is out' },
  };
  const { id } = await page.ask(must.ScheduledTask, 'POST', '/api/scheduled-tasks', asked);
  const path = `/api/scheduled-tasks/${id}`;
  await page.ask(must.AnyJson, 'POST', `${path}/trigger`);
  const run = await waitFor(
    async () => (await page.ask(must.ScheduledRuns, 'GET', `${path}/runs`)).find(({ status }) => status === 'success'),
    { what: 'the run of the task' },
  );
  const runId = run.run_id;
  expect(run).toMatchObject({ run_number: null, summary: 'It is out.', stop_requested_run_id: runId });
  expect(await page.ask(must.ScheduledTask, 'GET', path)).toMatchObject({
    ...{ status: 'paused', next_run_at: null, automatic_runs_used: 0, run_count: 1 },
    last_error: `stopped by the agent in run ${runId}`,
  });

  const events = await page.ask(must.RunEvents, 'GET', `/api/threads/${run.thread_id}/runs/${runId}/events`);
  const types = events.map(({ event_type: type }) => type).filter((type) => !type.startsWith('middleware:'));
  expect(types).toEqual([
    ...['run.start', 'llm.human.input', 'llm.ai.response', 'llm.tool.result', 'llm.ai.response', 'run.end'],
  ]);
  expect(events.some(({ event_type: type }) => type === 'middleware:title')).toBe(true);
  expect(await page.status('DELETE', path)).toBe(200);
}
