import type { RequestReply, TraceReply } from '@caribou/contracts';
import { createRedis } from '@caribou/state';
import { type TestService, waitFor } from '@caribou/testing';
import { type ApiClient, runIdOf } from '../support/client.js';
import { clientOf, nonce, type Stack, startStack } from '../support/stack.js';
import { linesOf, openGate } from '../support/threads-on-disk.js';

jest.setTimeout(90_000);

let stack: Stack;
let client: ApiClient;
let victim: TestService;

beforeAll(async () => {
  stack = await startStack({ runners: 0 });
  client = stack.client();
  victim = await stack.start('agent-runner');
});

afterAll(() => stack.stop());

type Entry = TraceReply['entries'][number];

const ofType = <Type extends Entry['type']>(entries: readonly Entry[], type: Type) =>
  entries.filter((entry): entry is Extract<Entry, { type: Type }> => entry.type === type);

interface SentRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
}

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant', tool: 'tool', system: 'system' };

/** The messages as the provider gets them: role and text, of which an answer that only calls tools has none. */
const sentMessages = ({ messages }: SentRequest) => messages.map(({ role, content }) => [role, content ?? '']);

const storedMessages = ({ system, messages }: RequestReply) => [
  ['system', system],
  ...messages.map(({ message }) => [ROLES[message?.type ?? ''], message?.content]),
];

test('the trace of a run whose runner was killed in a tool call shows both claims, the result, and what the model saw', async () => {
  const threadId = await client.newThread();
  const word = nonce();
  const waiting =
    'touch /mnt/user-data/workspace/started; echo x >> /mnt/user-data/workspace/ledger; until [ -e /mnt/user-data/workspace/go ]; do sleep 0.05; done; echo went on';
  const script = `${word}\n#tool bash ${JSON.stringify({ description: 'a test', command: waiting })}\n#say Done.`;
  const stream = await client.run(threadId, script);
  await waitFor(() => linesOf(stack, threadId, 'ledger').length === 1, {
    what: 'the command to start',
  });

  await victim.kill9();
  const rescuer = await stack.start('agent-runner');
  openGate(stack, threadId, 'go');
  await stream.end(60_000);

  const path = `/threads/${threadId}/runs/${runIdOf(stream)}`;
  const { body: trace } = await client.call<TraceReply>('GET', `${path}/trace`);
  const { entries } = trace;
  expect(trace.run.status).toBe('success');
  const claims = ofType(entries, 'claimed');
  expect(claims.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(claims.every(({ process }) => /^agent-runner@.+ \(pid \d+\)$/.test(process))).toBe(true);
  expect(ofType(entries, 'taken_over')).toMatchObject([
    { from: claims[0]?.process, process: claims[1]?.process, reason: 'process_died', lost_step: true },
  ]);
  expect(ofType(entries, 'tool_call')).toMatchObject([{ name: 'bash', outcome: 'ok' }]);
  expect(ofType(entries, 'ended')).toMatchObject([{ status: 'success', process: claims[1]?.process }]);
  const order = entries.map(({ type }) => type).filter((type) => type !== 'hooks');
  expect(order).toEqual([
    ...['admitted', 'claimed', 'commit', 'model_call', 'commit', 'taken_over', 'claimed'],
    ...['tool_call', 'commit', 'model_call', 'commit', 'ended'],
  ]);

  const calls = ofType(entries, 'model_call');
  const sent = stack.model.requests(word).map(({ body }) => body as SentRequest);
  expect(sent).toHaveLength(calls.length);
  for (const [index, { call }] of calls.entries()) {
    const { body: request } = await client.call<RequestReply>('GET', `${path}/requests/${call}`);
    const wire = sent[index];
    if (wire === undefined) throw new Error('the model got fewer requests');
    expect(request.missing).toEqual([]);
    expect(storedMessages(request)).toEqual(sentMessages(wire));
    expect(request.tools?.map(({ name }) => name)).toEqual(wire.tools.map((tool) => tool.function.name));
    expect(request.provider_model).toBe(wire.model);
  }

  // A day later: every service is another process, and the event log has expired.
  await Promise.all([...stack.gateways, ...stack.managers, rescuer].map((service) => service.kill9()));
  const redis = createRedis({ url: stack.redis.url });
  await redis.use((store) => store.del(redis.keys.runEvents('default', runIdOf(stream))));
  await redis.close();
  const later = clientOf(await stack.start('gateway'));
  expect((await later.call<TraceReply>('GET', `${path}/trace`)).body.entries).toEqual(entries);
  const last = await later.call<RequestReply>('GET', `${path}/requests/${calls.at(-1)?.call}`);
  expect(storedMessages(last.body)).toEqual(sentMessages(sent.at(-1) ?? { model: '', messages: [], tools: [] }));
});
