import type { NumberedEvent } from '@caribou/contracts';
import { waitFor } from '@caribou/testing';
import fc from 'fast-check';
import {
  end,
  numbered,
  openFollower,
  range,
  record,
  ScriptedPorts,
  seqsOf,
  takeSeqs,
} from '../testing/scripted-ports.js';

describe('RunFollower without a working log or with a run that ends', () => {
  test('a log that cannot be read now is read again until it can', async () => {
    const ports = new ScriptedPorts();
    ports.failing = true;
    ports.beforeFailure = () => {
      ports.failing = ports.reads < 3;
      ports.events = range(1, 1);
    };
    const { follower } = await openFollower(ports, { checkMs: 1 });

    expect(await takeSeqs(follower, 1)).toEqual([1]);
    expect(ports.reads).toBe(4);
  });

  test('live events pass while the log cannot be read', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 1);
    const { follower } = await openFollower(ports, { checkMs: 1 });
    await takeSeqs(follower, 1);
    ports.failing = true;
    ports.beforeFailure = () => {
      ports.beforeFailure = undefined;
      ports.receive([numbered(2)]);
    };

    expect(await takeSeqs(follower, 1)).toEqual([2]);
  });

  test('of a run in flight only the status is read after each silence', async () => {
    const ports = new ScriptedPorts();
    const { follower, stop } = await openFollower(ports, { checkMs: 1 });
    const next = follower.next();
    await waitFor(() => ports.statusReads > 3, { what: 'the status to be read again' });
    expect(ports.recordReads).toBe(0);

    ports.status = 'success';
    expect(await next).toMatchObject({ kind: 'over', run: { status: 'success' } });
    stop.abort();
  });

  test('the run is looked at after a silence, and the reason of the abort is thrown', async () => {
    const ports = new ScriptedPorts();
    ports.status = 'unavailable';
    const { follower, stop } = await openFollower(ports, { checkMs: 1 });
    const next = follower.next();
    await waitFor(() => ports.statusReads > 2, { what: 'the status to be read again' });

    stop.abort(new Error('gone'));
    await expect(next).rejects.toThrow('gone');
    await expect(follower.next()).rejects.toThrow('gone');
    follower.close();
    expect(ports.subscribed).toBe(false);
  });

  test('a run that is over is noticed without a silence, by one read of its record', async () => {
    const ports = new ScriptedPorts();
    ports.status = 'success';
    const { follower } = await openFollower(ports, { mayBeOver: true });

    expect(await follower.next()).toEqual({ kind: 'over', run: record('success') });
    expect(ports.recordReads).toBe(1);
  });

  test('an end that is written between the reads of the log and of the record is returned', async () => {
    const ports = new ScriptedPorts();
    ports.beforeRead = () => {
      if (ports.reads !== 2) return;
      ports.status = 'success';
      ports.events = [{ seq: 1, event: end }];
    };
    const { follower } = await openFollower(ports, { checkMs: 5 });

    expect(await follower.next()).toEqual({ kind: 'events', events: [{ seq: 1, event: end }], logged: 1 });
    expect(ports.recordReads).toBe(1);
  });

  test('a record that is gone ends the events after it was not found twice', async () => {
    const ports = new ScriptedPorts();
    ports.status = 'gone';
    const { follower } = await openFollower(ports, { checkMs: 5 });

    expect(await follower.next()).toEqual({ kind: 'over', run: null });
    expect(ports.recordReads).toBe(2);
  });

  test('whatever is lost, doubled or late on the bus, every event is returned once and in order', async () => {
    const step = fc.record({
      length: fc.integer({ min: 1, max: 5 }),
      fate: fc.constantFrom('once', 'lost', 'twice', 'late'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const ports = new ScriptedPorts();
        const { follower, stop } = await openFollower(ports, { checkMs: 1 });
        const late: NumberedEvent[][] = [];
        const seen: number[] = [];
        let last = 0;
        for (const { length, fate } of steps) {
          const batch = range(last + 1, last + length);
          last += length;
          ports.events.push(...batch);
          if (fate === 'late') late.push(batch);
          if (fate === 'once' || fate === 'twice') ports.receive(batch);
          if (fate === 'twice') ports.receive(batch);
          if (late.length > 1) ports.receive(late.shift() ?? []);
        }
        for (const batch of late) ports.receive(batch);
        while (seen.length < last) seen.push(...seqsOf(await follower.next()));
        stop.abort(new Error('done'));
        expect(seen).toEqual(range(1, last).map(({ seq }) => seq));
      }),
      { numRuns: 60 },
    );
  });
});
