import { TURN_OFFERS } from '@caribou/contracts';
import { startProxy, waitFor } from '@caribou/testing';
import {
  type ApiClient,
  concatenateMessages,
  type Frame,
  lastValues,
  positionOf,
  runBody,
  runIdOf,
  type WireMessage,
} from '../support/client.js';
import { clientOf, nonce, nth, type Stack, startStack } from '../support/stack.js';

jest.setTimeout(90_000);

let stack: Stack;
let first: ApiClient;
let second: ApiClient;

beforeAll(async () => {
  stack = await startStack({ gateways: 2, runners: 2 });
  first = stack.client(0);
  second = stack.client(1);
});

afterAll(() => stack.stop());
afterEach(() => stack.model.reset());

const isWord = (word: string) => (frame: Frame) =>
  frame.event === 'messages' && JSON.stringify(frame.data).includes(word);
const ids = (frames: readonly Frame[]) => frames.map(positionOf);
/** Frames by their positions, as a live one may say that the log did not have it yet. */
const withPositions = (frames: readonly Frame[]) => frames.map((frame) => ({ ...frame, id: positionOf(frame) }));

describe('two gateways and two runners', () => {
  test('a run streamed by one gateway is joined, read and cancelled by the other', async () => {
    const threadId = await first.newThread();
    const stream = await first.run(threadId, `${nonce()}\n#hold gate after 2\n#say One two three.`);
    const runId = runIdOf(stream);
    await stream.waitFor('the second word', isWord('two'));
    const joined = await second.stream('GET', `/threads/${threadId}/runs/${runId}/stream`, undefined, {
      'last-event-id': '-1',
    });
    await joined.waitFor('the second word', isWord('two'));

    const cancelled = await second.call('POST', `/threads/${threadId}/runs/${runId}/cancel?wait=1&action=interrupt`);

    expect(cancelled.status).toBe(204);
    const frames = await stream.end();
    expect(ids(await joined.end())).toEqual(ids(frames));
    expect(frames.at(-1)?.event).toBe('end');
    expect((await first.call('GET', `/threads/${threadId}/runs/${runId}`)).body).toMatchObject({
      status: 'interrupted',
    });
  });

  test('twenty runs at once over both gateways all complete, each stream whole', async () => {
    const runs = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const api = index % 2 === 0 ? first : second;
        return api.run(await api.newThread(), `#tokens 30 2 ${index}`);
      }),
    );

    const answers = await Promise.all(
      runs.map(async (stream) => {
        const frames = await stream.end();
        expect(frames.filter((frame) => frame.event === 'end')).toHaveLength(1);
        const answer = nth(lastValues(frames), 1);
        expect([...concatenateMessages(frames)]).toEqual([[answer.id, answer.content]]);
        return answer.content;
      }),
    );

    expect(new Set(answers)).toEqual(new Set([Array.from({ length: 30 }, (_, index) => `t${index} `).join('')]));
  });

  test('a repeated Idempotency-Key joins the same run at another gateway, streams included', async () => {
    const threadId = await first.newThread();
    const body = runBody(`${nonce()}\n#say Once.`);
    const headers = { 'idempotency-key': nonce() };

    const streams = await Promise.all(
      [first, second].map((api) => api.stream('POST', `/threads/${threadId}/runs/stream`, body, headers)),
    );
    const [one, other] = await Promise.all(streams.map((stream) => stream.end()));

    expect(runIdOf(nth(streams, 0))).toBe(runIdOf(nth(streams, 1)));
    expect(ids(one ?? [])).toEqual(ids(other ?? []));
    const listed = await first.call<unknown[]>('GET', `/threads/${threadId}/runs`);
    expect(listed.body).toHaveLength(1);
    const changed = await first.call('POST', `/threads/${threadId}/runs`, runBody('#say Other.'), headers);
    expect(changed.status).toBe(422);
  });

  test('a client that disconnects cancels only a run with that setting', async () => {
    const stays = await first.newThread();
    const goes = await first.newThread();
    const script = `${nonce()}\n#hold gate after 1\n#say One two.`;
    const continued = await first.run(stays, script, { on_disconnect: 'continue' });
    const dropped = await first.run(goes, script, { on_disconnect: 'cancel' });
    await Promise.all([continued, dropped].map((stream) => stream.waitFor('a word', isWord('One'))));

    await Promise.all([continued.leave(), dropped.leave()]);

    const statusOf = async (threadId: string, runId: string) =>
      (await second.call<{ status: string }>('GET', `/threads/${threadId}/runs/${runId}`)).body.status;
    await waitFor(async () => (await statusOf(goes, runIdOf(dropped))) === 'interrupted', {
      what: 'the left run to be cancelled',
    });
    expect(await statusOf(stays, runIdOf(continued))).toBe('running');
    stack.model.release('gate');
    await waitFor(async () => (await statusOf(stays, runIdOf(continued))) === 'success', {
      what: 'the other run to continue',
    });
  });
});

describe('kill -9 of a gateway', () => {
  test('in mid-stream: the client continues at the other with Last-Event-ID, nothing lost or doubled', async () => {
    const doomed = await stack.start('gateway');
    const threadId = await first.newThread();
    const stream = await clientOf(doomed).run(threadId, `${nonce()}\n#hold gate after 2\n#say One two three four.`);
    await stream.waitFor('the second word', isWord('two'));

    await doomed.kill9();
    const seen = await stream.end();
    const path = `/threads/${threadId}/runs/${runIdOf(stream)}/stream`;
    const rest = await second.stream('GET', path, undefined, { 'last-event-id': stream.lastId ?? '' });
    stack.model.release('gate');
    const all = [...seen, ...(await rest.end())];

    expect(stream.broke).toBe(true);
    const whole = await first.stream('GET', path, undefined, { 'last-event-id': '-1' });
    expect(withPositions(all)).toEqual(withPositions(await whole.end()));
    const answer = nth(lastValues(all), 1);
    expect([...concatenateMessages(all)]).toEqual([[answer.id, 'One two three four.']]);
  });

  test('between the record of a run and its offer to the runners: the run starts nevertheless', async () => {
    const proxy = await startProxy({ target: stack.nats.port });
    const doomed = await stack.start('gateway', { NATS_URL: stack.urlOf('gateway', 'nats', proxy.port) });
    const threadId = await first.newThread();
    const offer = proxy.hold('request', { bytes: (seen) => seen.includes(TURN_OFFERS) });

    const { body, status } = await clientOf(doomed).call<{ run_id: string }>(
      'POST',
      `/threads/${threadId}/runs`,
      runBody('#say Started.'),
    );
    await offer.reached;
    await doomed.kill9();
    await proxy.stop();

    expect(status).toBe(200);
    const joined = await second.stream('GET', `/threads/${threadId}/runs/${body.run_id}/stream`);
    expect((await joined.end()).at(-1)?.event).toBe('end');
    const state = await second.call<{ values: { messages: WireMessage[] } }>('GET', `/threads/${threadId}/state`);
    expect(state.body.values.messages.map((message) => message.content)).toEqual(['#say Started.', 'Started.']);
  });
});
