import { TURN_OFFERS } from '@caribou/contracts';
import { admission, waitFor } from '@caribou/testing';
import { connect } from 'nats';
import type { Bus, Offer, OfferAnswer, UnadmittedOffer } from '../index.js';
import { useWakes, type WakesFixture } from '../testing/wakes-fixture.js';

const offer: Offer = { thread: { userId: 'alice', threadId: 't1' } };

let fixture: WakesFixture;

useWakes((opened) => {
  fixture = opened;
});

/** A runner that takes the offers it gets, as long as `takes` says so. */
async function runner(bus: Bus, takes: (taken: Offer) => Promise<boolean | OfferAnswer> = () => Promise.resolve(true)) {
  const offered: Offer[] = [];
  const intake = bus.takeOffers(async (taken) => {
    offered.push(taken);
    const answer = await takes(taken);
    return typeof answer === 'boolean' ? { taken: answer } : answer;
  });
  intake.open(true);
  await bus.ping(2_000);
  return { offered, intake };
}

describe('an offer', () => {
  test('is taken by one of the runners that take offers', async () => {
    const [gateway, first, second] = [await fixture.startBus(), await fixture.startBus(), await fixture.startBus()];
    const runners = [await runner(first), await runner(second)];

    for (let count = 0; count < 20; count += 1) expect(await gateway.offerTurn(offer)).toBe('taken');

    const counts = runners.map(({ offered }) => offered.length);
    expect(counts.reduce((sum, count) => sum + count)).toBe(20);
    expect(runners.flatMap(({ offered }) => offered)[0]).toEqual(offer);
  });

  test('brings the run that was admitted, but not one that is too large for a message', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const { offered } = await runner(other);
    const { kwargs } = admission(offer.thread);
    const run = (chars: number): Offer['run'] => ({
      runId: '00000000-0000-4000-8000-000000000001',
      kwargs: { ...kwargs, context: { note: 'é'.repeat(chars) } },
      headId: null,
    });

    for (const chars of [10, 40_000]) await gateway.offerTurn({ ...offer, run: run(chars) });

    expect(offered).toEqual([{ ...offer, run: run(10) }, offer]);
  });

  test('whose run is of another version names the thread all the same', async () => {
    const { offered } = await runner(await fixture.startBus());
    const named = { user_id: 'alice', thread_id: 't1', v: 2, run: { id: 1 } };

    const reply = await fixture.raw.request(TURN_OFFERS, JSON.stringify(named), { timeout: 2_000 });

    expect([reply.json(), offered]).toEqual([{ taken: true, runner: expect.any(String) }, [offer]]);
  });

  test('reaches nobody when no runner takes offers, or NATS is away', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const { intake } = await runner(other);
    intake.open(false);
    await other.ping(2_000);

    expect(await gateway.offerTurn(offer)).toBe('nobody');

    await fixture.nats.stop();
    expect(await gateway.offerTurn(offer)).toBe('nobody');
  });

  test('is refused by a runner that cannot claim the thread, and late when there is no answer', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const answers = [Promise.resolve(false), new Promise<boolean>(() => undefined)];
    await runner(other, () => answers.shift() ?? Promise.resolve(true));

    expect(await gateway.offerTurn(offer)).toBe('refused');
    expect(await gateway.offerTurn(offer)).toBe('late');
  });

  test('is not answered on another connection, where the server would not permit the reply', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const claims: ((taken: boolean) => void)[] = [];
    await runner(other, () => new Promise((claimed) => void claims.push(claimed)));
    const outcome = gateway.offerTurn(offer);
    await waitFor(() => claims.length > 0, { what: 'the offer' });
    await fixture.nats.restart();
    const listener = await connect({ servers: fixture.nats.url });
    const seen: string[] = [];
    listener.subscribe('_INBOX.>', { callback: (_error, message) => void seen.push(message.string()) });
    await listener.flush();
    await waitFor(
      () =>
        other.ping(1_000).then(
          () => true,
          () => false,
        ),
      { what: 'the connection' },
    );

    claims[0]?.(true);
    await other.ping(2_000);
    await listener.flush();

    expect(seen.filter((text) => text.includes('taken'))).toEqual([]);
    expect(['late', 'nobody']).toContain(await outcome);
    await listener.close();
  });

  test('that names no thread is refused', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const { offered } = await runner(other);

    const reply = await fixture.raw.request(TURN_OFFERS, JSON.stringify({ user_id: 'a/b' }), { timeout: 2_000 });

    expect([reply.json(), offered]).toEqual([{ taken: false, runner: expect.any(String) }, []]);
    expect(await gateway.offerTurn(offer)).toBe('taken');
  });

  test('that was sent before a runner stopped is still answered', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const { offered, intake } = await runner(other, () => {
      intake.open(false);
      return Promise.resolve(true);
    });

    const outcomes = await Promise.all(Array.from({ length: 30 }, () => gateway.offerTurn(offer)));

    expect(outcomes).not.toContain('late');
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(offered.length);
  });
});

