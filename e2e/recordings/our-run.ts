import { omitUndefined } from '@caribou/contracts';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { waitFor } from '@caribou/testing';
import { type ApiClient, runIdOf } from '../support/client.js';
import type { Stack } from '../support/stack.js';
import { workspaceFile } from '../support/threads-on-disk.js';
import { type Frame, isRecord, loadRecording, type ModeName, type ScriptName } from './frames.js';

export interface OurRun {
  readonly threadId: string;
  readonly runId: string;
  readonly frames: readonly Frame[];
}

/** Sends Caribou's gateway the request of a recording, on a new thread, and streams the run to its end. */
export async function runAsRecorded(stack: Stack, script: ScriptName, mode: ModeName): Promise<OurRun> {
  const client = stack.client();
  const { request, cancel } = loadRecording(script, mode);
  const threadId = await client.newThread();
  if (script === 'parallel-tools') await writeReadFile(stack, threadId);
  const stream = await client.stream('POST', `/threads/${threadId}/runs/stream`, request.body);
  const runId = runIdOf(stream);
  if (cancel !== undefined) await cancelAtHold(stack, `${script}-${mode}`, `/threads/${threadId}/runs/${runId}`);
  const frames = (await stream.end()).map(({ event, data, id }) => ({
    event,
    data,
    ...omitUndefined({ id }),
  }));
  return { threadId, runId, frames: inCallOrder(frames) };
}

/** The file the script reads; the peer's tool answers without one. */
async function writeReadFile(stack: Stack, threadId: string): Promise<void> {
  const file = workspaceFile(stack, threadId, 'a.txt');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'file text');
}

/** Cancels the run where the recorder did: when what the model sent so far was shown and it holds. */
async function cancelAtHold(stack: Stack, hold: string, run: string): Promise<void> {
  const held = (): boolean => stack.model.listHolds().some(({ name }) => name === hold);
  await waitFor(held, { what: `the model to hold at ${hold}` });
  await shown(stack.client(), run);
  await stack.client().call('POST', `${run}/cancel?wait=1&action=interrupt`);
}

/** Resolves once a client has received the second of the two pieces that the model sends before it holds. */
async function shown(client: ApiClient, run: string): Promise<void> {
  const watcher = await client.stream('GET', `${run}/stream?stream_mode=messages-tuple`);
  await watcher.waitFor('the second piece', ({ data }) => JSON.stringify(data).includes('two'));
  await watcher.leave();
}

/** Parallel calls end in whatever order their tools take: neighbouring ends are put into the order of the names. */
function inCallOrder(frames: readonly Frame[]): Frame[] {
  const ordered = [...frames];
  for (let index = 1; index < ordered.length; index += 1) {
    const [left, right] = [ordered[index - 1], ordered[index]];
    if (left === undefined || right === undefined) continue;
    if (endedTool(left) > endedTool(right) && endedTool(right) !== '') ordered.splice(index - 1, 2, right, left);
  }
  return ordered;
}

const endedTool = ({ data }: Frame): string =>
  isRecord(data) && (data['event'] === 'on_tool_end' || data['event'] === 'on_tool_error') ? String(data['name']) : '';
