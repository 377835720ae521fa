import type { Part } from '../bench.js';
import { say } from '../report.js';
import { limitOf, type StreamLevel, streamLevel } from './stream-capacity.js';

const LEVELS = [100, 250, 500, 1_000, 2_000];
const TOKENS_PER_SECOND = 25;
const SECONDS = 10;

/** How many streams of 25 tokens a second one Redis carries, driven by one process on the product's own store. */
export const streams: Part = async ({ times }) => {
  say();
  say(`Streams of ${TOKENS_PER_SECOND} tokens a second on one Redis, in cores and milliseconds (p50 / p99)`);
  say(
    'streams  tokens/s  appends/token  commands/token  redis  driver     append        published       in the log     event loop',
  );
  for (const streamCount of LEVELS) {
    const load = {
      streams: streamCount,
      tokensPerSecond: TOKENS_PER_SECOND,
      seconds: Math.min(SECONDS, times(SECONDS)),
    };
    const level = await streamLevel(load);
    say(rowOf(level));
  }
  return [];
};

function rowOf(level: StreamLevel): string {
  const {
    load,
    tokens,
    elapsedMs,
    appends,
    redisCores,
    driverCores,
    commandsPerToken,
    append,
    published,
    logged,
    loop,
  } = level;
  const spread = ({ p50, p99 }: StreamLevel['append']): string => `${p50.toFixed(1)} / ${p99.toFixed(1)}`.padStart(15);
  const limit = limitOf(level);
  return [
    String(load.streams).padStart(7),
    ((1000 * tokens) / elapsedMs).toFixed(0).padStart(9),
    (appends / tokens).toFixed(2).padStart(14),
    commandsPerToken.toFixed(1).padStart(15),
    redisCores.toFixed(2).padStart(6),
    driverCores.toFixed(2).padStart(7),
    spread(append),
    spread(published),
    spread(logged),
    spread(loop),
    limit === undefined ? ' carried' : ` limit: ${limit}${level.lostRuns === 0 ? '' : `, ${level.lostRuns} runs lost`}`,
  ].join(' ');
}
