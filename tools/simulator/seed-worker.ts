import type { Options } from './options.js';
import { simulate } from './simulate.js';
import { installVirtualGlobals } from './virtual/virtual-globals.js';
import { VirtualRedis } from './virtual/virtual-redis.js';

/**
 * Simulates the seeds that the parent process sends, one after the other, and answers each with its report. When the parent
 * disconnects, the seed under way is the last.
 */
export async function serveSeeds(options: Options): Promise<void> {
  installVirtualGlobals();
  const redis = await VirtualRedis.start();
  let work = Promise.resolve();
  process.on('message', (seed: number) => {
    work = work.then(async () => {
      if (!process.connected) return;
      const report = await simulate(seed, redis, options);
      if (process.connected) process.send?.(report);
    });
    work.catch((error: unknown) => {
      // Any other error is a defect of the simulator: the parent process sees this one end.
      process.stderr.write(
        `seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      );
      process.exitCode = 1;
      if (process.connected) process.disconnect();
    });
  });
  process.on('disconnect', () => {
    const stop = (): void => redis.stop();
    work.then(stop, stop);
  });
}
