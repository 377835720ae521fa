import { newId, type ThreadInterrupts } from '@caribou/contracts';
import { applyUpdate } from '@caribou/core';
import { redisRunStore, redisTaskStore, taskPart } from '@caribou/state';
import { ai, commitInput, human, zipFile } from '@caribou/testing';
import type { OpenGateway } from '../open-gateway.js';
import { waiting } from './approvals-fixture.js';
import { FORM, partText } from './file-client.js';
import type { GatewayFixture } from './gateway-fixture.js';
import { CommandFiles } from './stored-files-client.js';
import { once } from './task-bodies.js';
import { ThreadClient } from './thread-client.js';

/** A text that is in everything that `createOwnedData` makes, and that no other user may ever read. */
export const MARKER = 'secret-of-the-owner';

const DAY_MS = 86_400_000;

interface Owner {
  readonly userId: string;
  readonly key: string;
}

/** The ids of what one user owns: of each kind of thing that routes name. */
export type OwnedIds = Awaited<ReturnType<typeof createOwnedData>>;

/** Makes one of each kind of thing that a user can own, over the routes and as a runner and a pool do. */
export async function createOwnedData(fixture: GatewayFixture, gateway: OpenGateway, { userId, key }: Owner) {
  const redis = fixture.connectRedis();
  const runner = redisRunStore(redis);
  const client = new ThreadClient(gateway, runner, { userId, key });
  const ask = async <Body>(method: 'GET' | 'POST' | 'PUT', url: string, payload?: object | Buffer, headers = {}) => {
    const reply = await gateway.app.inject({
      method,
      url: `/api${url}`,
      headers: { 'x-api-key': key, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    if (reply.statusCode >= 300) throw new Error(`${method} ${url}: ${reply.statusCode} ${reply.body}`);
    return (reply.body === '' ? {} : reply.json()) as Body;
  };

  const { thread_id } = await ask<{ thread_id: string }>('POST', '/threads', { metadata: { text: MARKER } });
  const run_id = await client.turn(thread_id, MARKER, {
    input: { messages: [{ type: 'human', content: MARKER, id: 'question-1' }] },
  });
  const state = await ask<{ checkpoint: { checkpoint_id: string } }>('GET', `/threads/${thread_id}/state`);
  await new CommandFiles(fixture).write({ userId, threadId: thread_id }, { 'outputs/report.md': MARKER });
  const parts = [partText({ name: 'secret.txt', content: MARKER })].join('');
  await ask('POST', `/threads/${thread_id}/uploads`, Buffer.from(`${parts}--caribou-boundary--\r\n`), FORM);
  await installSkill();
  const run = `/threads/${thread_id}/runs/${run_id}`;
  const schedule = { assistant_id: 'lead_agent', schedule: '0 0 1 1 *', input: null, metadata: { text: MARKER } };
  const feedback = await ask<{ feedback_id: string }>('POST', `${run}/feedback`, { rating: 1, comment: MARKER });
  const cron = await ask<{ cron_id: string }>('POST', '/runs/crons', schedule);
  const scheduled = await ask<{ id: string }>('POST', '/scheduled-tasks', once(DAY_MS, { title: MARKER }));
  const assistant = await ask<{ assistant_id: string }>('POST', '/assistants', {
    graph_id: 'lead_agent',
    name: MARKER,
  });
  await ask('POST', '/agents', { name: 'owners-agent', description: MARKER, soul: MARKER });
  await ask('PUT', '/user-profile', { content: MARKER });
  const memory = await ask<{ facts: { id: string }[] }>('POST', '/memory/facts', { content: MARKER });
  await ask('PUT', '/store/items', { namespace: ['notes'], key: 'k', value: { text: MARKER } });

  return {
    thread_id,
    run_id,
    checkpoint_id: state.checkpoint.checkpoint_id,
    feedback_id: feedback.feedback_id,
    cron_id: cron.cron_id,
    scheduled_task_id: scheduled.id,
    task_id: await delegate(),
    assistant_id: assistant.assistant_id,
    fact_id: memory.facts[0]?.id ?? '',
    ...(await waitForAnswer()),
  };

  async function installSkill(): Promise<void> {
    const skill = `---\nname: owners-skill\ndescription: ${MARKER}\n---\n# How\n`;
    const archive = await zipFile({ 'owners-skill/SKILL.md': skill });
    const head = '--b\r\nContent-Disposition: form-data; name="files"; filename="owners.skill"\r\n\r\n';
    const body = Buffer.concat([Buffer.from(head), archive, Buffer.from('\r\n--b--\r\n')]);
    const form = { 'content-type': 'multipart/form-data; boundary=b' };
    await ask('POST', `/threads/${thread_id}/uploads`, body, form);
    await ask('POST', '/skills/install', { thread_id, path: '/mnt/user-data/uploads/owners.skill' });
  }

  /** A task of the run, which no pool executes. */
  async function delegate(): Promise<string> {
    const parent = { thread_id, run_id, tool_call_id: 'call-1' };
    const spec = {
      parent,
      subagent_type: 'general-purpose',
      description: MARKER,
      tools: [],
      model: 'm1',
      args_hash: 'x',
    };
    const tasks = redisTaskStore(taskPart(redis), { maxPending: 10, maxPendingPerUser: 10, keptMs: DAY_MS });
    await tasks.dispatch({ userId, spec, prompt: human(MARKER), maxTurns: 5, timeoutMs: DAY_MS });
    return parent.tool_call_id;
  }

  /** A thread whose run waits for a decision. */
  async function waitForAnswer() {
    const threadId = await client.newThread();
    await client.start(threadId, { input: { messages: [{ type: 'human', content: MARKER }] } });
    const claimed = await runner.claim({ userId, threadId }, newId());
    if (claimed.kind !== 'run') throw new Error(claimed.kind);
    const { head } = await commitInput(runner, claimed);
    const open = waiting(threadId, 'call-2');
    const interrupts: ThreadInterrupts = { open: [open], answered: [], continues: { context: {}, recursion_limit: 7 } };
    const call = { name: 'bank_pay', args: { to: 'bob', amount: 5 }, id: 'call-2', type: 'tool_call' as const };
    const messages = [{ ...ai(MARKER), tool_calls: [call] }];
    const state = { ...applyUpdate(head.state, { messages }), interrupts };
    const commit = { head, state, next: ['tools' as const], source: 'loop' as const, step: 1, events: [] };
    await runner.finish(claimed.lease, { status: 'success', events: [], commit });
    return { waiting_thread_id: threadId, interrupt_id: open.id };
  }
}
