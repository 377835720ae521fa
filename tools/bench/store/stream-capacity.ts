import { join } from 'node:path';
import { createRedis } from '@caribou/state';
import { z } from 'zod';
import { cpuMeter } from '../cpu-time.js';
import { openProcessGroup } from '../process-group.js';
import { readyMessage } from '../processes.js';
import { innerCalls, subtractUse } from './redis-use.js';
import { redisUseReader } from '../server-figures.js';
import { dist, startRedis } from '../servers.js';

const Spread = z.object({ p50: z.number(), p99: z.number() });

/** What the driver reports; times in milliseconds. */
const Streamed = z.object({
  elapsedMs: z.number(),
  /** Tokens in the log. */
  tokens: z.number(),
  lostRuns: z.number(),
  appends: z.number(),
  /** From a call of the store to its reply. */
  append: Spread,
  /** From the moment a token was due to the moment it was published. */
  published: Spread,
  /** The same to the moment it was in the log. */
  logged: Spread,
  /** How late timers of the driver were. */
  loop: Spread,
});

export interface StreamLoad {
  readonly streams: number;
  readonly tokensPerSecond: number;
  readonly seconds: number;
}

/** How one Redis carried so many streams. */
export interface StreamLevel extends z.infer<typeof Streamed> {
  readonly load: StreamLoad;
  /** CPU of Redis' main thread and of the driver, in cores. */
  readonly redisCores: number;
  readonly driverCores: number;
  readonly commandsPerToken: number;
}

/** Drives one Redis with so many streams of one process, both started for it, and stops them. */
export async function streamLevel(load: StreamLoad): Promise<StreamLevel> {
  const group = await openProcessGroup();
  try {
    const server = await startRedis(group);
    const redisUrl = `redis://127.0.0.1:${server.port}`;
    const counts = [load.streams, load.tokensPerSecond, load.seconds].map(String);
    const driver = await group.start({
      name: 'stream-driver',
      command: [
        process.execPath,
        '--max-semi-space-size=64',
        join(dist, 'tools/bench/store/stream-driver.js'),
        redisUrl,
        ...counts,
      ],
      untilReady: readyMessage,
    });
    const redis = createRedis({ url: redisUrl });
    try {
      const readUse = redisUseReader(redis);
      const readMeter = cpuMeter({ driver: driver.pid });
      const before = await readUse();
      const streamed = Streamed.parse(await driver.ask('go', 'streamed'));
      const use = subtractUse(await readUse(), before);
      return {
        ...streamed,
        load,
        redisCores: use.cpuMs / streamed.elapsedMs,
        driverCores: (readMeter()['driver'] ?? 0) / streamed.elapsedMs,
        commandsPerToken: innerCalls(use) / streamed.tokens,
      };
    } finally {
      await redis.close();
    }
  } finally {
    await group.stop();
  }
}

/** The p99 of the delay of published tokens above which streams count as not carried. */
const MAX_DELAY_MS = 250;
/** A process that uses so much of a core is the limit. */
const FULL_CORE = 0.85;

/** Why streams were not carried; undefined when they were. */
export function limitOf(
  level: Pick<StreamLevel, 'lostRuns' | 'published' | 'tokens' | 'load' | 'redisCores' | 'driverCores'>,
) {
  const { streams, tokensPerSecond, seconds } = level.load;
  const isWhole = level.lostRuns === 0 && level.tokens === streams * tokensPerSecond * seconds;
  if (isWhole && level.published.p99 <= MAX_DELAY_MS) return undefined;
  const { redisCores, driverCores } = level;
  if (Math.max(redisCores, driverCores) < FULL_CORE) return 'other work on the machine';
  return redisCores >= driverCores ? 'Redis' : 'the driver';
}
