import type { Message } from '@caribou/contracts';
import {
  type Effect,
  type FileHistory,
  type FrameMark,
  type LedgerCount,
  type RunHistory,
  textOf,
  type ThreadHistory,
} from './history.js';
import { type FollowedRun, markOf, type WantedEffect } from './journal.js';
import type { RetryingClient } from './retrying-client.js';
import { reportOf } from './turns.js';

const AT_ONCE = 6;
const REPLAY_MS = 60_000;

export interface CollectPorts {
  /** The lines of a file in the workspace of a thread, none when it does not exist. */
  readonly linesOf: (threadId: string, name: string) => Promise<readonly string[]>;
  readonly filesOf: (threadId: string) => Promise<FileHistory | undefined>;
  readonly client: RetryingClient;
  /** The texts of the calls that the MCP server received. */
  readonly paid: readonly string[];
}

/** Collects what the API, the disk and the MCP server show of the accepted runs at the end. */
export async function collectHistory(
  runs: readonly FollowedRun[],
  ports: CollectPorts,
): Promise<readonly ThreadHistory[]> {
  const byThread = new Map<string, FollowedRun[]>();
  for (const run of runs) byThread.set(run.threadId, [...(byThread.get(run.threadId) ?? []), run]);
  const waiting = [...byThread];
  const found: ThreadHistory[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      found.push(await threadHistory(next[0], next[1], ports));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

async function threadHistory(
  threadId: string,
  followed: readonly FollowedRun[],
  ports: CollectPorts,
): Promise<ThreadHistory> {
  const runs: RunHistory[] = [];
  for (const run of followed) runs.push(await runHistory(run, ports.client));
  const messages = await messagesOf(threadId, ports.client);
  const effects: Effect[] = [];
  for (const run of followed)
    for (const effect of run.wanted) effects.push(await effectOf(effect, run, messages ?? [], ports));
  return { threadId, runs, messages, effects, files: await ports.filesOf(threadId) };
}

/** Models of chaos runs by their configured name: the name at the provider. */
export const MODELS: Readonly<Record<string, string>> = { large: 'demo-large', small: 'demo-small' };

interface UsageRow {
  readonly agent: string;
  readonly model: string;
  readonly calls: number;
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly output_tokens: number;
}

/** The ledger by agent and model. */
export async function collectUsage(client: RetryingClient): Promise<readonly LedgerCount[]> {
  const { series } = await client.ask('the usage', async (api) => {
    const { status, body } = await api.call<{ series: readonly UsageRow[] }>('GET', '/usage?group=agent,model');
    if (status !== 200) throw new Error(`answered ${status}`);
    return body;
  });
  return series.map(({ agent, model, calls, ...row }) => ({
    ...{ agent, model: MODELS[model] ?? model, calls },
    ...{ input: row.input_tokens, cached: row.cached_input_tokens, output: row.output_tokens },
  }));
}

async function messagesOf(threadId: string, client: RetryingClient): Promise<readonly Message[] | undefined> {
  const { status, body } = await client.ask('the state', async (api) => {
    const answer = await api.call<{ values: { messages?: Message[] } }>('GET', `/threads/${threadId}/state`);
    if (![200, 404].includes(answer.status)) throw new Error(`answered ${answer.status}`);
    return answer;
  });
  return status === 404 ? undefined : (body.values.messages ?? []);
}

async function runHistory(run: FollowedRun, client: RetryingClient): Promise<RunHistory> {
  const path = `/threads/${run.threadId}/runs/${run.runId}`;
  const { threadId, runId, kind, script, may, acceptedAtMs, segments, stuck, attempts, errors } = run;
  const seen = { threadId, runId, kind, script, may, acceptedAtMs, segments, stuck, attempts, errors };
  const status = await client.ask('the run', async (api) => {
    const answer = await api.call<{ status: string }>('GET', path);
    if (![200, 404].includes(answer.status)) throw new Error(`answered ${answer.status}`);
    return answer.status === 404 ? 'gone' : answer.body.status;
  });
  if (status === 'gone' || stuck) return { ...seen, status, replay: undefined };
  const replay = await client.ask<readonly FrameMark[]>('the replay', async (api) => {
    const stream = await api.stream('GET', `${path}/stream`, undefined, { 'last-event-id': '-1' });
    return (await stream.end(REPLAY_MS)).map(markOf);
  });
  return { ...seen, status, replay };
}

async function effectOf(
  effect: WantedEffect,
  { threadId, script }: FollowedRun,
  messages: readonly Message[],
  { linesOf, paid }: CollectPorts,
): Promise<Effect> {
  const lines = effect.where === 'mcp' ? paid : await linesOf(threadId, effect.where);
  const results = messages.slice(messages.findIndex((message) => textOf(message).includes(script)) + 1);
  const next = results.findIndex(({ type }) => type === 'human');
  const own = results.slice(0, next < 0 ? undefined : next).filter((message) => message.type === 'tool');
  const reported =
    effect.where === 'notes'
      ? own.some(({ name, status }) => name === 'write_file' && status === 'success')
      : own.some(({ content }) => JSON.stringify(content).includes(reportOf(effect)));
  return { ...effect, count: lines.filter((line) => line === effect.word).length, reported };
}
