import { UnavailableError } from '@caribou/contracts';
import { silentLogger } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { TimerLoop } from './timer-loop.js';

const HOUR = 3_600_000;
const loops: TimerLoop[] = [];

function start(tick: () => Promise<number | null>, logged: string[] = []): TimerLoop {
  const collect = (level: string) => (fields: object) => void logged.push(`${level} ${JSON.stringify(fields)}`);
  const logger = { ...silentLogger, warn: collect('warn'), error: collect('error') };
  const loop = new TimerLoop({ name: 'cron', tick, maxPauseMs: HOUR, logger });
  loops.push(loop);
  loop.start();
  return loop;
}

afterEach(() => Promise.all(loops.splice(0).map((loop) => loop.stop())));

describe('TimerLoop', () => {
  test('the next check is when something is due', async () => {
    let ticks = 0;
    start(() => Promise.resolve((ticks += 1) < 5 ? 1 : null));

    await waitFor(() => ticks === 5, { what: 'five checks' });
  });

  test('a pause ends when the loop is woken', async () => {
    let ticks = 0;
    const loop = start(() => {
      ticks += 1;
      return Promise.resolve(null);
    });
    await waitFor(() => ticks === 1, { what: 'the first check' });
    await waitFor(
      () => {
        loop.wake();
        return ticks > 3;
      },
      { what: 'checks after wakes' },
    );
  });

  test('a failed check is logged, an outage as a warning and a defect as an error, and does not end the loop', async () => {
    const logged: string[] = [];
    const failures = [new UnavailableError('Redis is away'), new Error('a defect')];
    let ticks = 0;
    const loop = start(() => {
      ticks += 1;
      const failure = failures.shift();
      return failure === undefined ? Promise.resolve(1) : Promise.reject(failure);
    }, logged);
    await waitFor(
      () => {
        loop.wake();
        return ticks > 3;
      },
      { what: 'checks after the failures' },
    );

    expect(logged.map((line) => line.split(' ')[0])).toEqual(['warn', 'error']);
    expect(logged[0]).toContain('cron.check');
  });

  test('a stop ends a long pause', async () => {
    let ticks = 0;
    const loop = start(() => {
      ticks += 1;
      return Promise.resolve(null);
    });
    await waitFor(() => ticks === 1, { what: 'the first check' });
    await loop.stop();

    expect(ticks).toBe(1);
  });
});