describe('a run that is not admitted yet', () => {
  const { kwargs } = admission(offer.thread);
  const limits = { inFlight: 1, stateBytes: 2, storedBytes: 3 };
  const unadmitted = (isNew: boolean): UnadmittedOffer => ({
    ...offer,
    run: {
      ...{ runId: '00000000-0000-4000-8000-000000000001', kwargs, headId: null },
      admission: { isNew, assistantId: 'a', agent: 'b', metadata: { c: 1 }, strategy: 'reject', apiKey: 'k', limits },
    },
  });
  const begun = { createdAt: 'now', ordinal: '1', stateBytes: 5, inFlight: 2 };

  test('is offered to anybody for a new thread, then to the runner that took the thread last', async () => {
    const gateway = await fixture.startBus();
    const buses = [await fixture.startBus(), await fixture.startBus(), await fixture.startBus()];
    const runners = await Promise.all(buses.map((bus) => runner(bus, () => Promise.resolve({ taken: true, begun }))));
    expect([gateway.beginsAs(offer.thread), await gateway.beginTurn(unadmitted(true))]).toEqual([undefined, undefined]);

    gateway.noteCreated(offer.thread);
    expect(gateway.beginsAs(offer.thread)).toBe('new');
    expect(await gateway.beginTurn(unadmitted(true))).toEqual(begun);
    expect(gateway.beginsAs(offer.thread)).toBe('held');
    for (let count = 0; count < 10; count += 1) expect(await gateway.beginTurn(unadmitted(false))).toEqual(begun);

    const counts = runners.map(({ offered }) => offered.length);
    expect(counts.sort((one, other) => one - other)).toEqual([0, 0, 11]);
    expect(runners.flatMap(({ offered }) => offered).at(-1)).toEqual(unadmitted(false));
  });

  test('is for nobody once that runner takes no offers, or has refused', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    const { intake } = await runner(other, ({ run }) => Promise.resolve({ taken: run?.admission === undefined }));
    expect(await gateway.offerTurn(offer)).toBe('taken');
    expect([await gateway.beginTurn(unadmitted(false)), gateway.beginsAs(offer.thread)]).toEqual([
      undefined,
      undefined,
    ]);

    expect(await gateway.offerTurn(offer)).toBe('taken');
    intake.open(false);
    await other.ping(2_000);
    expect([await gateway.beginTurn(unadmitted(false)), gateway.beginsAs(offer.thread)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('may have been begun when there is no answer; then none is offered for a while', async () => {
    const [gateway, other] = [await fixture.startBus(), await fixture.startBus()];
    await runner(other, () => new Promise<boolean>(() => undefined));
    gateway.noteCreated(offer.thread);

    expect(await gateway.beginTurn(unadmitted(true))).toBe('late');
    gateway.noteCreated(offer.thread);
    expect(gateway.beginsAs(offer.thread)).toBeUndefined();
  });
});
