import { setImmediate as nextTurnOfLoop } from 'node:timers/promises';
import type { NumberedEvent } from '@caribou/contracts';
import { RunFollower } from './run-follower.js';
import { end, numbered, openFollower, range, record, ScriptedPorts, takeSeqs } from '../testing/scripted-ports.js';

describe(RunFollower, () => {
  test('an event that arrives between the subscription and the read of the log is returned once', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 2);
    ports.beforeRead = () => {
      ports.beforeRead = undefined;
      ports.events.push(numbered(3));
      ports.receive([numbered(3)]);
    };
    const { follower } = await openFollower(ports);

    expect(await takeSeqs(follower, 3)).toEqual([1, 2, 3]);
  });

  test('live batches pass without a read of the log', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 1);
    const { follower } = await openFollower(ports);
    await takeSeqs(follower, 1);
    const reads = ports.reads;

    ports.receive([numbered(2)]);
    ports.receive([numbered(3), numbered(4)]);

    expect(await takeSeqs(follower, 3)).toEqual([2, 3, 4]);
    expect(ports.reads).toBe(reads);
  });

  test('events that arrive while a read of the log finds nothing new are returned at once', async () => {
    const ports = new ScriptedPorts();
    ports.beforeRead = () => {
      ports.beforeRead = undefined;
      ports.events = range(1, 3);
      ports.receive([numbered(1), numbered(2)]);
      ports.receive([numbered(3)]);
    };
    const { follower } = await openFollower(ports);

    expect(await takeSeqs(follower, 3)).toEqual([1, 2, 3]);
    expect(ports.reads).toBe(1);
  });

  test('a gap that appears while the log is read causes another read', async () => {
    const ports = new ScriptedPorts();
    ports.beforeRead = () => {
      ports.beforeRead = undefined;
      ports.events = range(1, 3);
      ports.receive([numbered(3)]);
    };
    const { follower } = await openFollower(ports);

    expect(await takeSeqs(follower, 3)).toEqual([1, 2, 3]);
  });

  test('a lost connection that is noticed while the log is read causes another read', async () => {
    const ports = new ScriptedPorts();
    ports.beforeRead = () => {
      ports.beforeRead = undefined;
      ports.events = range(1, 2);
      ports.gap();
    };
    const { follower } = await openFollower(ports);

    expect(await takeSeqs(follower, 2)).toEqual([1, 2]);
  });

  test('a log that was empty is not read while live batches leave no gap', async () => {
    const ports = new ScriptedPorts();
    const { follower } = await openFollower(ports, { isLogEmpty: true });
    ports.events = range(1, 3);

    ports.receive([numbered(1)]);
    ports.receive([numbered(2), numbered(3)]);

    expect(await takeSeqs(follower, 3)).toEqual([1, 2, 3]);
    expect(ports.reads).toBe(0);
  });

  test('events of a log that was empty are read when the first batch was missed', async () => {
    const ports = new ScriptedPorts();
    const { follower } = await openFollower(ports, { isLogEmpty: true });
    ports.events = range(1, 3);

    ports.receive([numbered(3)]);

    expect(await takeSeqs(follower, 3)).toEqual([1, 2, 3]);
  });

  test('a log that was empty is read after a lost connection, or without any batch after a while', async () => {
    const ports = new ScriptedPorts();
    const { follower } = await openFollower(ports, { isLogEmpty: true });
    ports.events = range(1, 1);
    ports.gap();
    expect(await takeSeqs(follower, 1)).toEqual([1]);

    const silent = new ScriptedPorts();
    const { follower: waiting } = await openFollower(silent, { isLogEmpty: true });
    silent.events = range(1, 2);
    expect(await takeSeqs(waiting, 2)).toEqual([1, 2]);
  });

  test('a gap in the live batches is filled from the log', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 1);
    const { follower } = await openFollower(ports);
    await takeSeqs(follower, 1);

    ports.events = range(1, 4);
    ports.receive([numbered(4)]);

    expect(await takeSeqs(follower, 3)).toEqual([2, 3, 4]);
  });

  test('a lost batch is found by the check after a silence', async () => {
    const ports = new ScriptedPorts();
    const { follower } = await openFollower(ports, { checkMs: 5 });
    ports.events = range(1, 2);

    expect(await takeSeqs(follower, 2)).toEqual([1, 2]);
  });

  test('a log that lost its newest events is reported, shorter or with other events under the same numbers', async () => {
    for (const left of [range(1, 3), [...range(1, 4), ...range(5, 8).map((item) => ({ ...item, event: end }))]]) {
      const ports = new ScriptedPorts();
      ports.events = range(1, 5);
      const { follower } = await openFollower(ports);
      await takeSeqs(follower, 5);

      ports.events = left;
      ports.gap();

      expect(await follower.next()).toEqual({ kind: 'rewound', firstKept: 1, lastSeq: left.length });
      follower.startOver();
      expect(await follower.next()).toEqual({ kind: 'events', events: left, logged: left.length });
    }
  });

  test('live events under numbers that were returned before cause a read of the log', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 5);
    const { follower } = await openFollower(ports);
    await takeSeqs(follower, 5);

    ports.events = range(1, 2);
    ports.receive([{ seq: 3, event: end }]);

    expect(await follower.next()).toMatchObject({ kind: 'rewound', lastSeq: 2 });
  });

  test('a log that has expired is no loss by itself: the record ends the events', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 5);
    const { follower } = await openFollower(ports, { checkMs: 5 });
    await takeSeqs(follower, 5);

    ports.events = [];
    ports.status = 'success';

    expect(await follower.next()).toEqual({ kind: 'over', run: record('success') });
  });

  test('nothing is buffered for a slow reader, which gets its events from the log', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 1);
    const { follower } = await openFollower(ports);
    await takeSeqs(follower, 1);

    follower.pause();
    ports.events = range(1, 3);
    ports.receive(range(2, 3));
    follower.resume();
    const reads = ports.reads;

    expect(await takeSeqs(follower, 2)).toEqual([2, 3]);
    expect(ports.reads).toBe(reads + 1);
  });

  test('live events beyond the bound of the buffer are dropped and read from the log', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(1, 1);
    const { follower } = await openFollower(ports);
    await takeSeqs(follower, 1);

    ports.events = range(1, 2_000);
    for (let seq = 2; seq <= 2_000; seq += 1) ports.receive([numbered(seq)]);

    expect(await takeSeqs(follower, 1_999)).toEqual(range(2, 2_000).map(({ seq }) => seq));
  });

  test('numbers that are gone are reported, not skipped', async () => {
    const ports = new ScriptedPorts();
    ports.events = range(10, 12);
    const { follower } = await openFollower(ports, { after: 3 });

    expect(await follower.next()).toEqual({ kind: 'trimmed', firstKept: 10, lastSeq: 12 });
    follower.skipTo(10);
    expect(await takeSeqs(follower, 3)).toEqual([10, 11, 12]);
  });

  describe('of streamed text that is published before it is in the log', () => {
    const afterTakeover = (seq: number, follows: number): NumberedEvent => ({ ...numbered(seq), follows });

    test('returns it at once, and says up to where the log is', async () => {
      const ports = new ScriptedPorts();
      ports.events = range(1, 2);
      const { follower } = await openFollower(ports);
      await takeSeqs(follower, 2);
      const reads = ports.reads;

      ports.receive([numbered(3)], 2);
      expect(await follower.next()).toEqual({ kind: 'events', events: [numbered(3)], logged: 2 });
      ports.receive([], 3);
      ports.receive([numbered(4)], 3);
      expect(await follower.next()).toEqual({ kind: 'events', events: [numbered(4)], logged: 3 });
      expect(ports.reads).toBe(reads);
    });

    test('reads what it missed of it once, when the log has it', async () => {
      const ports = new ScriptedPorts();
      ports.events = range(1, 2);
      const { follower } = await openFollower(ports);
      await takeSeqs(follower, 2);
      const reads = ports.reads;

      const next = takeSeqs(follower, 4);
      for (const seq of [4, 5]) ports.receive([numbered(seq)], 2);
      await nextTurnOfLoop();
      expect(ports.reads).toBe(reads);
      ports.events = range(1, 5);
      ports.receive([], 5);
      ports.receive([numbered(6)], 5);

      expect(await next).toEqual([3, 4, 5, 6]);
    });

    test('passes over the numbers that were left out after a takeover, whatever it had seen of them', async () => {
      for (const seen of [3, 5]) {
        const ports = new ScriptedPorts();
        ports.events = range(1, 3);
        const { follower } = await openFollower(ports);
        await takeSeqs(follower, 3);
        if (seen > 3) {
          ports.receive(range(4, seen), 3);
          await takeSeqs(follower, seen - 3);
        }

        ports.events = [...range(1, 3), afterTakeover(1_004, 3)];
        ports.receive([numbered(1_004)]);
        expect(await takeSeqs(follower, 1)).toEqual([1_004]);
        // The log names what an event follows only to readers that begin before the numbers that were left out.
        ports.events = [...range(1, 3), numbered(1_004), numbered(1_005)];
        ports.gap();

        expect(await takeSeqs(follower, 1)).toEqual([1_005]);
        ports.events = [...ports.events, numbered(1_006)];
        ports.gap();
        expect(await takeSeqs(follower, 1)).toEqual([1_006]);
      }
    });

    test('reports a log that left out events which had been in it', async () => {
      const ports = new ScriptedPorts();
      ports.events = range(1, 5);
      const { follower } = await openFollower(ports);
      await takeSeqs(follower, 5);

      ports.events = [...range(1, 3), afterTakeover(1_004, 3)];
      ports.receive([numbered(1_004)]);

      expect(await follower.next()).toEqual({ kind: 'rewound', firstKept: 1, lastSeq: 1_004 });
    });

    test('a reader that returns beyond the end of the log waits, unless the log had what it knew', async () => {
      const ports = new ScriptedPorts();
      ports.events = range(1, 3);
      const { follower } = await openFollower(ports, { after: 5, logged: 3 });
      const next = follower.next();
      ports.receive([numbered(6)], 3);
      expect(await next).toEqual({ kind: 'events', events: [numbered(6)], logged: 3 });

      const late = await openFollower(ports, { after: 5, logged: 4 });
      expect(await late.follower.next()).toEqual({ kind: 'rewound', firstKept: 1, lastSeq: 3 });
    });
  });
});
