/**
 * Records what LangGraph's JS dev server sends for five scripts in each stream mode, with plain fetch.
 *
 *   node tools/record-peer/record.mjs <peer url> <demo model url> <output folder>
 *
 * The peer runs a copy of `peer-agent.js` on the demo model. Each recording uses a thread of its own.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { recordErrors } from './record-errors.mjs';
import { RUNS, SCRIPTS } from './scripts.mjs';
import { createThread, getJson, postJson, readFrames, shownHeaders } from './wire.mjs';

const [peer, demoModel, outFolder] = process.argv.slice(2);
if (!peer || !demoModel || !outFolder) throw new Error('usage: record.mjs <peer url> <demo model url> <output folder>');

await fetch(`${demoModel}/control/reset`, { method: 'POST' });
for (const [name, script] of Object.entries(SCRIPTS)) {
  const folder = join(outFolder, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const run of RUNS) {
    const recording = await recordRun(name, script, run);
    await save(folder, run.name, recording.stream);
    if (run.name === 'combined') await save(folder, 'after', await recordAfter(recording));
  }
  process.stdout.write(`${name}: ${RUNS.length} modes\n`);
}
await mkdir(join(outFolder, 'errors'), { recursive: true });
for (const [name, exchange] of Object.entries(await recordErrors(peer, demoModel)))
  await save(join(outFolder, 'errors'), name, exchange);

/** Streams one run to its end (or to the cancel the script asks for) on a new thread. */
async function recordRun(name, script, run) {
  const threadId = await createThread(peer);
  const hold = `${name}-${run.name}`;
  const content = script.lines.join('\n').replace('HOLD', hold);
  const body = {
    assistant_id: 'lead_agent',
    input: { messages: [{ type: 'human', content }] },
    stream_mode: run.streamMode,
  };
  const response = await fetch(`${peer}/threads/${threadId}/runs/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const runId = /\/runs\/([^/]+)$/.exec(response.headers.get('content-location') ?? '')?.[1];
  const cancelled = script.cancel ? cancelAtHold(threadId, runId, hold) : undefined;
  const frames = await readFrames(response);
  const cancel = await cancelled;
  const request = { method: 'POST', path: `/threads/${threadId}/runs/stream`, body };
  const stream = {
    request,
    status: response.status,
    headers: shownHeaders(response),
    frames,
    ...(cancel && { cancel }),
  };
  return { threadId, runId, stream };
}

/** Waits until the model stream reaches its hold, cancels the run, and releases the model. */
async function cancelAtHold(threadId, runId, hold) {
  const deadline = Date.now() + 10_000;
  while (!(await getJson(`${demoModel}/control/holding`)).body.some(({ name }) => name === hold)) {
    if (Date.now() > deadline) throw new Error(`the model never reached ${hold}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  const path = `/threads/${threadId}/runs/${runId}/cancel?wait=1&action=interrupt`;
  const answer = await postJson(`${peer}${path}`, undefined);
  const seen = (await getJson(`${demoModel}/control/requests?contains=${encodeURIComponent(`${hold} after`)}`)).body;
  await fetch(`${demoModel}/control/release/${hold}`, { method: 'POST' });
  return {
    request: { method: 'POST', path },
    status: answer.status,
    body: answer.body,
    model_stream_closed: seen.map(({ closedByClient }) => closedByClient),
  };
}

/** What the peer returns about the thread after the run. */
async function recordAfter({ threadId, runId }) {
  const base = `${peer}/threads/${threadId}`;
  return {
    thread: await getJson(base),
    state: await getJson(`${base}/state`),
    history: await postJson(`${base}/history`, { limit: 10 }),
    run: await getJson(`${base}/runs/${runId}`),
    runs: await getJson(`${base}/runs`),
    join: await getJson(`${base}/runs/${runId}/join`),
  };
}

/** Writes a value as JSON, one line for each frame or member, so that two recordings can be compared by line. */
async function save(folder, name, value) {
  const text = layout(value).replaceAll(demoModel, 'http://demo-model').replaceAll(peer, 'http://peer');
  await writeFile(join(folder, `${name}.json`), `${text}\n`);
}

function layout(value) {
  const members = Object.entries(value).map(([key, member]) => {
    const lines =
      Array.isArray(member) && member.length > 0 && member.map((item) => `  ${JSON.stringify(item)}`).join(',\n');
    return ` ${JSON.stringify(key)}: ${lines ? `[\n${lines}\n ]` : JSON.stringify(member)}`;
  });
  return `{\n${members.join(',\n')}\n}`;
}
