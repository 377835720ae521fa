import { UnavailableError } from '@caribou/contracts';
import { type Logger, silentLogger } from '@caribou/core';
import { waitFor } from '@caribou/testing';
import { LoopLagWatch } from './loop-lag-watch.js';
import { block, loadEventLoop } from '../testing/busy-event-loop.js';

const refusalOf = (watch: LoopLagWatch): unknown => {
  try {
    watch.assertResponsive();
    return null;
  } catch (error) {
    return error;
  }
};

describe(LoopLagWatch, () => {
  const messages: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields: object, message: string) => void messages.push(message) };

  test('runs are refused while the event loop stalls again and again, and accepted once it has time', async () => {
    const watch = new LoopLagWatch({ maxMs: 100, logger, everyMs: 50 });
    const stopLoad = loadEventLoop(400);
    try {
      await waitFor(() => refusalOf(watch) !== null, { what: 'a refusal' });
      const refusal = refusalOf(watch);
      expect(refusal).toBeInstanceOf(UnavailableError);
      expect(refusal).toMatchObject({ details: { refusal: 'overloaded' } });
    } finally {
      stopLoad();
    }
    await waitFor(() => refusalOf(watch) === null, { what: 'acceptance' });
    watch.stop();
    expect(messages.slice(0, 2)).toEqual([expect.stringContaining('overloaded'), expect.stringContaining('has time')]);
  }, 60_000);

  test('a bound of 0 refuses nothing', async () => {
    const watch = new LoopLagWatch({ maxMs: 0, logger, everyMs: 5 });
    for (let stall = 0; stall < 5; stall += 1) {
      block(60);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(refusalOf(watch)).toBeNull();
    watch.stop();
  });
});
