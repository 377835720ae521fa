import { DeadlineError, ForbiddenError, NotFoundError } from '@caribou/contracts';
import { type SafeFetch, silentLogger } from '@caribou/core';
import type { DeliveryOutcome, ThreadStore, WebhookEvent } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { Deliveries, type DeliveryPorts } from './deliveries.js';

const eventOf = (attempts: number): WebhookEvent => ({
  userId: 'alice',
  eventId: 'r1',
  threadId: 't1',
  assistantId: 'lead_agent',
  url: 'https://hooks.example.org/',
  status: 'success',
  createdAt: '2026-01-01T00:00:00.000Z',
  startedAt: null,
  endedAt: '2026-01-01T00:00:01.000Z',
  attempts,
  body: null,
});

const gone = () => Promise.reject(new NotFoundError('gone'));
const threads = { getRun: gone, history: gone } as unknown as Pick<ThreadStore, 'getRun' | 'history'>;

/** Delivers one event by a fetch that answers so, and returns what was entered. */
async function deliver(answer: SafeFetch, { attempts = 0, random = 0.5, leased = true } = {}) {
  const settled: DeliveryOutcome[] = [];
  const queue = [eventOf(attempts)];
  const outbox: DeliveryPorts['outbox'] = {
    take: () => Promise.resolve({ nowMs: 0, waitMs: null, events: queue.splice(0) }),
    storeBody: (_event, _token, body) => Promise.resolve(leased ? body : null),
    settle: (_event, _token, outcome) => {
      settled.push(outcome);
      return Promise.resolve(outcome.kind);
    },
  };
  let freed = 0;
  const deliveries = new Deliveries(
    { outbox, threads, fetch: answer, metrics: { webhookAttempted: () => undefined }, logger: silentLogger },
    { maxAtOnce: 1, maxBodyBytes: 16_384, retryMs: 1_000, secrets: [], random: () => random },
    () => (freed += 1),
  );
  await deliveries.tick();
  await waitFor(() => freed === 1, { what: 'the end of the delivery' });
  await deliveries.stop();
  return settled;
}

const status =
  (code: number): SafeFetch =>
  () =>
    Promise.resolve(new Response(null, { status: code }));
const throwing =
  (error: Error): SafeFetch =>
  () =>
    Promise.reject(error);

describe('Deliveries', () => {
  test.each([200, 201, 204])('%s ends the event', async (code) => {
    expect(await deliver(status(code))).toEqual([{ kind: 'delivered' }]);
  });

  test.each([301, 400, 404, 429, 500, 503])('%s is tried again', async (code) => {
    expect(await deliver(status(code))).toEqual([{ kind: 'retry', error: `HTTP ${code}`, delayMs: 1_000 }]);
  });

  test('pauses double up to an hour, each by up to a quarter earlier or later', async () => {
    const delayOf = async (attempts: number, random: number) => {
      const [outcome] = await deliver(status(500), { attempts, random });
      return outcome?.kind === 'retry' ? outcome.delayMs : -1;
    };

    expect([await delayOf(0, 0), await delayOf(3, 0.5), await delayOf(11, 0.5), await delayOf(999, 0.5)]).toEqual([
      750, 8_000, 2_048_000, 3_600_000,
    ]);
    expect(await delayOf(999, 0.999_999)).toBeLessThanOrEqual(4_500_000);
  });

  test('a receiver without an answer is tried again, one at a refused address or that is gone is not', async () => {
    expect(await deliver(throwing(new DeadlineError('late')))).toMatchObject([{ kind: 'retry', error: 'late' }]);
    expect(await deliver(throwing(new ForbiddenError('private')))).toEqual([{ kind: 'failed', error: 'private' }]);
    expect(await deliver(status(410))).toEqual([{ kind: 'failed', error: 'HTTP 410' }]);
  });

  test('whoever lost the lease before sending sends nothing', async () => {
    let calls = 0;
    const counting: SafeFetch = () => {
      calls += 1;
      return Promise.resolve(new Response(null));
    };

    expect(await deliver(counting, { leased: false })).toEqual([]);
    expect(calls).toBe(0);
  });

  test('a defect enters nothing: the lease lapses, and the event is sent again', async () => {
    expect(await deliver(throwing(new TypeError('a defect')))).toEqual([]);
  });
});
