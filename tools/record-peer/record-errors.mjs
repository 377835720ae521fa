import { createThread, exchange, getJson, postJson, withBody } from './wire.mjs';

const NOBODY = '00000000-0000-4000-8000-000000000000';

/** Records the peer's answers to invalid requests, by name. */
export async function recordErrors(peer, demoModel) {
  const threadId = await createThread(peer);
  const base = `${peer}/threads/${threadId}`;
  const run = (content, more = {}) => ({
    assistant_id: 'lead_agent',
    input: { messages: [{ type: 'human', content }] },
    ...more,
  });
  const errors = {
    'unknown-thread': await getJson(`${peer}/threads/${NOBODY}`),
    'unknown-thread-state': await getJson(`${peer}/threads/${NOBODY}/state`),
    'unknown-thread-run': await postJson(`${peer}/threads/${NOBODY}/runs`, run('#say x')),
    'unknown-run': await getJson(`${base}/runs/${NOBODY}`),
    'unknown-run-cancel': await postJson(`${base}/runs/${NOBODY}/cancel?wait=1`, undefined),
    'unknown-run-join': await getJson(`${base}/runs/${NOBODY}/join`),
    'unknown-run-stream': await getJson(`${base}/runs/${NOBODY}/stream`),
    'unknown-assistant': await postJson(`${base}/runs`, { ...run('#say x'), assistant_id: 'nope' }),
    'unknown-stream-mode': await postJson(`${base}/runs/stream`, run('#say x', { stream_mode: ['nope'] })),
    'bad-multitask': await postJson(`${base}/runs`, run('#say x', { multitask_strategy: 'bogus' })),
    'malformed-json': await exchange(`${base}/runs`, { method: 'POST', ...withBody('{"assistant_id":') }),
    'fresh-state': await getJson(`${base}/state`),
    'fresh-history': await postJson(`${base}/history`, { limit: 10 }),
    'state-before-first-run': await postJson(`${base}/state`, { values: { title: 'x' } }),
    'model-failure-wait': await postJson(`${base}/runs/wait`, run('#error 400 nope')),
  };
  return { ...errors, ...(await recordBusy(base, demoModel, run)) };
}

/** Answers while a run is in flight, and a cancel after its end. */
async function recordBusy(base, demoModel, run) {
  const first = await postJson(`${base}/runs`, run('#hold errors-busy before\n#say x'));
  const deadline = Date.now() + 10_000;
  while (!(await getJson(`${demoModel}/control/holding`)).body.some(({ name }) => name === 'errors-busy')) {
    if (Date.now() > deadline) throw new Error('the model never reached errors-busy');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const busy = {
    'run-created': first,
    'second-run-rejected': await postJson(`${base}/runs`, run('#say y', { multitask_strategy: 'reject' })),
    'state-while-busy': await postJson(`${base}/state`, { values: { messages: [] } }),
  };
  await fetch(`${demoModel}/control/release/errors-busy`, { method: 'POST' });
  await getJson(`${base}/runs/${first.body.run_id}/join`);
  return { ...busy, 'cancel-after-end': await postJson(`${base}/runs/${first.body.run_id}/cancel?wait=1`, undefined) };
}
