import type { Options } from './options.js';
import { simulate } from './simulate.js';
import { installVirtualGlobals } from './virtual/virtual-globals.js';
import { VirtualRedis } from './virtual/virtual-redis.js';

/** Simulates the seeds that the parent process sends, one after the other, and answers each with its report. */
export async function serveSeeds(options: Options): Promise<void> {
  installVirtualGlobals();
  const redis = await VirtualRedis.start();
  let work = Promise.resolve();
  process.on('message', (seed: number) => {
    work = work.then(async () => {
      process.send?.(await simulate(seed, redis, options));
    });
    work.catch((error: unknown) => {
      // Any other error is a defect of the simulator: the parent process sees this one end.
      process.stderr.write(
        `seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      );
      process.exitCode = 1;
      process.disconnect();
    });
  });
  process.on('disconnect', () => redis.stop());
}
